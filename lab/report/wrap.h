/*
 * wrap.h - text in lines of a width, broken at blanks
 */
#ifndef LAB_WRAP_H
#define LAB_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* No line of text that is meant for people is longer, in terminal columns, but for a word that is.
 */
#define LAB_LINE_WIDTH 120

typedef struct lab_wrap {
    int at;     /* the column where the cursor is now */
    int indent; /* the column where further lines begin */
    int limit;  /* columns of a line */
} lab_wrap;

/* lab_wrap_print() writes @length bytes of @text to @stream, and ends the last line. Blanks and
 * line ends of @text are places where a line may be broken. */
void lab_wrap_print(FILE *stream, const char *text, size_t length, lab_wrap wrap);

/* lab_wrap_paragraph() prints what @write writes as a paragraph of LAB_LINE_WIDTH columns from the
 * first column on, of which further lines begin at @indent. Without memory for that it is one line.
 * lab_wrap_format() does so with what a format makes. */
typedef void lab_wrap_writer(FILE *stream, const void *data);
void lab_wrap_paragraph(FILE *stream, int indent, lab_wrap_writer *write, const void *data);
void lab_wrap_format(FILE *stream, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* LAB_WRAP_H */
