/*
 * table.c - tables as aligned text, Markdown or HTML
 */
#include "table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/array.h"
#include "html.h"
#include "wrap.h"

/* Minimum width of the last column. */
#define LAST_LEAST 40

typedef struct column {
    char *head;
    lab_align align;
} column;

/* The cells of all rows, one after another; cell i is in column i % column_count. */
struct lab_table {
    column *columns;
    size_t column_count;
    size_t keys; /* key columns */
    char **cells;
    size_t cell_count;
    size_t row_begin; /* the first cell of the current row */
    size_t *rules;    /* a line is drawn before each of these rows */
    size_t rule_count;
    bool failed; /* memory ran out */
};

/* -------------------------------------------------------------------------- */
/* Text                                                                       */
/* -------------------------------------------------------------------------- */

static const char *const sequences[] = {
    [LAB_PLAIN] = "\033[0m", [LAB_BOLD] = "\033[1m", [LAB_GOOD] = "\033[32m",
    [LAB_WARN] = "\033[33m", [LAB_BAD] = "\033[31m", [LAB_FAINT] = "\033[2m",
};

const char *lab_style_sequence(lab_style style)
{
    return sequences[style];
}

/* The length of the colour sequence at @text, or 0 if none. */
static size_t colour_length(const char *text)
{
    if (text[0] != '\033' || text[1] != '[')
        return 0;
    size_t length = 2 + strspn(text + 2, "0123456789;");
    return text[length] == 'm' ? length + 1 : 0;
}

int lab_text_width(const char *text)
{
    mbstate_t state = { 0 };
    int width = 0;
    while (*text) {
        size_t skip = colour_length(text);
        if (skip == 0) {
            wchar_t character;
            skip = mbrtowc(&character, text, strlen(text), &state);
            bool valid = skip != (size_t)-1 && skip != (size_t)-2;
            int columns = valid ? wcwidth(character) : 1;
            width += columns > 0 ? columns : 0;
            if (!valid) { /* not valid in this locale: one column per byte */
                memset(&state, 0, sizeof state);
                skip = 1;
            }
        }
        text += skip;
    }
    return width;
}

/* Prints @text for Markdown, without colours and with bars escaped. */
static void print_markdown_cell(FILE *stream, const char *text)
{
    while (*text) {
        size_t colour = colour_length(text);
        if (colour == 0) {
            if (*text == '|')
                fputc('\\', stream);
            fputc(*text, stream);
        }
        text += colour ? colour : 1;
    }
}

/* -------------------------------------------------------------------------- */
/* Building                                                                   */
/* -------------------------------------------------------------------------- */

lab_table *lab_table_create(void)
{
    lab_table *table = calloc(1, sizeof *table);
    if (table)
        table->keys = 1;
    return table;
}

void lab_table_keys(lab_table *table, size_t count)
{
    if (table)
        table->keys = count;
}

void lab_table_destroy(lab_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->column_count; i++)
        free(table->columns[i].head);
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->columns);
    free(table->cells);
    free(table->rules);
    free(table);
}

size_t lab_table_width(const lab_table *table)
{
    return table ? table->column_count : 0;
}

/* Takes ownership of @text. */
static void add_cell(lab_table *table, char *text)
{
    if (!text || !lab_grow(&table->cells, table->cell_count, sizeof *table->cells)) {
        free(text);
        table->failed = true;
        return;
    }
    if (table->cell_count - table->row_begin == table->column_count)
        table->row_begin = table->cell_count;
    table->cells[table->cell_count++] = text;
}

/* Adds an empty cell to the rows before the current one, which have @width. */
static void widen_rows(lab_table *table, size_t width)
{
    size_t rows = width ? table->row_begin / width : 0;
    for (size_t row = rows; row > 0; row--) {
        char *empty = strdup("");
        if (!empty || !lab_grow(&table->cells, table->cell_count, sizeof *table->cells)) {
            free(empty);
            table->failed = true;
            return;
        }
        char **place = &table->cells[row * width];
        memmove(place + 1, place, (table->cell_count++ - row * width) * sizeof *place);
        *place = empty;
    }
    table->row_begin += rows;
}

void lab_table_column(lab_table *table, const char *head, lab_align align)
{
    if (!table || table->failed)
        return;
    if (!lab_grow(&table->columns, table->column_count, sizeof *table->columns)) {
        table->failed = true;
        return;
    }
    column *added = &table->columns[table->column_count];
    added->align = align;
    added->head = strdup(head);
    table->failed = !added->head;
    if (added->head)
        widen_rows(table, table->column_count++);
}

void lab_table_cell(lab_table *table, const char *format, ...)
{
    va_list list;
    char *text;
    if (!table || table->failed)
        return;
    va_start(list, format);
    add_cell(table, vasprintf(&text, format, list) < 0 ? NULL : text);
    va_end(list);
}

void lab_table_row_end(lab_table *table)
{
    if (!table || table->cell_count == table->row_begin)
        return;
    while (!table->failed && table->cell_count - table->row_begin < table->column_count)
        add_cell(table, strdup(""));
    table->row_begin = table->cell_count;
}

