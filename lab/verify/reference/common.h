/*
 * common.h - how far a row may be off by the roundings of its query, which all of its logits share
 *
 * Only where products of rounded operands are permitted. With d_c the error of q_c, as a part of
 * it, the logits move by scale * sum d_c q_c k_jc, and so O by the sum over the keys j of p_j (v_j
 * - o) times that: see the head of expect.h. The d_c are tried out: once they are all alike, and a
 * few times they have random signs, the mean square of which is that of independent errors.
 */
#ifndef LAB_COMMON_H
#define LAB_COMMON_H

#include "heed.h"

#define LAB_COMMON_TRIES 5

/* One row; the first of the tries has all errors alike. */
typedef struct lab_common {
    const heed_problem *problem;
    double query[LAB_COMMON_TRIES][HEED_DIM_MAX]; /* d_c q_c and the scale */
    double moved[LAB_COMMON_TRIES][HEED_DIM_MAX];
} lab_common;

/* lab_common_begin() begins a row with @query. lab_common_add() adds a key of @weight, whose logit
 * moves @slope times as much as the product does; columns where @o is not finite are left out. */
void lab_common_begin(lab_common *common, const heed_problem *problem, const double *query);
void lab_common_add(lab_common *common, const double *key, const double *value, double weight,
                    double slope, const double *o);

/* lab_common_square() returns the square of the standard error, in units of the unit roundoff of
 * float32. */
double lab_common_square(const lab_common *common);

#endif /* LAB_COMMON_H */
