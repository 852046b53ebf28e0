/*
 * attn_scalar.c - attention in portable C, one query row at a time
 *
 * The readable version: what the SIMD kernels do, without the tricks, on any machine. A task
 * converts a tile of K and V to float32 once and runs its rows over it with the online softmax of
 * FlashAttention:
 *
 *     m' = max(m, max_j s_j)    l' = 2^(m - m') l + sum_j 2^(s_j - m')    o' = 2^(m - m') o + sum_j
 * 2^(s_j - m') v_j
 *
 * where s_j is the logit times log2(e). A masked key takes no part at all, so that nothing in its
 * place can matter.
 *
 * Knob s: tasks that share the keys of one block of rows.
 *
 * Version log
 *   1  rows of 16, key tiles of 64.
 */
#include <math.h>
#include <string.h>

#include "cpu.h"

#define ROWS 16
#define KEYS 64
#define LANES 8 /* partial sums of a dot product, which the compiler may keep in a vector */

typedef struct row_scratch {
    float q[ROWS][HEED_DIM_MAX];
    float o[ROWS][HEED_DIM_MAX];
    float m[ROWS]; /* running maximum of the logits, base 2 */
    float l[ROWS]; /* running sum */
    float k[KEYS][HEED_DIM_MAX];
    float v[KEYS][HEED_DIM_MAX];
    float p[KEYS];
} row_scratch;

static float dot(const float *a, const float *b, int64_t count)
{
    if (ABLATED(ABLATE_NO_PRODUCTS))
        count = heed_min(count, LANES);
    float lane[LANES] = { 0 };
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int64_t t = 0; t < LANES; t++)
            lane[t] += a[i + t] * b[i + t];
    for (int64_t t = 0; i < count; i++, t++)
        lane[t] += a[i] * b[i];
    float sum = 0;
    for (int64_t t = 0; t < LANES; t++)
        sum += lane[t];
    return sum;
}

/* One row against the first @count keys of the tile. */
static void row_step(row_scratch *s, int64_t r, int64_t count, const heed_problem *problem)
{
    float scale = problem->scale * 1.44269504088896341f; /* log2(e) */
    float top = s->m[r];
    for (int64_t j = 0; j < count; j++) {
        s->p[j] = scale * dot(s->q[r], s->k[j], problem->dim_qk);
        top = s->p[j] > top || isnan(s->p[j]) ? s->p[j] : top;
    }
    if (top == -INFINITY)
        return;
    float shrink = exp2f(s->m[r] - top);
    s->m[r] = top;
    s->l[r] *= shrink;
    for (int64_t c = 0; c < problem->dim_v; c++)
        s->o[r][c] *= shrink;
    for (int64_t j = 0; j < count; j++) {
        float p = ABLATED(ABLATE_NO_EXP) ? s->p[j] - top : exp2f(s->p[j] - top);
        s->l[r] += p;
        const int64_t dims = ABLATED(ABLATE_NO_PRODUCTS) ? 1 : problem->dim_v;
        for (int64_t c = 0; c < dims; c++)
            s->o[r][c] += p * s->v[j][c];
    }
}

static void finish_row(row_scratch *s, int64_t r, const heed_job *job, const heed_task *task)
{
    const heed_problem *p = job->problem;
    int64_t row = task->row_begin + r;
    heed_target target = heed_job_target(job, task, row);
    for (int64_t c = 0; c < p->dim_v; c++)
        s->o[r][c] = s->l[r] == 0 ? 0 : s->o[r][c] / s->l[r];
    heed_store_row(target.o, s->o[r], p->dim_v, target.partial ? HEED_F32 : p->type);
    heed_job_set_lse(job, task, row, s->l[r] == 0 ? -INFINITY : s->m[r] + log2f(s->l[r]));
}

static void run(const heed_job *job, const heed_task *task, void *scratch)
{
    row_scratch *s = scratch;
    const heed_problem *p = job->problem;
    int64_t rows = task->row_end - task->row_begin;
    for (int64_t r = 0; r < rows; r++) {
        heed_load_row(s->q[r], heed_job_q(job, task, task->row_begin + r), p->dim_qk, p->type);
        memset(s->o[r], 0, sizeof s->o[r]);
        s->m[r] = -INFINITY;
        s->l[r] = 0;
    }
    for (int64_t j0 = task->key_begin; j0 < task->key_end; j0 += KEYS) {
        int64_t keys = heed_min(KEYS, task->key_end - j0);
        for (int64_t j = 0; j < keys; j++) {
            heed_load_row(s->k[j], heed_job_k(job, task, j0 + j), p->dim_qk, p->type);
            heed_load_row(s->v[j], heed_job_v(job, task, j0 + j), p->dim_v, p->type);
        }
        for (int64_t r = 0; r < rows; r++) {
            int64_t seen = heed_min(keys, heed_job_visible(job, task->row_begin + r) - j0);
            row_step(s, r, seen, p);
        }
    }
    for (int64_t r = 0; r < rows; r++)
        finish_row(s, r, job, task);
}

static heed_cut cut(const heed_config *config)
{
    return (heed_cut){ .block_rows = ROWS, .key_tile = KEYS, .splits = config->value[0] };
}

static size_t scratch_size(const heed_cpu_code *code, const heed_problem *problem,
                           const heed_cut *cut)
{
    (void)code;
    (void)problem;
    (void)cut;
    return sizeof(row_scratch);
}

#ifndef ROW_CODE
#define ROW_CODE heed_row_scalar
#endif
const heed_cpu_code ROW_CODE = {
    .cut = cut,
    .scratch = scratch_size,
    .rates = { .multiply_adds = 8e9, .exps = 8e7, .elements = 5e8, .row_step = 1 },
    .run = run,
};

#if HEED_ABLATE == ABLATE_NONE
const heed_algorithm heed_algorithm_row = {
    .knobs = { { 's', { 1, 2, 4, 8, 16, 32, 64 } } },
    .legal = heed_cpu_legal,
    .cost = heed_cpu_cost,
    .workspace = heed_cpu_workspace,
    .execute = heed_cpu_execute,
};
#endif
