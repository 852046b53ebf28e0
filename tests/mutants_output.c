/*
 * mutants_output.c - wrong kernels: the weighted sum, and what is stored of it
 */
#include "mutants_wrong.h"

/* Sums in the precision of @type. */
static void sum_in(row_state *r, heed_type type)
{
    logits(r);
    float sum = softmax(r, highest(r->s, r->keys));
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        double o = 0;
        for (int64_t j = 0; j < r->keys; j++)
            o = lab_element_round(type, o + (double)(r->s[j] * v_at(r, j, c)));
        r->o[c] = sum == 0 ? 0 : (float)o / sum;
    }
}

static void half_sum_row(row_state *r)
{
    sum_in(r, HEED_F16);
}

/* An honest kernel where that is permitted; see mutants_honest.c. */
static void half_tiles_row(row_state *r)
{
    in_half(r, 64, 16);
}

void half_unasked(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_tiles_row);
}

void sums_in_f16(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_sum_row);
}

static void rounded_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = (float)lab_element_round(HEED_BF16, (double)r->o[c]);
}

void f32_in_bf16(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, rounded_row);
}

static void flushing_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = fabsf(r->o[c]) < 0x1p-14F ? 0 : r->o[c];
}

void flushed_to_zero(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, flushing_row);
}

static void stretched_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] *= 1.1F;
}

void stretched_output(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, stretched_row);
}

static void zero_row(row_state *r)
{
    plain_row(r);
    memset(r->o, 0, sizeof r->o);
}

void zeros(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, zero_row);
}

static void bent_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] -= 0.01F * r->o[c] * r->o[c];
}

void bent_output(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, bent_row);
}

static void drifting_row(row_state *r)
{
    heed_problem other = *r->problem;
    other.scale *= 1 + 0.01F * (float)r->row.batch;
    mistaken_row(r, &other);
}

void batch_dependent(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, drifting_row);
}

static void lazy_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v && !r->buffers->lse; c++)
        r->o[c] *= 1 + 0x1p-20F;
}

void other_without_lse(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, lazy_row);
}

/* Right but for less than the error that bf16 must have. */
static void slight_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] *= 1 + 0x1p-7F;
}

void slightly_off(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, slight_row);
}
