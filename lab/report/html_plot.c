/*
 * html_plot.c - ratios, shares of a limit, and histories
 */
#include "html_plot.h"

#include <math.h>
#include <string.h>

#include "format.h"
#include "html_axis.h"

#define WIDTH 1100.0
#define ROW 17.0
#define TICK_APART 46.0

/* Draws grid lines at the ticks, with numbers above and below. */
static void draw_ticks(FILE *stream, const lab_axis *axis, double top, double bottom, double scale,
                       const char *unit)
{
    char number[32], text[48];
    for (size_t i = 0; i < axis->tick_count; i++) {
        double x = lab_axis_at(axis, axis->ticks[i]);
        snprintf(text, sizeof text, "%s%s", lab_axis_number(axis->ticks[i] * scale, number), unit);
        lab_axis_line(stream, "g", x, top, x, bottom);
        lab_axis_text(stream, x, top - 5, "middle", text);
        lab_axis_text(stream, x, bottom + 14, "middle", text);
    }
}

static void draw_row_line(FILE *stream, double left, double right, double y)
{
    fprintf(stream,
            "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
            "stroke-dasharray=\"1 4\"/>\n",
            left, right, y, y);
}

/* -------------------------------------------------------------------------- */
/* Ratios                                                                     */
/* -------------------------------------------------------------------------- */

static bool has_interval(const lab_plot_mark *mark)
{
    return lab_axis_is_good(mark->low) && lab_axis_is_good(mark->high) && mark->high > mark->low;
}

static lab_axis ratio_axis(const lab_plot_ratios *plot, double left)
{
    double least = 1, most = 1;
    for (size_t i = 0; i < plot->count * plot->series_count; i++) {
        const lab_plot_mark *mark = &plot->marks[i];
        if (!lab_axis_is_good(mark->value))
            continue;
        least = fmin(least, has_interval(mark) ? mark->low : mark->value);
        most = fmax(most, has_interval(mark) ? mark->high : mark->value);
    }
    return lab_axis_logarithmic(least, most, left, WIDTH - 20, TICK_APART);
}

static void draw_ratio(const lab_plot_ratios *plot, FILE *stream, const lab_axis *axis, double y,
                       size_t row, size_t series)
{
    const lab_plot_mark *mark = &plot->marks[row * plot->series_count + series];
    char title[512], kind[16];
    if (!lab_axis_is_good(mark->value))
        return;
    int length = snprintf(title, sizeof title, "%.200s, %.100s: %.3fx", plot->labels[row],
                          plot->series[series], mark->value);
    if (has_interval(mark)) {
        if (length > 0 && (size_t)length < sizeof title)
            snprintf(title + length, sizeof title - (size_t)length, " (%.3f to %.3f)", mark->low,
                     mark->high);
        snprintf(kind, sizeof kind, "w l%zu", series % LAB_PLOT_SERIES);
        lab_axis_line(stream, kind, lab_axis_at(axis, mark->low), y, lab_axis_at(axis, mark->high),
                      y);
    }
    lab_axis_mark(stream, series, lab_axis_at(axis, mark->value), y, false, title);
}

/* Labels both sides of 1. */
static void draw_sides(const lab_plot_ratios *plot, FILE *stream, const lab_axis *axis, double y)
{
    double one = lab_axis_at(axis, 1);
    lab_axis_text(stream, one + 6, y, "start", plot->above);
    lab_axis_text(stream, one - 6, y, "end", plot->below);
}

