/*
 * test_listing.c - one description of rows, written in each form
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/report/listing.h"

/* Adds a row with every kind of column. Unknown values are negative or NULL. */
static void describe(lab_listing *rows, const char *name, int64_t count, double seconds)
{
    lab_cell_styled(rows, "name", "name|is", LAB_BAD, name);
    lab_cell_count(rows, "count", "count", count);
    lab_cell_open(rows, "inner");
    lab_cell_seconds(rows, "seconds", "time", seconds);
    lab_cell_close(rows, seconds > 0);
    lab_cell_json(rows, "good", json_boolean(count > 1));
    lab_cell_left(rows, "note", "%s>", name ? "a note" : "");
    lab_cell_lead(rows, "%d us, ", 7);
    lab_cell_style(rows, LAB_BAD);
    lab_cell_real(rows, "ratio", "ratio", seconds > 0 ? 1.5 : (double)NAN, "%.2fx", 1.5);
    lab_row_end(rows);
}

static void describe_all(lab_listing *rows)
{
    describe(rows, "a \"b\"", 2, 3e-6);
    describe(rows, NULL, -1, -1);
}

static char *print(lab_listing rows)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_true(lab_listing_print(&rows, stream));
    fclose(stream);
    return text;
}

static void assert_prints(lab_listing rows, const char *expected)
{
    char *text = print(rows);
    assert_string_equal(text, expected);
    free(text);
}

static void writes_text(void **state)
{
    lab_listing rows = lab_listing_begin(LAB_LIST_TEXT);
    describe_all(&rows);
    assert_prints(rows, "name|is  count     time  note           ratio\n"
                        "-------  -----  -------  -------  -----------\n"
                        "a \"b\"        2  3.00 us  a note>  7 us, 1.50x\n"
                        "-            -        -  >            7 us, -\n");
    rows = lab_listing_begin(LAB_LIST_COLOUR);
    describe(&rows, "a", 2, 3e-6);
    assert_prints(rows,
                  "name|is  count     time  note           ratio\n"
                  "-------  -----  -------  -------  -----------\n"
                  "\033[31ma\033[0m            2  3.00 us  a note>  7 us, \033[31m1.50x\033[0m\n");
}

static void writes_json(void **state)
{
    lab_listing rows = lab_listing_begin(LAB_LIST_JSON);
    describe_all(&rows);
    json_t *said = lab_listing_take(rows);
    json_t *expected = json_pack("[{s:s, s:i, s:{s:f}, s:b, s:f}, {s:n, s:n, s:n, s:b, s:n}]",
                                 "name", "a \"b\"", "count", 2, "inner", "seconds", 3e-6, "good", 1,
                                 "ratio", 1.5, "name", "count", "inner", "good", 0, "ratio");
    assert_non_null(expected);
    assert_true(json_equal(said, expected));
    json_decref(said);
    json_decref(expected);
}

static void writes_csv(void **state)
{
    lab_listing rows = lab_listing_begin(LAB_LIST_CSV);
    describe(&rows, "heads", 1, 1);
    lab_listing_free(&rows);
    rows = lab_listing_begin(LAB_LIST_CSV);
    for (int i = 0; i < 2; i++) {
        lab_cell_text(&rows, "name", "what", i ? NULL : "a \"b\",\n\x1b c");
        lab_cell_count(&rows, "count", "count", i ? -1 : 2);
        lab_cell_json(&rows, "good", json_boolean(!i));
        lab_cell_seconds(&rows, "seconds", "time", i ? 0 : 3e-6);
        lab_cell_left(&rows, "note", "%s", "not in CSV");
        lab_row_end(&rows);
    }
    assert_prints(rows, "name,count,good,seconds\n\"a \"\"b\"\",?? c\",2,1,3e-06\n,,0,\n");
}

