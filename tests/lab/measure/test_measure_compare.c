/*
 * test_measure_compare.c - confidence intervals, interim looks and verdicts, compared with
 * independent figures
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>

#include "lab/measure/family.h"
#include "lab/measure/looks.h"
#include "lab/measure/paired.h"
#include "lab/tensor/random.h"

static void assert_near(double got, double want, double slack)
{
    if (!(fabs(got - want) <= slack))
        fail_msg("got %.9g, want %.9g within %g", got, want, slack);
}

/* scipy.stats.norm.sf and isf. */
static void normal_numbers(void **state)
{
    assert_near(lab_normal_above(0), 0.5, 1e-15);
    assert_near(lab_normal_above(1.96), 0.024997895148220435, 1e-12);
    assert_near(lab_normal_bound(0.025), 1.9599639845400545, 1e-9);
    assert_near(lab_normal_bound(0.9), -1.2815515655446004, 1e-9);
    assert_near(lab_normal_above(6), 9.865876450376946e-10, 1e-18);
}

/* Means of 10 units ranked 1 to 10 whose signed rank sum has P(T <= 8) = 0.0244 and P(T <= 3) =
 * 0.0049 (tables of Wilcoxon's test, such as Hollander and Wolfe's A.4): 9 means are left out at
 * 0.025, 4 at 0.005. With 7 units none may be left out at 0.005, since 2^-7 is larger. */
static void exact_intervals(void **state)
{
    static const double units[10] = { 0.1, -0.3, 0.7, 1.9, 2.4, -1.1, 3.2, 0.2, 5, 1.1 };
    lab_paired paired;
    double low, high;
    lab_paired_make(&paired, units, 10);
    assert_int_equal(paired.count, 55);
    assert_true(lab_paired_interval(&paired, 0.025, &low, &high));
    assert_near(low, paired.means[8], 0);
    assert_near(high, paired.means[46], 0);
    assert_true(lab_paired_interval(&paired, 0.005, &low, &high));
    assert_near(low, paired.means[3], 0);
    lab_paired_make(&paired, units, 7);
    assert_false(lab_paired_interval(&paired, 0.005, &low, &high));
    assert_true(isinf(low) && low < 0 && isinf(high) && high > 0);
    assert_true(lab_paired_interval(&paired, 0.0079, &low, &high)); /* 2^-7 = 0.0078125 */
    assert_near(low, -1.1, 1e-15);
    assert_near(high, 3.2, 1e-15);
}

/* One outlier among seven units does not move the estimate, however far away it is. */
static void robust_estimates(void **state)
{
    static const double units[7] = { 1, 1.1, 0.9, 1.05, 0.95, 1, 1e9 };
    static const double one[1] = { 4 };
    assert_near(lab_paired_estimate(units, 7), 1.025, 0.03);
    assert_near(lab_paired_estimate(one, 1), 4, 0);
}

/* Bounds of the O'Brien-Fleming-like spending function at five equal looks, error 0.025 on one
 * side: Jennison and Turnbull, "Group sequential methods" (2000), and R's gsDesign(k = 5, sfu =
 * "OF" of Lan and DeMets): 4.8769, 3.3569, 2.6803, 2.2898, 2.0310. */
static void spends_by_plan(void **state)
{
    static const double bounds[5] = { 4.8769, 3.3569, 2.6803, 2.2898, 2.0310 };
    static const double fractions[5] = { 0.2, 0.4, 0.6, 0.8, 1 };
    static const double part[2] = { 0.3, 0.5 };
    double tails[5];
    lab_spending_tails(fractions, 5, 0.025, tails);
    for (int i = 0; i < 5; i++)
        assert_near(lab_normal_bound(tails[i]), bounds[i], 0.002);
    lab_spending_tails(fractions + 4, 1, 0.025, tails);
    assert_near(tails[0], 0.025, 1e-9);
    lab_spending_tails(part, 2, 0.025, tails); /* ended early: the whole error is spent */
    assert_true(tails[1] > 0.0249 && tails[1] < 0.0251);
}

