/*
 * log.c - sanitizes compiler logs
 */
#include "lab/trial/log.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lab/base/control.h"

static bool in_path(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("/._-+@~%", c));
}

/* True if an absolute path begins at @text + @at. A slash after a word or a number is a division.
 */
static bool begins_path(const char *text, size_t at)
{
    return text[at] == '/' && in_path(text[at + 1]) && text[at + 1] != '/' &&
           (at == 0 || !(in_path(text[at - 1]) || strchr(")]", text[at - 1])));
}

/* The start of the last component of the path at @text. */
static size_t last_part(const char *text)
{
    size_t start = 0;

    for (size_t i = 0; in_path(text[i]); i++)
        if (text[i] == '/' && in_path(text[i + 1]))
            start = i + 1;
    return start;
}

void lab_log_strip(char *text)
{
    size_t to = 0;

    for (size_t from = 0; text[from]; from++) {
        if (begins_path(text, from))
            from += last_part(text + from);
        int control = text[from] == '\n' ? 0 : lab_control_size(text + from);
        text[to++] = control > 0 ? ' ' : text[from];
        from += control > 1 ? (size_t)control - 1 : 0;
    }
    text[to] = '\0';
    if (to < LAB_LOG_SIZE)
        return;
    text[LAB_LOG_SIZE - 1] = '\0';
    char *end = strrchr(text, '\n');
    if (end)
        end[1] = '\0';
}

/* The first place in @text where a compiler, an assembler or a linker reports an unreadable file;
 * NULL if none. */
static const char *find_unread(const char *text)
{
    static const char *const words[] = {
        "Permission denied",  "No such file",       "Not a directory", "Is a directory",
        "levels of symbolic", "File name too long", "No such device",  "not permitted",
        "file not found",     "cannot open",        "can't open",      "cannot find source file",
        "Could not find",
    };
    const char *first = NULL;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = strstr(text, words[i]);
        if (found && (!first || found < first))
            first = found;
    }
    return first;
}

void lab_log_hide_files(char *text)
{
    static const char *const ends[] = { ": fatal error:", ": error:", ": Error:" };
    char place[LAB_LOG_SIZE / 8] = "";
    const char *line = find_unread(text), *end;

    if (!line)
        return;
    while (line > text && line[-1] != '\n')
        line--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !place[0]; i++) {
        end = strstr(line, ends[i]);
        if (end && !memchr(line, '\n', (size_t)(end - line)))
            snprintf(place, sizeof place, "%.*s: ", (int)(end - line), line);
    }
    sprintf(text, "%serror: a file that it reads does not exist, or may not be read\n", place);
}
