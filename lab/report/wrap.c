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

/* A paragraph being written to memory. */
typedef struct paragraph {
    FILE *stream;
    char *text;
    size_t size;
} paragraph;

/* Prints it, and frees its memory. */
static void print_paragraph(paragraph *it, FILE *stream, int indent)
{
    const lab_wrap wrap = { .indent = indent, .limit = LAB_LINE_WIDTH };
    if (fclose(it->stream) == 0)
        lab_wrap_print(stream, it->text, it->size, wrap);
    free(it->text);
}

void lab_wrap_paragraph(FILE *stream, int indent, lab_wrap_writer *write, const void *data)
{
    paragraph it = { .text = NULL };
    it.stream = open_memstream(&it.text, &it.size);
    write(it.stream ? it.stream : stream, data);
    if (it.stream)
        print_paragraph(&it, stream, indent);
    else
        fputc('\n', stream);
}

void lab_wrap_format(FILE *stream, int indent, const char *format, ...)
{
    paragraph it = { .text = NULL };
    it.stream = open_memstream(&it.text, &it.size);
    va_list list;
    va_start(list, format);
    vfprintf(it.stream ? it.stream : stream, format, list);
    va_end(list);
    if (it.stream)
        print_paragraph(&it, stream, indent);
    else
        fputc('\n', stream);
}
