/*
 * report_board_page.c - the board: the leaders, their history, and the verdicts of all trials
 */
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report.h"
#include "report/format.h"
#include "report/html_plot.h"

#define DOTS_MAX 300 /* of a drawing */

/* ---- All trials ---- */

size_t report_count_trusted(const lab_final_board *board, const char *word)
{
    size_t count = 0;
    for (size_t i = 0; i < board->count; i++)
        count += strcmp(board->trials[i].row.trusted, word) == 0;
    return count;
}

static void print_verdicts(lab_page *page, const lab_final_board *board)
{
    lab_listing rows = lab_listing_in(page);
    for (int v = 0; v <= LAB_RECORD_VERDICTS; v++) {
        size_t count = 0;
        for (size_t i = 0; i < board->count; i++)
            count += lab_record_verdict_find(board->trials[i].row.verdict) == (lab_record_verdict)v;
        if (count == 0)
            continue;
        lab_cell_left(&rows, "verdict", "%s", lab_record_verdict_name((lab_record_verdict)v));
        lab_cell_count(&rows, NULL, "trials", (int64_t)count);
        lab_cell_left(&rows, "meaning", "%s",
                      v < LAB_RECORD_VERDICTS ? lab_record_verdict_meaning((lab_record_verdict)v)
                                              : "a word of a newer heed");
        lab_row_end(&rows);
    }
    lab_page_heading(page, 3, "Verdicts of all trials");
    lab_listing_print(&rows, NULL);
}

static void print_trust(lab_page *page, const lab_final_board *board)
{
    size_t confirmed = 0, dirty = 0;
    for (size_t i = 0; i < board->count; i++) {
        confirmed += lab_final_ranked(&board->trials[i]);
        dirty += board->trials[i].row.dirty;
    }
    size_t untested = report_count_trusted(board, "untested"),
           no = report_count_trusted(board, "no");
    size_t damaged = report_count_trusted(board, "damaged");
    size_t impossible = report_count_trusted(board, "impossible");
    lab_page_item(page,
                  "%zu trial%s, %zu of them right, timed, and confirmed by samples taken "
                  "after they were chosen: only these are ranked.",
                  board->count, lab_plural(board->count), confirmed);
    lab_page_item(page,
                  "Judged by gates that had killed every wrong kernel before: %zu; untested: "
                  "%zu; by gates that had let one pass: %zu.",
                  report_count_trusted(board, "yes"), untested, no);
    if (dirty > 0)
        lab_page_item(page,
                      "%zu were made by sources with changes on top of their commit, marked "
                      "with +.",
                      dirty);
    if (no > 0)
        lab_page_warning(page,
                         "Untrusted and not ranked: %zu trial%s, made while 'heed selftest' "
                         "let a wrong kernel pass or killed an honest one.",
                         no, lab_plural(no));
    if (damaged > 0)
        lab_page_warning(page,
                         "Damaged and left out: %zu trial%s, whose content is not what was "
                         "added.",
                         damaged, lab_plural(damaged));
    if (impossible > 0)
        lab_page_warning(page,
                         "Impossible and left out: %zu trial%s, whose figures contradict each "
                         "other, or are beyond what the device can do.",
                         impossible, lab_plural(impossible));
}

/* ---- Leaders ---- */

/* Adds the fastest rival, and its time over the leader's. */
static void add_comparison(lab_listing *rows, const lab_record_row *row)
{
    bool known = row->against && row->ratio > 0;
    const char *verdict = known && row->compared ? row->compared : "";
    lab_cell_real(rows, NULL, "rival/heed", known ? row->ratio : -1, "%s %.2fx", row->against,
                  row->ratio);
    lab_cell_style(rows, report_verdict_style(verdict));
    if (known && row->high > row->low)
        lab_cell_left(rows, "99 % interval", "%.3f to %.3f %s", row->low, row->high, verdict);
    else
        lab_cell_left(rows, "99 % interval", "%s", verdict);
}

