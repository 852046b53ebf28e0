/*
 * report_final_text.c - results, leaders, changes, and commands
 */
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report/diff.h"
#include "report_final.h"

static void add_text(lab_page *page, const char *text)
{
    lab_page_known(page, text && *text, "%s", text);
}

/* Adds ratio, interval and verdict. */
static void add_side(lab_page *page, const lab_final_side *side)
{
    if (!*side->name) {
        for (int i = 0; i < 3; i++)
            add_text(page, NULL);
        return;
    }
    lab_page_cell(page, LAB_PAGE_BOLD, "%.2fx", side->ratio);
    report_add_interval(page, side->low, side->high);
    lab_page_cell(page, report_verdict_style(side->verdict), "%s", side->verdict);
}

static void add_share(lab_page *page, const report_final_row *row)
{
    lab_page_known(page, row->share > 0, "%.*f %%", row->share < 0.0995 ? 1 : 0, 100 * row->share);
    add_text(page, row->binds);
}

/* ---- Results ---- */

/* The end of the rows of one device that begin at number @begin. */
static size_t end_of_device(const report_final *final, size_t begin)
{
    const report_final_row *rows = final->rows;
    size_t end = begin + 1;
    while (end < final->row_count && !rows[end].trial == !rows[begin].trial &&
           strcmp(rows[end].place.device, rows[begin].place.device) == 0)
        end++;
    return end;
}

static void add_result(lab_page *page, const report_final_row *row)
{
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s, %s", row->problem, row->place.cold ? "cold" : "hot");
    add_text(page, row->sdpa.name);
    report_add_time(page, row->sdpa.p50);
    report_add_time(page, row->sdpa.p90);
    report_add_time(page, row->p50);
    report_add_time(page, row->p90);
    add_side(page, &row->sdpa);
    add_share(page, row);
    add_text(page, row->gates);
    add_text(page, row->from);
}

typedef bool lacks_fn(const report_final_row *row);

static bool lacks_sdpa(const report_final_row *row)
{
    return !*row->sdpa.name;
}

static bool lacks_sdpa_p90(const report_final_row *row)
{
    return *row->sdpa.name && !(row->sdpa.p90 > 0);
}

static bool lacks_limit(const report_final_row *row)
{
    return !(row->share > 0);
}

static bool has_sheet_limit(const report_final_row *row)
{
    return row->share_from && strcmp(row->share_from, "data sheet") == 0;
}

static bool lacks_gates(const report_final_row *row)
{
    return row->trial ? !row->trial->row.verified : true;
}

static size_t count_rows(const report_final *final, lacks_fn *lacks)
{
    size_t count = 0;
    for (size_t i = 0; i < final->row_count; i++)
        count += lacks(&final->rows[i]);
    return count;
}

/* Lists figures that are missing in the table, and the commands that measure them. */
static void say_missing(lab_page *page, const report_final *final)
{
    static const struct {
        lacks_fn *lacks;
        const char *says;
    } rules[] = {
        { lacks_sdpa, "no SDPA took turns with the kernel. 'heed bench' with the kernel, as in the "
                      "commands below, times it beside PyTorch where that is installed." },
        { lacks_sdpa_p90, "SDPA's p90 is not known: its samples were not kept. 'heed bench "
                          "--record' keeps them." },
        { lacks_limit, "the share of the limit is not known: this device is in no table, and its "
                       "ceilings were not measured here. 'heed roofline' measures them on it." },
        { has_sheet_limit, "the limit is that of the device's data sheet, without launches and "
                           "caches, and not a measured one. 'heed roofline', then 'heed bench "
                           "--record' on the device, gives that." },
        { lacks_gates, "the gates of 'heed verify' did not judge the kernel in that run; some rows "
                       "of its output were compared. 'heed verify' with the kernel asks them." },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t count = count_rows(final, rules[i].lacks);
        if (count > 0)
            lab_page_item(page, "In %zu of %zu row%s %s", count, final->row_count,
                          lab_plural(final->row_count), rules[i].says);
    }
}

/* Prints the rows of one device. */
static void print_results(lab_page *page, const report_final_row *rows, size_t count)
{
    lab_page_heading(page, 3, "%s: %s", rows->place.device,
                     rows->trial ? "leaders of the board" : "records");
    lab_page_columns(page, "problem|SDPA|SDPA p50>|SDPA p90>|heed p50>|heed p90>|speed-up>|"
                           "99 % interval>|heed is|of limit>|bound by|gates|from");
    for (size_t i = 0; i < count; i++)
        add_result(page, &rows[i]);
    lab_page_table(page);
}

