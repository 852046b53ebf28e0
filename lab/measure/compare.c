/*
 * compare.c - judges a series at the looks that are due, until one has a verdict
 */
#include "compare.h"

#include <math.h>

#include "looks.h"

/* The ratio of standard deviation to median absolute deviation of a normal distribution. */
#define DEVIATION_PER_MAD 1.4826

/* Numbers from JSON have nine digits. */
#define DIGITS 1e-6

const char *lab_compared_name(lab_compared verdict)
{
    static const char *const names[] = {
        [LAB_AMBIGUOUS] = "AMBIGUOUS",
        [LAB_FASTER] = "FASTER",
        [LAB_SLOWER] = "SLOWER",
        [LAB_EQUIVALENT] = "EQUIVALENT",
    };

    if ((size_t)verdict >= sizeof names / sizeof names[0])
        return "AMBIGUOUS";
    return names[verdict];
}

static bool series_fits(const lab_series *series)
{
    if (series->pairs < 1 || series->pairs > LAB_PAIRS_MAX || series->planned > LAB_PAIRS_MAX)
        return false;
    for (size_t i = 0; i < series->pairs; i++)
        if (!(series->a[i] > 0 && series->b[i] > 0 && isfinite(series->a[i] / series->b[i])))
            return false;
    return true;
}

/* The spread of single pairs about the @center of their logarithms. */
static double noise_of(const lab_series *series, size_t pairs, double center)
{
    double away[LAB_PAIRS_MAX];
    for (size_t i = 0; i < pairs; i++)
        away[i] = fabs(log(series->b[i] / series->a[i]) - center);
    lab_stats_sort(away, pairs);
    return DEVIATION_PER_MAD * lab_stats_median(away, pairs);
}

/* One look: the interval and the verdict on the first @pairs pairs. */
static void look_at(const lab_series *series, size_t pairs, size_t stretch, double tail,
                    const lab_rules *rules, lab_comparison *comparison)
{
    double units[LAB_PAIRED_MAX];
    size_t count = lab_stretch_units(series, pairs, stretch, units);
    comparison->merged = lab_units_ratio(units, count, tail, &comparison->ratio);
    comparison->verdict = lab_judge(&comparison->ratio, rules);
    comparison->pairs = pairs;
}

heed_status lab_compare(const lab_series *series, const lab_rules *rules,
                        lab_comparison *comparison)
{
    lab_rules full;
    lab_schedule due;
    if (lab_rules_fill(rules, &full) != HEED_OK || !series_fits(series))
        return HEED_ERR_INVALID;
    *comparison = (lab_comparison){ .ratio = { 1, 0, INFINITY },
                                    .margin = full.margin,
                                    .confidence = full.confidence };
    lab_schedule_make(&due, series, &full);
    while (comparison->looks < due.count && comparison->verdict == LAB_AMBIGUOUS) {
        size_t look = comparison->looks++;
        look_at(series, due.pairs[look], due.stretch, due.tails[look], &full, comparison);
    }
    comparison->noise = noise_of(series, series->pairs, log(comparison->ratio.estimate));
    return HEED_OK;
}

/* ---- Check of a comparison from another source ---- */

static bool is_allowed(const lab_interval *ratio, const lab_interval *least)
{
    return fabs(log(ratio->estimate / least->estimate)) <= DIGITS &&
           log(ratio->low) <= log(least->low) + DIGITS &&
           log(ratio->high) >= log(least->high) - DIGITS;
}

/* Checks the units with correlated neighbours merged, and as they are. */
static bool units_allow(const double *units, size_t count, const lab_interval *ratio)
{
    const double tail = (1 - LAB_COMPARE_CONFIDENCE) / 2;
    lab_interval merged;
    lab_paired paired;
    double low, high;
    if (lab_units_ratio(units, count, tail, &merged) > 1 && is_allowed(ratio, &merged))
        return true;
    lab_paired_make(&paired, units, count);
    lab_paired_interval(&paired, tail, &low, &high);
    const lab_interval plain = { exp(lab_paired_center(&paired)), exp(low), exp(high) };
    return is_allowed(ratio, &plain);
}

bool lab_interval_follows(const lab_series *series, const lab_interval *ratio)
{
    double units[LAB_PAIRED_MAX];
    if (!series_fits(series))
        return false;
    for (size_t stretch = 1; stretch <= LAB_PAIRED_MAX; stretch += stretch > 1 ? 2 : 1) {
        if (series->pairs / stretch > LAB_PAIRED_MAX || series->pairs < stretch)
            continue;
        size_t count = lab_stretch_units(series, series->pairs, stretch, units);
        if (units_allow(units, count, ratio))
            return true;
    }
    return false;
}
