/*
 * rows.h - rows that are described once, and shown as a table, as JSON or as CSV
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
 * A call is a column: its key in JSON and CSV, the head of its column in the table, and its value.
 * NULL as either: it does not stand there. The first row makes the columns, and every row has all
 * of them in the same order. As in tables and arrays of JSON, want of memory shows at the end.
 */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include "cli.h"

typedef struct cli_rows {
    bool json;
    lab_table *table; /* else */
    json_t *list;     /* of the rows that have ended, and ... */
    json_t *row;      /* ... the one that has not */
    bool headed;      /* the first row has ended */
} cli_rows;

/* cli_rows_begin() begins rows, to be released with cli_rows_free() or one of those that say so. */
cli_rows cli_rows_begin(bool json);
void cli_rows_free(cli_rows *rows);

/* A text; NULL: null, and "-" in a table. */
void cli_row_text(cli_rows *rows, const char *key, const char *head, const char *text);

/* The same in a style of cli_style(), which JSON has not. */
void cli_row_styled(cli_rows *rows, const char *key, const char *head, cli_style_name style,
                    const char *text);

/* A whole number; below 0: null, and "-". */
void cli_row_count(cli_rows *rows, const char *key, const char *head, int64_t count);

/* Seconds and bytes, in a table as lab_format_seconds() and lab_format_bytes() have them; seconds
 * not above 0 or not finite: null, and "-". */
void cli_row_seconds(cli_rows *rows, const char *key, const char *head, double seconds);
void cli_row_bytes(cli_rows *rows, const char *key, const char *head, uint64_t bytes);

/* A number from 0 on that a table shows as @format says; below 0 or not finite: null, and "-". */
void cli_row_real(cli_rows *rows, const char *key, const char *head, double value,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* cli_row_member() is for JSON alone, and takes @value over; cli_row_cell() is for tables alone, to
 * the right if '>' follows @head. Heads of numbers need no '>' above. */
void cli_row_member(cli_rows *rows, const char *key, json_t *value);
void cli_row_cell(cli_rows *rows, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* cli_row_end() ends a row, whose last cells may be missing if it is not the first. */
void cli_row_end(cli_rows *rows);

/* cli_rows_rule() has the next rows of a table stand below a line and below @heads, separated by
 * '|', and another line. */
void cli_rows_rule(cli_rows *rows, const char *heads);

/* cli_rows_list() returns the rows so far as an array, for the caller to release, and goes on with
 * an empty one; NULL for a table. cli_rows_take() also releases the rows. */
json_t *cli_rows_list(cli_rows *rows);
json_t *cli_rows_take(cli_rows *rows);

/* cli_rows_print() prints the rows and releases them: the table, or as cli_json_print() does an
 * object whose member @key they are. */
cli_exit cli_rows_print(cli_rows *rows, const char *key, const char *verb);

#endif /* CLI_ROWS_H */
