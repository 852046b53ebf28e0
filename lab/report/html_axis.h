/*
 * html_axis.h - axes, marks, labels and legends, shared by the drawings of html_plot.h
 */
#ifndef LAB_HTML_AXIS_H
#define LAB_HTML_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define LAB_AXIS_TICKS 16
#define LAB_AXIS_LABEL 48 /* maximum of characters shown of a label */

/* Maps values from low to high to the pixels from..to. */
typedef struct lab_axis {
    double low, high;
    double from, to;
    bool logarithmic;
    double ticks[LAB_AXIS_TICKS];
    size_t tick_count;
} lab_axis;

/* lab_axis_logarithmic() returns an axis that covers @least to @most, both positive, with round
 * numbers at least @apart pixels apart. lab_axis_from_zero() is linear. */
lab_axis lab_axis_logarithmic(double least, double most, double from, double to, double apart);
lab_axis lab_axis_from_zero(double most, double from, double to, double apart);

/* lab_axis_at() returns the pixel of @value. */
double lab_axis_at(const lab_axis *axis, double value);

/* lab_axis_number() writes a tick's number with as few digits as distinguish it from its
 * neighbours. */
const char *lab_axis_number(double value, char text[32]);

/* lab_axis_text() writes a note in a monospace font. */
void lab_axis_text(FILE *stream, double x, double y, const char *anchor, const char *text);

/* lab_axis_label() writes a label that ends or begins at @x, in a monospace font;
 * lab_axis_label_width() returns the width in pixels of the widest one. */
void lab_axis_label(FILE *stream, double x, double y, const char *anchor, const char *text);
double lab_axis_label_width(const char *const *labels, size_t count);

/* lab_axis_mark() draws the shape of series @index; @hollow: only its outline. @title, which may be
 * NULL, is escaped. */
void lab_axis_mark(FILE *stream, size_t index, double x, double y, bool hollow, const char *title);

/* lab_axis_legend() draws the marker and the name of every series, starting at @x. */
void lab_axis_legend(FILE *stream, const char *const *series, size_t count, double x, double y,
                     double width);

/* lab_axis_line() draws a line in the style @kind, a class of html_style.c. */
void lab_axis_line(FILE *stream, const char *kind, double x1, double y1, double x2, double y2);

/* lab_axis_is_good() returns true for numbers that can be drawn: positive and finite ones. */
bool lab_axis_is_good(double value);

/* Where a drawing is placed. */
typedef enum lab_axis_place {
    LAB_AXIS_FIGURE, /* on a page; may be split when printed */
    LAB_AXIS_WHOLE,  /* likewise, but never split */
    LAB_AXIS_FILE    /* in a separate SVG file */
} lab_axis_place;

/* lab_axis_open() starts a drawing of that size; lab_axis_close() ends it, with @caption below,
 * except in a file. */
void lab_axis_open(FILE *stream, double width, double height, const char *title,
                   lab_axis_place place);
void lab_axis_close(FILE *stream, const char *caption, lab_axis_place place);

#endif /* LAB_HTML_AXIS_H */
