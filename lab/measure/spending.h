/*
 * spending.h - looking several times without being wrong more often
 *
 * Looking at growing data until it pleases finds a difference sooner or later, if there is one
 * or not. Here the probability of a false alarm, @tail on one side, is spent over the looks by a
 * plan that is fixed beforehand: hardly any of it early, when the data are few, and most of it at
 * the last look. The share left for a look follows from how much of the data there is then, its
 * fraction, so that a look may also be left out, or the last one come early because time ran out.
 *
 * The function is that of Lan and DeMets after O'Brien and Fleming, spent(t) = 2 - 2 Phi(z(tail /
 * 2) / sqrt(t)), and the bounds follow from it by numerical integration over the path of a Brownian
 * motion, which the sum of many independent units follows.
 *
 * Sources: P. C. O'Brien and T. R. Fleming, "A multiple testing procedure for clinical trials"
 * (1979); K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials"
 * (1983); P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating
 * data" (1969), for the integration; C. Jennison and B. W. Turnbull, "Interim analyses: the
 * repeated confidence interval approach" (1989), for what an interval means that uses these bounds.
 */
#ifndef LAB_SPENDING_H
#define LAB_SPENDING_H

#include <stddef.h>

enum {
    LAB_LOOKS_MAX = 10
};

/* lab_spending_tails() writes what may be used at each of @looks looks, 1 to LAB_LOOKS_MAX, to
 * @tails: the probability beyond the bound on one side if that look were the only one. @fractions
 * ascend, from above 0 to 1 at most; the last look gets all that is left, whatever its fraction is.
 * @tail lies between 0 and 0.5. One look gets @tail itself. */
void lab_spending_tails(const double *fractions, size_t looks, double tail, double *tails);

/* lab_normal_above() returns the probability that a normal number is above @z; lab_normal_bound()
 * is its inverse, for 0 < @tail < 1. */
double lab_normal_above(double z);
double lab_normal_bound(double tail);

#endif /* LAB_SPENDING_H */
