/*
 * rounding.c - errors of a row's sums from the roundings of their partial sums
 */
#include "lab/verify/reference/rounding.h"

#include <math.h>

#include "lab/tensor/convert.h"
#include "lab/verify/reference/products.h"
#include "lab/verify/reference/reference.h"

static double square(double x)
{
    return x * x;
}

/* Rounding of a sum of products: to @type after every @block products. */
typedef struct sum_rounding {
    int64_t block;
    heed_type type;
} sum_rounding;

static sum_rounding rounding_of(const heed_problem *problem)
{
    if (problem->accumulate == HEED_ACC_F16)
        return (sum_rounding){ .block = LAB_HALF_BLOCK, .type = HEED_F16 };
    return (sum_rounding){ .block = 1, .type = HEED_F32 };
}

double lab_rounding_square(const heed_problem *problem)
{
    return square(lab_type_unit(rounding_of(problem).type) / lab_type_unit(HEED_F32));
}

int64_t lab_rounding_count(const heed_problem *problem, int64_t terms)
{
    int64_t block = rounding_of(problem).block;
    return (terms + block - 1) / block;
}

/* Partial sums of a sum whose terms are added one after another. */
typedef struct partial_sums {
    double terms;
    double sum;
    double squares; /* of the terms */
    double ordered; /* of the partial sums, in the order of the terms */
} partial_sums;

static void add_term(partial_sums *sums, double term)
{
    sums->terms++;
    sums->sum += term;
    sums->squares += square(term);
    sums->ordered += square(sums->sum);
}

/* The sum of the squares of the partial sums, each of which is rounded: in the order of the terms
 * or in the mean over all orders, whichever is larger. */
static double rounded_squares(const partial_sums *sums)
{
    double mean = (sums->terms + 1) * (sums->squares / 6 + square(sums->sum) / 3);
    return fmax(sums->ordered, mean);
}

double lab_rounding_of_operands(const heed_problem *problem, double squares, double whole)
{
    double unit = lab_products_unit(problem->products) / lab_type_unit(HEED_F32);
    if (unit == 0)
        return 0; /* however large the products are */
    return square(unit) * (lab_products_errors(problem->products) * squares + whole);
}

double lab_rounding_of_logit(const heed_problem *problem, const double *query, const double *key,
                             double *dot)
{
    int64_t block = rounding_of(problem).block, dim = problem->dim_qk;
    partial_sums sums = { 0 };
    for (int64_t first = 0; first < dim; first += block) {
        double term = 0;
        for (int64_t c = first; c < first + block && c < dim; c++)
            term += query[c] * key[c];
        add_term(&sums, term);
    }
    *dot = sums.sum;
    return square((double)problem->scale) *
           (rounded_squares(&sums) * lab_rounding_square(problem) +
            lab_rounding_of_operands(problem, sums.squares, square(sums.sum)));
}

double lab_rounding_of_weights(const double *weights, int64_t keys, int64_t part)
{
    partial_sums all = { 0 };
    double squares = 0;
    for (int64_t j = 0; j < keys;) {
        partial_sums open = { 0 };
        for (int64_t end = j + part; j < end && j < keys; j++)
            add_term(&open, isfinite(weights[j]) ? weights[j] : 0);
        squares += rounded_squares(&open);
        add_term(&all, open.sum);
    }
    return squares + rounded_squares(&all);
}
