/*
 * paired.c - the Hodges-Lehmann estimate and its exact interval, and the serial correlation of
 * ranks
 */
#include "paired.h"

#include <math.h>

#include "spending.h"
#include "stats.h"

void lab_paired_make(lab_paired *paired, const double *differences, size_t units)
{
    paired->units = units;
    paired->count = 0;
    for (size_t i = 0; i < units; i++)
        for (size_t j = i; j < units; j++)
            paired->means[paired->count++] = (differences[i] + differences[j]) / 2;
    lab_stats_sort(paired->means, paired->count);
}

double lab_paired_center(const lab_paired *paired)
{
    return lab_stats_median(paired->means, paired->count);
}

/* The number of means to leave out at either end: the largest k for which the signed rank statistic
 * of @units units is below k with probability at most @tail. The statistic is the sum of a random
 * subset of 1 .. units, all subsets being equally likely; chance[s] is the share of the subsets
 * with sum s. */
static size_t left_out(size_t units, double tail)
{
    double chance[LAB_PAIRED_MEANS + 1] = { 1 };
    size_t largest = 0;
    for (size_t rank = 1; rank <= units; rank++) {
        largest += rank;
        for (size_t sum = largest + 1; sum-- > 0;)
            chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
    }
    size_t k = 0;
    double below = chance[0];
    while (below <= tail && k < largest / 2)
        below += chance[++k];
    return k;
}

bool lab_paired_interval(const lab_paired *paired, double tail, double *low, double *high)
{
    size_t out = left_out(paired->units, tail);
    *low = out ? paired->means[out - 1] : -INFINITY;
    *high = out ? paired->means[paired->count - out] : INFINITY;
    return out > 0;
}

double lab_paired_estimate(const double *differences, size_t units)
{
    lab_paired paired;
    lab_paired_make(&paired, differences, units);
    return lab_paired_center(&paired);
}

/* -------------------------------------------------------------------------- */
/* Serial correlation                                                         */
/* -------------------------------------------------------------------------- */

/* Centered ranks; ties get their mean rank. */
static void rank(const double *values, size_t count, double ranks[LAB_SERIAL_MAX])
{
    for (size_t i = 0; i < count; i++) {
        ranks[i] = 0;
        for (size_t j = 0; j < count; j++)
            ranks[i] += values[j] < values[i] ? 0.5 : values[j] > values[i] ? -0.5 : 0;
    }
}

/* The variance of the correlation of ranks in random order. */
static double variance_of(double n)
{
    double upper = 5 * pow(n, 4) - 24 * pow(n, 3) + 29 * n * n + 54 * n - 74;
    return upper / (5 * n * n * (n - 1) * (n - 1) * (n + 1));
}

double lab_serial_chance(const double *values, size_t count)
{
    double ranks[LAB_SERIAL_MAX], products = 0, squares = 0, n = (double)count;
    rank(values, count, ranks);
    for (size_t i = 0; i < count; i++) {
        squares += ranks[i] * ranks[i];
        products += i > 0 ? ranks[i] * ranks[i - 1] : 0;
    }
    if (count < 3 || squares == 0)
        return 1;
    return lab_normal_above((products / squares + 1 / n) / sqrt(variance_of(n)));
}
