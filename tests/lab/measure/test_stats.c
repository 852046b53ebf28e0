/*
 * test_stats.c - order statistics compared with NumPy and SciPy, confidence intervals by simulation
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lab/measure/stats.h"

static const double ten[10] = { 3.1, 1.2, 5.9, 2.6, 5.3, 5.8, 9.7, 9.3, 2.3, 8.4 };

static void assert_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want) + 1e-300))
        fail_msg("got %.17g, want %.17g within a factor of 1 +- %g", got, want, relative);
}

/* numpy 2.3: numpy.quantile(ten, p), method "linear", which is type 7. */
static void test_quantiles(void **state)
{
    static const double cases[][2] = { { 0, 1.2 },    { 0.1, 2.19 }, { 0.25, 2.725 },
                                       { 0.5, 5.55 }, { 0.9, 9.34 }, { 0.99, 9.664 },
                                       { 1, 9.7 },    { -3, 1.2 },   { 7, 9.7 } };
    double sorted[10];

    memcpy(sorted, ten, sizeof sorted);
    lab_stats_sort(sorted, 10);
    for (size_t i = 1; i < 10; i++)
        assert_true(sorted[i - 1] <= sorted[i]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_near(lab_stats_quantile(sorted, 10, cases[i][0]), cases[i][1], 1e-14);
}

/* scipy.stats.median_abs_deviation(ten) and of its first 7; numpy.mean(ten);
 * scipy.stats.gmean(ten). */
static void test_spread_and_means(void **state)
{
    double sorted[10];

    memcpy(sorted, ten, sizeof sorted);
    lab_stats_sort(sorted, 10);
    assert_near(lab_stats_mad(sorted, 10), 2.9, 1e-14);
    memcpy(sorted, ten, sizeof sorted);
    lab_stats_sort(sorted, 7);
    assert_near(lab_stats_mad(sorted, 7), 2.2, 1e-14);
    assert_near(lab_stats_mean(ten, 10), 5.36, 1e-14);
    assert_near(lab_stats_geomean(ten, 10), 4.451776952665383, 1e-13);
}

static void test_mad_of_ties_and_one(void **state)
{
    static const double same[4] = { 2, 2, 2, 2 };
    static const double mostly[5] = { 1, 1, 1, 1, 100 };
    static const double one[1] = { 7 };

    assert_true(lab_stats_mad(same, 4) == 0);
    assert_true(lab_stats_mad(mostly, 5) == 0);
    assert_true(lab_stats_mad(one, 1) == 0);
    assert_true(lab_stats_median(one, 1) == 7);
}

static void test_nothing_is_nan(void **state)
{
    lab_summary summary;

    assert_true(isnan(lab_stats_quantile(NULL, 0, 0.5)));
    assert_true(isnan(lab_stats_mad(NULL, 0)));
    assert_true(isnan(lab_stats_mean(NULL, 0)));
    assert_true(isnan(lab_stats_geomean(NULL, 0)));
    lab_stats_summarize(NULL, 0, &summary);
    assert_true(summary.n == 0 && isnan(summary.p50));
    summary = lab_stats_summary_of(NULL, 0);
    assert_true(summary.n == 0 && summary.p50 == 0);
}

static void test_summary(void **state)
{
    double samples[10];
    lab_summary summary;

    memcpy(samples, ten, sizeof samples);
    const lab_summary of_copy = lab_stats_summary_of(samples, 10);
    assert_memory_equal(samples, ten, sizeof samples);
    lab_stats_summarize(samples, 10, &summary);
    assert_memory_equal(&of_copy, &summary, sizeof summary);
    assert_int_equal(summary.n, 10);
    assert_near(summary.min, 1.2, 0);
    assert_near(summary.p50, 5.55, 1e-14);
    assert_near(summary.p90, 9.34, 1e-14);
    assert_near(summary.mean, 5.36, 1e-14);
    assert_near(summary.mad, 2.9, 1e-14);
}

/* Rounds to four or five digits, which print exactly. Other numbers are unchanged. */
static void test_round(void **state)
{
    static const struct {
        double value, rounded;
    } cases[] = { { 4.00037794e-06, 4.0004e-6 }, { 1.00004999e-3, 1e-3 },    { 9.99996e-05, 1e-4 },
                  { 7.12345e-06, 7.123e-6 },     { 4.99996e-06, 5e-6 },      { 2.5, 2.5 },
                  { 3.14159265, 3.1416 },        { 123456.789, 123456.789 }, { 0, 0 },
                  { -1.23456789, -1.23456789 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(lab_stats_round(cases[i].value) == cases[i].rounded);
    assert_true(isinf(lab_stats_round(INFINITY)) && isnan(lab_stats_round(NAN)));
    assert_true(lab_stats_round(1e-320) == 1e-320); /* the power of ten would overflow */
}

RUN_TESTS(test_quantiles, test_spread_and_means, test_mad_of_ties_and_one, test_nothing_is_nan,
          test_summary, test_round)
