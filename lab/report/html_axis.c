/*
 * html_axis.c - axes, marks, labels and legends in SVG
 */
#include "html_axis.h"

#include <math.h>
#include <string.h>

#include "html.h"
#include "html_plot.h"

#define LETTER 6.7 /* width in pixels of a monospace letter at 11 pixels */

/* -------------------------------------------------------------------------- */
/* Axes                                                                       */
/* -------------------------------------------------------------------------- */

double lab_axis_at(const lab_axis *axis, double value)
{
    double low = axis->low, high = axis->high;
    if (axis->logarithmic) {
        low = log(low);
        high = log(high);
        value = log(value);
    }
    return axis->from + (value - low) / (high - low) * (axis->to - axis->from);
}

/* 1, 2, or 5 times a power of ten, not below @value. */
static double round_up(double value)
{
    static const double steps[] = { 1, 2, 5, 10 };
    double power = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= value * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

/* Adds @value as a tick if it is on the axis and at least @apart from the others. */
static void add_tick(lab_axis *axis, double value, double apart)
{
    if (value < axis->low * (1 - 1e-9) || value > axis->high * (1 + 1e-9) ||
        axis->tick_count == LAB_AXIS_TICKS)
        return;
    for (size_t i = 0; i < axis->tick_count; i++)
        if (fabs(lab_axis_at(axis, value) - lab_axis_at(axis, axis->ticks[i])) < apart)
            return;
    axis->ticks[axis->tick_count++] = value;
}

/* For a short range, multiples of a round step, else 1, 2, 5 of each decade. 1 and the powers of
 * ten are added first, so they have priority. */
static void add_logarithmic_ticks(lab_axis *axis, double apart)
{
    static const double parts[] = { 1, 5, 2, 3, 1.5, 7 };
    int first = (int)floor(log10(axis->low)), last = (int)ceil(log10(axis->high));
    if (axis->low <= 1 && axis->high >= 1)
        add_tick(axis, 1, apart);
    if (axis->high / axis->low < 3) {
        double step = round_up((axis->high - axis->low) * apart / fabs(axis->to - axis->from));
        int from = (int)ceil(axis->low / step), to = (int)floor(axis->high / step);
        for (int i = from; i <= to; i++)
            add_tick(axis, i * step, apart);
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (int power = first; power <= last; power++)
            add_tick(axis, parts[i] * pow(10, power), apart);
}

lab_axis lab_axis_logarithmic(double least, double most, double from, double to, double apart)
{
    double room = fmax(pow(most / least, 0.04), 1.01);
    lab_axis axis = { .low = fmax(least / room, 1e-300),
                      .high = fmin(most * room, 1e300),
                      .from = from,
                      .to = to,
                      .logarithmic = true };
    add_logarithmic_ticks(&axis, apart);
    return axis;
}

lab_axis lab_axis_from_zero(double most, double from, double to, double apart)
{
    lab_axis axis = { .high = most, .from = from, .to = to };
    double step = round_up(most * apart / (to - from));
    for (int i = 0; i * step <= most * (1 + 1e-9); i++)
        add_tick(&axis, i * step, 0);
    return axis;
}

const char *lab_axis_number(double value, char text[32])
{
    snprintf(text, 32, "%.6g", value);
    return text;
}

/* -------------------------------------------------------------------------- */
/* Labels and marks                                                           */
/* -------------------------------------------------------------------------- */

/* The number of characters of @text, and the size of the first @most of them. */
static size_t count_characters(const char *text, size_t most, size_t *bytes)
{
    size_t count = 0;
    *bytes = 0;
    for (const char *at = text; *at; count++) {
        int length = lab_html_length(at);
        at += length ? length : 1;
        if (count < most)
            *bytes = (size_t)(at - text);
    }
    return count;
}

void lab_axis_text(FILE *stream, double x, double y, const char *anchor, const char *text)
{
    fprintf(stream, "<text class=\"f\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    lab_html_text(stream, text);
    fputs("</text>\n", stream);
}

void lab_axis_label(FILE *stream, double x, double y, const char *anchor, const char *text)
{
    char shown[4 * LAB_AXIS_LABEL + 1];
    size_t bytes, count = count_characters(text, LAB_AXIS_LABEL, &bytes);
    bool cut = count > LAB_AXIS_LABEL;
    if (cut)
        count_characters(text, LAB_AXIS_LABEL - 3, &bytes);
    memcpy(shown, text, bytes);
    shown[bytes] = '\0';
    fprintf(stream, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    lab_html_text(stream, shown);
    fputs(cut ? "..." : "", stream);
    if (cut) {
        fputs("<title>", stream);
        lab_html_text(stream, text);
        fputs("</title>", stream);
    }
    fputs("</text>\n", stream);
}

double lab_axis_label_width(const char *const *labels, size_t count)
{
    size_t widest = 0, bytes;
    for (size_t i = 0; i < count; i++) {
        size_t letters = count_characters(labels[i], 0, &bytes);
        widest = letters > widest ? letters : widest;
    }
    return LETTER * (double)(widest < LAB_AXIS_LABEL ? widest : LAB_AXIS_LABEL);
}

/* Marker shapes, of about equal area. NULL is a circle. */
static const char *const shapes[LAB_PLOT_SERIES] = {
    NULL,
    "M-3.8-3.8h7.6v7.6h-7.6z",
    "M0-5.2l4.8 8.4h-9.6z",
    "M0-5.4l5.4 5.4l-5.4 5.4l-5.4-5.4z",
    "M0 5.2l4.8-8.4h-9.6z",
    "M-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "M-2.6-5h5.2v10h-5.2z",
    "M-5-2.6h10v5.2h-10z",
};

void lab_axis_mark(FILE *stream, size_t index, double x, double y, bool hollow, const char *title)
{
    const char *shape = shapes[index % LAB_PLOT_SERIES];
    char style[16] = "o";
    if (!hollow)
        snprintf(style, sizeof style, "p c%zu", index % LAB_PLOT_SERIES);
    fprintf(stream, shape ? "<path class=\"%s\" " : "<circle class=\"%s\" ", style);
    if (shape)
        fprintf(stream, "transform=\"translate(%.1f %.1f)\" d=\"%s\">", x, y, shape);
    else
        fprintf(stream, "cx=\"%.1f\" cy=\"%.1f\" r=\"4.4\">", x, y);
    if (title) {
        fputs("<title>", stream);
        lab_html_text(stream, title);
        fputs("</title>", stream);
    }
    fputs(shape ? "</path>\n" : "</circle>\n", stream);
}

void lab_axis_legend(FILE *stream, const char *const *series, size_t count, double x, double y,
                     double width)
{
    double at = x;
    for (size_t i = 0; i < count; i++) {
        double needs = 24 + lab_axis_label_width(&series[i], 1);
        if (at > x && at + needs > width) {
            at = x;
            y += 18;
        }
        lab_axis_mark(stream, i, at + 4, y, false, NULL);
        lab_axis_label(stream, at + 15, y + 4, "start", series[i]);
        at += needs + 14;
    }
}

void lab_axis_line(FILE *stream, const char *kind, double x1, double y1, double x2, double y2)
{
    fprintf(stream, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", kind,
            x1, x2, y1, y2);
}

bool lab_axis_is_good(double value)
{
    return isfinite(value) && value > 0;
}

void lab_axis_open(FILE *stream, double width, double height, const char *title,
                   lab_axis_place place)
{
    static const char *const begin[] = { "<figure>\n", "<figure class=\"one\">\n", "" };
    fprintf(stream,
            "%s<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%.0f\" "
            "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
            begin[place], width, height, width, height);
    lab_html_text(stream, title);
    fputs("</title>\n", stream);
    if (place == LAB_AXIS_FILE)
        fprintf(stream,
                "<style>\n%s%ssvg .b{fill:var(--back)}\n</style>\n<rect class=\"b\" "
                "width=\"%.0f\" height=\"%.0f\"/>\n",
                lab_html_colours, lab_html_drawing, width, height);
}

void lab_axis_close(FILE *stream, const char *caption, lab_axis_place place)
{
    fputs("</svg>\n", stream);
    if (place == LAB_AXIS_FILE)
        return;
    if (caption) {
        fputs("<figcaption>", stream);
        lab_html_text(stream, caption);
        fputs("</figcaption>\n", stream);
    }
    fputs("</figure>\n", stream);
}
