/*
 * family.h - verdicts on many shapes at once
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

#include "duel.h"

/* lab_family_rules() returns @rules for one of @count shapes that are measured one after another
 * and judged together at the end: what is clear then stays clear. NULL: all defaults. */
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

/* Makes the sides of shape number @index ready, and gives back what that took. */
typedef heed_status lab_meet_fn(void *data, size_t index, lab_side *a, lab_side *b);
typedef void lab_part_fn(void *data, size_t index);

/* Shapes that are not in memory at the same time. */
typedef struct lab_family {
    size_t count;
    lab_meet_fn *meet;
    lab_part_fn *part; /* may be NULL; not called where meet() failed */
    void *data;
} lab_family;

/* lab_family_run() runs a duel on each shape of @family, @options->seconds long at most, and judges
 * them together: duels[i].comparison is that of the family. @duels has room for all. Returns as
 * lab_duel_run() does, or what meet() returned; free all @duels in any case. */
heed_status lab_family_run(lab_duel *duels, const lab_family *family,
                           const lab_duel_options *options);

#endif /* LAB_FAMILY_H */
