/*
 * report_history.c - the same problems in older and newer records: history, not a comparison
 *
 * Nothing here was interleaved, so there is no verdict. Each ratio to a rival is from one run, and
 * means more than the times.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "report/html_plot.h"

/* True if times of the two sets can be compared. */
static bool comparable(const report_set *a, const report_set *b)
{
    const report_record *x = report_newest(a), *y = report_newest(b);
    return strcmp(x->device.name, y->device.name) == 0 && x->threads == y->threads &&
           x->cold == y->cold && x->replay == y->replay && x->behind == y->behind &&
           report_order_text(x->cpu_level, y->cpu_level) == 0;
}

static size_t count_common(const report_set *a, const report_set *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->row_count; i++)
        count += report_row_find(a, b->rows[i]) != NULL;
    return count;
}

size_t report_history_pairs(const report_records *records, report_pair *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < records->set_count; i++) {
        const report_set *first = &records->sets[i], *last = first;
        bool oldest = true;
        for (size_t j = 0; j < records->set_count; j++) {
            const report_set *other = &records->sets[j];
            if (j == i || !comparable(first, other) || count_common(first, other) == 0)
                continue;
            int order = strcmp(report_newest(other)->time, report_newest(first)->time);
            oldest &= order > 0 || (order == 0 && j > i);
            if (strcmp(report_newest(other)->time, report_newest(last)->time) >= 0)
                last = other;
        }
        if (oldest && last != first)
            pairs[count++] = (report_pair){ first, last };
    }
    return count;
}

/* ---- The table ---- */

static void add_ratio(lab_listing *rows, const char *head, const report_match *match)
{
    lab_cell_real(rows, NULL, head, match ? match->ratio : -1, "%.2fx", match ? match->ratio : 0);
}

static void add_row(lab_listing *rows, const report_pair *pair, const report_row *before,
                    const report_row *after)
{
    char label[REPORT_LABEL_SIZE], head[160];
    double ratio = before->p50 / after->p50;
    lab_cell_text(rows, "problem", NULL, after->problem);
    lab_cell_json(rows, "label", cli_json_word(after->label));
    lab_cell_left(rows, "problem", "%s", report_label(after, label));
    lab_cell_seconds(rows, "before", "before", before->p50);
    lab_cell_seconds(rows, "after", "after", after->p50);
    lab_cell_real(rows, "before_over_after", "before/after", ratio, "%.2fx", ratio);
    for (size_t i = 0; i < pair->after->rival_count; i++) {
        const char *name = pair->after->rivals[i];
        if (!report_has_rival(pair->before, name))
            continue;
        snprintf(head, sizeof head, "%.100s/heed before", name);
        add_ratio(rows, head, report_match_of(before, name));
        add_ratio(rows, "after", report_match_of(after, name));
    }
    lab_row_end(rows);
}

double report_history_rows(lab_listing *rows, const report_pair *pair)
{
    double logs = 0;
    size_t count = 0;
    for (size_t i = 0; i < pair->after->row_count; i++) {
        const report_row *after = pair->after->rows[i];
        const report_row *before = report_row_find(pair->before, after);
        if (!before)
            continue;
        add_row(rows, pair, before, after);
        logs += log(before->p50 / after->p50);
        count++;
    }
    return exp(logs / (double)count);
}

static void print_table(lab_page *page, const report_pair *pair)
{
    lab_listing rows = lab_listing_in(page);
    double mean = report_history_rows(&rows, pair);
    lab_listing_rule(&rows, NULL);
    lab_cell_styled(&rows, NULL, "problem", LAB_BOLD, "geometric mean");
    lab_cell_left(&rows, "before", "%s", "");
    lab_cell_left(&rows, "after", "%s", "");
    lab_cell_style(&rows, LAB_BOLD);
    lab_cell_right(&rows, "before/after", "%.2fx", mean);
    lab_row_end(&rows);
    lab_listing_print(&rows, NULL);
}

/* ---- The drawing ---- */

static void draw(lab_page *page, const report_pair *pair)
{
    static const char *const series[] = { "before/after" };
    size_t room = pair->after->row_count + 1, count = 0;
    const char **labels = calloc(room, sizeof *labels);
    char(*texts)[REPORT_LABEL_SIZE] = calloc(room, sizeof *texts);
    lab_plot_mark *marks = calloc(room, sizeof *marks);
    page->failed |= !labels || !texts || !marks;
    for (size_t i = 0; !page->failed && i < pair->after->row_count; i++) {
        const report_row *after = pair->after->rows[i];
        const report_row *before = report_row_find(pair->before, after);
        if (!before)
            continue;
        labels[count] = report_label(after, texts[count]);
        marks[count++].value = before->p50 / after->p50;
    }
    const lab_plot_ratios plot = {
        .title = "heed's time before over its time after, by problem: history",
        .below = "longer after",
        .above = "shorter after",
        .caption = "heed's median time before over that after. History: two runs, nothing was "
                   "interleaved, and there is no interval.",
        .series = series,
        .series_count = 1,
        .labels = labels,
        .count = count,
        .marks = marks,
    };
    if (!page->failed && lab_page_figure(page))
        lab_plot_ratios_print(&plot, page->stream);
    free((void *)labels);
    free(texts);
    free(marks);
}

/* ---- The section ---- */

static void print_side(lab_page *page, const char *what, const report_set *set)
{
    const report_record *r = report_newest(set);
    lab_page_item(page, "%s: %s, %s, heed at commit %s, %s.", what, r->path, r->time,
                  r->around.commit ? r->around.commit : "unknown",
                  r->around.features ? r->around.features : "features unknown");
}

static void print_pair(lab_page *page, const report_pair *pair)
{
    const report_record *before = report_newest(pair->before), *after = report_newest(pair->after);
    lab_page_heading(page, 2, "History: %s before and after", after->device.name);
    lab_page_warning(page, "These are two runs. Clocks, heat and neighbours differ between them, "
                           "so a difference here proves nothing and has no verdict. To know, let "
                           "both take turns: 'heed bench --against' or 'heed gate'. The ratios to "
                           "a rival were taken within one run each.");
    print_side(page, "Before", pair->before);
    print_side(page, "After", pair->after);
    if (report_order_text(before->around.features, after->around.features) != 0)
        lab_page_warning(page, "The driver, the compiler or the architecture is not the same.");
    draw(page, pair);
    print_table(page, pair);
}

void report_history(lab_page *page, const report_records *records)
{
    report_pair *pairs = calloc(records->set_count + 1, sizeof *pairs);
    size_t count = pairs ? report_history_pairs(records, pairs) : 0;
    page->failed |= !pairs;
    for (size_t i = 0; i < count; i++)
        print_pair(page, &pairs[i]);
    if (count == 0 && records->set_count > 1)
        lab_page_paragraph(page, "No two of these records can be compared: they differ in device, "
                                 "problem, clock, or cold and hot caches.");
    free(pairs);
}