void report_final_results(lab_page *page, const report_final *final)
{
    lab_page_heading(page, 2, "Results");
    if (final->row_count == 0) {
        lab_page_paragraph(page, "There are none: no trial of the board was right, timed and "
                                 "confirmed, and there is no record. 'heed board --all' says why.");
        return;
    }
    lab_page_paragraph(page,
                       "SDPA is the fastest backend of PyTorch's scaled_dot_product_attention "
                       "that took turns with heed's kernel; speed-up how many times as long "
                       "it took, with a 99 %% interval. p50 and p90 are medians and 90th "
                       "percentiles of the samples that were kept, SDPA's those of its "
                       "blocks. Gates: '64 rows, 0.15' means that 64 rows of the output were "
                       "compared with float64, and that the largest error was 0.15 of what is "
                       "allowed.");
    for (size_t i = 0, end; i < final->row_count; i = end) {
        end = end_of_device(final, i);
        print_results(page, &final->rows[i], end - i);
    }
    say_missing(page, final);
}

/* ---- The leaderboard ---- */

static void add_leader(lab_page *page, const report_final_row *row)
{
    const lab_final_side *side = *row->sdpa.name ? &row->sdpa : &row->other;
    add_text(page, row->from + strlen("trial "));
    lab_page_cell(page, LAB_PAGE_PLAIN, "%s, %s", row->problem, row->place.cold ? "cold" : "hot");
    add_text(page, row->kernel);
    report_add_time(page, row->p50);
    add_share(page, row);
    add_text(page, side->name);
    add_side(page, side);
    add_text(page, row->gates);
    lab_page_cell(page, LAB_PAGE_PLAIN, "%.12s%s", row->commit ? row->commit : "-",
                  row->dirty ? "+" : "");
    add_text(page, row->trusted);
}

/* Prints the rows of one device. */
static void print_leaders(lab_page *page, const report_final_row *rows, size_t count)
{
    lab_page_heading(page, 3, "%s", rows->place.device);
    lab_page_columns(page, "trial|problem|kernel|heed p50>|of limit>|bound by|beside|its time/"
                           "heed's>|99 % interval>|heed is|gates|commit|trusted");
    for (size_t i = 0; i < count; i++)
        add_leader(page, &rows[i]);
    lab_page_table(page);
}

void report_final_leaders(lab_page *page, const report_final *final)
{
    lab_page_heading(page, 2, "The leaderboard");
    if (final->row_count == 0 || !final->rows->trial) {
        lab_page_paragraph(page, "There is no leader: no trial was right, timed and confirmed.");
        return;
    }
    lab_page_paragraph(page, "+: changes on top of the commit; trusted: whether 'heed selftest' "
                             "had killed all wrong kernels with these gates.");
    for (size_t i = 0, end; i < final->row_count && final->rows[i].trial; i = end) {
        end = end_of_device(final, i);
        print_leaders(page, &final->rows[i], end - i);
    }
}

/* ---- From the first kernel to the champion ---- */

bool report_final_diff(const report_final *final, FILE *stream, bool *any)
{
    char before[LAB_FINAL_NAME], after[LAB_FINAL_NAME], names[2][LAB_FINAL_NAME + 64];
    *any = false;
    for (size_t i = 0; i < final->search_count; i++) {
        const lab_final_search *it = &final->searches[i];
        bool told = false; /* the same search on another problem */
        for (size_t j = 0; j < i; j++)
            told |= strcmp(final->texts[i][0], final->texts[j][0]) == 0 &&
                    strcmp(final->texts[i][1], final->texts[j][1]) == 0;
        if (told || strcmp(final->texts[i][0], final->texts[i][1]) == 0)
            continue;
        snprintf(names[0], sizeof names[0], "%s (trial %lld)", lab_final_name(it->first, before),
                 (long long)it->first->row.trial);
        snprintf(names[1], sizeof names[1], "%s (trial %lld)", lab_final_name(it->champion, after),
                 (long long)it->champion->row.trial);
        if (!lab_diff_write(stream, (lab_diff_side){ names[0], final->texts[i][0] },
                            (lab_diff_side){ names[1], final->texts[i][1] }))
            return false;
        *any = true;
    }
    return true;
}

void report_final_change(lab_page *page, const report_final *final)
{
    char *text = NULL;
    size_t size;
    bool any = false;
    FILE *memory = open_memstream(&text, &size);
    bool good = memory && report_final_diff(final, memory, &any);
    good = memory && fclose(memory) == 0 && good;
    page->failed |= !good;
    lab_page_heading(page, 2, "From the first kernel to the champion");
    if (good && any)
        lab_page_code(page, text);
    else if (final->search_count == 0)
        lab_page_paragraph(page, "There is no search on the board: 'heed evolve' makes one.");
    else
        lab_page_paragraph(page, "Nothing changed: each search ended with the kernel that it began "
                                 "with.");
    free(text);
}

/* ---- Commands ---- */

void report_final_commands(lab_page *page, const report_final *final)
{
    lab_page_heading(page, 2, "Commands that repeat each figure");
    lab_page_paragraph(page, "Each command times the kernel again on the same kind of device, in "
                             "turns with the rivals there. 'heed gate' builds a source from the "
                             "board, and times it in turns with heed's plan of today.");
    lab_page_columns(page, "figure of|problem|command");
    for (size_t i = 0; i < final->row_count; i++) {
        add_text(page, final->rows[i].from);
        add_text(page, final->rows[i].problem);
        add_text(page, final->rows[i].command);
    }
    lab_page_table(page);
}
