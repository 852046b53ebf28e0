/*
 * test_table.c - text tables, and human-readable times and sizes
 */
#include "run_tests.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report/format.h"
#include "lab/report/table.h"
#include "lab/report/wrap.h"

static void assert_prints(const lab_table *table, lab_table_form form, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_true(lab_table_print(table, stream, form));
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static void lines_columns_up(void **state)
{
    lab_table *table = lab_table_create();
    lab_table_column(table, "kernel", LAB_LEFT);
    lab_table_column(table, "rate", LAB_RIGHT);
    lab_table_column(table, "note", LAB_LEFT);
    lab_table_cell(table, "a|b");
    lab_table_cell(table, "%.1f", 1000.5);
    lab_table_cell(table, "%s", "fast");
    lab_table_rule(table);
    lab_table_cell(table, "\033[32mtile\033[0m");
    lab_table_cell(table, "%.1f", 3.25);
    lab_table_row_end(table);
    assert_prints(table, LAB_TEXT,
                  "kernel    rate  note\n"
                  "------  ------  ----\n"
                  "a|b     1000.5  fast\n"
                  "------  ------  ----\n"
                  "\033[32mtile\033[0m       3.2\n");
    assert_prints(table, LAB_MARKDOWN,
                  "| kernel | rate | note |\n"
                  "|---|---:|---|\n"
                  "| a\\|b | 1000.5 | fast |\n"
                  "| tile | 3.2 |  |\n");
    lab_table_destroy(table);
}

/* Columns that do not fit the line are continued below, after the key columns. */
static void no_line_is_too_long(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    lab_table *table = lab_table_create();
    assert_non_null(stream);
    for (int i = 0; i < 12; i++)
        lab_table_column(table, i == 0 ? "problem" : "a figure", LAB_RIGHT);
    lab_table_keys(table, 2);
    for (int i = 0; i < 24; i++)
        lab_table_cell(table, "%d seconds, %d", 100 + i, i);
    assert_true(lab_table_print(table, stream, LAB_TEXT));
    fclose(stream);
    int longest = 0, rows = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        longest = lab_text_width(line) > longest ? lab_text_width(line) : longest;
        rows += strncmp(line, "  100 seconds, 0   101 seconds, 1  ", 35) == 0 ||
                strncmp(line, " 100 seconds, 0   101 seconds, 1  ", 34) == 0;
    }
    assert_in_range(longest, 60, LAB_LINE_WIDTH);
    assert_int_equal(rows, 2);
    free(text);
    lab_table_destroy(table);
}

/* A long text in the last column is wrapped within the column. */
static void long_texts_go_on_below(void **state)
{
    lab_table *table = lab_table_create();
    lab_table_column(table, "", LAB_LEFT);
    lab_table_column(table, "", LAB_LEFT);
    lab_table_cell(table, "WARN");
    lab_table_cell(table, "%s",
                   "a rival cannot be imported: there is no module of that name (python3 -m pip "
                   "install it; HEED_PYTHON names the interpreter)");
    assert_prints(table, LAB_TEXT,
                  "WARN  a rival cannot be imported: there is no module of that name (python3 -m "
                  "pip install it; HEED_PYTHON names the\n"
                  "      interpreter)\n");
    lab_table_destroy(table);
}

/* If the columns before it leave too little room, it is printed below, after the first column
 * alone. */
static void long_texts_stand_below(void **state)
{
    lab_table *table = lab_table_create();
    char *text = NULL;
    size_t size = 0;
    for (int i = 0; i < 3; i++)
        lab_table_column(table, "", LAB_LEFT);
    for (int i = 0; i < 2; i++)
        lab_table_cell(table, "a-column-of-forty-eight-letters-and-a-few-more-%d", i);
    lab_table_cell(table, "%s",
                   "share the work among the threads of the block, and combine the parts by "
                   "shuffles or shared memory, whichever is faster on the device at hand");
    FILE *stream = open_memstream(&text, &size);
    assert_true(lab_table_print(table, stream, LAB_TEXT));
    fclose(stream);
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        assert_in_range(length, 0, LAB_LINE_WIDTH);
        line += length + (line[length] == '\n');
    }
    free(text);
    lab_table_destroy(table);
}

static void counts_terminal_columns(void **state)
{
    assert_int_equal(lab_text_width("abc"), 3);
    assert_int_equal(lab_text_width("\033[1;31mabc\033[0m"), 3);
    assert_int_equal(lab_text_width("\xff\xfe"), 2); /* invalid in any locale: a column per byte */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return;
    assert_int_equal(lab_text_width("\xc2\xb5s"), 2);    /* a micro sign */
    assert_int_equal(lab_text_width("\xe6\xb3\xa8"), 2); /* a wide character */
    assert_int_equal(lab_text_width("e\xcc\x81"), 1);    /* a combining accent */
    assert_int_equal(lab_text_width("\xc2"), 1);         /* truncated */
    setlocale(LC_CTYPE, "C");
}

static void survives_misuse(void **state)
{
    lab_table *empty = lab_table_create();
    assert_prints(empty, LAB_TEXT, "");
    lab_table_row_end(empty);
    lab_table_rule(empty);
    lab_table_destroy(empty);
    lab_table_column(NULL, "x", LAB_LEFT);
    assert_int_equal(lab_table_width(NULL), 0);
    lab_table_row_drop(NULL);
    lab_table_cell(NULL, "x");
    lab_table_row_end(NULL);
    lab_table_rule(NULL);
    lab_table_destroy(NULL);
    assert_false(lab_table_print(NULL, stdout, LAB_TEXT));
}

static void formats_times(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } times[] = {
        { 0, "0.00 ns" },       { 1.234e-9, "1.23 ns" },  { 9.9951e-7, "1.00 us" },
        { 123.4e-6, "123 us" }, { 3.2715e-3, "3.27 ms" }, { 0.0999, "99.9 ms" },
        { 0.99949, "999 ms" },  { 0.9996, "1.00 s" },     { 59.96, "60.0 s" },
        { 9999.4, "9999 s" },   { 123456, "1.23e+05 s" }, { -1, "-" },
        { NAN, "-" },           { INFINITY, "-" },
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[LAB_FORMAT_SIZE];
        assert_string_equal(lab_format_seconds(times[i].seconds, text), times[i].text);
    }
}

static void formats_sizes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        { 0, "0 B" },
        { 1023, "1023 B" },
        { 1024, "1.00 KiB" },
        { 10230, "9.99 KiB" },
        { 102400, "100 KiB" },
        { 1048575, "1.00 MiB" },
        { UINT64_MAX, "16.0 EiB" },
        { (uint64_t)3 << 29, "1.50 GiB" },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char text[LAB_FORMAT_SIZE];
        assert_string_equal(lab_format_bytes(sizes[i].bytes, text), sizes[i].text);
    }
}

RUN_TESTS(lines_columns_up, no_line_is_too_long, long_texts_go_on_below, long_texts_stand_below,
          counts_terminal_columns, survives_misuse, formats_times, formats_sizes)
