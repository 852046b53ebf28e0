/*
 * html_plot.h - drawings on a web page, as SVG in the page itself
 *
 * Every mark has its figures in a <title>, which browsers show where the pointer rests. Labels may
 * be any text; they are escaped, and shortened where there is no room. Only positive
 * finite numbers are drawn.
 */
#ifndef LAB_HTML_PLOT_H
#define LAB_HTML_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LAB_PLOT_SERIES 8 /* those with a colour and a shape of their own; then they repeat */

/* A mark: a value, and the ends of its interval where high > low. 0: there is none. */
typedef struct lab_plot_mark {
    double value, low, high;
} lab_plot_mark;

/* Ratios on a logarithmic axis, a line for each label from top to bottom, a mark for each series;
 * 1 has a line of its own. */
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

/* Shares of a limit, a bar for each label from 0, and a hollow mark for each series beside it. */
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
    const double *marks;  /* [count][series_count]; 0: there is none */
} lab_plot_shares;
void lab_plot_shares_print(const lab_plot_shares *plot, FILE *stream);

/* A figure over time: dots, and the least so far as steps. */
typedef struct lab_plot_moment {
    double at;    /* seconds since any moment, ascending */
    double value; /* seconds */
    const char *label;
} lab_plot_moment;
typedef struct lab_plot_history {
    const char *title;
    const char *first, *last; /* the moments at both ends, in words */
    const lab_plot_moment *moments;
    size_t count;
} lab_plot_history;
void lab_plot_history_print(const lab_plot_history *plot, FILE *stream);

/* html_points.c: points of two figures, both axes logarithmic, and straight lines, such as ceilings
 * above them. */
typedef struct lab_plot_point {
    double x, y;
    double above; /* the end of a thin line from it, such as its limit; 0: none */
    size_t series;
    bool hollow;
    const char *label;
} lab_plot_point;
typedef struct lab_plot_line {
    double x[2], y[2];
    const char *label; /* beside its right end */
} lab_plot_line;
typedef struct lab_plot_points {
    const char *title, *caption, *x_axis, *y_axis;
    const char *const *series;
    size_t series_count;
    const lab_plot_point *points;
    size_t count;
    const lab_plot_line *lines;
    size_t line_count;
    bool file; /* an SVG file of its own, and no part of a page */
} lab_plot_points;
void lab_plot_points_print(const lab_plot_points *plot, FILE *stream);

#endif /* LAB_HTML_PLOT_H */
