/*
 * rows.c - rows that are written once, and printed as a table, JSON or CSV
 */
#include "rows.h"

#include <math.h>
#include <string.h>

#include "report/format.h"

cli_rows cli_rows_begin(bool json)
{
    if (json)
        return (cli_rows){ .json = true, .list = json_array(), .row = json_object() };
    return (cli_rows){ .table = lab_table_create() };
}

void cli_rows_free(cli_rows *rows)
{
    lab_table_destroy(rows->table);
    json_decref(rows->list);
    json_decref(rows->row);
    *rows = (cli_rows){ .json = rows->json };
}

/* -------------------------------------------------------------------------- */
/* Cells                                                                      */
/* -------------------------------------------------------------------------- */

void cli_row_member(cli_rows *rows, const char *key, json_t *value)
{
    if (!rows->json || !key)
        json_decref(value);
    else if (json_object_set_new(rows->row, key, value) != 0) {
        json_decref(rows->row);
        rows->row = NULL;
    }
}

/* Makes the column of the next cell, in the first row. Returns false if there is no cell. */
static bool begin_cell(cli_rows *rows, const char *head, lab_align align)
{
    if (rows->json || !head)
        return false;
    if (!rows->headed && align == LAB_RIGHT)
        lab_table_column(rows->table, head, align);
    else if (!rows->headed)
        lab_table_columns(rows->table, head);
    return true;
}

void cli_row_cell(cli_rows *rows, const char *head, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (begin_cell(rows, head, LAB_LEFT))
        lab_table_vcell(rows->table, format, list);
    va_end(list);
}

void cli_row_text(cli_rows *rows, const char *key, const char *head, const char *text)
{
    cli_row_member(rows, key, text ? cli_json_text(text) : json_null());
    cli_row_cell(rows, head, "%s", text ? text : "-");
}

void cli_row_styled(cli_rows *rows, const char *key, const char *head, cli_style_name style,
                    const char *text)
{
    cli_row_text(rows, key, NULL, text);
    cli_row_cell(rows, head, "%s%s%s", cli_style(stdout, style), text,
                 cli_style(stdout, CLI_PLAIN));
}

static void add_number(cli_rows *rows, const char *key, const char *head, json_t *value,
                       const char *text)
{
    cli_row_member(rows, key, value);
    if (begin_cell(rows, head, LAB_RIGHT))
        lab_table_cell(rows->table, "%s", text);
}

void cli_row_count(cli_rows *rows, const char *key, const char *head, int64_t count)
{
    char text[32] = "-";
    if (count >= 0)
        snprintf(text, sizeof text, "%lld", (long long)count);
    add_number(rows, key, head, count < 0 ? json_null() : json_integer((json_int_t)count), text);
}

void cli_row_seconds(cli_rows *rows, const char *key, const char *head, double seconds)
{
    char text[LAB_FORMAT_SIZE];
    add_number(rows, key, head, cli_json_positive(seconds),
               lab_format_seconds(seconds > 0 ? seconds : -1, text));
}

void cli_row_bytes(cli_rows *rows, const char *key, const char *head, uint64_t bytes)
{
    char text[LAB_FORMAT_SIZE];
    add_number(rows, key, head, json_integer((json_int_t)bytes), lab_format_bytes(bytes, text));
}

void cli_row_real(cli_rows *rows, const char *key, const char *head, double value,
                  const char *format, ...)
{
    bool known = isfinite(value) && value >= 0;
    va_list list;
    va_start(list, format);
    cli_row_member(rows, key, known ? cli_json_real(value) : json_null());
    if (begin_cell(rows, head, LAB_RIGHT)) {
        if (known)
            lab_table_vcell(rows->table, format, list);
        else
            lab_table_cell(rows->table, "-");
    }
    va_end(list);
}

void cli_row_end(cli_rows *rows)
{
    rows->headed = true;
    lab_table_row_end(rows->table);
    if (rows->json) {
        rows->list = cli_json_append(rows->list, rows->row);
        rows->row = json_object();
    }
}

/* -------------------------------------------------------------------------- */
/* The whole                                                                  */
/* -------------------------------------------------------------------------- */

json_t *cli_rows_list(cli_rows *rows)
{
    json_t *list = rows->list;
    rows->list = rows->json ? json_array() : NULL;
    return list;
}

json_t *cli_rows_take(cli_rows *rows)
{
    json_t *list = cli_rows_list(rows);
    cli_rows_free(rows);
    return list;
}

void cli_rows_rule(cli_rows *rows, const char *heads)
{
    lab_table_rule(rows->table);
    for (const char *head = heads; *head;) {
        int length = (int)strcspn(head, "|");
        lab_table_cell(rows->table, "%.*s", length, head);
        head += length + (head[length] == '|');
    }
    lab_table_rule(rows->table);
}

cli_exit cli_rows_print(cli_rows *rows, const char *key, const char *verb)
{
    cli_exit code = rows->json ? cli_json_print(json_pack("{s:o}", key, cli_rows_list(rows)), verb)
                               : cli_table_print(rows->table);
    rows->table = NULL;
    cli_rows_free(rows);
    return code;
}
