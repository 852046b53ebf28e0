/*
 * looks.h - the parts of a comparison: stretches, the schedule of looks, the verdict
 *
 * compare.h combines them; simulations of comparisons use them one by one.
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

/* The looks that are due on a series, each with its number of pairs and its share of the one-sided
 * error. */
typedef struct lab_schedule {
    size_t stretch; /* pairs per stretch */
    size_t count;
    size_t pairs[LAB_LOOKS_MAX];
    double tails[LAB_LOOKS_MAX];
} lab_schedule;

/* lab_schedule_make() computes the looks that are due for @series, by full @rules. */
void lab_schedule_make(lab_schedule *schedule, const lab_series *series, const lab_rules *rules);

/* lab_stretch_units() writes a number for each whole stretch of @stretch pairs, at most
 * LAB_PAIRED_MAX, among the first @pairs pairs: the logarithm of the ratio of B to A. Returns their
 * number. */
size_t lab_stretch_units(const lab_series *series, size_t pairs, size_t stretch,
                         double units[LAB_PAIRED_MAX]);

/* With fewer units than this no verdict is possible at the usual confidence, or with the small
 * share of the error of an early look. lab_units_least() returns the minimum for a bounded interval
 * by full @rules: more, if a shape has a share of a family's error. */
enum {
    LAB_UNITS_MIN = LAB_COMPARE_PAIRS_MIN
};
size_t lab_units_least(const lab_rules *rules);

/* Adjacent units count as correlated if independent ones would be so alike with at most this
 * probability (paired.h). */
#define LAB_ALIKE_CHANCE 0.05

/* lab_units_merge() merges adjacent units in pairs while they are correlated and at least
 * LAB_UNITS_MIN remain. *@count is the number left. Returns the number of stretches in each unit: 1
 * if they appear independent. */
size_t lab_units_merge(double *units, size_t *count);

/* lab_units_ratio() writes the estimate of the ratio from @count units, up to LAB_PAIRED_MAX, which
 * are logarithms, with the interval that misses it on either side with probability at most @tail.
 * Correlated units are merged first; returns the number of stretches in each. If too few are left
 * for an interval, it is three times as wide as the range of all units; if @count is too small, it
 * goes from 0 to infinity. */
size_t lab_units_ratio(const double *units, size_t count, double tail, lab_interval *ratio);

#endif /* LAB_LOOKS_H */
