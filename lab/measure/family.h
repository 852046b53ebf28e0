/*
 * family.h - verdicts on many shapes at once, and one ratio of many duels
 *
 * With 39 shapes and 99 % confidence for each, one in every third run would be called FASTER or
 * SLOWER by luck. Here the confidence holds for all the verdicts FASTER and SLOWER of a family
 * together: the probability of a single false one among them is 1 - confidence, whatever depends on
 * whatever.
 *
 * Holm's method, over two statements for each shape, that A is faster and that it is slower. All
 * shapes are first judged as sure as if each had its share of the error; the shapes that get a
 * verdict leave more of it for the others, which are judged anew, until no more get one. The
 * interval of a shape has the confidence that its verdict was judged with, and so do the verdicts
 * EQUIVALENT, each for itself.
 *
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure" (1979).
 */
#ifndef LAB_FAMILY_H
#define LAB_FAMILY_H

#include "compare.h"

/* lab_family_rules() returns @rules for one of @count shapes that are measured one after another
 * and judged together at the end: a clear verdict then stays clear. NULL: all defaults. */
lab_rules lab_family_rules(const lab_rules *rules, size_t count);

/* The measurement of one shape of a family, and where its comparison goes. */
typedef struct lab_family_member {
    lab_series series;
    lab_comparison *comparison;
} lab_family_member;

/* lab_family_judge() judges @count members as a family by @rules (NULL: all defaults) and writes
 * their comparisons; with no member it does nothing. Returns as lab_compare() does. */
heed_status lab_family_judge(const lab_family_member *members, size_t count,
                             const lab_rules *rules);

/* Many duels of the same sides tell by how much they differ far better than one does: the delay
 * that was planted, or a bias of the method. Their stretches are put together in groups, in the
 * order they were taken in, and the groups are the units that paired.h makes an interval of. */

/* lab_pooled_ratio() writes time of B over time of A, by all pairs of the @count @series, to
 * *@ratio, with an interval that holds it with @confidence: from 0 to infinity with fewer than
 * LAB_COMPARE_PAIRS_MIN stretches that are independent, as far as can be seen. Allocates while it
 * works. Returns HEED_OK; HEED_ERR_INVALID without a stretch; HEED_ERR_NO_MEMORY. */
heed_status lab_pooled_ratio(const lab_series *series, size_t count, double confidence,
                             lab_interval *ratio);

#endif /* LAB_FAMILY_H */
