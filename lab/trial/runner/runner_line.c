/*
 * runner_line.c - builds lines for the laboratory without the C library
 */
#include <unistd.h>

#include "lab/trial/runner/runner.h"

void runner_add(runner_line *line, const char *text)
{
    /* Reserves a byte for the newline, and one for the reader's null. */
    while (*text && line->length < sizeof line->text - 2) {
        line->text[line->length++] = *text == '\n' ? ' ' : *text;
        text++;
    }
}

void runner_add_number(runner_line *line, uint64_t value, unsigned base)
{
    char digits[32] = "";
    size_t at = sizeof digits - 1;

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0 && at > 0);
    runner_add(line, &digits[at]);
}

void runner_say(runner_line *line)
{
    line->text[line->length++] = '\n';
    if (write(STDOUT_FILENO, line->text, line->length) != (ssize_t)line->length)
        _exit(1);
}
