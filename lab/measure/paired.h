/*
 * paired.h - the shift between two sides that were measured in turns, with an exact interval; and
 * whether neighbouring numbers depend on each other
 *
 * Each unit is one number, log(b) - log(a) of two times taken next to each other. A disturbance
 * of both cancels in it, and if the sides are alike it is as often above 0 as below, whatever the
 * law of the disturbance. That symmetry is all that the interval needs: it holds the true shift
 * with at least the probability asked for, for any number of units, of any spread, with any
 * outliers, as long as the units are independent. (duel.h makes units that are.)
 *
 * The estimate is the median of all means of two units, which stands up to 29 % of spoilt units and
 * is nearly as exact as the mean without any. The interval drops as many of the smallest and of the
 * largest of these means as Wilcoxon's signed rank statistic allows; its distribution is counted,
 * not approximated.
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

/* The means of two units each (a unit with itself too), ascending. */
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
 * probability @tail at most, 0 to 0.5. With too few units for that it has no ends: returns false,
 * with -INFINITY and INFINITY written. */
bool lab_paired_interval(const lab_paired *paired, double tail, double *low, double *high);

/* lab_paired_estimate() is lab_paired_center() of @units differences. */
double lab_paired_estimate(const double *differences, size_t units);

/* Do neighbouring numbers depend on each other? Their ranks are correlated with those of their
 * neighbours. If the numbers are independent, every order is as likely as any other, whatever their
 * law is: from that the mean and the variance of the correlation follow, and it is nearly normal.
 * Disturbances that last longer than the distance of two numbers make it larger.
 *
 * Sources: A. Wald and J. Wolfowitz, "An exact test for randomness in the non-parametric case based
 * on serial correlation" (1943); J. M. Dufour and R. Roy, "Some robust exact results on sample
 * autocorrelations and tests of randomness" (1985), for the variance of ranks. */

enum {
    LAB_SERIAL_MAX = 64
};

/* lab_serial_chance() returns about the probability that @count independent numbers, up to
 * LAB_SERIAL_MAX, have neighbours as much alike as @values, in the order they were taken in, or
 * more. 1 for fewer than 3, and where all are equal. */
double lab_serial_chance(const double *values, size_t count);

#endif /* LAB_PAIRED_H */
