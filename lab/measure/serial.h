/*
 * serial.h - do neighbouring numbers depend on each other?
 *
 * The ranks of the numbers are correlated with those of their neighbours. If the numbers are
 * independent, every order is as likely as any other, whatever their law is: from that the mean and
 * the variance of the correlation follow, and it is nearly normal. Disturbances that last longer
 * than the distance of two numbers make it larger.
 *
 * Sources: A. Wald and J. Wolfowitz, "An exact test for randomness in the non-parametric case based
 * on serial correlation" (1943); J. M. Dufour and R. Roy, "Some robust exact results on sample
 * autocorrelations and tests of randomness" (1985), for the variance of ranks.
 */
#ifndef LAB_SERIAL_H
#define LAB_SERIAL_H

#include <stddef.h>

enum {
    LAB_SERIAL_MAX = 64
};

/* lab_serial_chance() returns about the probability that @count independent numbers, up to
 * LAB_SERIAL_MAX, have neighbours as much alike as @values, in the order they were taken in, or
 * more. 1 for fewer than 3, and where all are equal. */
double lab_serial_chance(const double *values, size_t count);

#endif /* LAB_SERIAL_H */