/* Brownian motion with ten looks crosses the bounds no more often than the error allows. */
static void peeking_is_paid_for(void **state)
{
    double fractions[10], tails[10], bounds[10];
    int crossed = 0, naive = 0, runs = 20000;
    uint64_t steps = 0;
    for (int i = 0; i < 10; i++)
        fractions[i] = (i + 1) / 10.0;
    lab_spending_tails(fractions, 10, 0.025, tails);
    for (int i = 0; i < 10; i++)
        bounds[i] = lab_normal_bound(tails[i]);
    for (int run = 0; run < runs; run++) {
        double place = 0;
        bool over = false, over_fixed = false;
        for (int i = 0; i < 10; i++) {
            for (int j = 0; j < 4; j++)
                place += lab_random_normal(1, steps++) * sqrt(0.025);
            double z = place / sqrt(fractions[i]);
            over |= z > bounds[i];
            over_fixed |= z > 1.96;
        }
        crossed += over;
        naive += over_fixed;
    }
    assert_in_range(crossed, 0.022 * runs, 0.028 * runs); /* three standard deviations */
    assert_true(naive > 0.08 * runs);                     /* far more without a correction */
}

static lab_comparison compare(const double *a, const double *b, size_t pairs, double margin,
                              double gain)
{
    const lab_series series = { .a = a, .b = b, .pairs = pairs };
    const lab_rules rules = { .margin = margin, .gain = gain };
    lab_comparison comparison;
    assert_int_equal(lab_compare(&series, &rules, &comparison), HEED_OK);
    return comparison;
}

/* Exact blocks: the verdict follows from ratio and bounds alone. */
static void verdict_bounds(void **state)
{
    static const struct {
        double b, margin, gain;
        size_t pairs;
        lab_compared verdict;
    } cases[] = {
        { 1.00, 0, 0, 8, LAB_EQUIVALENT },    { 1.005, 0, 0, 8, LAB_EQUIVALENT },
        { 1.02, 0, 0, 8, LAB_FASTER },        { 0.98, 0, 0, 8, LAB_SLOWER },
        { 1.02, 0.05, 0, 8, LAB_EQUIVALENT }, { 1.06, 0.05, 0, 8, LAB_FASTER },
        { 1.02, 0, 0, 7, LAB_AMBIGUOUS },     { 0.98, 0, 0, LAB_COMPARE_PAIRS_MIN, LAB_SLOWER },
        { 1.02, 0, 0.03, 8, LAB_EQUIVALENT }, { 1.031, 0, 0.03, 8, LAB_FASTER },
        { 0.98, 0, 0.03, 8, LAB_SLOWER },     { 1.02, 0, 0, 100, LAB_FASTER },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double a[100], b[100];
        for (int j = 0; j < 100; j++) {
            a[j] = 1 + j; /* a drift that affects both sides has no effect */
            b[j] = cases[i].b * a[j];
        }
        lab_comparison c = compare(a, b, cases[i].pairs, cases[i].margin, cases[i].gain);
        assert_near(c.ratio.estimate, cases[i].b, 1e-12);
        assert_string_equal(lab_compared_name(c.verdict), lab_compared_name(cases[i].verdict));
        assert_near(c.noise, 0, 1e-12);
    }
}