void lab_plot_ratios_print(const lab_plot_ratios *plot, FILE *stream)
{
    double left = fmax(lab_axis_label_width(plot->labels, plot->count) + 14, 150);
    double lines = 18 * (1 + floor((double)plot->series_count / 3));
    double top = 50 + lines, bottom = top + ROW * (double)plot->count;
    const lab_axis axis = ratio_axis(plot, left);
    lab_axis_open(stream, WIDTH, bottom + 24, plot->title,
                  plot->count < 60 ? LAB_AXIS_WHOLE : LAB_AXIS_FIGURE);
    lab_axis_legend(stream, plot->series, plot->series_count, left, 12, WIDTH);
    draw_sides(plot, stream, &axis, top - 20);
    draw_ticks(stream, &axis, top, bottom, 1, "x");
    lab_axis_line(stream, "a", lab_axis_at(&axis, 1), top, lab_axis_at(&axis, 1), bottom);
    for (size_t i = 0; i < plot->count; i++) {
        double y = top + ROW * ((double)i + 0.5);
        lab_axis_label(stream, left - 8, y + 4, "end", plot->labels[i]);
        draw_row_line(stream, left, WIDTH - 20, y);
        for (size_t j = 0; j < plot->series_count; j++)
            draw_ratio(plot, stream, &axis, y, i, j);
    }
    lab_axis_close(stream, plot->caption, LAB_AXIS_FIGURE);
}

/* -------------------------------------------------------------------------- */
/* Shares                                                                     */
/* -------------------------------------------------------------------------- */

static double most_share(const lab_plot_shares *plot)
{
    double most = 1;
    for (size_t i = 0; i < plot->count; i++)
        most = lab_axis_is_good(plot->shares[i]) ? fmax(most, plot->shares[i]) : most;
    for (size_t i = 0; i < plot->count * plot->series_count; i++)
        most = lab_axis_is_good(plot->marks[i]) ? fmax(most, plot->marks[i]) : most;
    return most;
}

static void draw_share(const lab_plot_shares *plot, FILE *stream, const lab_axis *axis, double y,
                       size_t row)
{
    char title[512];
    double share = plot->shares[row], zero = lab_axis_at(axis, 0);
    if (lab_axis_is_good(share))
        fprintf(stream,
                "<rect class=\"c%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"11\"/>\n"
                "<text class=\"f\" x=\"%.1f\" y=\"%.1f\">%.0f %%</text>\n",
                plot->kind[row] % LAB_PLOT_SERIES, zero, y - 5.5, lab_axis_at(axis, share) - zero,
                WIDTH - 40, y + 4, 100 * share);
    for (size_t i = 0; i < plot->series_count; i++) {
        double value = plot->marks[row * plot->series_count + i];
        snprintf(title, sizeof title, "%.200s, %.100s: %.1f %%", plot->labels[row], plot->series[i],
                 100 * value);
        if (lab_axis_is_good(value))
            lab_axis_mark(stream, i, lab_axis_at(axis, value), y, true, title);
    }
}

/* Draws the legend of bars and marks. */
static void draw_kinds(const lab_plot_shares *plot, FILE *stream, double left)
{
    double at = left;
    for (size_t i = 0; i < plot->kind_count; i++) {
        bool used = false;
        for (size_t j = 0; j < plot->count; j++)
            used |= plot->kind[j] == i && lab_axis_is_good(plot->shares[j]);
        if (!used)
            continue;
        fprintf(stream, "<rect class=\"c%zu\" x=\"%.1f\" y=\"7\" width=\"12\" height=\"10\"/>\n",
                i % LAB_PLOT_SERIES, at);
        lab_axis_label(stream, at + 17, 16, "start", plot->kinds[i]);
        at += 36 + lab_axis_label_width(&plot->kinds[i], 1);
    }
    for (size_t i = 0; i < plot->series_count; i++) {
        lab_axis_mark(stream, i, at + 6, 12, true, NULL);
        lab_axis_label(stream, at + 17, 16, "start", plot->series[i]);
        at += 36 + lab_axis_label_width(&plot->series[i], 1);
    }
}

