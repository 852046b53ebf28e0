/*
 * report_final_plots.c - plots: the roofline, and times against the resources of the code
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_plot.h"
#include "report_final.h"
#include "search/point_facts.h"

#define LABEL_SIZE (HEED_SPEC_SIZE + LAB_FINAL_NAME + 64)
#define LINES_MAX 9

/* A drawing in progress. */
typedef struct canvas {
    lab_plot_point *points;
    char (*labels)[LABEL_SIZE];
    size_t count;
} canvas;

static bool canvas_make(canvas *c, size_t room)
{
    *c = (canvas){ .points = calloc(room + 1, sizeof *c->points),
                   .labels = calloc(room + 1, sizeof *c->labels) };
    return c->points && c->labels;
}

static void canvas_free(canvas *c)
{
    free(c->points);
    free(c->labels);
}

static void add_point(canvas *c, lab_plot_point point)
{
    point.label = c->labels[c->count];
    c->points[c->count++] = point;
}

/* -------------------------------------------------------------------------- */
/* The roofline                                                               */
/* -------------------------------------------------------------------------- */

static bool is_drawn(const report_final_row *row)
{
    return row->limit.flops > 0 && row->limit.bytes > 0 && row->limit.seconds > 0 && row->p50 > 0;
}

static bool same_device(const report_final_row *a, const report_final_row *b)
{
    return strcmp(a->place.device, b->place.device) == 0 && a->place.threads == b->place.threads;
}

/* True if no row before number @at is of the same device. */
static bool is_first(const report_final *final, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_drawn(&final->rows[i]) && same_device(&final->rows[i], &final->rows[at]))
            return false;
    return is_drawn(&final->rows[at]);
}

static double unit_of(const report_final_row *row)
{
    return row->cuda ? 1e12 : 1e9;
}

static void add_row(canvas *c, const report_final_row *row)
{
    char time[32];
    double work = row->limit.flops / unit_of(row);
    lab_plot_point point = { .x = row->limit.flops / row->limit.bytes,
                             .y = work / row->p50,
                             .above = work / row->limit.seconds };
    snprintf(c->labels[c->count], LABEL_SIZE, "%s, %s, %s: %s, %.3g %%, %s binds", row->kernel,
             row->from, row->problem, report_time(row->p50, time),
             100 * row->limit.seconds / row->p50, row->limit.binds);
    add_point(c, point);
    if (!(row->sdpa.p50 > 0))
        return;
    point = (lab_plot_point){ .x = point.x, .y = work / row->sdpa.p50, .series = 1 };
    snprintf(c->labels[c->count], LABEL_SIZE, "%s, %s, %s: %s", row->sdpa.name, row->from,
             row->problem, report_time(row->sdpa.p50, time));
    add_point(c, point);
}

static bool has_sdpa(const canvas *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->points[i].series > 0)
            return true;
    return false;
}

/* Draws a flat line for each rate of products, and the slope of memory below the highest. */
typedef struct ceilings {
    lab_plot_line lines[LINES_MAX];
    char labels[LINES_MAX][96];
    size_t count;
} ceilings;

static bool has_rate(const ceilings *all, double rate)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->lines[i].y[1] == rate)
            return true;
    return false;
}

static void add_line(ceilings *all, lab_plot_line line)
{
    line.label = all->labels[all->count];
    all->lines[all->count++] = line;
}

