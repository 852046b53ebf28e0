/*
 * report_plots.c - plots: the ratios, the worst first, and each problem's share of the limit
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/roofline.h"
#include "report.h"
#include "report/html_plot.h"

/* The drawn rows, in order, and their labels. */
typedef struct canvas {
    const report_row **rows;
    const char **labels;
    char (*texts)[REPORT_LABEL_SIZE];
    lab_plot_mark *marks;
    double *shares, *rivals;
    size_t *kinds;
    size_t count;
} canvas;

static void canvas_free(canvas *c)
{
    free((void *)c->rows);
    free((void *)c->labels);
    free(c->texts);
    free(c->marks);
    free(c->shares);
    free(c->rivals);
    free(c->kinds);
}

static bool canvas_make(canvas *c, const report_set *set)
{
    size_t rows = set->row_count + 1, all = rows * (set->rival_count + 1);
    *c = (canvas){
        .rows = calloc(rows, sizeof *c->rows),
        .labels = calloc(rows, sizeof *c->labels),
        .texts = calloc(rows, sizeof *c->texts),
        .marks = calloc(all, sizeof *c->marks),
        .shares = calloc(rows, sizeof *c->shares),
        .rivals = calloc(all, sizeof *c->rivals),
        .kinds = calloc(rows, sizeof *c->kinds),
    };
    return c->rows && c->labels && c->texts && c->marks && c->shares && c->rivals && c->kinds;
}

static void label_rows(canvas *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->labels[i] = report_label(c->rows[i], c->texts[i]);
}

/* ---- Ratios ---- */

static double least_ratio(const report_row *row)
{
    double least = DBL_MAX;
    for (size_t i = 0; i < row->match_count; i++)
        if (row->matches[i].ok)
            least = fmin(least, row->matches[i].ratio);
    return least;
}

static int by_least_ratio(const void *a, const void *b)
{
    const report_row *x = *(const report_row *const *)a, *y = *(const report_row *const *)b;
    double left = least_ratio(x), right = least_ratio(y);
    int order = (left > right) - (left < right);
    return order ? order : strcmp(x->problem, y->problem);
}

static void draw_ratios(lab_page *page, const report_set *set, canvas *c)
{
    for (size_t i = 0; i < set->row_count; i++)
        if (set->rows[i]->ok && least_ratio(set->rows[i]) < DBL_MAX)
            c->rows[c->count++] = set->rows[i];
    qsort((void *)c->rows, c->count, sizeof *c->rows, by_least_ratio);
    label_rows(c);
    for (size_t i = 0; i < c->count; i++)
        for (size_t j = 0; j < set->rival_count; j++) {
            const report_match *match = report_match_of(c->rows[i], set->rivals[j]);
            if (match)
                c->marks[i * set->rival_count + j] = (lab_plot_mark){ match->ratio, match->low,
                                                                      match->high };
        }
    const lab_plot_ratios plot = {
        .title = "Time of each rival over heed's, by problem",
        .below = "heed is slower",
        .above = "heed is faster",
        .caption = "Time of each rival over heed's on a logarithmic axis, the problem with the "
                   "least ratio first. Bars through the marks are 99 % intervals; one that is not "
                   "seen is narrower than its mark, or not known.",
        .series = set->rivals,
        .series_count = set->rival_count,
        .labels = c->labels,
        .count = c->count,
        .marks = c->marks,
    };
    if (c->count > 0)
        lab_plot_ratios_print(&plot, page->stream);
}

/* ---- Shares of the limit ---- */

static size_t kind_of(const report_row *row)
{
    for (int i = 0; row->bound_by && i < LAB_ROOFS; i++)
        if (strcmp(lab_roof_name((lab_roof)i), row->bound_by) == 0)
            return (size_t)i;
    return LAB_ROOFS;
}

static void draw_shares(lab_page *page, const report_set *set, canvas *c)
{
    const char *kinds[LAB_ROOFS + 1];
    for (int i = 0; i < LAB_ROOFS; i++)
        kinds[i] = lab_roof_name((lab_roof)i);
    kinds[LAB_ROOFS] = "multiply-adds";
    for (size_t i = 0; i < set->row_count; i++)
        if (set->rows[i]->ok && set->rows[i]->share > 0)
            c->rows[c->count++] = set->rows[i];
    label_rows(c);
    for (size_t i = 0; i < c->count; i++) {
        c->shares[i] = c->rows[i]->share;
        c->kinds[i] = kind_of(c->rows[i]);
        for (size_t j = 0; j < set->rival_count; j++) {
            const report_match *match = report_match_of(c->rows[i], set->rivals[j]);
            double own = c->rows[i]->share * c->rows[i]->p50;
            c->rivals[i * set->rival_count + j] = match ? own / match->seconds : 0;
        }
    }
    const lab_plot_shares plot = {
        .title = "Percent of the limit, by problem",
        .caption = set->rival_count > 0
                       ? "Bars: the least time that this device needs for the problem, by the unit "
                         "that binds, as a share of heed's time. Hollow marks: the same of the "
                         "rivals."
                       : "Bars: the least time that this device needs for the problem, by the unit "
                         "that binds, as a share of heed's time.",
        .axis = "percent of the limit",
        .kinds = kinds,
        .kind_count = LAB_ROOFS + 1,
        .series = set->rivals,
        .series_count = set->rival_count,
        .labels = c->labels,
        .count = c->count,
        .shares = c->shares,
        .kind = c->kinds,
        .marks = c->rivals,
    };
    if (c->count > 0)
        lab_plot_shares_print(&plot, page->stream);
}

void report_plots(lab_page *page, const report_set *set)
{
    static void (*const plots[])(lab_page *, const report_set *, canvas *) = { draw_ratios,
                                                                               draw_shares };
    for (size_t i = 0; i < sizeof plots / sizeof *plots && lab_page_figure(page); i++) {
        canvas c;
        if (canvas_make(&c, set))
            plots[i](page, set, &c);
        else
            page->failed = true;
        canvas_free(&c);
    }
}
