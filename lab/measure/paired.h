/*
 * paired.h - the shift between two sides that were measured in turns, with an exact interval; and a
 * test for serial correlation
 *
 * Each unit is one number, log(b) - log(a) of two times taken next to each other. A disturbance of
 * both cancels in it, and if the sides are equal it is above 0 as often as below, whatever the
 * distribution of the disturbance. The interval assumes only that symmetry: it contains the true
 * shift with at least the requested probability, for any number of units, any spread and any
 * outliers, as long as the units are independent, as those of duel.h are.
 *
 * The estimate is the median of all means of two units, which tolerates 29 % outliers and is nearly
 * as precise as the mean without any. The interval drops as many of the smallest and largest of
 * these means as Wilcoxon's signed rank statistic allows; its distribution is exact, not
 * approximated.
 *
 * Sources: F. Wilcoxon, "Individual comparisons by ranking methods" (1945); J. L. Hodges and E. L.
 * Lehmann, "Estimates of location based on rank tests" (1963); M. Hollander and D. A. Wolfe,
 * "Nonparametric statistical methods" (1999), section 3.3.
 */
#ifndef LAB_PAIRED_H
#define LAB_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum {
    LAB_PAIRED_MAX = 64,
    LAB_PAIRED_MEANS = LAB_PAIRED_MAX * (LAB_PAIRED_MAX + 1) / 2
};

/* The means of all pairs of units (a unit with itself included), ascending. */
typedef struct lab_paired {
    size_t units;
    size_t count;
    double means[LAB_PAIRED_MEANS];
} lab_paired;

/* lab_paired_make() takes @units differences, 1 to LAB_PAIRED_MAX, in any order. */
void lab_paired_make(lab_paired *paired, const double *differences, size_t units);

/* lab_paired_center() returns the estimate of the shift. */
double lab_paired_center(const lab_paired *paired);

/* lab_paired_interval() writes the interval that misses the true shift on either side with
 * probability at most @tail, 0 to 0.5. With too few units it is unbounded: returns false, and
 * writes -INFINITY and INFINITY. */
bool lab_paired_interval(const lab_paired *paired, double tail, double *low, double *high);

/* lab_paired_estimate() is lab_paired_center() of @units differences. */
double lab_paired_estimate(const double *differences, size_t units);

/* A test for serial correlation: the ranks of the numbers are correlated with those of their
 * neighbours. If the numbers are independent, every order is equally likely, whatever their
 * distribution: the mean and variance of the correlation follow from that, and it is nearly normal.
 * Disturbances that last longer than the distance between two numbers make it larger.
 *
 * Sources: A. Wald and J. Wolfowitz, "An exact test for randomness in the non-parametric case based
 * on serial correlation" (1943); J. M. Dufour and R. Roy, "Some robust exact results on sample
 * autocorrelations and tests of randomness" (1985), for the variance of ranks. */

enum {
    LAB_SERIAL_MAX = 64
};

/* lab_serial_chance() returns the approximate probability that @count independent numbers, up to
 * LAB_SERIAL_MAX, have at least the serial correlation of @values, in the order in which they were
 * taken. 1 for fewer than 3, and if all are equal. */
double lab_serial_chance(const double *values, size_t count);

#endif /* LAB_PAIRED_H */
