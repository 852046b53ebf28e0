/*
 * common.h - the error of a row from the roundings of its query, which all of its logits share
 *
 * Applies only where products of rounded operands are permitted. With d_c the relative error of
 * q_c, the logits move by scale * sum d_c q_c k_jc, and so O by the sum over the keys j of p_j (v_j
 * - o) times that: see the head of expect.h. A few choices of d_c are tried: one with all d_c
 * equal, and some with random signs, whose mean square is that of independent errors.
 */
#ifndef LAB_COMMON_H
#define LAB_COMMON_H

#include "heed.h"

#define LAB_COMMON_TRIES 5

/* One row; in the first try all errors are equal. */
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
