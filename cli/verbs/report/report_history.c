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
    return strcmp(x->device, y->device) == 0 && x->threads == y->threads && x->cold == y->cold &&
           x->replay == y->replay && x->behind == y->behind &&
           report_order_text(x->cpu_level, y->cpu_level) == 0;
}

static size_t count_common(const report_set *a, const report_set *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->row_count; i++) {
        const report_row *row = report_row_find(a, b->rows[i]);
        count += row && row->ok && b->rows[i]->ok;
    }
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

static bool is_common_rival(const report_pair *pair, const char *name)
{
    for (size_t i = 0; i < pair->before->rival_count; i++)
        if (strcmp(pair->before->rivals[i], name) == 0)
            return true;
    return false;
}

static void add_ratio(lab_page *page, lab_table *table, const report_row *row, const char *rival)
{
    const report_match *match = report_match_of(row, rival);
    if (match)
        lab_page_cell(page, table, LAB_PAGE_PLAIN, "%.2fx", match->ratio);
    else
        lab_page_cell(page, table, LAB_PAGE_FAINT, "-");
}

static void add_row(lab_page *page, lab_table *table, const report_pair *pair,
                    const report_row *before, const report_row *after)
{
    char then[32], now[32], label[REPORT_LABEL_SIZE];
    lab_page_cell(page, table, LAB_PAGE_PLAIN, "%s", report_label(after, label));
    lab_page_cell(page, table, LAB_PAGE_PLAIN, "%s", report_time(before->p50, then));
    lab_page_cell(page, table, LAB_PAGE_PLAIN, "%s", report_time(after->p50, now));
    lab_page_cell(page, table, LAB_PAGE_PLAIN, "%.2fx", before->p50 / after->p50);
    for (size_t i = 0; i < pair->after->rival_count; i++)
        if (is_common_rival(pair, pair->after->rivals[i])) {
            add_ratio(page, table, before, pair->after->rivals[i]);
            add_ratio(page, table, after, pair->after->rivals[i]);
        }
}

static void add_columns(lab_page *page, lab_table *table, const report_pair *pair)
{
    char head[160];
    lab_table_columns(table, "problem|before>|after>|before/after>");
    for (size_t i = 0; i < pair->after->rival_count; i++) {
        const char *name = pair->after->rivals[i];
        if (!is_common_rival(pair, name))
            continue;
        snprintf(head, sizeof head, "%.100s/heed before", name);
        lab_page_column(page, table, head, LAB_RIGHT);
        lab_table_column(table, "after", LAB_RIGHT);
    }
}

static void print_table(lab_page *page, const report_pair *pair)
{
    lab_table *table = lab_table_create();
    double logs = 0;
    size_t count = 0;
    add_columns(page, table, pair);
    for (size_t i = 0; i < pair->after->row_count; i++) {
        const report_row *after = pair->after->rows[i];
        const report_row *before = report_row_find(pair->before, after);
        if (!before || !before->ok || !after->ok)
            continue;
        add_row(page, table, pair, before, after);
        logs += log(before->p50 / after->p50);
        count++;
    }
    lab_table_rule(table);
    lab_page_cell(page, table, LAB_PAGE_BOLD, "geometric mean");
    lab_table_cell(table, "%s", "");
    lab_table_cell(table, "%s", "");
    lab_page_cell(page, table, LAB_PAGE_BOLD, "%.2fx", exp(logs / (double)count));
    lab_table_row_end(table);
    lab_page_table(page, table);
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
        if (!before || !before->ok || !after->ok)
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
                  r->commit ? r->commit : "unknown",
                  r->features ? r->features : "features unknown");
}

static void print_pair(lab_page *page, const report_pair *pair)
{
    const report_record *before = report_newest(pair->before), *after = report_newest(pair->after);
    lab_page_heading(page, 2, "History: %s before and after", after->device);
    lab_page_warning(page, "These are two runs. Clocks, heat and neighbours differ between them, "
                           "so a difference here proves nothing and has no verdict. To know, let "
                           "both take turns: 'heed bench --against' or 'heed gate'. The ratios to "
                           "a rival were taken within one run each.");
    print_side(page, "Before", pair->before);
    print_side(page, "After", pair->after);
    if (report_order_text(before->features, after->features) != 0)
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
