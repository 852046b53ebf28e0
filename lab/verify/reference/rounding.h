/*
 * rounding.h - how far the sums of a row may be off, by the roundings of their partial sums
 *
 * Squares of standard errors, in units of the unit roundoff of float32: see the head of expect.h.
 */
#ifndef LAB_ROUNDING_H
#define LAB_ROUNDING_H

#include <stdint.h>

#include "heed.h"

/* lab_rounding_square() returns the square of the unit roundoff that the matrix products of
 * @problem are accumulated with; lab_rounding_count() how often a sum of @terms is rounded. */
double lab_rounding_square(const heed_problem *problem);
int64_t lab_rounding_count(const heed_problem *problem, int64_t terms);

/* lab_rounding_of_operands() returns that of a sum of products, by the roundings of their operands,
 * out of the squares of the products and the square of their sum. */
double lab_rounding_of_operands(const heed_problem *problem, double squares, double whole);

/* lab_rounding_of_logit() returns that of the logit of two vectors. *@dot becomes their product. */
double lab_rounding_of_logit(const heed_problem *problem, const double *query, const double *key,
                             double *dot);

/* lab_rounding_of_weights() returns that of the sum of the weights of @keys keys in parts of @part:
 * the effect of the roundings of a sum of weighted values where the values are alike. */
double lab_rounding_of_weights(const double *weights, int64_t keys, int64_t part);

#endif /* LAB_ROUNDING_H */
