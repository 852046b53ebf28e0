/*
 * inputs_fill.h - building blocks for distributions of input values
 */
#ifndef LAB_INPUTS_FILL_H
#define LAB_INPUTS_FILL_H

#include "lab/verify/inputs.h"

/* Random streams; those of Q, K and V are their roles. */
enum {
    LAB_FILL_CHOICE = 8,
    LAB_FILL_NOISE = 9,
    LAB_FILL_SIZE = 10
};

/* The element at place @at of Q, K or V. */
double lab_fill_get(const lab_values *values, lab_role role, int64_t at);
void lab_fill_set(lab_values *values, lab_role role, int64_t at, double value);

/* lab_fill_vector() sets all elements of the @n-th head vector to @value. */
void lab_fill_vector(lab_values *values, lab_role role, int64_t n, double value);

/* lab_fill_uneven() sets the elements of the @n-th head vector to numbers within a quarter of their
 * mean @value. Sums of equal terms are rounded alike at every step, which no kernel can avoid and
 * no model of independent roundings covers. */
void lab_fill_uneven(lab_values *values, uint64_t seed, lab_role role, int64_t n, double value);

/* Normal values of mean @mean and standard deviation @size. */
void lab_fill_normal(lab_values *values, uint64_t seed, lab_role role, double mean, double size);

/* Normal values of mean 0 in Q, K and V, of standard deviation @qk_size in Q and K. */
void lab_fill_normals(lab_values *values, uint64_t seed, double qk_size, double v_size);

/* Returns the logit of two vectors of ones. */
double lab_fill_logit_of_ones(const heed_problem *problem);

/* The distributions of inputs_hard.c. */
lab_fill_fn lab_fill_even, lab_fill_huge, lab_fill_low, lab_fill_near;
lab_fill_fn lab_fill_sizes, lab_fill_tails, lab_fill_vast, lab_fill_weightless;

#endif /* LAB_INPUTS_FILL_H */
