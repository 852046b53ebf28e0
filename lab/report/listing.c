/*
 * listing.c - rows that are described once, and written as a table, a table of a page, JSON or CSV
 */
#include "listing.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "format.h"

lab_listing lab_listing_begin(lab_listing_form form)
{
    if (form == LAB_LIST_JSON || form == LAB_LIST_CSV)
        return (
            lab_listing){ .form = form, .json = true, .list = json_array(), .row = json_object() };
    return (lab_listing){ .form = form, .table = lab_table_create() };
}

lab_listing lab_listing_in(lab_page *page)
{
    return (lab_listing){ .page = page, .table = lab_table_create() };
}

void lab_listing_free(lab_listing *rows)
{
    lab_table_destroy(rows->table);
    json_decref(rows->list);
    json_decref(rows->row);
    json_decref(rows->outer);
    json_decref(rows->heads);
    *rows = (lab_listing){ .form = rows->form, .json = rows->json };
}

/* -------------------------------------------------------------------------- */
/* Cells                                                                      */
/* -------------------------------------------------------------------------- */

json_t *lab_json_text(const char *text)
{
    json_t *string = json_string(text);
    char *copy = string ? NULL : strdup(text);
    for (char *byte = copy; byte && *byte; byte++)
        *byte = (unsigned char)*byte < 0x80 ? *byte : '?';
    if (copy)
        string = json_string(copy);
    free(copy);
    return string;
}

void lab_cell_json(lab_listing *rows, const char *key, json_t *value)
{
    if (!rows->json || !key)
        json_decref(value);
    else if (json_object_set_new(rows->row, key, value) != 0)
        rows->failed = true;
}

void lab_cell_open(lab_listing *rows, const char *key)
{
    rows->outer = rows->row;
    rows->key = key;
    rows->row = rows->json ? json_object() : NULL;
}

void lab_cell_close(lab_listing *rows, bool known)
{
    json_t *object = rows->row;
    rows->row = rows->outer;
    rows->outer = NULL;
    lab_cell_json(rows, rows->key, known ? json_incref(object) : json_null());
    json_decref(object);
}

void lab_cell_style(lab_listing *rows, lab_style style)
{
    rows->style = style;
}

void lab_cell_lead(lab_listing *rows, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(rows->lead, sizeof rows->lead, format, list);
    va_end(list);
}

void lab_cell_blank(lab_listing *rows, bool blank)
{
    rows->blank |= blank;
}

/* Writes the next cell of the table, or nothing if there is no memory. */
static void put_text(lab_listing *rows, const char *text)
{
    char *escaped = rows->page ? lab_page_escape(rows->page, text) : NULL;
    bool markdown = rows->page && rows->page->form == LAB_PAGE_MARKDOWN;
    bool colour = rows->page || rows->form == LAB_LIST_COLOUR;
    const char *before = "", *after = "";
    if (markdown)
        before = after = rows->style == LAB_BAD ? "**" : "";
    else if (colour && rows->style != LAB_PLAIN) {
        before = lab_style_sequence(rows->style);
        after = lab_style_sequence(LAB_PLAIN);
    }
    lab_table_cell(rows->table, "%s%s%s%s", rows->lead, before, escaped ? escaped : text, after);
    free(escaped);
}

/* Makes the next cell's column, if no row has had it. */
static void put_head(lab_listing *rows, const char *head, lab_align align)
{
    if (rows->at++ < lab_table_width(rows->table))
        return;
    char *escaped = rows->page ? lab_page_escape(rows->page, head) : NULL;
    lab_table_column(rows->table, escaped ? escaped : head, align);
    free(escaped);
}

static void __attribute__((format(printf, 4, 0)))
put(lab_listing *rows, const char *head, lab_align align, const char *format, va_list list)
{
    char *text = NULL;
    bool shown = !rows->json && head;
    if (shown)
        put_head(rows, head, align);
    if (shown && rows->blank)
        lab_table_cell(rows->table, "%s", "");
    else if (shown && vasprintf(&text, format, list) < 0) {
        rows->failed = true;
        text = NULL;
    } else if (shown)
        put_text(rows, text);
    free(text);
    rows->style = LAB_PLAIN;
    rows->lead[0] = '\0';
}

void lab_cell_left(lab_listing *rows, const char *head, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put(rows, head, LAB_LEFT, format, list);
    va_end(list);
}

void lab_cell_right(lab_listing *rows, const char *head, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put(rows, head, LAB_RIGHT, format, list);
    va_end(list);
}

/* Makes the next cell faint in a page if its value is unknown. */
static void fade(lab_listing *rows, bool known)
{
    if (rows->page && !known)
        rows->style = LAB_FAINT;
}

void lab_cell_text(lab_listing *rows, const char *key, const char *head, const char *text)
{
    fade(rows, text);
    lab_cell_json(rows, key, text ? lab_json_text(text) : json_null());
    lab_cell_left(rows, head, "%s", text ? text : "-");
}

void lab_cell_styled(lab_listing *rows, const char *key, const char *head, lab_style style,
                     const char *text)
{
    rows->style = style;
    lab_cell_text(rows, key, head, text);
}

