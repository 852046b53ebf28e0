/*
 * serial.c - the correlation of ranks with those of their neighbours
 */
#include "serial.h"

#include <math.h>

#include "spending.h"

/* Ranks, of which equal numbers share the mean, less their own mean. */
static void rank(const double *values, size_t count, double ranks[LAB_SERIAL_MAX])
{
    for (size_t i = 0; i < count; i++) {
        ranks[i] = 0;
        for (size_t j = 0; j < count; j++)
            ranks[i] += values[j] < values[i] ? 0.5 : values[j] > values[i] ? -0.5 : 0;
    }
}

/* Of the correlation of ranks in random order. */
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