void lab_plot_shares_print(const lab_plot_shares *plot, FILE *stream)
{
    double left = fmax(lab_axis_label_width(plot->labels, plot->count) + 14, 150);
    double top = 46, bottom = top + ROW * (double)plot->count;
    const lab_axis axis = lab_axis_from_zero(most_share(plot), left, WIDTH - 52, TICK_APART);
    double all = lab_axis_at(&axis, 1);
    lab_axis_open(stream, WIDTH, bottom + 36, plot->title,
                  plot->count < 60 ? LAB_AXIS_WHOLE : LAB_AXIS_FIGURE);
    draw_kinds(plot, stream, left);
    draw_ticks(stream, &axis, top, bottom, 100, "");
    lab_axis_line(stream, "a", all, top, all, bottom);
    for (size_t i = 0; i < plot->count; i++) {
        double y = top + ROW * ((double)i + 0.5);
        lab_axis_label(stream, left - 8, y + 4, "end", plot->labels[i]);
        draw_row_line(stream, left, WIDTH - 52, y);
        draw_share(plot, stream, &axis, y, i);
    }
    lab_axis_text(stream, (left + WIDTH - 52) / 2, bottom + 30, "middle", plot->axis);
    lab_axis_close(stream, plot->caption, LAB_AXIS_FIGURE);
}

/* -------------------------------------------------------------------------- */
/* Histories                                                                  */
/* -------------------------------------------------------------------------- */

enum {
    SMALL_WIDTH = 360,
    SMALL_HEIGHT = 170,
    SMALL_LEFT = 64,
    SMALL_TOP = 26,
    SMALL_BOTTOM = SMALL_HEIGHT - 22,
    SMALL_RIGHT = SMALL_WIDTH - 12
};

static lab_axis time_axis(const lab_plot_history *plot)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < plot->count; i++) {
        least = fmin(least, plot->moments[i].value);
        most = fmax(most, plot->moments[i].value);
    }
    return lab_axis_logarithmic(least, most, SMALL_BOTTOM, SMALL_TOP, 24);
}

static double moment_x(const lab_plot_history *plot, size_t index)
{
    const lab_plot_moment *all = plot->moments;
    double span = all[plot->count - 1].at - all[0].at;
    double part = span > 0 ? (all[index].at - all[0].at) / span : 0.5;
    return SMALL_LEFT + 8 + part * (SMALL_RIGHT - SMALL_LEFT - 16);
}

static void draw_time_ticks(FILE *stream, const lab_axis *axis)
{
    char text[LAB_FORMAT_SIZE];
    for (size_t i = 0; i < axis->tick_count; i++) {
        double y = lab_axis_at(axis, axis->ticks[i]);
        fprintf(stream,
                "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n"
                "<text class=\"f\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                SMALL_LEFT, SMALL_RIGHT, y, y, SMALL_LEFT - 5, y + 4,
                lab_format_seconds(axis->ticks[i], text));
    }
}

/* Draws the minimum so far, as steps. */
static void draw_steps(const lab_plot_history *plot, FILE *stream, const lab_axis *axis)
{
    double best = plot->moments[0].value;
    fprintf(stream, "<path class=\"w l0\" d=\"M%.1f %.1f", moment_x(plot, 0),
            lab_axis_at(axis, best));
    for (size_t i = 1; i < plot->count; i++) {
        fprintf(stream, "H%.1f", moment_x(plot, i));
        if (plot->moments[i].value >= best)
            continue;
        best = plot->moments[i].value;
        fprintf(stream, "V%.1f", lab_axis_at(axis, best));
    }
    fputs("\"/>\n", stream);
}

void lab_plot_history_print(const lab_plot_history *plot, FILE *stream)
{
    if (plot->count == 0)
        return;
    const lab_axis axis = time_axis(plot);
    lab_axis_open(stream, SMALL_WIDTH, SMALL_HEIGHT, plot->title, LAB_AXIS_WHOLE);
    lab_axis_label(stream, SMALL_LEFT, 14, "start", plot->title);
    draw_time_ticks(stream, &axis);
    draw_steps(plot, stream, &axis);
    for (size_t i = 0; i < plot->count; i++)
        lab_axis_mark(stream, 0, moment_x(plot, i), lab_axis_at(&axis, plot->moments[i].value),
                      false, plot->moments[i].label);
    lab_axis_text(stream, SMALL_LEFT, SMALL_HEIGHT - 5, "start", plot->first);
    if (strcmp(plot->first, plot->last) != 0)
        lab_axis_text(stream, SMALL_RIGHT, SMALL_HEIGHT - 5, "end", plot->last);
    lab_axis_close(stream, NULL, LAB_AXIS_FIGURE);
}
