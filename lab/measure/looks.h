/*
 * looks.h - the parts of a comparison: stretches, the moments to look at them, the verdict
 *
 * compare.h puts them together; who simulates comparisons uses them one by one.
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

#endif /* LAB_LOOKS_H */
