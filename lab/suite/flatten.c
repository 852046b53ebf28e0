/*
 * flatten.c - a device source of the library as one text, with headers and without comments
 */
#include "lab/suite/flatten.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/cuda/sources.h"

#define FILES_MAX 64
#define DEPTH_MAX 16

typedef struct flattener {
    FILE *out;
    const char *done[FILES_MAX]; /* headers already included unconditionally */
    int count;
    int depth;
    lab_error *error;
} flattener;

static heed_status add_file(flattener *it, const char *name);

/* The end of the string or character literal at @at. */
static const char *skip_literal(const char *at)
{
    const char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* Copies @text to @to with a space for each comment; keeps newlines within comments. */
static void strip_comments(const char *text, char *to)
{
    while (*text) {
        const char *begin = text;
        if (strncmp(text, "/*", 2) == 0) {
            const char *end = strstr(text + 2, "*/");
            for (; *text && text != end; text++)
                if (*text == '\n')
                    *to++ = '\n';
            text += end ? 2 : 0;
            *to++ = ' ';
        } else if (strncmp(text, "//", 2) == 0) {
            text += strcspn(text, "\n");
        } else if (*text == '"' || *text == '\'') {
            text = skip_literal(text);
            memcpy(to, begin, (size_t)(text - begin));
            to += text - begin;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

static bool is_done(const flattener *it, const char *name)
{
    for (int i = 0; i < it->count; i++)
        if (strcmp(it->done[i], name) == 0)
            return true;
    return false;
}

/* Handles an #include of the file @name. Within conditions other than the header's guard it may not
 * be compiled, so the header does not count as included. */
static heed_status include(flattener *it, const char *name, bool conditional)
{
    heed_source source;
    if (strcmp(name, "program.cuh") == 0 || is_done(it, name))
        return HEED_OK;
    if (!heed_source_find(name, &source))
        return lab_fail(it->error, HEED_ERR_INVALID, "the library has no source %s", name);
    if (!conditional && it->count < FILES_MAX)
        it->done[it->count++] = source.name;
    return add_file(it, name);
}

/* The change in depth of #if nesting by a line. */
static int step_of(const char *line)
{
    static const char *const opens[] = { "if ", "ifdef ", "ifndef " };
    if (*line != '#')
        return 0;
    line += 1 + strspn(line + 1, " ");
    if (strncmp(line, "endif", 5) == 0)
        return -1;
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++)
        if (strncmp(line, opens[i], strlen(opens[i])) == 0)
            return 1;
    return 0;
}

/* Writes the lines of @text, a header if @guarded. */
static heed_status add_lines(flattener *it, const char *text, bool guarded, int around)
{
    heed_status status = HEED_OK;
    int depth = 0;
    while (*text && status == HEED_OK) {
        char name[64];
        size_t length = strcspn(text, "\n"), kept = length;
        while (kept > 0 && (text[kept - 1] == ' ' || text[kept - 1] == '\t'))
            kept--;
        depth += step_of(text);
        if (sscanf(text, "#include \"%63[^\"]\"", name) == 1) {
            it->depth = around + depth - guarded;
            status = include(it, name, it->depth > 0);
        } else if (kept > 0) {
            fprintf(it->out, "%.*s\n", (int)kept, text);
        }
        text += length + (text[length] == '\n');
    }
    return status;
}

static heed_status add_file(flattener *it, const char *name)
{
    heed_source source;
    if (!heed_source_find(name, &source))
        return lab_fail(it->error, HEED_ERR_INVALID, "the library has no source %s", name);
    if (it->depth > DEPTH_MAX)
        return lab_fail(it->error, HEED_ERR_INVALID, "%s: conditions nest too deep", name);
    char *text = malloc(source.size + 1);
    if (!text)
        return lab_fail(it->error, HEED_ERR_NO_MEMORY, "no memory for the text of %s", name);
    strip_comments(source.text, text);
    heed_status status = add_lines(it, text, heed_source_is_header(&source), it->depth);
    free(text);
    return status;
}

heed_status lab_flatten(FILE *out, const char *name, lab_error *error)
{
    flattener it = { .out = out, .error = error };
    return add_file(&it, name);
}