static void make_ceilings(ceilings *all, const report_final *final, const report_final_row *device,
                          const canvas *c)
{
    double unit = unit_of(device), memory = device->limit.memory, most = 0;
    double x[2] = { INFINITY, 0 };
    *all = (ceilings){ .count = 0 };
    for (size_t i = 0; i < c->count; i++) {
        x[0] = fmin(x[0], c->points[i].x / 2);
        x[1] = fmax(x[1], 2 * c->points[i].x);
    }
    for (size_t i = 0; i < final->row_count; i++)
        if (is_drawn(&final->rows[i]) && same_device(&final->rows[i], device))
            most = fmax(most, final->rows[i].limit.matrix);
    x[1] = memory > 0 ? fmax(x[1], 4 * most / memory) : x[1];
    for (size_t i = 0; i < final->row_count && all->count + 1 < LINES_MAX; i++) {
        double rate = final->rows[i].limit.matrix;
        if (!is_drawn(&final->rows[i]) || !same_device(&final->rows[i], device) || !(rate > 0) ||
            has_rate(all, rate / unit))
            continue;
        snprintf(all->labels[all->count], sizeof all->labels[0], "products, %.4g %s (%s)",
                 rate / unit, device->cuda ? "TFLOP/s" : "GFLOP/s", final->rows[i].limit.from);
        double from = memory > 0 ? fmax(x[0], rate / memory) : x[0];
        add_line(all, (lab_plot_line){ { from, x[1] }, { rate / unit, rate / unit }, NULL });
    }
    if (memory > 0 && most > 0) {
        double to = fmin(x[1], most / memory), from = fmin(x[0], to / 2);
        snprintf(all->labels[all->count], sizeof all->labels[0], "memory, %.4g GB/s",
                 memory * 1e-9);
        add_line(all, (lab_plot_line){
                          { from, to }, { from * memory / unit, to * memory / unit }, NULL });
    }
}

/* False: out of memory. */
static bool draw_roofline(const report_final *final, size_t at, FILE *stream, bool file)
{
    static const char *const series[] = { "heed", "SDPA" };
    const report_final_row *device = &final->rows[at];
    ceilings all;
    canvas c;
    char title[256];
    bool good = canvas_make(&c, 2 * final->row_count);
    for (size_t i = at; good && i < final->row_count; i++)
        if (is_drawn(&final->rows[i]) && same_device(&final->rows[i], device))
            add_row(&c, &final->rows[i]);
    if (good) {
        make_ceilings(&all, final, device, &c);
        snprintf(title, sizeof title, "Roofline of %.200s", device->place.device);
        const lab_plot_points plot = {
            .title = title,
            .caption = "Each kernel beneath its own limit, the short bar above it, which also "
                       "counts exponentials, and the cache and launches where these were measured; "
                       "the long lines are the ceilings of memory and of products. Both axes are "
                       "logarithmic.",
            .x_axis = "operations per byte that must be moved",
            .y_axis = device->cuda ? "TFLOP/s" : "GFLOP/s",
            .series = series,
            .series_count = has_sdpa(&c) ? 2 : 1,
            .points = c.points,
            .count = c.count,
            .lines = all.lines,
            .line_count = all.count,
            .file = file,
        };
        lab_plot_points_print(&plot, stream);
    }
    canvas_free(&c);
    return good;
}

bool report_final_roofline_file(const report_final *final, FILE *stream, bool *any)
{
    size_t i = 0;
    while (i < final->row_count && !is_first(final, i))
        i++;
    *any = i < final->row_count;
    return !*any || draw_roofline(final, i, stream, true);
}

void report_final_roofline(lab_page *page, const report_final *final)
{
    size_t drawn = 0;
    lab_page_heading(page, 2, "The roofline");
    for (size_t i = 0; i < final->row_count; i++) {
        if (!is_first(final, i))
            continue;
        if (lab_page_figure(page))
            page->failed |= !draw_roofline(final, i, page->stream, false);
        else if (drawn == 0)
            fprintf(page->stream, "![Roofline](roofline.svg)\n\n");
        drawn++;
    }
    if (drawn > 1 && page->form == LAB_PAGE_MARKDOWN)
        lab_page_paragraph(page, "The other devices' are in report.html.");
    if (drawn == 0)
        lab_page_paragraph(page,
                           "There is none: no device of these figures has known ceilings. 'heed "
                           "roofline' measures them on it.");
}

/* -------------------------------------------------------------------------- */
/* Pareto                                                                     */
/* -------------------------------------------------------------------------- */

/* A column of the code of a kernel. */
typedef struct cost_axis {
    const char *axis, *missing;
    double (*of)(const lab_final_trial *trial);
} cost_axis;

static double registers_of(const lab_final_trial *trial)
{
    return (double)trial->registers;
}

static double occupancy_of(const lab_final_trial *trial)
{
    return trial->warps_max > 0 ? 100.0 * (double)trial->warps / (double)trial->warps_max : 0;
}

