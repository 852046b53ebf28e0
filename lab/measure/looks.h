/*
 * looks.h - the parts of a comparison: stretches, the moments to look at them, the verdict
 *
 * compare.h puts them together; simulations of comparisons use them one by one.
 */
#ifndef LAB_LOOKS_H
#define LAB_LOOKS_H

#include "compare.h"
#include "paired.h"
#include "spending.h"

/* lab_rules_fill() writes @rules (NULL: all defaults) with the defaults filled in to @full. Returns
 * HEED_OK, or HEED_ERR_INVALID if one is out of range. */
heed_status lab_rules_fill(const lab_rules *rules, lab_rules *full);

/* lab_judge() compares an interval with the bounds of full @rules. */
lab_compared lab_judge(const lab_interval *ratio, const lab_rules *rules);

/* The looks that are due on a series, each with the pairs that it is taken on and with what it may
 * use of the error on one side. */
typedef struct lab_schedule {
    size_t stretch; /* pairs of one */
    size_t count;
    size_t pairs[LAB_LOOKS_MAX];
    double tails[LAB_LOOKS_MAX];
} lab_schedule;

/* lab_schedule_make() says which looks are due with the pairs that @series has, by full @rules. */
void lab_schedule_make(lab_schedule *schedule, const lab_series *series, const lab_rules *rules);

/* lab_stretch_units() writes a number for each whole stretch of @stretch pairs, LAB_PAIRED_MAX at
 * most, of the first @pairs pairs: the logarithm of the ratio of B to A. Returns how many. */
size_t lab_stretch_units(const lab_series *series, size_t pairs, size_t stretch,
                         double units[LAB_PAIRED_MAX]);

/* With fewer units than this nothing can be told at the usual confidence, nor from so small a share
 * of the error as an early look has. lab_units_least() returns how many it takes for an interval
 * with ends by full @rules: more, where a shape has a share of a family's error. */
enum {
    LAB_UNITS_MIN = LAB_COMPARE_PAIRS_MIN
};
size_t lab_units_least(const lab_rules *rules);

/* Neighbouring units are too much alike if, were they independent, that had at most this
 * probability (paired.h). */
#define LAB_ALIKE_CHANCE 0.05

/* lab_units_merge() puts neighbouring units together, two by two, as long as they are too much
 * alike and there are LAB_UNITS_MIN: *@count is how many are left then. Returns how many stretches
 * each of them is made of: 1 if they are independent as far as can be seen. */
size_t lab_units_merge(double *units, size_t *count);

/* lab_units_ratio() writes the estimate of the ratio that @count units, up to LAB_PAIRED_MAX, are
 * the logarithms of, with the interval that misses it on either side with probability @tail at
 * most. Units that are alike are merged first, and how many stretches make one is returned. If too
 * few are left for an interval, it is three times as wide as the range of all units; if @count are
 * too few, it reaches from 0 to infinity. */
size_t lab_units_ratio(const double *units, size_t count, double tail, lab_interval *ratio);

#endif /* LAB_LOOKS_H */
