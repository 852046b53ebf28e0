/*
 * roofline_judge.c - rank correlation, to judge a cost model
 */
#include <math.h>
#include <stdlib.h>

#include "roofline.h"

/* A value and its index. */
typedef struct ranked {
    double value;
    size_t index;
} ranked;

static int by_value(const void *a, const void *b)
{
    double left = ((const ranked *)a)->value, right = ((const ranked *)b)->value;
    return (left > right) - (left < right);
}

/* Writes the ranks of @values; ties get their mean rank. */
static void rank(const double *values, size_t count, ranked *order, double *ranks)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (ranked){ values[i], i };
    qsort(order, count, sizeof *order, by_value);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !(order[i].value < order[end].value);)
            end++;
        for (size_t j = i; j < end; j++)
            ranks[order[j].index] = (double)(i + end - 1) / 2;
    }
}

/* Pearson's correlation. */
static double correlate(const double *a, const double *b, size_t count)
{
    double mean = (double)(count - 1) / 2, both = 0, left = 0, right = 0;
    for (size_t i = 0; i < count; i++) {
        both += (a[i] - mean) * (b[i] - mean);
        left += (a[i] - mean) * (a[i] - mean);
        right += (b[i] - mean) * (b[i] - mean);
    }
    return left > 0 && right > 0 ? both / sqrt(left * right) : NAN;
}

double lab_rank_correlation(const double *a, const double *b, size_t count)
{
    if (count < 3)
        return NAN;
    ranked *order = calloc(count, sizeof *order);
    double *ranks = calloc(2 * count, sizeof *ranks);
    double result = NAN;
    if (order && ranks) {
        rank(a, count, order, ranks);
        rank(b, count, order, ranks + count);
        result = correlate(ranks, ranks + count, count);
    }
    free(ranks);
    free(order);
    return result;
}