static void refuses_nonsense(void **state)
{
    static const lab_rules bad[] = { { .margin = -0.1 },    { .margin = NAN },
                                     { .margin = 1.5 },     { .gain = -1 },
                                     { .confidence = 1 },   { .confidence = -1 },
                                     { .confidence = NAN }, { .looks = LAB_LOOKS_MAX + 1 } };
    static const double good[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const double zero[8] = { 1, 1, 1, 0, 1, 1, 1, 1 };
    static const double odd[8] = { 1, 1, 1, 1, 1, 1, 1, NAN };
    lab_series series = { .a = good, .b = good, .pairs = 8 };
    lab_comparison comparison;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(lab_compare(&series, &bad[i], &comparison), HEED_ERR_INVALID);
    series.b = zero;
    assert_int_equal(lab_compare(&series, NULL, &comparison), HEED_ERR_INVALID);
    series.b = odd;
    assert_int_equal(lab_compare(&series, NULL, &comparison), HEED_ERR_INVALID);
    series.b = good;
    series.pairs = 0;
    assert_int_equal(lab_compare(&series, NULL, &comparison), HEED_ERR_INVALID);
    series.pairs = LAB_PAIRS_MAX + 1;
    assert_int_equal(lab_compare(&series, NULL, &comparison), HEED_ERR_INVALID);
}

/* Stretches are even and few enough, and looks coincide with their ends, the last look with the
 * last end. */
static void stretches_and_looks(void **state)
{
    for (size_t planned = 1; planned <= LAB_PAIRS_MAX; planned++) {
        size_t stretch = lab_stretch_pairs(planned), before = 0;
        assert_true(stretch == 1 ? planned < 32 : stretch % 2 == 0);
        assert_in_range(planned / stretch, planned < 16 ? 1 : 16, 48);
        assert_in_range(stretch, 1, LAB_PAIRED_MAX);
        for (size_t look = 0; look < 5; look++) {
            size_t pairs = lab_look_pairs(planned, 5, look);
            assert_true(pairs >= before && pairs % stretch == 0);
            before = pairs;
        }
        assert_int_equal(before, planned / stretch * stretch);
    }
}

/* The serial test's distribution in two ways: here by all 5040 orders of seven numbers. The share
 * of orders whose neighbours are at least as similar must match approximately. */
static void serial_orders(void **state)
{
    static const double rising[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    static const double turns[10] = { 1, 10, 2, 9, 3, 8, 4, 7, 5, 6 };
    static const double equal[4] = { 1, 1, 1, 1 };
    int alike = 0, orders = 0;
    for (int code = 0; code < 823543; code++) { /* 7^7 */
        double values[7];
        unsigned seen = 0;
        for (int i = 0, rest = code; i < 7; i++, rest /= 7) {
            values[i] = rest % 7;
            seen |= 1u << rest % 7;
        }
        if (seen != 127)
            continue;
        orders++;
        alike += lab_serial_chance(values, 7) <= 0.1;
    }
    assert_int_equal(orders, 5040);
    assert_in_range(alike, 0.07 * orders, 0.14 * orders);
    assert_true(lab_serial_chance(rising, 10) < 0.01);
    assert_true(lab_serial_chance(turns, 10) > 0.9);
    assert_near(lab_serial_chance(equal, 4), 1, 0);
    assert_near(lab_serial_chance(equal, 0), 1, 0);
}

/* Independent units are merged no more often than the stated chance; units are merged in pairs,
 * with one left over. */
static void merges_what_is_alike(void **state)
{
    double units[48], slow[9] = { 1, 1, 2, 2, 3, 7, 8, 9, 9.5 };
    size_t count = 9, merged = 0;
    assert_int_equal(lab_units_merge(slow, &count), 2);
    assert_int_equal(count, 4);
    assert_near(slow[0], 1, 0);
    assert_near(slow[3], 26.5 / 3, 1e-12);
    for (uint64_t run = 0; run < 2000; run++) {
        for (uint64_t i = 0; i < 48; i++)
            units[i] = lab_random_normal(run, i);
        count = 48;
        merged += lab_units_merge(units, &count) > 1;
    }
    assert_in_range(merged, 60, 2000 * LAB_ALIKE_CHANCE + 40); /* four standard deviations */
}

/* A disturbance that outlasts a stretch, so that a third of each unit or more carries over from the
 * previous one, gives false verdicts; counting similar units as one removes most of them. */
static void dependence_is_seen(void **state)
{
    static const double shares[] = { 0.35, 0.5, 0.8 };
    for (size_t s = 0; s < 3; s++) {
        int wrong = 0, believed = 0, runs = 1000;
        for (uint64_t run = 0; run < (uint64_t)runs; run++) {
            double units[48], low, high, now = lab_random_normal(run, 99);
            lab_interval ratio;
            lab_paired paired;
            for (uint64_t i = 0; i < 48; i++)
                units[i] = now = shares[s] * now +
                                 sqrt(1 - shares[s] * shares[s]) * lab_random_normal(run, i);
            lab_paired_make(&paired, units, 48);
            lab_paired_interval(&paired, 0.005, &low, &high);
            believed += low > 0 || high < 0;
            lab_units_ratio(units, 48, 0.005, &ratio);
            wrong += ratio.low > 1 || ratio.high < 1;
        }
        print_message("neighbours share %.2f: %d false, %d as they are\n", shares[s], wrong,
                      believed);
        assert_true(10 * wrong < 6 * believed);
    }
}

/* A drift over the whole run leaves no doubt about a kernel that is 36 times slower, but it does
 * hide a difference as small as the drift. If too few units are left, the interval is three times
 * as wide as their range, and an early look with too little of the error has no interval. */
static void drift_has_ends(void **state)
{
    static const double slower[] = { 36, 1.02 };
    double a[1200], b[1200];
    for (size_t s = 0; s < 2; s++) {
        const lab_series series = { .a = a, .b = b, .pairs = 1200 };
        lab_comparison c;
        for (size_t i = 0; i < 1200; i++) {
            a[i] = 1;
            b[i] = slower[s] * (1 + 0.05 * (double)i / 1200);
        }
        assert_int_equal(lab_compare(&series, NULL, &c), HEED_OK);
        assert_true(c.merged > 4);
        assert_int_equal(c.verdict, s == 0 ? LAB_FASTER : LAB_AMBIGUOUS);
        double width = log(c.ratio.high / c.ratio.low);
        assert_true(width > 0.12 && width < 0.16);
        assert_true(lab_interval_follows(&series, &c.ratio));
    }
    double units[12] = { 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.1 };
    lab_interval ratio;
    assert_int_equal(lab_units_ratio(units, 12, 0.005, &ratio), 2);
    assert_near(log(ratio.low), 1.55 - 1.5 * 1.1, 1e-9);
    assert_near(log(ratio.high), 1.55 + 1.5 * 1.1, 1e-9);
    lab_units_ratio(units, 12, 0.0001, &ratio);
    assert_true(ratio.low == 0 && isinf(ratio.high));
}

/* While pairs are added, only due looks count; a clear difference ends the series early, and a
 * deadline ends it with the pairs so far. */
static void looks_while_it_grows(void **state)
{
    double a[80], b[80];
    const lab_rules rules = { .looks = 5 };
    lab_comparison c;
    for (uint64_t i = 0; i < 80; i++) {
        a[i] = 1 + 0.01 * lab_random_normal(3, i);
        b[i] = 1.1 * (1 + 0.01 * lab_random_normal(4, i));
    }
    lab_series series = { .a = a, .b = b, .planned = 80 };
    size_t due[5];
    for (size_t look = 0; look < 5; look++)
        due[look] = lab_look_pairs(80, 5, look);
    for (series.pairs = 1; series.pairs < due[0]; series.pairs++) {
        assert_int_equal(lab_compare(&series, &rules, &c), HEED_OK);
        assert_int_equal(c.looks, 0);
        assert_int_equal(c.verdict, LAB_AMBIGUOUS);
    }
    for (; series.pairs < due[2]; series.pairs++)
        assert_int_equal(lab_compare(&series, &rules, &c), HEED_OK);
    assert_int_equal(lab_compare(&series, &rules, &c), HEED_OK);
    assert_int_equal(c.verdict, LAB_FASTER);
    assert_in_range(c.pairs, due[1], due[2]);
    series.pairs = 80; /* later samples do not change it */
    lab_comparison later;
    assert_int_equal(lab_compare(&series, &rules, &later), HEED_OK);
    assert_near(later.ratio.low, c.ratio.low, 0);
    assert_int_equal(later.pairs, c.pairs);
    series.pairs = due[0] + 1; /* out of time after that */
    series.ended = true;
    assert_int_equal(lab_compare(&series, &rules, &c), HEED_OK);
    assert_int_equal(c.looks, 1);
    series.pairs = 1;
    assert_int_equal(lab_compare(&series, &rules, &c), HEED_OK);
    assert_int_equal(c.verdict, LAB_AMBIGUOUS);
    assert_true(isinf(c.ratio.high));
}

/* An interval from elsewhere is accepted if its pairs give it, and rejected if it is narrower or
 * different. */
static void intervals_follow(void **state)
{
    static double a[600], b[600];
    const lab_rules rules = { .looks = LAB_LOOKS_MAX };
    for (uint64_t seed = 1; seed <= 190; seed++) {
        size_t pairs = 8 + 3 * (size_t)seed;
        for (size_t i = 0; i < pairs; i++) {
            a[i] = 1 + 0.01 * lab_random_normal(seed, 2 * i);
            b[i] = 1 + 0.01 * lab_random_normal(seed, 2 * i + 1);
        }
        const lab_series grown = { .a = a, .b = b, .pairs = pairs, .planned = 2 * pairs };
        lab_comparison c;
        assert_int_equal(lab_compare(&grown, &rules, &c), HEED_OK);
        if (!(c.ratio.low > 0))
            continue;
        const lab_series said = { .a = a, .b = b, .pairs = c.pairs };
        const lab_interval *r = &c.ratio, wide = { r->estimate, r->low / 2, INFINITY };
        const lab_interval forged[] = { { 1.001 * r->estimate, r->low, 2 * r->high },
                                        { r->estimate, r->estimate, r->high },
                                        { r->estimate, r->low, r->estimate } };
        assert_true(lab_interval_follows(&said, r));
        assert_true(lab_interval_follows(&said, &wide));
        for (size_t i = 0; i < sizeof forged / sizeof *forged; i++)
            assert_false(lab_interval_follows(&said, &forged[i]));
    }
}

/* Pooled duels of sides that differ by 3 %: the interval contains that, and is narrower than that
 * of a single duel, roughly by the expected factor. */
static void pools_duels(void **state)
{
    enum {
        DUELS = 30,
        PAIRS = 96,
        RUNS = 100
    };
    static double a[DUELS][PAIRS], b[DUELS][PAIRS];
    lab_series series[DUELS];
    lab_interval one, all;
    int missed = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        for (uint64_t i = 0; i < DUELS; i++) {
            for (uint64_t j = 0; j < PAIRS; j++) {
                a[i][j] = exp(0.02 * lab_random_normal(run, 2 * (i * PAIRS + j)));
                b[i][j] = 1.03 * exp(0.02 * lab_random_normal(run, 2 * (i * PAIRS + j) + 1));
            }
            series[i] = (lab_series){ .a = a[i], .b = b[i], .pairs = PAIRS };
        }
        assert_int_equal(lab_pooled_ratio(series, 1, 0.99, &one), HEED_OK);
        assert_int_equal(lab_pooled_ratio(series, DUELS, 0.99, &all), HEED_OK);
        missed += all.low > 1.03 || all.high < 1.03;
        assert_near(all.estimate, 1.03, 0.003);
        assert_true(all.high - all.low < (one.high - one.low) / 2);
    }
    assert_in_range(missed, 0, 5);
    series[0].pairs = 7;
    assert_int_equal(lab_pooled_ratio(series, 1, 0.99, &one), HEED_OK);
    assert_true(one.low == 0 && isinf(one.high));
    assert_int_equal(lab_pooled_ratio(series, 0, 0.99, &one), HEED_ERR_INVALID);
    series[0].planned = 3072;
    assert_int_equal(lab_pooled_ratio(series, 1, 0.99, &one), HEED_ERR_INVALID);
}

RUN_TESTS(normal_numbers, exact_intervals, robust_estimates, spends_by_plan, peeking_is_paid_for,
          verdict_bounds, refuses_nonsense, stretches_and_looks, drift_has_ends,
          looks_while_it_grows, serial_orders, merges_what_is_alike, dependence_is_seen,
          intervals_follow, pools_duels)