/* Adds the share from the board, else from the known ceilings of the device. */
static void add_share(lab_listing *rows, const lab_record_row *row)
{
    const lab_final_place place = { row->device, row->features, row->threads,
                                    strcmp(row->timing, "cold") == 0 };
    lab_final_limit limit;
    bool known = lab_final_limit_of(&limit, &place, row->problem);
    double share = row->of_roofline > 0 ? row->of_roofline
                   : known              ? limit.seconds / row->seconds
                                        : 0;
    lab_cell_real(rows, NULL, "of limit", share > 0 ? share : -1, "%.0f %%", 100 * share);
    lab_cell_text(rows, NULL, "bound by", known ? limit.binds : NULL);
}

static void add_leader(lab_listing *rows, const lab_final_trial *trial)
{
    char name[LAB_FINAL_NAME];
    const lab_record_row *row = &trial->row;
    bool cpu = strcmp(row->backend, "cpu") == 0;
    lab_cell_count(rows, NULL, "trial", row->trial);
    lab_cell_left(rows, "problem", "%s, %s", row->problem, row->timing);
    lab_cell_left(rows, "kernel", "%s%s%s", lab_final_name(trial, name),
                  row->foreign ? ", a source of its own" : "", row->promoted ? " *" : "");
    lab_cell_style(rows, LAB_BOLD);
    lab_cell_seconds(rows, NULL, "time", row->seconds);
    report_add_rate(rows, cpu ? "GFLOP/s" : "TFLOP/s", row->rate * (cpu ? 1e-9 : 1e-12));
    add_share(rows, row);
    add_comparison(rows, row);
    lab_cell_left(rows, "commit", "%.12s%s", row->commit ? row->commit : "-",
                  row->dirty ? "+" : "");
    lab_cell_left(rows, "date", "%.10s", row->ended);
    lab_cell_styled(rows, NULL, "trusted", strcmp(row->trusted, "yes") == 0 ? LAB_GOOD : LAB_WARN,
                    row->trusted);
    lab_row_end(rows);
}

static void print_leaders(lab_page *page, const lab_final_trial *trials, size_t count)
{
    lab_listing rows = lab_listing_in(page);
    for (size_t i = 0; i < count; i++)
        if (trials[i].leads)
            add_leader(&rows, &trials[i]);
    if (!rows.some) {
        lab_listing_free(&rows);
        lab_page_paragraph(page, "There is no leader: no trial was right, timed and confirmed.");
        return;
    }
    lab_page_paragraph(page, "The leaders. rival/heed: how many times as long the fastest rival "
                             "took in the same run; *: promoted after a comparison side by side; "
                             "of limit: as the board has it, else by ceilings that were measured "
                             "on this machine or by the data sheet of the device. Times of "
                             "different days are history.");
    lab_listing_print(&rows, NULL);
}

/* ---- History ---- */

/* Chooses the dots of a place: those that were the best so far, and as many others as fit. */
static size_t choose_dots(const lab_final_trial *trials, size_t count, lab_plot_moment *moments,
                          char (*labels)[LAB_FINAL_NAME])
{
    char name[LAB_FINAL_NAME], time[LAB_FORMAT_SIZE];
    size_t every = 1 + count / DOTS_MAX, chosen = 0;
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        const lab_record_row *row = &trials[i].row;
        if (!lab_final_ranked(&trials[i]))
            continue;
        bool better = best == 0 || row->seconds < best;
        best = better ? row->seconds : best;
        if (!better && i % every != 0 && i + 1 < count)
            continue;
        snprintf(labels[chosen], LAB_FINAL_NAME, "trial %lld, %.19s: %s, %.400s",
                 (long long)row->trial, row->ended, report_time(row->seconds, time),
                 lab_final_name(&trials[i], name));
        moments[chosen] = (lab_plot_moment){ trials[i].at, row->seconds, labels[chosen] };
        chosen++;
    }
    return chosen;
}

/* Writes the day, or the time of day if both ends are on one day. */
static void moment_text(const char *ended, bool one_day, char text[24])
{
    snprintf(text, 24, "%.*s", one_day ? 19 : 10, ended);
    for (char *at = text; *at; at++)
        *at = *at == 'T' ? ' ' : *at;
}

