/*
 * table.h - tables as aligned text, Markdown or HTML
 *
 *     lab_table *table = lab_table_create();
 *     lab_table_column(table, "kernel", LAB_LEFT);
 *     lab_table_column(table, "GFLOP/s", LAB_RIGHT);
 *     lab_table_cell(table, "%s", name);
 *     lab_table_cell(table, "%.1f", rate);
 *     if (!lab_table_print(table, stdout, LAB_TEXT)) ... no memory
 *     lab_table_destroy(table);
 *
 * Errors are deferred: a table that ran out of memory ignores later calls, and reports the failure
 * when it is printed. listing.h is a table whose columns are described only once.
 */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct lab_table lab_table;

typedef enum lab_align {
    LAB_LEFT,
    LAB_RIGHT
} lab_align;
typedef enum lab_table_form {
    LAB_TEXT, /* for a terminal: columns separated by spaces, a line under the heads, and no line
                 longer than LAB_LINE_WIDTH (wrap.h) */
    LAB_MARKDOWN, /* a GitHub table */
    LAB_HTML      /* a table element; colours are spans of a class such as "good" (html_style.c) */
} lab_table_form;

/* Styles of texts. lab_style_sequence() returns the colour sequence that begins one; every style
 * ends with that of LAB_PLAIN. */
typedef enum lab_style {
    LAB_PLAIN,
    LAB_BOLD,
    LAB_GOOD,
    LAB_WARN,
    LAB_BAD,
    LAB_FAINT
} lab_style;
const char *lab_style_sequence(lab_style style);

/* lab_table_create() returns an empty table, or NULL if there is no memory; every function below
 * accepts that NULL. */
lab_table *lab_table_create(void);
void lab_table_destroy(lab_table *table);

/* lab_table_column() adds a column, before its cell in the current row; the rows before get an
 * empty cell. If every @head is empty there is no head line. lab_table_width() returns the number
 * of columns. */
void lab_table_column(lab_table *table, const char *head, lab_align align);
size_t lab_table_width(const lab_table *table);

/* lab_table_cell() formats the next cell, row by row from left to right. Its width is counted in
 * terminal columns by the locale (wcwidth); colour sequences (ESC [ ... m) have no width, and are
 * omitted in Markdown. */
void lab_table_cell(lab_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* lab_table_keys() makes the first @count columns, 1 by default, key columns: if not all columns
 * fit in a line, the others continue below, after a repetition of these. */
void lab_table_keys(lab_table *table, size_t count);

/* lab_table_row_end() fills the current row, if it has begun, with empty cells.
 * lab_table_row_drop() removes it; its columns stay. */
void lab_table_row_end(lab_table *table);
void lab_table_row_drop(lab_table *table);

/* lab_table_rule() draws a line under the rows so far; not in Markdown. */
void lab_table_rule(lab_table *table);

/* lab_table_print() writes the table to @stream, without trailing spaces. Returns false, and writes
 * nothing, if memory had run out. The owner of @stream checks for write errors (ferror). */
bool lab_table_print(const lab_table *table, FILE *stream, lab_table_form form);

/* lab_text_width() returns the width of @text in terminal columns, without colour sequences. */
int lab_text_width(const char *text);

#endif /* LAB_TABLE_H */
