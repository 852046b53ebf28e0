/*
 * stats.h - statistics of small samples: order statistics, spread
 *
 * All functions take finite numbers. "sorted" means ascending, as lab_stats_sort() leaves them.
 * With no samples the result is NaN. Only lab_stats_summary_of() allocates. Quantiles are type 7 of
 * Hyndman and Fan (1996), the default of R and NumPy.
 */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include <stddef.h>

#include "heed.h"

/* lab_stats_sort() sorts @n samples in place, ascending. */
void lab_stats_sort(double *samples, size_t n);

/* lab_stats_quantile() returns the @p quantile (0 to 1; anything outside is clamped) of @n sorted
 * samples: with h = (n - 1) p, the value at h, interpolated linearly between its two neighbours. */
double lab_stats_quantile(const double *sorted, size_t n, double p);

/* lab_stats_round() returns @seconds rounded to the meaningful digits of a timing, five if the
 * first is 1 to 4, else four: an error of at most a hundredth of a percent. Further digits are
 * noise. */
double lab_stats_round(double seconds);

/* lab_stats_median() is lab_stats_quantile() at 0.5. */
double lab_stats_median(const double *sorted, size_t n);

/* lab_stats_mad() returns the median absolute deviation from the median, unscaled, of @n sorted
 * samples. */
double lab_stats_mad(const double *sorted, size_t n);

/* lab_stats_mean() returns the arithmetic mean of @n samples in any order. */
double lab_stats_mean(const double *samples, size_t n);

/* lab_stats_geomean() returns the geometric mean of @n positive samples in any order. */
double lab_stats_geomean(const double *samples, size_t n);

/* One line of a table: a summary of @n samples. */
typedef struct lab_summary {
    size_t n;
    double min;
    double p50;
    double p90;
    double mean;
    double mad;
} lab_summary;

/* lab_stats_summarize() sorts @n samples in place and fills @summary. */
void lab_stats_summarize(double *samples, size_t n, lab_summary *summary);

/* lab_stats_summary_of() does so without changing the samples: it sorts a copy. All zero if there
 * are no samples or no memory. */
lab_summary lab_stats_summary_of(const double *samples, size_t n);

/* A confidence interval and the estimate it belongs to. */
typedef struct lab_interval {
    double estimate;
    double low;
    double high;
} lab_interval;

#endif /* LAB_STATS_H */
