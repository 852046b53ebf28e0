/*
 * wrap.c - line wrapping
 */
#include "wrap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/* The width of a word of @length bytes. A word longer than any line counts one column per byte. */
static int width_of(const char *word, size_t length)
{
    char copy[4 * LAB_LINE_WIDTH];
    if (length >= sizeof copy)
        return (int)length;
    memcpy(copy, word, length);
    copy[length] = '\0';
    return lab_text_width(copy);
}

void lab_wrap_print(FILE *stream, const char *text, size_t length, lab_wrap wrap)
{
    const char *end = text + length;
    int at = wrap.at;
    bool begun = false; /* this line has a word */
    while (text < end) {
        size_t word = strcspn(text, " \n"), left = (size_t)(end - text);
        word = word < left ? word : left;
        int width = width_of(text, word);
        if (begun && at + 1 + width > wrap.limit) {
            fprintf(stream, "\n%*s", wrap.indent, "");
            at = wrap.indent;
            begun = false;
        }
        fprintf(stream, "%s%.*s", begun ? " " : "", (int)word, text);
        at += width + begun;
        begun = true;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    fputc('\n', stream);
}

void lab_wrap_paragraph(FILE *stream, int indent, lab_wrap_writer *write, const void *data)
{
    const lab_wrap wrap = { .indent = indent, .limit = LAB_LINE_WIDTH };
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    write(memory ? memory : stream, data);
    if (!memory)
        fputc('\n', stream);
    else if (fclose(memory) == 0)
        lab_wrap_print(stream, text, size, wrap);
    free(text);
}

void lab_wrap_format(FILE *stream, int indent, const char *format, ...)
{
    const lab_wrap wrap = { .indent = indent, .limit = LAB_LINE_WIDTH };
    char *text;
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    if (vasprintf(&text, format, list) >= 0) {
        lab_wrap_print(stream, text, strlen(text), wrap);
        free(text);
    } else {
        vfprintf(stream, format, again);
        fputc('\n', stream);
    }
    va_end(again);
    va_end(list);
}
