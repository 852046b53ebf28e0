/*
 * listing.h - rows that are described once, and written as a table, a table of a page, JSON or CSV
 *
 *     lab_listing rows = lab_listing_begin(LAB_LIST_TEXT);
 *     for (each kernel) {
 *         lab_cell_text(&rows, "kernel", "kernel", name);
 *         lab_cell_seconds(&rows, "predicted_seconds", "predicted", seconds);
 *         lab_cell_json(&rows, "chosen", json_boolean(chosen));
 *         lab_row_end(&rows);
 *     }
 *     if (!lab_listing_print(&rows, stdout)) ... no memory
 *
 * Each call writes one column: its key in JSON and CSV, its head in a table, and its value. If the
 * key or head is NULL, the column is left out there. Every row has the same columns in the same
 * order; its last cells may be missing. As in tables and JSON arrays, running out of memory is
 * reported at the end.
 */
#ifndef LAB_LISTING_H
#define LAB_LISTING_H

#include <stdint.h>

#include <jansson.h>

#include "html.h"

typedef enum lab_listing_form {
    LAB_LIST_TEXT,   /* aligned text */
    LAB_LIST_COLOUR, /* the same with colours, for a terminal */
    LAB_LIST_JSON,   /* an array of objects */
    LAB_LIST_CSV     /* the same values, unknown ones as empty fields, true as 1 */
} lab_listing_form;

typedef struct lab_listing {
    lab_listing_form form;
    bool json;        /* JSON or CSV */
    json_t *list;     /* the finished rows, and ... */
    json_t *row;      /* ... the current one */
    json_t *outer;    /* the row while ROW is an object in it, as member ... */
    const char *key;  /* ... KEY */
    json_t *heads;    /* of lab_listing_heads() */
    lab_table *table; /* else */
    lab_page *page;   /* NULL: none */
    size_t at;        /* the next cell of the row */
    lab_style style;  /* of that cell, and ... */
    char lead[64];    /* ... text in front of it */
    bool blank;       /* the rest of the row is empty */
    bool some;        /* a row is finished */
    bool failed;      /* memory ran out */
} lab_listing;

/* lab_listing_begin() begins rows; lab_listing_in() those of a table in @page, HTML or Markdown.
 * Release them with lab_listing_free() or a function below that does. */
lab_listing lab_listing_begin(lab_listing_form form);
lab_listing lab_listing_in(lab_page *page);
void lab_listing_free(lab_listing *rows);

/* lab_cell_style() gives the next cell a style, in Markdown only LAB_BAD, which is bold there.
 * lab_cell_lead() puts plain text, which is not escaped, in front of the next cell's. Neither
 * changes JSON and CSV. */
void lab_cell_style(lab_listing *rows, lab_style style);
void lab_cell_lead(lab_listing *rows, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* lab_cell_text() adds a text; NULL: null, and "-" in a table. lab_cell_styled() adds one in a
 * style. */
void lab_cell_text(lab_listing *rows, const char *key, const char *head, const char *text);
void lab_cell_styled(lab_listing *rows, const char *key, const char *head, lab_style style,
                     const char *text);

/* Adds an integer; below 0: null, and "-". */
void lab_cell_count(lab_listing *rows, const char *key, const char *head, int64_t count);

/* Add seconds or bytes, formatted in a table by lab_format_seconds() or lab_format_bytes(); seconds
 * not above 0 or not finite: null, and "-". */
void lab_cell_seconds(lab_listing *rows, const char *key, const char *head, double seconds);
void lab_cell_bytes(lab_listing *rows, const char *key, const char *head, uint64_t bytes);

/* Adds a number from 0 on, printed in a table with @format; below 0 or not finite: null, and
 * "-". */
void lab_cell_real(lab_listing *rows, const char *key, const char *head, double value,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* lab_cell_json() is for JSON and CSV only, and takes ownership of @value. lab_cell_left() and
 * lab_cell_right() are for tables only, aligned to the left or right as are the texts and numbers
 * above. */
void lab_cell_json(lab_listing *rows, const char *key, json_t *value);
void lab_cell_left(lab_listing *rows, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lab_cell_right(lab_listing *rows, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* lab_cell_open() begins an object as member @key of the row; the next keys are its members.
 * lab_cell_close() ends it; the member is null unless @known. Heads are those of the row. */
void lab_cell_open(lab_listing *rows, const char *key);
void lab_cell_close(lab_listing *rows, bool known);

/* lab_cell_blank() leaves the further cells of a table's row empty if @blank. */
void lab_cell_blank(lab_listing *rows, bool blank);

/* lab_row_end() ends a row. lab_listing_heads() ends one that is there for its keys and
 * heads only. */
void lab_row_end(lab_listing *rows);
void lab_listing_heads(lab_listing *rows);

/* lab_listing_rule() puts a line above the next rows of a table and, unless @heads is NULL, further
 * heads, separated by '|', and another line. */
void lab_listing_rule(lab_listing *rows, const char *heads);

/* lab_listing_keys() makes the first @count columns of a table key columns, see lab_table_keys().
 */
void lab_listing_keys(lab_listing *rows, size_t count);

/* lab_listing_rows() returns the rows so far as an array that the caller releases, and continues
 * with an empty one; NULL for a table. lab_listing_take() also releases the rows. */
json_t *lab_listing_rows(lab_listing *rows);
json_t *lab_listing_take(lab_listing rows);

/* lab_listing_print() writes the rows, and releases them: to @stream, whose owner checks for write
 * errors, or those of lab_listing_in() to the page. Returns false if memory had run out; the page
 * reports that as well. Without rows and lab_listing_heads() it writes nothing. JSON is the
 * caller's to write, see lab_listing_rows(). */
bool lab_listing_print(lab_listing *rows, FILE *stream);

/* lab_json_text() returns a JSON string. Bytes of @text that are not UTF-8, as in some file names,
 * become question marks. */
json_t *lab_json_text(const char *text);

#endif /* LAB_LISTING_H */
