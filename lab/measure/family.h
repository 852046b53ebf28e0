/*
 * family.h - verdicts on many shapes at once, and one ratio of many duels
 *
 * With 39 shapes and 99 % confidence for each, every third run would have one called FASTER or
 * SLOWER by chance. Here the confidence holds for all verdicts FASTER and SLOWER of a family
 * together: the probability of any false one among them is at most 1 - confidence, even if the
 * shapes are dependent.
 *
 * Holm's method, over two statements for each shape, that A is faster and that it is slower. All
 * shapes are first judged with an equal share of the error; shapes that get a verdict leave a
 * larger share for the others, which are judged again, until no more get one. The interval of a
 * shape has the confidence that its verdict was judged with, and so does each verdict EQUIVALENT,
 * individually.
 *
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
 */
#ifndef LAB_FAMILY_H
#define LAB_FAMILY_H

#include "compare.h"

/* lab_family_rules() returns @rules for one of @count shapes that are measured one after another
 * and judged together at the end, such that a clear verdict stays clear. NULL: all defaults. */
lab_rules lab_family_rules(const lab_rules *rules, size_t count);

/* The measurement of one shape of a family, and the destination of its comparison. */
typedef struct lab_family_member {
    lab_series series;
    lab_comparison *comparison;
} lab_family_member;

/* lab_family_judge() judges @count members as a family by @rules (NULL: all defaults) and writes
 * their comparisons; with no member it does nothing. Returns as lab_compare() does. */
heed_status lab_family_judge(const lab_family_member *members, size_t count,
                             const lab_rules *rules);

/* Many duels of the same sides measure the difference, a planted delay or a bias of the method, far
 * better than one. Their stretches are grouped in the order in which they were taken, and the
 * groups are the units for the interval of paired.h. */

/* lab_pooled_ratio() writes time of B over time of A, by all pairs of the @count @series, to
 * *@ratio, with an interval that contains it with @confidence: from 0 to infinity with fewer than
 * LAB_COMPARE_PAIRS_MIN stretches that appear independent. Allocates temporarily. Returns HEED_OK;
 * HEED_ERR_INVALID without a stretch; HEED_ERR_NO_MEMORY. */
heed_status lab_pooled_ratio(const lab_series *series, size_t count, double confidence,
                             lab_interval *ratio);

#endif /* LAB_FAMILY_H */