static void draw_place(lab_page *page, const lab_final_trial *trials, size_t count)
{
    char title[HEED_SPEC_SIZE + 16], first[24], last[24];
    lab_plot_moment *moments = calloc(count, sizeof *moments);
    char(*labels)[LAB_FINAL_NAME] = calloc(count, sizeof *labels);
    page->failed |= !moments || !labels;
    size_t dots = moments && labels ? choose_dots(trials, count, moments, labels) : 0;
    if (dots > 1) {
        const char *begin = trials[0].row.ended, *end = trials[count - 1].row.ended;
        bool one_day = strncmp(begin, end, 10) == 0;
        moment_text(begin, one_day, first);
        moment_text(end, one_day, last);
        snprintf(title, sizeof title, "%s, %s", trials->row.problem, trials->row.timing);
        const lab_plot_history plot = { title, first, last, moments, dots };
        lab_plot_history_print(&plot, page->stream);
    }
    free(moments);
    free(labels);
}

static bool has_history(const lab_final_trial *trials, size_t count)
{
    size_t ranked = 0;
    for (size_t i = 0; i < count; i++)
        ranked += lab_final_ranked(&trials[i]);
    return ranked > 1;
}

static void draw_history(lab_page *page, const lab_final_trial *trials, size_t count)
{
    bool begun = false;
    for (size_t i = 0, end; i < count; i = end) {
        end = lab_final_place_end(trials, i, count);
        if (!has_history(&trials[i], end - i) || !lab_page_figure(page))
            continue;
        if (!begun) {
            lab_page_paragraph(page, "The best so far of each problem, over time: a dot is a "
                                     "confirmed trial, the line is the least time until then. "
                                     "The axis is logarithmic and does not begin at 0.");
            fputs("<div class=\"many\">\n", page->stream);
        }
        begun = true;
        draw_place(page, &trials[i], end - i);
    }
    if (begun)
        fputs("</div>\n", page->stream);
}

/* ---- Unbeaten leaders ---- */

static void print_front(lab_page *page, const lab_final_trial *trials, size_t count)
{
    char name[LAB_FINAL_NAME];
    lab_listing rows = lab_listing_in(page);
    for (size_t i = 0; i < count; i++) {
        const lab_final_trial *trial = &trials[i];
        if (!trial->front)
            continue;
        lab_cell_left(&rows, "problem", "%s, %s", trial->row.problem, trial->row.timing);
        lab_cell_text(&rows, NULL, "kernel", lab_final_name(trial, name));
        lab_cell_count(&rows, NULL, "trial", trial->row.trial);
        lab_cell_seconds(&rows, NULL, "time", trial->row.seconds);
        lab_cell_count(&rows, NULL, "registers", trial->registers);
        lab_cell_count(&rows, NULL, "shared bytes", trial->shared);
        lab_cell_count(&rows, NULL, "spilled bytes", trial->spills);
        lab_row_end(&rows);
    }
    lab_page_heading(page, 3, "The Pareto front");
    lab_page_paragraph(page, "The trials of each problem that no other one dominates: none is at "
                             "least as good in time, registers and shared memory and better in "
                             "one of them.");
    lab_listing_print(&rows, NULL);
}

/* ---- The section ---- */

static void print_device(lab_page *page, const lab_final_trial *trials, size_t count)
{
    const lab_record_row *row = &trials->row;
    lab_page_heading(page, 3, "%s (%s%s%s), %d thread%s", row->device, row->backend,
                     row->features ? ", " : "", row->features ? row->features : "", row->threads,
                     lab_plural(row->threads));
    print_leaders(page, trials, count);
    draw_history(page, trials, count);
}

void report_board_page(lab_page *page, const lab_final_board *board)
{
    lab_page_heading(page, 2, "The board");
    lab_page_item(page, "File: %s", board->path);
    if (board->count == 0) {
        lab_page_paragraph(page, "%s",
                           board->there ? "There is no trial on the board."
                                        : "There is no board yet: the file does not exist.");
        return;
    }
    print_trust(page, board);
    for (size_t i = 0, end; i < board->count; i = end) {
        for (end = i + 1; end < board->count; end++)
            if (strcmp(board->trials[i].row.device, board->trials[end].row.device) != 0 ||
                board->trials[i].row.threads != board->trials[end].row.threads)
                break;
        print_device(page, &board->trials[i], end - i);
    }
    print_verdicts(page, board);
    if (board->fronts > 0)
        print_front(page, board->trials, board->count);
}
