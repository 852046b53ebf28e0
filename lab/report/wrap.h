/*
 * wrap.h - line wrapping
 */
#ifndef LAB_WRAP_H
#define LAB_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Maximum width of text for people, in terminal columns; only a longer word exceeds it. */
#define LAB_LINE_WIDTH 120

typedef struct lab_wrap {
    int at;     /* current column */
    int indent; /* first column of further lines */
    int limit;  /* maximum columns of a line */
} lab_wrap;

/* lab_wrap_print() writes @length bytes of @text to @stream, and ends the last line. Lines may be
 * broken at white space in @text. */
void lab_wrap_print(FILE *stream, const char *text, size_t length, lab_wrap wrap);

/* lab_wrap_paragraph() prints the output of @write as a paragraph of LAB_LINE_WIDTH columns, with
 * further lines indented by @indent. If there is no memory it is one line. lab_wrap_format() does
 * so with formatted text. */
typedef void lab_wrap_writer(FILE *stream, const void *data);
void lab_wrap_paragraph(FILE *stream, int indent, lab_wrap_writer *write, const void *data);
void lab_wrap_format(FILE *stream, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* LAB_WRAP_H */
