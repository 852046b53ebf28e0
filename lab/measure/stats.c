/*
 * stats.c - order statistics and spread
 */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/array.h"

double lab_stats_round(double seconds)
{
    double scale = seconds > 0 && isfinite(seconds) ? pow(10, 4 - floor(log10(2 * seconds))) : 1;
    return scale > 1 && isfinite(scale) ? round(seconds * scale) / scale : seconds;
}

void lab_stats_sort(double *samples, size_t n)
{
    if (n > 1)
        qsort(samples, n, sizeof *samples, lab_order_reals);
}

double lab_stats_quantile(const double *sorted, size_t n, double p)
{
    if (n == 0)
        return NAN;
    if (!(p > 0))
        return sorted[0];
    if (p >= 1)
        return sorted[n - 1];
    double h = (double)(n - 1) * p;
    size_t below = (size_t)h;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (h - (double)below) * (sorted[below + 1] - sorted[below]);
}

double lab_stats_median(const double *sorted, size_t n)
{
    return lab_stats_quantile(sorted, n, 0.5);
}

/* The @rank-th smallest deviation (counted from 0) from @center. The deviations of sorted samples
 * are two sorted runs, one on each side of the center, so a merge from the center outwards finds it
 * without a copy. */
static double deviation_at(const double *sorted, size_t n, double center, size_t rank)
{
    size_t right = 0;
    while (right < n && sorted[right] < center)
        right++;
    size_t left = right; /* samples below the center: sorted[left - 1] is the next one */
    double deviation = 0;
    for (size_t i = 0; i <= rank; i++) {
        bool take_left = right >= n ||
                         (left > 0 && center - sorted[left - 1] < sorted[right] - center);
        deviation = take_left ? center - sorted[--left] : sorted[right++] - center;
    }
    return deviation;
}

double lab_stats_mad(const double *sorted, size_t n)
{
    if (n == 0)
        return NAN;
    double center = lab_stats_median(sorted, n);
    double upper = deviation_at(sorted, n, center, n / 2);
    if (n % 2 == 1)
        return upper;
    return (deviation_at(sorted, n, center, n / 2 - 1) + upper) / 2;
}

double lab_stats_mean(const double *samples, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += samples[i];
    return n ? sum / (double)n : NAN;
}

double lab_stats_geomean(const double *samples, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += log(samples[i]);
    return n ? exp(sum / (double)n) : NAN;
}

void lab_stats_summarize(double *samples, size_t n, lab_summary *summary)
{
    lab_stats_sort(samples, n);
    summary->n = n;
    summary->min = n ? samples[0] : NAN;
    summary->p50 = lab_stats_median(samples, n);
    summary->p90 = lab_stats_quantile(samples, n, 0.9);
    summary->mean = lab_stats_mean(samples, n);
    summary->mad = lab_stats_mad(samples, n);
}

lab_summary lab_stats_summary_of(const double *samples, size_t n)
{
    lab_summary summary = { 0 };
    double *sorted = n > 0 ? malloc(n * sizeof *sorted) : NULL;

    if (sorted) {
        memcpy(sorted, samples, n * sizeof *sorted);
        lab_stats_summarize(sorted, n, &summary);
    }
    free(sorted);
    return summary;
}
