/*
 * common.c - the error of a row from the roundings of its query, which all of its logits share
 */
#include "lab/verify/reference/common.h"

#include <math.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/products.h"

static bool is_needed(const heed_problem *problem)
{
    return lab_products_unit(problem->products) > 0;
}

void lab_common_begin(lab_common *common, const heed_problem *problem, const double *query)
{
    common->problem = problem;
    if (!is_needed(problem))
        return;
    memset(common->moved, 0, sizeof common->moved);
    for (uint64_t t = 0; t < LAB_COMMON_TRIES; t++)
        for (int64_t c = 0; c < problem->dim_qk; c++) {
            bool negative = t > 0 && lab_random_below(t, (uint64_t)c, 2);
            common->query[t][c] = (double)problem->scale * (negative ? -query[c] : query[c]);
        }
}

void lab_common_add(lab_common *common, const double *key, const double *value, double weight,
                    double slope, const double *o)
{
    const heed_problem *problem = common->problem;
    for (int t = 0; is_needed(problem) && t < LAB_COMMON_TRIES; t++) {
        double moved = 0;
        for (int64_t c = 0; c < problem->dim_qk; c++)
            moved += common->query[t][c] * key[c];
        moved *= weight * slope;
        for (int64_t c = 0; c < problem->dim_v && isfinite(moved); c++)
            common->moved[t][c] += isfinite(o[c]) ? moved * (value[c] - o[c]) : 0;
    }
}

double lab_common_square(const lab_common *common)
{
    const heed_problem *problem = common->problem;
    double unit = lab_products_unit(problem->products) / lab_type_unit(HEED_F32), sum = 0;
    for (int t = 0; is_needed(problem) && t < LAB_COMMON_TRIES; t++)
        for (int64_t c = 0; c < problem->dim_v; c++)
            sum += common->moved[t][c] * common->moved[t][c] / (t > 0 ? LAB_COMMON_TRIES - 1 : 1);
    return unit * unit * sum;
}
