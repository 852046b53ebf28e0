/*
 * rounding.h - errors of a row's sums from the roundings of their partial sums
 *
 * Squares of standard errors, in units of the unit roundoff of float32: see the head of expect.h.
 */
#ifndef LAB_ROUNDING_H
#define LAB_ROUNDING_H

#include <stdint.h>

#include "heed.h"

/* lab_rounding_square() returns the square of the unit roundoff of the accumulators of @problem's
 * matrix products; lab_rounding_count() returns the number of roundings in a sum of @terms. */
double lab_rounding_square(const heed_problem *problem);
int64_t lab_rounding_count(const heed_problem *problem, int64_t terms);

/* lab_rounding_of_operands() returns the square of the error of a sum of products from the
 * roundings of their operands, given the sum of squares of the products and the square of their
 * sum. */
double lab_rounding_of_operands(const heed_problem *problem, double squares, double whole);

/* lab_rounding_of_logit() returns the square of the error of the logit of two vectors. *@dot
 * becomes their dot product. */
double lab_rounding_of_logit(const heed_problem *problem, const double *query, const double *key,
                             double *dot);

/* lab_rounding_of_weights() returns the square of the error of a sum of the weights of @keys keys
 * in parts of @part: the effect of rounding a sum of weighted values where the values are alike. */
double lab_rounding_of_weights(const double *weights, int64_t keys, int64_t part);

#endif /* LAB_ROUNDING_H */
