/*
 * paired.c - means of two units, and how many of them an interval leaves out
 */
#include "paired.h"

#include <math.h>
#include <string.h>

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

/* How many means to leave out at either end: the largest k for which the signed rank statistic of
 * @units units is below k with probability @tail at most. The statistic is the sum of a random
 * subset of 1 .. units, each subset as likely as any other; @chance[s] is the share of the subsets
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
