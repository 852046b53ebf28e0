/*
 * html_plot.h - plots as inline SVG
 *
 * Every mark has its figures in a <title>, which browsers show as a tooltip. Labels may be any
 * text; they are escaped, and shortened to fit. Only positive finite numbers are drawn.
 */
#ifndef LAB_HTML_PLOT_H
#define LAB_HTML_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LAB_PLOT_SERIES 8 /* with distinct colours and shapes, which then repeat */

/* A mark: a value, and the ends of its interval if high > low. 0: none. */
typedef struct lab_plot_mark {
    double value, low, high;
} lab_plot_mark;

/* Ratios on a logarithmic axis, a row for each label from top to bottom, a mark for each series; a
 * line marks 1. */
typedef struct lab_plot_ratios {
    const char *title;   /* a description for readers who cannot see the drawing */
    const char *below;   /* the meaning of the side left of 1, such as "heed is slower" */
    const char *above;   /* and right of it */
    const char *caption; /* below the drawing */
    const char *const *series;
    size_t series_count;
    const char *const *labels;
    size_t count;
    const lab_plot_mark *marks; /* [count][series_count] */
} lab_plot_ratios;
void lab_plot_ratios_print(const lab_plot_ratios *plot, FILE *stream);

/* Shares of a limit, a bar from 0 for each label, with a hollow mark for each series. */
typedef struct lab_plot_shares {
    const char *title, *caption, *axis;
    const char *const *kinds; /* names of the kinds of bars */
    size_t kind_count;
    const char *const *series; /* of the marks; may be none */
    size_t series_count;
    const char *const *labels;
    size_t count;
    const double *shares; /* [count] */
    const size_t *kind;   /* [count] */
    const double *marks;  /* [count][series_count]; 0: none */
} lab_plot_shares;
void lab_plot_shares_print(const lab_plot_shares *plot, FILE *stream);

/* A figure over time: dots, and the minimum so far as steps. */
typedef struct lab_plot_moment {
    double at;    /* seconds since any moment, ascending */
    double value; /* seconds */
    const char *label;
} lab_plot_moment;
typedef struct lab_plot_history {
    const char *title;
    const char *first, *last; /* the times at both ends, as text */
    const lab_plot_moment *moments;
    size_t count;
} lab_plot_history;
void lab_plot_history_print(const lab_plot_history *plot, FILE *stream);

/* html_points.c: a scatter plot with logarithmic axes, and straight lines, such as ceilings above
 * the points. */
typedef struct lab_plot_point {
    double x, y;
    double above; /* the end of a thin line from it, such as its limit; 0: none */
    size_t series;
    bool hollow;
    const char *label;
} lab_plot_point;
typedef struct lab_plot_line {
    double x[2], y[2];
    const char *label; /* at its right end */
} lab_plot_line;
typedef struct lab_plot_points {
    const char *title, *caption, *x_axis, *y_axis;
    const char *const *series;
    size_t series_count;
    const lab_plot_point *points;
    size_t count;
    const lab_plot_line *lines;
    size_t line_count;
    bool file; /* a separate SVG file, not part of a page */
} lab_plot_points;
void lab_plot_points_print(const lab_plot_points *plot, FILE *stream);

#endif /* LAB_HTML_PLOT_H */