static char *print_page(lab_page_form form)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    lab_page page = { .stream = stream, .form = form };
    lab_listing rows = lab_listing_in(&page);
    describe_all(&rows);
    assert_true(lab_listing_print(&rows, NULL));
    assert_false(page.failed);
    fclose(stream);
    return text;
}

static void writes_pages(void **state)
{
    char *markdown = print_page(LAB_PAGE_MARKDOWN), *html = print_page(LAB_PAGE_HTML);
    assert_string_equal(markdown, "| name\\|is | count | time | note | ratio |\n"
                                  "|---|---:|---:|---|---:|\n"
                                  "| **a \"b\"** | 2 | 3.00 us | a note&gt; | 7 us, **1.50x** |\n"
                                  "| - | - | - | &gt; | 7 us, - |\n\n");
    assert_non_null(strstr(html, "<span class=\"bad\">a &quot;b&quot;</span>"));
    assert_non_null(strstr(html, "7 us, <span class=\"bad\">1.50x</span>"));
    assert_non_null(strstr(html, "<td data-h=\"name|is\"><span class=\"faint\">-</span></td>"));
    free(markdown);
    free(html);
}

/* The first rows may lack the last columns, and a row may be blank from some column on. */
static void rows_may_be_short(void **state)
{
    lab_listing rows = lab_listing_begin(LAB_LIST_TEXT);
    lab_cell_text(&rows, NULL, "name", "before");
    lab_row_end(&rows);
    for (int i = 0; i < 2; i++) {
        lab_cell_text(&rows, NULL, "name", i ? "second" : "first");
        lab_row_end(&rows);
        lab_cell_left(&rows, "name", "  kernel %d", i);
        lab_cell_right(&rows, "time", "%d us", i);
        lab_cell_blank(&rows, i == 0);
        lab_cell_text(&rows, NULL, "note", "seen");
        lab_cell_text(&rows, "key", NULL, "only in JSON");
        lab_row_end(&rows);
        lab_listing_rule(&rows, i ? NULL : "further");
    }
    assert_prints(rows, "name        time  note\n"
                        "----------  ----  ----\n"
                        "before\n"
                        "first\n"
                        "  kernel 0  0 us\n"
                        "----------  ----  ----\n"
                        "further\n"
                        "----------  ----  ----\n"
                        "second\n"
                        "  kernel 1  1 us  seen\n");
}

static void heads_stay_without_rows(void **state)
{
    static const struct {
        lab_listing_form form;
        const char *heads;
    } forms[] = { { LAB_LIST_TEXT, "name  time\n----  ----\n" },
                  { LAB_LIST_CSV, "name,seconds\n" } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int named = 0; named < 2; named++) {
            lab_listing rows = lab_listing_begin(forms[i].form);
            if (named) {
                lab_cell_text(&rows, "name", "name", "a long name that is dropped");
                lab_cell_seconds(&rows, "seconds", "time", 1);
                lab_listing_heads(&rows);
            }
            assert_false(rows.some);
            assert_prints(rows, named ? forms[i].heads : "");
        }
}

static void continues_lists(void **state)
{
    lab_listing rows = lab_listing_begin(LAB_LIST_JSON);
    describe(&rows, "a", 1, 1);
    json_t *first = lab_listing_rows(&rows);
    describe_all(&rows);
    json_t *rest = lab_listing_take(rows);
    assert_int_equal(json_array_size(first), 1);
    assert_int_equal(json_array_size(rest), 2);
    json_decref(first);
    json_decref(rest);
    rows = lab_listing_begin(LAB_LIST_TEXT);
    assert_null(lab_listing_take(rows));
}

static void repairs_texts_for_json(void **state)
{
    json_t *text = lab_json_text("a\xff");
    assert_string_equal(json_string_value(text), "a?");
    json_decref(text);
}

RUN_TESTS(writes_text, writes_json, writes_csv, writes_pages, rows_may_be_short,
          heads_stay_without_rows, continues_lists, repairs_texts_for_json)