static const cost_axis costs[] = {
    { "registers of a thread", "registers", registers_of },
    { "occupancy: percent of the warps that a multiprocessor could hold", "occupancy",
      occupancy_of },
};

static bool is_point(const lab_final_trial *trial, const cost_axis *cost)
{
    return strcmp(trial->row.verdict, "ok") == 0 && trial->row.sound && trial->row.seconds > 0 &&
           cost->of(trial) > 0;
}

/* Adds the points of one place: times over the least there, with full marks for points that no
 * other beats. */
static bool add_place(canvas *c, const lab_final_trial *trials, size_t count, const cost_axis *cost)
{
    lab_standing *standings = calloc(count + 1, sizeof *standings);
    bool *front = calloc(count + 1, sizeof *front);
    bool good = standings && front;
    double least = INFINITY;
    char name[LAB_FINAL_NAME], time[32];
    for (size_t i = 0; good && i < count; i++) {
        standings[i] = lab_final_standing(&trials[i], is_point(&trials[i], cost));
        if (trials[i].warps > 0)
            standings[i].point_facts.value[LAB_FACT_WARPS] = trials[i].warps;
        least = fmin(least, standings[i].time);
    }
    if (good)
        lab_point_facts_front(standings, count, front);
    for (size_t i = 0; good && i < count; i++) {
        if (!is_point(&trials[i], cost))
            continue;
        snprintf(c->labels[c->count], LABEL_SIZE, "%s, trial %lld, %s: %s, %s %.4g",
                 lab_final_name(&trials[i], name), (long long)trials[i].row.trial,
                 trials[i].row.problem, report_time(trials[i].row.seconds, time), cost->missing,
                 cost->of(&trials[i]));
        add_point(c, (lab_plot_point){ .x = cost->of(&trials[i]),
                                       .y = trials[i].row.seconds / least,
                                       .hollow = !front[i] });
    }
    free(standings);
    free(front);
    return good;
}

/* *@drawn: something was drawn. False: out of memory. */
static bool draw_pareto(const report_final *final, const cost_axis *cost, FILE *stream, bool file,
                        bool *drawn)
{
    static const char *const series[] = { "not beaten (hollow: beaten)" };
    const lab_final_board *board = &final->run->board;
    canvas c;
    char title[128];
    bool good = canvas_make(&c, board->count);
    for (size_t i = 0, end; good && i < board->count; i = end) {
        end = lab_final_place_end(board->trials, i, board->count);
        good = add_place(&c, &board->trials[i], end - i, cost);
    }
    *drawn = good && c.count > 0;
    snprintf(title, sizeof title, "Time against %s", cost->missing);
    const lab_plot_points plot = {
        .title = title,
        .caption =
            "All right trials whose code is known, by their medians; not all were confirmed. "
            "Full marks are those that no other one dominates: none is at least as good in "
            "time, registers, shared memory and warps and better in one of them. Both axes are "
            "logarithmic.",
        .x_axis = cost->axis,
        .y_axis = "time over the least of the problem",
        .series = series,
        .series_count = 1,
        .points = c.points,
        .count = c.count,
        .file = file,
    };
    if (*drawn && stream)
        lab_plot_points_print(&plot, stream);
    canvas_free(&c);
    return good;
}

bool report_final_pareto_file(const report_final *final, FILE *stream, bool *any)
{
    return draw_pareto(final, &costs[0], stream, true, any);
}

void report_final_pareto(lab_page *page, const report_final *final)
{
    lab_page_heading(page, 2, "Time against registers and occupancy");
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        bool drawn, figure = lab_page_figure(page);
        page->failed |= !draw_pareto(final, &costs[i], figure ? page->stream : NULL, false, &drawn);
        if (!drawn)
            lab_page_paragraph(page,
                               "No trial of the board has known %s: a search on a GPU, 'heed "
                               "sweep' or 'heed evolve', keeps the code's facts, and CPU kernels "
                               "have none.",
                               costs[i].missing);
        else if (!figure && i == 0)
            fprintf(page->stream, "![Time against registers](pareto.svg)\n\n");
    }
}
