/*
 * stats.h - statistics of small samples: order statistics, spread, bootstrap intervals
 *
 * All functions take finite numbers. "sorted" means ascending, as lab_stats_sort() leaves them.
 * With no samples the result is NaN. Only the bootstrap and lab_stats_summary_of() allocate.
 *
 * Method and sources: quantiles are type 7 of Hyndman and Fan (1996), the default of R and NumPy.
 * Intervals are percentile bootstrap intervals (Efron and Tibshirani, "An Introduction to the
 * Bootstrap", 1993, chapter 13): resample with replacement, recompute, take quantiles of the
 * results. For the median of 10 or more samples a nominal 95 % covers 92 to 95 % in simulation;
 * with fewer samples the interval is too narrow, and with fewer than 3 it is meaningless.
 */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include <stddef.h>
#include <stdint.h>

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

/* How to bootstrap. Zero in a field means its default. */
typedef struct lab_bootstrap {
    uint64_t seed;     /* for the resampling; the same seed gives the same interval */
    int resamples;     /* default 2000 */
    double confidence; /* two-sided, between 0 and 1; default 0.95 */
} lab_bootstrap;

#define LAB_BOOTSTRAP_RESAMPLES 2000
#define LAB_BOOTSTRAP_CONFIDENCE 0.95

/* A confidence interval and the estimate it belongs to. */
typedef struct lab_interval {
    double estimate;
    double low;
    double high;
} lab_interval;

/* lab_stats_median_interval() writes the median of @n samples (any order) and its interval to
 * @interval. @options may be NULL. Allocates temporarily. Returns HEED_OK; HEED_ERR_INVALID if @n
 * is 0 or an option is out of range; HEED_ERR_NO_MEMORY. */
heed_status lab_stats_median_interval(const double *samples, size_t n, const lab_bootstrap *options,
                                      lab_interval *interval);

#endif /* LAB_STATS_H */