void lab_cell_count(lab_listing *rows, const char *key, const char *head, int64_t count)
{
    char text[32] = "-";
    if (count >= 0)
        snprintf(text, sizeof text, "%lld", (long long)count);
    fade(rows, count >= 0);
    lab_cell_json(rows, key, count < 0 ? json_null() : json_integer((json_int_t)count));
    lab_cell_right(rows, head, "%s", text);
}

void lab_cell_seconds(lab_listing *rows, const char *key, const char *head, double seconds)
{
    char text[LAB_FORMAT_SIZE];
    bool known = isfinite(seconds) && seconds > 0;
    lab_cell_json(rows, key, known ? json_real(seconds) : json_null());
    lab_cell_right(rows, head, "%s", lab_format_seconds(known ? seconds : -1, text));
}

void lab_cell_bytes(lab_listing *rows, const char *key, const char *head, uint64_t bytes)
{
    char text[LAB_FORMAT_SIZE];
    lab_cell_json(rows, key, json_integer((json_int_t)bytes));
    lab_cell_right(rows, head, "%s", lab_format_bytes(bytes, text));
}

void lab_cell_real(lab_listing *rows, const char *key, const char *head, double value,
                   const char *format, ...)
{
    bool known = isfinite(value) && value >= 0;
    va_list list;
    fade(rows, known);
    lab_cell_json(rows, key, known ? json_real(value) : json_null());
    va_start(list, format);
    if (known)
        put(rows, head, LAB_RIGHT, format, list);
    else
        lab_cell_right(rows, head, "-");
    va_end(list);
}

/* -------------------------------------------------------------------------- */
/* Rows                                                                       */
/* -------------------------------------------------------------------------- */

static void begin_row(lab_listing *rows)
{
    rows->row = rows->json ? json_object() : NULL;
    rows->at = 0;
    rows->blank = false;
}

void lab_row_end(lab_listing *rows)
{
    lab_table_row_end(rows->table);
    if (rows->json && json_array_append_new(rows->list, rows->row) != 0)
        rows->failed = true;
    rows->some = true;
    begin_row(rows);
}

void lab_listing_heads(lab_listing *rows)
{
    lab_table_row_drop(rows->table);
    json_decref(rows->heads);
    rows->heads = rows->row;
    begin_row(rows);
}

void lab_listing_rule(lab_listing *rows, const char *heads)
{
    lab_table_rule(rows->table);
    for (const char *head = heads; head && *head;) {
        int length = (int)strcspn(head, "|");
        lab_table_cell(rows->table, "%.*s", length, head);
        head += length + (head[length] == '|');
    }
    if (heads)
        lab_table_rule(rows->table);
}

void lab_listing_keys(lab_listing *rows, size_t count)
{
    lab_table_keys(rows->table, count);
}

/* -------------------------------------------------------------------------- */
/* The whole                                                                  */
/* -------------------------------------------------------------------------- */

json_t *lab_listing_rows(lab_listing *rows)
{
    json_t *list = rows->list;
    rows->list = rows->json ? json_array() : NULL;
    if (rows->failed) {
        json_decref(list);
        list = NULL;
    }
    return list;
}

json_t *lab_listing_take(lab_listing rows)
{
    json_t *list = lab_listing_rows(&rows);
    lab_listing_free(&rows);
    return list;
}

/* Control characters become '?': a terminal may show the lines. */
static void print_quoted(FILE *stream, const char *text)
{
    putc('"', stream);
    for (int size = 1; *text; text += size) {
        int control = lab_control_size(text);
        size = control > 0 ? control : 1;
        if (*text == '"')
            putc('"', stream);
        putc(control > 0 ? '?' : *text, stream);
    }
    putc('"', stream);
}

static void print_field(FILE *stream, const json_t *value)
{
    if (json_is_string(value))
        print_quoted(stream, json_string_value(value));
    else if (json_is_real(value))
        fprintf(stream, "%.9g", json_real_value(value));
    else if (json_is_integer(value))
        fprintf(stream, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        fprintf(stream, "%d", json_is_true(value));
}

static void print_csv(const lab_listing *rows, FILE *stream)
{
    const char *key, *before = "";
    json_t *value, *row, *heads = rows->heads ? rows->heads : json_array_get(rows->list, 0);
    size_t i;
    json_object_foreach(heads, key, value)
    {
        fprintf(stream, "%s%s", before, key);
        before = ",";
    }
    if (heads)
        putc('\n', stream);
    json_array_foreach(rows->list, i, row)
    {
        before = "";
        json_object_foreach(row, key, value)
        {
            fputs(before, stream);
            print_field(stream, value);
            before = ",";
        }
        putc('\n', stream);
    }
}

bool lab_listing_print(lab_listing *rows, FILE *stream)
{
    bool good = !rows->failed;
    if (rows->page) {
        rows->page->failed |= !good;
        good &= lab_page_table(rows->page, rows->table);
    } else if (rows->form == LAB_LIST_CSV) {
        if (good)
            print_csv(rows, stream);
    } else
        good = good && lab_table_print(rows->table, stream, LAB_TEXT);
    lab_listing_free(rows);
    return good;
}