void lab_table_row_drop(lab_table *table)
{
    while (table && table->cell_count > table->row_begin)
        free(table->cells[--table->cell_count]);
}

void lab_table_rule(lab_table *table)
{
    lab_table_row_end(table);
    if (!table || table->failed || table->column_count == 0)
        return;
    if (!lab_grow(&table->rules, table->rule_count, sizeof *table->rules)) {
        table->failed = true;
        return;
    }
    table->rules[table->rule_count++] = table->cell_count / table->column_count;
}

/* -------------------------------------------------------------------------- */
/* Printing                                                                   */
/* -------------------------------------------------------------------------- */

static void measure_columns(const lab_table *table, int *widths)
{
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = lab_text_width(table->columns[i].head);
    for (size_t i = 0; i < table->cell_count; i++) {
        int width = lab_text_width(table->cells[i]);
        int *widest = &widths[i % table->column_count];
        *widest = width > *widest ? width : *widest;
    }
}

/* Columns that are printed together: the key columns, and those from first to before end. */
typedef struct block {
    size_t keys, first, end;
    const int *widths;
} block;

/* The column of @part after @i; starts with SIZE_MAX; its end is past the last. */
static size_t next_column(const block *part, size_t i)
{
    i = i == SIZE_MAX ? 0 : i + 1;
    return i < part->keys ? i : i < part->first ? part->first : i;
}

/* Pending spaces are written only before text, so no line has trailing spaces. */
static int print_text_cell(FILE *stream, const char *text, lab_align align, int width, int owed)
{
    int fill = width - lab_text_width(text);
    if (!*text)
        return owed + fill;
    fprintf(stream, "%*s%s", owed + (align == LAB_RIGHT ? fill : 0), "", text);
    return align == LAB_RIGHT ? 0 : fill;
}

static void print_text_row(const lab_table *table, FILE *stream, const block *part,
                           char *const *cells)
{
    int owed = 0, at = 0;
    for (size_t i = next_column(part, SIZE_MAX); i < part->end; i = next_column(part, i)) {
        const char *text = cells ? cells[i] : table->columns[i].head;
        owed += i ? 2 : 0;
        at += i ? 2 : 0;
        if (lab_text_width(text) > part->widths[i]) {
            const lab_wrap wrap = { .at = at, .indent = at, .limit = at + part->widths[i] };
            fprintf(stream, "%*s", owed, "");
            lab_wrap_print(stream, text, strlen(text), wrap);
            return;
        }
        owed = print_text_cell(stream, text, table->columns[i].align, part->widths[i], owed);
        at += part->widths[i];
    }
    fputc('\n', stream);
}

static void print_text_rule(FILE *stream, const block *part)
{
    for (size_t i = next_column(part, SIZE_MAX); i < part->end; i = next_column(part, i)) {
        fputs(i ? "  " : "", stream);
        for (int j = 0; j < part->widths[i]; j++)
            fputc('-', stream);
    }
    fputc('\n', stream);
}

static bool has_heads(const lab_table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].head[0])
            return true;
    return false;
}

static bool rule_before(const lab_table *table, size_t row)
{
    for (size_t i = 0; i < table->rule_count; i++)
        if (table->rules[i] == row)
            return true;
    return false;
}

static void print_block(const lab_table *table, FILE *stream, const block *part)
{
    size_t rows = table->cell_count / table->column_count;
    if (has_heads(table)) {
        print_text_row(table, stream, part, NULL);
        print_text_rule(stream, part);
    }
    for (size_t row = 0; row < rows; row++) {
        if (row && rule_before(table, row))
            print_text_rule(stream, part);
        print_text_row(table, stream, part, table->cells + row * table->column_count);
    }
}

/* The total width of the columns before @end, with spaces between them. */
static int width_before(const int *widths, size_t end)
{
    int width = 0;
    for (size_t i = 0; i < end; i++)
        width += widths[i] + (i ? 2 : 0);
    return width;
}

/* Narrows the last column, if it is text, so all fit in a line or, if that leaves it too narrow, so
 * it fits below, after the @keys key columns. */
static void narrow_last(const lab_table *table, size_t keys, int *widths)
{
    size_t last = table->column_count - 1;
    int room = LAB_LINE_WIDTH - width_before(widths, last) - 2;
    if (room < LAST_LEAST)
        room = LAB_LINE_WIDTH - width_before(widths, keys < last ? keys : last) - 2;
    if (table->columns[last].align == LAB_LEFT && room >= LAST_LEAST && widths[last] > room)
        widths[last] = room;
}

/* Columns that do not fit in a line continue below, after a repetition of the key columns. */
static void print_text(const lab_table *table, FILE *stream, int *widths)
{
    size_t keys = table->keys < table->column_count ? table->keys : table->column_count;
    block part = { .keys = keys, .first = keys, .end = keys, .widths = widths };
    narrow_last(table, keys, widths);
    do {
        int width = width_before(widths, keys);
        for (part.end = part.first; part.end < table->column_count; part.end++) {
            width += 2 + widths[part.end];
            if (width > LAB_LINE_WIDTH && part.end > part.first)
                break;
        }
        fputs(part.first > keys ? "\n" : "", stream);
        print_block(table, stream, &part);
        part.first = part.end;
    } while (part.end < table->column_count);
}

