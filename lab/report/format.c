/*
 * format.c - human-readable times and sizes
 */
#include "format.h"

#include <math.h>
#include <stdio.h>

/* Decimals for three significant digits of a number from 1 to 1024. */
static int decimals_of(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static void print_three(char *text, double value, const char *unit)
{
    snprintf(text, LAB_FORMAT_SIZE, "%.*f %s", decimals_of(value), value, unit);
}

const char *lab_format_rate(double value, char text[LAB_FORMAT_SIZE])
{
    if (value > 0)
        snprintf(text, LAB_FORMAT_SIZE, "%.*f", decimals_of(value), value);
    else
        snprintf(text, LAB_FORMAT_SIZE, "-");
    return text;
}

const char *lab_format_seconds(double seconds, char text[LAB_FORMAT_SIZE])
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    int unit = 0;
    if (!isfinite(seconds) || seconds < 0) {
        snprintf(text, LAB_FORMAT_SIZE, "-");
        return text;
    }
    if (seconds >= 9999.5) {
        snprintf(text, LAB_FORMAT_SIZE, "%.3g s", seconds);
        return text;
    }
    while (unit < 3 && seconds < 0.9995) {
        seconds *= 1000;
        unit++;
    }
    print_three(text, seconds, units[unit]);
    return text;
}

const char *lab_format_duration(double seconds, char text[LAB_FORMAT_SIZE])
{
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12) {
        snprintf(text, LAB_FORMAT_SIZE, "-");
        return text;
    }
    int64_t whole = (int64_t)(seconds + 0.5), minutes = whole / 60;
    if (minutes < 60)
        snprintf(text, LAB_FORMAT_SIZE, "%d:%02d", (int)minutes, (int)(whole % 60));
    else
        snprintf(text, LAB_FORMAT_SIZE, "%lld:%02d:%02d", (long long)(minutes / 60),
                 (int)(minutes % 60), (int)(whole % 60));
    return text;
}

const char *lab_format_bytes(uint64_t bytes, char text[LAB_FORMAT_SIZE])
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (bytes < 1024) {
        snprintf(text, LAB_FORMAT_SIZE, "%d B", (int)bytes);
        return text;
    }
    double value = (double)bytes / 1024;
    int unit = 0;
    while (value >= 1023.5 && unit < 5) {
        value /= 1024;
        unit++;
    }
    print_three(text, value, units[unit]);
    return text;
}
