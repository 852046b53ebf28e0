/*
 * test_report_html.c - pages and drawings with unusual texts and numbers
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "lab/report/html.h"
#include "lab/report/html_axis.h"
#include "lab/report/html_plot.h"
#include "lab/report/listing.h"
#include "well_formed.h"

/* U+202E, which reverses the direction of the following text */
static const char turn[] = { '\xe2', '\x80', '\xae', '\0' };

static char hostile[160];

static int make_hostile(void **state)
{
    snprintf(hostile, sizeof hostile,
             "<script>alert(1)</script>\"'&]]>--><img src=x onerror=y>\n\t\033[31m"
             "|`*_[x](javascript:y)\xff\xc3(%sevil\xc2\x9b",
             turn);
    return 0;
}

static const char *text_of(void put(FILE *stream, const char *text), const char *text)
{
    static char said[4096];
    memset(said, 0, sizeof said);
    FILE *stream = fmemopen(said, sizeof said - 1, "w");
    assert_non_null(stream);
    put(stream, text);
    fclose(stream);
    return said;
}

static void escapes_text(void **state)
{
    static const struct {
        const char *text, *html, *markdown;
    } rows[] = {
        { "plain_text__m64", "plain_text__m64", "plain_text__m64" },
        { "<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;", "&lt;b&gt;&amp;\"'" },
        { "a\nb\033c", "a\\x0ab\\x1bc", "a\\\\x0ab\\\\x1bc" },
        { "`*[x](y)~$\\", "`*[x](y)~$\\", "\\`\\*\\[x\\](y)\\~\\$\\\\" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
          "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        /* truncated, overlong, a surrogate, above the maximum, a lone continuation byte */
        { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", NULL },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", NULL },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", NULL },
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", NULL },
        { "\x80x", "\xef\xbf\xbdx", NULL },
        /* characters that reverse text, and multi-byte control characters */
        { turn, "\\xe2\\x80\\xae", NULL },
        { "\xc2\x9b"
          "31m",
          "\\xc2\\x9b31m", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(text_of(lab_html_text, rows[i].text), rows[i].html);
        if (rows[i].markdown)
            assert_string_equal(text_of(lab_markdown_text, rows[i].text), rows[i].markdown);
    }
}

/* A document with every kind of element, containing @text. */
static char *make_document(lab_page_form form, const char *text)
{
    char *said = NULL;
    size_t size;
    FILE *stream = open_memstream(&said, &size);
    lab_page page;
    lab_page_begin(&page, stream, form, text);
    lab_page_heading(&page, 2, "%s", text);
    lab_page_heading(&page, 3, "%s", text);
    lab_page_item(&page, "%s", text);
    lab_page_item(&page, "%s", text);
    lab_page_paragraph(&page, "%s", text);
    lab_page_item(&page, "%s", text);
    lab_page_warning(&page, "%s", text);
    lab_page_code(&page, "<i>`````\x1b");
    lab_listing rows = lab_listing_in(&page);
    for (int style = LAB_PLAIN; style <= LAB_FAINT; style += 2) {
        lab_cell_styled(&rows, NULL, text, (lab_style)style, text);
        lab_cell_style(&rows, (lab_style)(style + 1));
        lab_cell_right(&rows, "right", "%s", text);
        lab_row_end(&rows);
    }
    lab_listing_rule(&rows, NULL);
    lab_cell_left(&rows, "", "%s", "");
    lab_row_end(&rows);
    assert_true(lab_listing_print(&rows, NULL));
    assert_true(lab_page_end(&page));
    fclose(stream);
    return said;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static void makes_sound_pages(void **state)
{
    char long_text[3000];
    memset(long_text, '&', sizeof long_text);
    memcpy(long_text + 251, "\xe2\x82\xac", 3); /* at the end of a buffer */
    long_text[sizeof long_text - 1] = '\0';
    const char *const texts[] = { "plain", "", hostile, long_text };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *page = make_document(LAB_PAGE_HTML, texts[i]);
        const char *fault = well_formed(page);
        if (fault)
            fail_msg("text %zu: %s", i, fault);
        assert_int_equal(count_of(page, "<li>"), 3);
        assert_int_equal(count_of(page, "<td>") + count_of(page, "<td "), 8);
        assert_int_equal(count_of(page, "<span class=\"bad\">"), 1);
        assert_null(strstr(page, "<script"));
        free(page);
    }
}

/* A line of a table has one more unescaped bar than it has columns. */
static void keeps_tables_of_markdown_whole(void **state)
{
    char *document = make_document(LAB_PAGE_MARKDOWN, hostile);
    int rows = 0;
    for (char *line = strtok(document, "\n"); line; line = strtok(NULL, "\n")) {
        int bars = 0;
        for (const char *at = line; *line == '|' && *at; at++)
            if (*at == '\\' && at[1])
                at++;
            else
                bars += *at == '|';
        rows += *line == '|';
        assert_true(*line != '|' || bars == 3);
        assert_null(strstr(line, "<script"));
        assert_null(strstr(line, "<img"));
        assert_null(strstr(line, "[x]("));
    }
    assert_int_equal(rows, 2 + 4);
    free(document);
}

static void knows_bad_pages(void **state)
{
    const char *const *bad = WORDS("<p>", "</p>", "<p><b></p></b>", "<script></script>",
                                   "<p onclick=\"x\"></p>", "a & b", "a < b", "<p class=x></p>",
                                   "<p class=\"<\"></p>", "\x01", "\xff", "<a href=\"x\"></a>");
    for (size_t i = 0; bad[i]; i++)
        if (!well_formed(bad[i]))
            fail_msg("was accepted as well-formed: %s", bad[i]);
    assert_null(well_formed("<p class=\"a\">x &amp; y<b>z</b><meta/></p>\n"));
}

/* ---- Drawings ---- */

static const double odd[] = { 1, 0.5, 0, -1, (double)NAN, (double)INFINITY, 1e-300, 1e300, 34.2 };
#define ODD (sizeof odd / sizeof *odd)

static void check_drawing(char *said, bool drawn)
{
    const char *fault = well_formed(said);
    if (fault)
        fail_msg("%s", fault);
    assert_int_equal(strstr(said, "<svg") != NULL, drawn);
    assert_null(strstr(said, "nan"));
    assert_null(strstr(said, "inf"));
    free(said);
}

static void draws_odd_numbers(void **state)
{
    const char *labels[ODD], *const series[] = { hostile, "b", "c" };
    lab_plot_mark marks[3 * ODD];
    double shares[ODD], rivals[3 * ODD];
    size_t kinds[ODD];
    for (size_t i = 0; i < ODD; i++) {
        labels[i] = i ? "label" : hostile;
        shares[i] = odd[i] > 1e100 ? 2 : odd[i];
        kinds[i] = i;
        for (size_t j = 0; j < 3; j++) {
            marks[3 * i + j] = (lab_plot_mark){ odd[i], odd[(i + j) % ODD],
                                                odd[(i + 2 * j) % ODD] };
            rivals[3 * i + j] = odd[(i + j) % ODD] > 1e100 ? 1 : odd[(i + j) % ODD];
        }
    }
    for (size_t count = 0; count <= ODD; count++) {
        char *said = NULL;
        size_t size;
        FILE *stream = open_memstream(&said, &size);
        const lab_plot_ratios ratios = { hostile, "left", "right", hostile, series,
                                         3,       labels, count,   marks };
        lab_plot_ratios_print(&ratios, stream);
        const lab_plot_shares bars = { .title = hostile,
                                       .caption = hostile,
                                       .axis = hostile,
                                       .kinds = labels,
                                       .kind_count = ODD,
                                       .series = series,
                                       .series_count = 3,
                                       .labels = labels,
                                       .count = count,
                                       .shares = shares,
                                       .kind = kinds,
                                       .marks = rivals };
        lab_plot_shares_print(&bars, stream);
        fclose(stream);
        check_drawing(said, true);
    }
}

static void draws_histories(void **state)
{
    static const lab_plot_moment moments[] = {
        { 0, 5e-6, "first" }, { 10, 6e-6, hostile }, { 10, 4e-6, "third" }, { 11, 1e3, NULL }
    };
    for (size_t count = 0; count <= 4; count++) {
        char *said = NULL;
        size_t size;
        FILE *stream = open_memstream(&said, &size);
        const lab_plot_history plot = { hostile, hostile, "last", moments, count };
        lab_plot_history_print(&plot, stream);
        fclose(stream);
        assert_int_equal(count_of(said, "<circle"), count);
        check_drawing(said, count > 0);
    }
}

static void draws_points(void **state)
{
    lab_plot_point points[ODD];
    const char *const series[] = { hostile, "b" };
    for (size_t i = 0; i < ODD; i++)
        points[i] = (lab_plot_point){ odd[i], odd[(i + 1) % ODD], odd[(i + 2) % ODD],
                                      i % 2,  (i & 2) == 0,       i ? "label" : hostile };
    const lab_plot_line line = { { 1, 10 }, { 2, 20 }, hostile };
    for (size_t count = 0; count <= ODD; count++)
        for (size_t lines = 0; lines < 2; lines++) {
            char *said = NULL;
            size_t size;
            FILE *stream = open_memstream(&said, &size);
            const lab_plot_points plot = {
                hostile, hostile, hostile, hostile, series,    2,
                points,  count,   &line,   lines,   count % 2,
            };
            lab_plot_points_print(&plot, stream);
            fclose(stream);
            check_drawing(said, count > 0 || lines > 0);
        }
}

/* Marks are at the positions of their values. */
static void draws_to_scale(void **state)
{
    const lab_axis logs = lab_axis_logarithmic(0.5, 8, 100, 900, 40);
    double one = lab_axis_at(&logs, 1), two = lab_axis_at(&logs, 2), four = lab_axis_at(&logs, 4);
    assert_true(fabs((four - two) - (two - one)) < 1e-9 && two > one);
    assert_true(lab_axis_at(&logs, 0.5) >= 100 && lab_axis_at(&logs, 8) <= 900);
    const lab_axis linear = lab_axis_from_zero(1, 100, 900, 40);
    assert_true(lab_axis_at(&linear, 0) == 100 && lab_axis_at(&linear, 1) == 900);
    assert_true(fabs(lab_axis_at(&linear, 0.25) - 300) < 1e-9);
    for (int i = 1; i <= 30; i++) { /* ticks do not overlap, and are on the axis */
        const lab_axis axis = lab_axis_logarithmic(1 / (1 + 0.01 * i), pow(1.5, i), 0, 800, 40);
        assert_true(axis.tick_count >= 2);
        for (size_t j = 0; j < axis.tick_count; j++) {
            assert_true(axis.ticks[j] >= axis.low * 0.999 && axis.ticks[j] <= axis.high * 1.001);
            for (size_t k = 0; k < j; k++)
                assert_true(fabs(lab_axis_at(&axis, axis.ticks[j]) -
                                 lab_axis_at(&axis, axis.ticks[k])) >= 39.9);
        }
    }
}

RUN_TESTS_WITHIN(make_hostile, NULL, escapes_text, knows_bad_pages, makes_sound_pages,
                 keeps_tables_of_markdown_whole, draws_odd_numbers, draws_histories, draws_points,
                 draws_to_scale)
