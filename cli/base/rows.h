/*
 * rows.h - rows that are written once, and printed as a table, JSON or CSV
 *
 *     cli_rows rows = cli_rows_begin(cli_args_json(args));
 *     for (each kernel) {
 *         cli_row_text(&rows, "kernel", "kernel", name);
 *         cli_row_seconds(&rows, "predicted_seconds", "predicted", seconds);
 *         cli_row_member(&rows, "chosen", json_boolean(chosen));
 *         cli_row_end(&rows);
 *     }
 *     return cli_rows_print(&rows, "kernels", "plan");
 *
 * Each call writes one column: its key in JSON and CSV, its head in the table, and its value. If
 * the key or head is NULL, the column is left out there. The first row makes the columns, and every
 * row has all of them in the same order. As in tables and JSON arrays, running out of memory is
 * reported at the end.
 */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include "cli.h"

typedef struct cli_rows {
    bool json;
    lab_table *table; /* else */
    json_t *list;     /* the finished rows, and ... */
    json_t *row;      /* ... the current one */
    bool headed;      /* the first row is finished */
} cli_rows;

/* cli_rows_begin() begins rows. Release them with cli_rows_free() or a function below that does. */
cli_rows cli_rows_begin(bool json);
void cli_rows_free(cli_rows *rows);

/* Adds a text; NULL: null, and "-" in a table. */
void cli_row_text(cli_rows *rows, const char *key, const char *head, const char *text);

/* The same in a style of cli_style(), without effect in JSON. */
void cli_row_styled(cli_rows *rows, const char *key, const char *head, cli_style_name style,
                    const char *text);

/* Adds an integer; below 0: null, and "-". */
void cli_row_count(cli_rows *rows, const char *key, const char *head, int64_t count);

/* Add seconds or bytes, formatted in a table by lab_format_seconds() or lab_format_bytes(); seconds
 * not above 0 or not finite: null, and "-". */
void cli_row_seconds(cli_rows *rows, const char *key, const char *head, double seconds);
void cli_row_bytes(cli_rows *rows, const char *key, const char *head, uint64_t bytes);

/* Adds a number from 0 on, printed in a table with @format; below 0 or not finite: null, and
 * "-". */
void cli_row_real(cli_rows *rows, const char *key, const char *head, double value,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* cli_row_member() is for JSON only, and takes ownership of @value; cli_row_cell() is for tables
 * only, right-aligned if '>' follows @head. Heads of the numbers above need no '>'. */
void cli_row_member(cli_rows *rows, const char *key, json_t *value);
void cli_row_cell(cli_rows *rows, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* cli_row_end() ends a row. Its last cells may be missing unless it is the first. */
void cli_row_end(cli_rows *rows);

/* cli_rows_rule() puts a line, @heads, separated by '|', and another line above the next rows of a
 * table. */
void cli_rows_rule(cli_rows *rows, const char *heads);

/* cli_rows_list() returns the rows so far as an array that the caller releases, and continues with
 * an empty one; NULL for a table. cli_rows_take() also releases the rows. */
json_t *cli_rows_list(cli_rows *rows);
json_t *cli_rows_take(cli_rows *rows);

/* cli_rows_print() prints the rows and releases them: as a table, or like cli_json_print() as
 * member @key of an object. */
cli_exit cli_rows_print(cli_rows *rows, const char *key, const char *verb);

#endif /* CLI_ROWS_H */
