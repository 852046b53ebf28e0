/*
 * spending.h - error spending: several looks at growing data without more false alarms
 *
 * Checking growing data until it pleases finds a difference sooner or later, even if there is none.
 * Here the probability of a false alarm, @tail on one side, is spent over the looks by a plan that
 * is fixed in advance: hardly any of it early, with little data, and most of it at the last look.
 * The share for a look depends only on the fraction of the data available then, so a look may be
 * skipped, or the last one come early because time ran out.
 *
 * The function is that of Lan and DeMets after O'Brien and Fleming, spent(t) = 2 - 2 Phi(z(tail /
 * 2) / sqrt(t)), and the bounds follow from it by numerical integration over the path of a Brownian
 * motion, which the sum of many independent units follows.
 *
 * Sources: P. C. O'Brien and T. R. Fleming, "A multiple testing procedure for clinical trials"
 * (1979); K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials"
 * (1983); P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating
 * data" (1969), for the integration; C. Jennison and B. W. Turnbull, "Interim analyses: the
 * repeated confidence interval approach" (1989), for the meaning of an interval with these bounds.
 */
#ifndef LAB_SPENDING_H
#define LAB_SPENDING_H

#include <stddef.h>

enum {
    LAB_LOOKS_MAX = 10
};

/* lab_spending_tails() writes the nominal one-sided error of each of @looks looks, 1 to
 * LAB_LOOKS_MAX, to @tails: the probability beyond the bound if that look were the only one.
 * @fractions ascend, above 0 to at most 1; the last look gets all of the remaining error, whatever
 * its fraction. @tail is between 0 and 0.5. A single look gets @tail itself. */
void lab_spending_tails(const double *fractions, size_t looks, double tail, double *tails);

/* lab_normal_above() returns the probability that a normal number is above @z; lab_normal_bound()
 * is its inverse, for 0 < @tail < 1. */
double lab_normal_above(double z);
double lab_normal_bound(double tail);

#endif /* LAB_SPENDING_H */
