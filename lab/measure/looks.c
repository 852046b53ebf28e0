/*
 * looks.c - stretches of pairs, and the schedule of looks
 */
#include "looks.h"

#include <math.h>
#include <string.h>

#include "paired.h"

/* Maximum number of stretches, and the number of pairs above which a stretch has more than one. So
 * no stretch has more than LAB_PAIRS_MAX / STRETCHES = LAB_PAIRED_MAX pairs. */
enum {
    STRETCHES = 48,
    PAIRS_FEW = 32
};

/* If too few units are left, the interval extends to either side by this multiple of their range.
 * Of series of 48 in which neighbours share 98 % of their deviation, 0.6 % had the true mean
 * outside; of those that share less, none in 4,000. */
#define WIDENED 1.5

size_t lab_stretch_pairs(size_t planned)
{
    if (planned < PAIRS_FEW)
        return 1;
    return 2 * ((planned + 2 * STRETCHES - 1) / (2 * STRETCHES));
}

size_t lab_look_pairs(size_t planned, size_t looks, size_t look)
{
    size_t stretch = lab_stretch_pairs(planned);
    size_t all = planned / stretch;
    size_t least = all < LAB_UNITS_MIN ? all : LAB_UNITS_MIN;
    size_t units = (all * (look + 1) + looks - 1) / looks;
    return stretch * (units < least ? least : units);
}

heed_status lab_rules_fill(const lab_rules *rules, lab_rules *full)
{
    *full = rules ? *rules : (lab_rules){ 0 };
    if (full->margin == 0)
        full->margin = LAB_COMPARE_MARGIN;
    if (full->gain == 0)
        full->gain = full->margin;
    if (full->confidence == 0)
        full->confidence = LAB_COMPARE_CONFIDENCE;
    if (full->looks == 0)
        full->looks = 1;
    bool good = full->margin > 0 && full->margin <= 1 && full->gain > 0 && full->gain <= 1 &&
                full->confidence > 0 && full->confidence < 1 && full->looks <= LAB_LOOKS_MAX;
    return good ? HEED_OK : HEED_ERR_INVALID;
}

lab_compared lab_judge(const lab_interval *ratio, const lab_rules *rules)
{
    double upper = 1 + rules->gain;
    double lower = 1 / (1 + rules->margin);

    if (ratio->low > upper)
        return LAB_FASTER;
    if (ratio->high < lower)
        return LAB_SLOWER;
    if (ratio->low >= lower && ratio->high <= upper)
        return LAB_EQUIVALENT;
    return LAB_AMBIGUOUS;
}

size_t lab_stretch_units(const lab_series *series, size_t pairs, size_t stretch,
                         double units[LAB_PAIRED_MAX])
{
    double differences[LAB_PAIRED_MAX];
    size_t count = 0;
    for (size_t start = 0; start + stretch <= pairs; start += stretch) {
        for (size_t i = 0; i < stretch; i++)
            differences[i] = log(series->b[start + i] / series->a[start + i]);
        units[count++] = lab_paired_estimate(differences, stretch);
    }
    return count;
}

/* All of n units are on one side with probability 2^-n. Looks before the last one leave it less. */
size_t lab_units_least(const lab_rules *rules)
{
    size_t units = LAB_UNITS_MIN;
    while (units < STRETCHES && ldexp(1, -(int)units) > (1 - rules->confidence) / 2)
        units++;
    return units > LAB_UNITS_MIN && rules->looks > 1 ? units + 1 : units;
}

/* A single unit at the end joins its neighbours. */
static size_t put_together(double *units, size_t count)
{
    size_t half = count / 2;
    for (size_t i = 0; i < half; i++)
        units[i] = (units[2 * i] + units[2 * i + 1]) / 2;
    if (count % 2 == 1)
        units[half - 1] = (2 * units[half - 1] + units[count - 1]) / 3;
    return half;
}

size_t lab_units_merge(double *units, size_t *count)
{
    size_t merged = 1;
    for (; *count >= LAB_UNITS_MIN && lab_serial_chance(units, *count) <= LAB_ALIKE_CHANCE;
         merged *= 2)
        *count = put_together(units, *count);
    return merged;
}

/* The range of the units around @center, widened to both sides by WIDENED. */
static void range_about(double center, const double *units, size_t count, double *low, double *high)
{
    double least = units[0], most = units[0];
    for (size_t i = 1; i < count; i++) {
        least = fmin(least, units[i]);
        most = fmax(most, units[i]);
    }
    *low = center - WIDENED * (most - least);
    *high = center + WIDENED * (most - least);
}

size_t lab_units_ratio(const double *units, size_t count, double tail, lab_interval *ratio)
{
    lab_paired paired;
    double few[LAB_PAIRED_MAX], low, high;
    size_t left = count;
    memcpy(few, units, count * sizeof *units);
    lab_paired_make(&paired, units, count);
    bool ends = lab_paired_interval(&paired, tail, &low, &high);
    size_t merged = lab_units_merge(few, &left);
    if (merged > 1) {
        lab_paired_make(&paired, few, left);
        if (!lab_paired_interval(&paired, tail, &low, &high) && ends)
            range_about(lab_paired_center(&paired), units, count, &low, &high);
    }
    *ratio = (lab_interval){ exp(lab_paired_center(&paired)), exp(low), exp(high) };
    return merged;
}

void lab_schedule_make(lab_schedule *schedule, const lab_series *series, const lab_rules *rules)
{
    double fractions[LAB_LOOKS_MAX];
    size_t planned = series->planned ? series->planned : series->pairs;
    size_t stretch = lab_stretch_pairs(planned);
    size_t there = series->pairs / stretch * stretch;
    size_t whole = planned / stretch * stretch;
    size_t all = 0; /* looks up to the last one, due or not */
    *schedule = (lab_schedule){ .stretch = stretch };
    for (size_t look = 0; look < rules->looks; look++) {
        size_t pairs = lab_look_pairs(planned, rules->looks, look);
        if (series->ended && pairs > there)
            pairs = there;
        if (pairs == 0 || (all > 0 && pairs <= schedule->pairs[all - 1]))
            continue;
        schedule->pairs[all] = pairs;
        fractions[all++] = (double)pairs / (double)whole;
    }
    if (all > 0)
        lab_spending_tails(fractions, all, (1 - rules->confidence) / 2, schedule->tails);
    while (schedule->count < all && schedule->pairs[schedule->count] <= there)
        schedule->count++;
}