static void print_markdown_row(const lab_table *table, FILE *stream, char *const *cells)
{
    for (size_t i = 0; i < table->column_count; i++) {
        fputs("| ", stream);
        print_markdown_cell(stream, cells ? cells[i] : table->columns[i].head);
        fputc(' ', stream);
    }
    fputs("|\n", stream);
}

static void print_markdown(const lab_table *table, FILE *stream)
{
    size_t rows = table->cell_count / table->column_count;
    print_markdown_row(table, stream, NULL);
    for (size_t i = 0; i < table->column_count; i++)
        fputs(table->columns[i].align == LAB_RIGHT ? "|---:" : "|---", stream);
    fputs("|\n", stream);
    for (size_t row = 0; row < rows; row++)
        print_markdown_row(table, stream, table->cells + row * table->column_count);
}

/* ---- HTML ---- */

static void print_html_text(FILE *stream, const char *text, size_t length)
{
    char piece[256];
    while (length > 0) { /* truncate between characters */
        size_t size = 0, next = 0;
        while (next < length && next + 4 < sizeof piece) {
            int bytes = lab_html_length(text + next);
            next += bytes > 0 ? (size_t)bytes : 1;
            size = next;
        }
        memcpy(piece, text, size);
        piece[size] = '\0';
        lab_html_text(stream, piece);
        text += size;
        length -= size;
    }
}

/* The class for the colour sequence at @text, NULL for the reset sequence. */
static const char *class_of(const char *text)
{
    static const char *const names[] = { [LAB_BOLD] = "bold",
                                         [LAB_GOOD] = "good",
                                         [LAB_WARN] = "warn",
                                         [LAB_BAD] = "bad",
                                         [LAB_FAINT] = "faint" };
    for (int i = LAB_BOLD; i <= LAB_FAINT; i++)
        if (strncmp(text, sequences[i], strlen(sequences[i])) == 0)
            return names[i];
    return NULL;
}

static void print_html_cell(FILE *stream, const char *text)
{
    bool open = false;
    while (*text) {
        const char *next = text;
        while (*next && colour_length(next) == 0)
            next++;
        print_html_text(stream, text, (size_t)(next - text));
        text = next + colour_length(next);
        if (text == next)
            break;
        fputs(open ? "</span>" : "", stream);
        open = class_of(next) != NULL;
        if (open)
            fprintf(stream, "<span class=\"%s\">", class_of(next));
    }
    fputs(open ? "</span>" : "", stream);
}

/* A cell that would make its column too wide may be broken into lines. */
#define LONG_CELL 22

/* On a narrow screen cells are stacked, each with the head of its column before it. */
static void print_html_head(FILE *stream, const char *head)
{
    if (!*head)
        return;
    fputs(" data-h=\"", stream);
    lab_html_text(stream, head);
    fputc('"', stream);
}

static void print_html_row(const lab_table *table, FILE *stream, const char *element,
                           char *const *cells)
{
    fputs("<tr>", stream);
    for (size_t i = 0; i < table->column_count; i++) {
        const char *text = cells ? cells[i] : table->columns[i].head;
        bool right = table->columns[i].align == LAB_RIGHT;
        const char *kind = right                              ? " class=\"r\""
                           : lab_text_width(text) > LONG_CELL ? " class=\"long\""
                                                              : "";
        fprintf(stream, "<%s%s", element, kind);
        if (cells)
            print_html_head(stream, table->columns[i].head);
        fputc('>', stream);
        print_html_cell(stream, text);
        fprintf(stream, "</%s>", element);
    }
    fputs("</tr>\n", stream);
}

static void print_html(const lab_table *table, FILE *stream)
{
    size_t rows = table->cell_count / table->column_count;
    fputs("<table>\n", stream);
    if (has_heads(table)) {
        fputs("<thead>\n", stream);
        print_html_row(table, stream, "th", NULL);
        fputs("</thead>\n", stream);
    }
    fputs("<tbody>\n", stream);
    for (size_t row = 0; row < rows; row++) {
        if (row && rule_before(table, row))
            fputs("</tbody>\n<tbody>\n", stream);
        print_html_row(table, stream, "td", table->cells + row * table->column_count);
    }
    fputs("</tbody>\n</table>\n", stream);
}

bool lab_table_print(const lab_table *table, FILE *stream, lab_table_form form)
{
    if (!table || table->failed)
        return false;
    if (table->column_count == 0)
        return true;
    int *widths = calloc(table->column_count, sizeof *widths);
    if (!widths)
        return false;
    measure_columns(table, widths);
    if (form == LAB_HTML)
        print_html(table, stream);
    else if (form == LAB_MARKDOWN)
        print_markdown(table, stream);
    else
        print_text(table, stream, widths);
    free(widths);
    return true;
}
