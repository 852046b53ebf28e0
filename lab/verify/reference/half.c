/*
 * half.c - where sums in half precision may overflow
 */
#include "lab/verify/reference/expect.h"

#include <math.h>

#include "lab/verify/reference/logit.h"

/* The largest number of f16. */
#define HALF_MAX 65504.0

/* Keys of less weight than this are harmless. */
#define WEIGHT_HARMLESS 1e-20

/* True if a sum of these terms can overflow. Infinite terms do not depend on the precision. */
static bool overflows(double sum)
{
    return sum > HALF_MAX && isfinite(sum);
}

/* True if the logit of a key can overflow with an effect. Far below all others it has none. */
static bool logit_overflows(const heed_problem *problem, const double *query, const double *key,
                            double weight)
{
    double up = 0, down = 0;
    for (int64_t c = 0; c < problem->dim_qk; c++) {
        double term = (problem->scale < 0 ? -1 : 1) * query[c] * key[c];
        up += fmax(term, 0);
        down += fmax(-term, 0);
    }
    return overflows(up) || (overflows(down) && weight > WEIGHT_HARMLESS);
}

bool lab_half_overflows(const heed_problem *problem, const heed_buffers *data, lab_row row,
                        const double *weights)
{
    const lab_reads reads = lab_row_reads(problem, data, row);
    const lab_range keys = reads.keys;
    double query[HEED_DIM_MAX], key[HEED_DIM_MAX], value[HEED_DIM_MAX];
    double sums[HEED_DIM_MAX] = { 0 }, heaviest = 0;
    lab_doubt doubt = { 0 };
    lab_logits logits;

    lab_logits_begin(&logits, problem, data);
    lab_reads_load(&reads, LAB_Q, row.query, query);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        if (!lab_logits_shows(&logits, row, j, &doubt))
            continue;
        lab_reads_load(&reads, LAB_K, j, key);
        if (logit_overflows(problem, query, key, weights[j]))
            return true;
        lab_reads_load(&reads, LAB_V, j, value);
        for (int64_t c = 0; c < problem->dim_v; c++)
            sums[c] += weights[j] > 0 ? weights[j] * fabs(value[c]) : 0;
        heaviest = fmax(heaviest, weights[j]);
    }
    for (int64_t c = 0; c < problem->dim_v; c++)
        if (overflows(sums[c] / heaviest))
            return true;
    return false;
}
