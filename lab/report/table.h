/*
 * table.h - text tables: columns that line up
 *
 *     lab_table *table = lab_table_create();
 *     lab_table_columns(table, "kernel|GFLOP/s>");
 *     lab_table_cell(table, "%s", name);
 *     lab_table_cell(table, "%.1f", rate);
 *     if (!lab_table_print(table, stdout, LAB_TEXT)) ... no memory
 *     lab_table_destroy(table);
 *
 * Building never fails on the spot: a table that ran out of memory remembers it, ignores what
 * follows, and says so at the end.
 */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct lab_table lab_table;

typedef enum lab_align {
    LAB_LEFT,
    LAB_RIGHT
} lab_align;
typedef enum lab_table_form {
    LAB_TEXT,     /* for a terminal: blanks between the columns, a line under the heads, and no line
                     longer than LAB_LINE_WIDTH (wrap.h) */
    LAB_MARKDOWN, /* a GitHub table */
    LAB_HTML      /* a table element; colours are spans of a class such as "good" (html_style.c) */
} lab_table_form;

/* lab_table_create() returns an empty table, or NULL if there is no memory; every call below takes
 * that NULL too. */
lab_table *lab_table_create(void);
void lab_table_destroy(lab_table *table);

/* lab_table_column() adds a column. All columns come before the end of the first row, each before
 * its cell. An empty @head in every column: no head line. */
void lab_table_column(lab_table *table, const char *head, lab_align align);

/* lab_table_columns() adds those of @heads, separated by '|', to the left; to the right where a '>'
 * follows the head: "problem|time>|". */
void lab_table_columns(lab_table *table, const char *heads);

/* lab_table_cell() formats the next cell, row by row from left to right. Its width is counted in
 * terminal columns by the locale (wcwidth); colour sequences (ESC [ ... m) count nothing, and are
 * left out of markdown. */
void lab_table_cell(lab_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lab_table_vcell(lab_table *table, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

/* lab_table_keys() says that the first @count columns, 1 unless it is called, name a row: where not
 * all columns fit into a line, those that are left stand below, behind these once more. */
void lab_table_keys(lab_table *table, size_t count);

/* lab_table_row_end() fills the rest of the present row, if it has begun, with empty cells. */
void lab_table_row_end(lab_table *table);

/* lab_table_rule() draws a line under the rows so far; markdown shows nothing. */
void lab_table_rule(lab_table *table);

/* lab_table_print() writes the table to @stream, without blanks at the ends of lines. Returns
 * false, having written nothing, if memory had run out. Whether @stream took it is for its owner to
 * see (ferror). */
bool lab_table_print(const lab_table *table, FILE *stream, lab_table_form form);

/* lab_text_width() returns the terminal columns that @text takes, colour sequences not counted. */
int lab_text_width(const char *text);

#endif /* LAB_TABLE_H */
