/*
 * html_points.c - scatter plots with logarithmic axes, and the ceilings above the points
 */
#include <math.h>

#include "html_axis.h"
#include "html_plot.h"

enum {
    WIDTH = 760,
    HEIGHT = 460,
    LEFT = 74,
    RIGHT = WIDTH - 20,
    TOP = 36,
    BOTTOM = HEIGHT - 48
};

static void stretch(double range[2], double value)
{
    if (!lab_axis_is_good(value))
        return;
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

/* Makes both axes cover all points, their limits, and the ends of all lines. */
static bool make_axes(const lab_plot_points *plot, lab_axis axes[2])
{
    double x[2] = { INFINITY, 0 }, y[2] = { INFINITY, 0 };
    for (size_t i = 0; i < plot->count; i++)
        if (lab_axis_is_good(plot->points[i].x) && lab_axis_is_good(plot->points[i].y)) {
            stretch(x, plot->points[i].x);
            stretch(y, plot->points[i].y);
            stretch(y, plot->points[i].above);
        }
    for (size_t i = 0; i < plot->line_count; i++)
        for (int end = 0; end < 2; end++) {
            stretch(x, plot->lines[i].x[end]);
            stretch(y, plot->lines[i].y[end]);
        }
    if (!(x[1] > 0) || !(y[1] > 0))
        return false;
    axes[0] = lab_axis_logarithmic(x[0], x[1], LEFT, RIGHT, 46);
    axes[1] = lab_axis_logarithmic(y[0], y[1], BOTTOM, TOP, 24);
    return true;
}

static void draw_grid(FILE *stream, const lab_axis axes[2])
{
    char text[32];
    for (size_t i = 0; i < axes[0].tick_count; i++) {
        double x = lab_axis_at(&axes[0], axes[0].ticks[i]);
        lab_axis_line(stream, "g", x, TOP, x, BOTTOM);
        lab_axis_text(stream, x, BOTTOM + 15, "middle", lab_axis_number(axes[0].ticks[i], text));
    }
    for (size_t i = 0; i < axes[1].tick_count; i++) {
        double y = lab_axis_at(&axes[1], axes[1].ticks[i]);
        lab_axis_line(stream, "g", LEFT, y, RIGHT, y);
        lab_axis_text(stream, LEFT - 5, y + 4, "end", lab_axis_number(axes[1].ticks[i], text));
    }
}

static void draw_lines(const lab_plot_points *plot, FILE *stream, const lab_axis axes[2])
{
    for (size_t i = 0; i < plot->line_count; i++) {
        const lab_plot_line *line = &plot->lines[i];
        double x = lab_axis_at(&axes[0], line->x[1]), y = lab_axis_at(&axes[1], line->y[1]);
        lab_axis_line(stream, "a", lab_axis_at(&axes[0], line->x[0]),
                      lab_axis_at(&axes[1], line->y[0]), x, y);
        /* the label of a slope is left of it, below that of a level line at the same end */
        bool slope = line->y[0] < line->y[1];
        lab_axis_label(stream, x - (slope ? 24 : 4), y + (slope ? 12 : -5), "end", line->label);
    }
}

void lab_plot_points_print(const lab_plot_points *plot, FILE *stream)
{
    lab_axis axes[2];
    lab_axis_place place = plot->file ? LAB_AXIS_FILE : LAB_AXIS_WHOLE;
    if (!make_axes(plot, axes))
        return;
    lab_axis_open(stream, WIDTH, HEIGHT, plot->title, place);
    lab_axis_legend(stream, plot->series, plot->series_count, LEFT, 12, WIDTH);
    draw_grid(stream, axes);
    draw_lines(plot, stream, axes);
    for (size_t i = 0; i < plot->count; i++) {
        const lab_plot_point *point = &plot->points[i];
        if (!lab_axis_is_good(point->x) || !lab_axis_is_good(point->y))
            continue;
        double x = lab_axis_at(&axes[0], point->x), y = lab_axis_at(&axes[1], point->y);
        if (lab_axis_is_good(point->above)) {
            double end = lab_axis_at(&axes[1], point->above);
            lab_axis_line(stream, "g", x, y, x, end);
            lab_axis_line(stream, "a", x - 4, end, x + 4, end);
        }
    }
    for (size_t i = 0; i < plot->count; i++) {
        const lab_plot_point *point = &plot->points[i];
        if (lab_axis_is_good(point->x) && lab_axis_is_good(point->y))
            lab_axis_mark(stream, point->series, lab_axis_at(&axes[0], point->x),
                          lab_axis_at(&axes[1], point->y), point->hollow, point->label);
    }
    lab_axis_text(stream, (LEFT + RIGHT) / 2.0, BOTTOM + 36, "middle", plot->x_axis);
    lab_axis_text(stream, LEFT, TOP - 8, "start", plot->y_axis);
    lab_axis_text(stream, RIGHT, 16, "end", plot->title);
    lab_axis_close(stream, plot->caption, place);
}
