/*
 * report_final_text.c - results, leaders, changes, and commands
 */
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report/diff.h"
#include "report_final.h"

static const char *known(const char *text)
{
    return text && *text ? text : NULL;
}

/* Adds ratio, interval and verdict. */
static void add_side(lab_listing *rows, const char *head, const lab_final_side *side)
{
    char text[REPORT_INTERVAL_SIZE];
    bool some = *side->name != '\0';
    lab_cell_style(rows, LAB_BOLD);
    lab_cell_real(rows, NULL, head, some ? side->ratio : -1, "%.2fx", side->ratio);
    lab_cell_style(rows, !some ? LAB_FAINT : side->high > 0 ? LAB_PLAIN : LAB_WARN);
    lab_cell_right(rows, "99 % interval", "%s",
                   some ? report_interval(side->low, side->high, text) : "-");
    lab_cell_styled(rows, NULL, "heed is", report_verdict_style(side->verdict),
                    some ? side->verdict : NULL);
}

static void add_share(lab_listing *rows, const report_final_row *row)
{
    lab_cell_real(rows, NULL, "of limit", row->share > 0 ? row->share : -1, "%.*f %%",
                  row->share < 0.0995 ? 1 : 0, 100 * row->share);
    lab_cell_text(rows, NULL, "bound by", known(row->binds));
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

static void add_result(lab_listing *rows, const report_final_row *row)
{
    lab_cell_left(rows, "problem", "%s, %s", row->problem, row->place.cold ? "cold" : "hot");
    lab_cell_text(rows, NULL, "SDPA", known(row->sdpa.name));
    lab_cell_seconds(rows, NULL, "SDPA p50", row->sdpa.p50);
    lab_cell_seconds(rows, NULL, "SDPA p90", row->sdpa.p90);
    lab_cell_seconds(rows, NULL, "heed p50", row->p50);
    lab_cell_seconds(rows, NULL, "heed p90", row->p90);
    add_side(rows, "speed-up", &row->sdpa);
    add_share(rows, row);
    lab_cell_text(rows, NULL, "gates", known(row->gates));
    lab_cell_text(rows, NULL, "from", known(row->from));
    lab_row_end(rows);
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
    lab_listing list = lab_listing_in(page);
    for (size_t i = 0; i < count; i++)
        add_result(&list, &rows[i]);
    lab_listing_print(&list, NULL);
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

static void add_leader(lab_listing *rows, const report_final_row *row)
{
    const lab_final_side *side = *row->sdpa.name ? &row->sdpa : &row->other;
    lab_cell_text(rows, NULL, "trial", known(row->from + strlen("trial ")));
    lab_cell_left(rows, "problem", "%s, %s", row->problem, row->place.cold ? "cold" : "hot");
    lab_cell_text(rows, NULL, "kernel", known(row->kernel));
    lab_cell_seconds(rows, NULL, "heed p50", row->p50);
    add_share(rows, row);
    lab_cell_text(rows, NULL, "beside", known(side->name));
    add_side(rows, "its time/heed's", side);
    lab_cell_text(rows, NULL, "gates", known(row->gates));
    lab_cell_left(rows, "commit", "%.12s%s", row->commit ? row->commit : "-",
                  row->dirty ? "+" : "");
    lab_cell_text(rows, NULL, "trusted", known(row->trusted));
    lab_row_end(rows);
}

/* Prints the rows of one device. */
static void print_leaders(lab_page *page, const report_final_row *rows, size_t count)
{
    lab_page_heading(page, 3, "%s", rows->place.device);
    lab_listing list = lab_listing_in(page);
    for (size_t i = 0; i < count; i++)
        add_leader(&list, &rows[i]);
    lab_listing_print(&list, NULL);
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

static void add_command(lab_listing *rows, const report_final_row *row)
{
    lab_cell_text(rows, NULL, "figure of", known(row->from));
    lab_cell_text(rows, NULL, "problem", known(row->problem));
    lab_cell_text(rows, NULL, "command", known(row->command));
}

void report_final_commands(lab_page *page, const report_final *final)
{
    lab_page_heading(page, 2, "Commands that repeat each figure");
    lab_page_paragraph(page, "Each command times the kernel again on the same kind of device, in "
                             "turns with the rivals there. 'heed gate' builds a source from the "
                             "board, and times it in turns with heed's plan of today.");
    lab_listing rows = lab_listing_in(page);
    add_command(&rows, &(report_final_row){ .problem = "" });
    lab_listing_heads(&rows); /* also without rows */
    for (size_t i = 0; i < final->row_count; i++) {
        add_command(&rows, &final->rows[i]);
        lab_row_end(&rows);
    }
    lab_listing_print(&rows, NULL);
}
