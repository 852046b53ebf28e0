/*
 * stats.c - order statistics and bootstrap intervals
 */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/random.h"

/* Order of two doubles, for qsort(). */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double lab_stats_round(double seconds)
{
    double scale = seconds > 0 && isfinite(seconds) ? pow(10, 4 - floor(log10(2 * seconds))) : 1;
    return scale > 1 && isfinite(scale) ? round(seconds * scale) / scale : seconds;
}

void lab_stats_sort(double *samples, size_t n)
{
    if (n > 1)
        qsort(samples, n, sizeof *samples, ascending);
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

/* The options with their defaults filled in. */
static heed_status bootstrap_options(const lab_bootstrap *options, lab_bootstrap *full)
{
    *full = options ? *options : (lab_bootstrap){ 0 };
    if (full->resamples == 0)
        full->resamples = LAB_BOOTSTRAP_RESAMPLES;
    if (full->confidence == 0)
        full->confidence = LAB_BOOTSTRAP_CONFIDENCE;
    if (full->resamples < 1 || !(full->confidence > 0 && full->confidence < 1))
        return HEED_ERR_INVALID;
    return HEED_OK;
}

/* Sorts the bootstrap's @results and takes the interval from their quantiles. */
static void cut_interval(double *results, const lab_bootstrap *options, lab_interval *interval)
{
    size_t count = (size_t)options->resamples;
    double tail = (1 - options->confidence) / 2;

    lab_stats_sort(results, count);
    interval->low = lab_stats_quantile(results, count, tail);
    interval->high = lab_stats_quantile(results, count, 1 - tail);
}

/* The memory of a bootstrap: a resample, and the results. */
typedef struct scratch {
    double *drawn;
    double *results;
} scratch;

static heed_status scratch_create(scratch *s, size_t n, int resamples)
{
    /* The bias of lab_random_below() is negligible below 2^32, and no size below overflows. */
    if (n == 0 || n > UINT32_MAX)
        return HEED_ERR_INVALID;
    s->drawn = calloc(n + (size_t)resamples, sizeof(double));
    if (!s->drawn)
        return HEED_ERR_NO_MEMORY;
    s->results = s->drawn + n;
    return HEED_OK;
}

/* The median of the @n values in @drawn, which it sorts. */
static double median_of(double *drawn, size_t n)
{
    lab_stats_sort(drawn, n);
    return lab_stats_median(drawn, n);
}

heed_status lab_stats_median_interval(const double *samples, size_t n, const lab_bootstrap *options,
                                      lab_interval *interval)
{
    lab_bootstrap full;
    scratch s;
    heed_status status = bootstrap_options(options, &full);
    if (status == HEED_OK)
        status = scratch_create(&s, n, full.resamples);
    if (status != HEED_OK)
        return status;

    memcpy(s.drawn, samples, n * sizeof *samples);
    interval->estimate = median_of(s.drawn, n);

    uint64_t drawn = 0;
    for (int r = 0; r < full.resamples; r++) {
        for (size_t i = 0; i < n; i++)
            s.drawn[i] = samples[lab_random_below(full.seed, drawn++, (int64_t)n)];
        s.results[r] = median_of(s.drawn, n);
    }
    cut_interval(s.results, &full, interval);
    free(s.drawn);
    return HEED_OK;
}
