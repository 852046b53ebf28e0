/*
 * attn_scalar.c - attention in portable C, one query row at a time
 *
 * The readable version: the SIMD kernels' algorithm, without the tricks, on any machine. A task
 * converts a tile of K and V to float32 once and runs its rows over it with the online softmax of
 * FlashAttention:
 *
 *     m' = max(m, max_j s_j)
 *     l' = 2^(m - m') l + sum_j 2^(s_j - m')
 *     o' = 2^(m - m') o + sum_j 2^(s_j - m') v_j
 *
 * where s_j is the logit times log2(e). A masked key is skipped entirely, so its contents cannot
 * matter.
 *
 * Knob s: tasks that share the keys of one block of rows.
 *
 * HEED_ABLATE is for degraded builds (ablated.h): no-exp, no-products (sums stop after their first
 * step), no-loads, mispredicted, extra-barrier, strided (K and V are converted column by column),
 * no-staging (they are read in place, in float32), over-unrolled and tiny-blocks (of one row).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cpu.h"

/* The knobs, in the order of a config's values. */
enum {
    SPLITS /* tasks that share the keys of one block of rows */
};

#define ROWS (HEED_ABLATE == ABLATE_TINY_BLOCKS ? 1 : 16)
#define KEYS 64
#define PROGRAM_LANES 4           /* of heed_modifier_scalar */
#define PITCH (HEED_DIM_MAX + 16) /* of rows, so they do not all map to the same cache sets */

#if HEED_ABLATE == ABLATE_UNROLLED
#define INNER_LOOP _Pragma("GCC unroll 32")
#else
#define INNER_LOOP
#endif
#define LANES 8 /* partial sums of a dot product, which the compiler may keep in a vector */

typedef struct row_scratch {
    float q[ROWS][PITCH];
    float o[ROWS][PITCH];
    float m[ROWS];            /* running maximum of the logits, base 2 */
    float l[ROWS];            /* running sum */
    float all_o[ROWS][PITCH]; /* the same, of finished sections */
    float all_m[ROWS];
    float all_l[ROWS];
    float k[KEYS][PITCH];
    float v[KEYS][PITCH];
    float p[KEYS];
    int64_t first;  /* key of the tile */
    float *program; /* after the struct: the program's values of each row, and its scratch */
#if HEED_ABLATE == ABLATE_CHOSEN
    const float *k_rows[KEYS]; /* with ABLATE_NO_STAGING: in place */
    const float *v_rows[KEYS];
#endif
} row_scratch;

#define PROGRAM heed_round_up(sizeof(row_scratch), HEED_ALIGNMENT)

/* Key @j of the tile, and its value. */
static const float *key_of(const row_scratch *s, const heed_job *job, int64_t j)
{
#if HEED_ABLATE == ABLATE_CHOSEN
    if (job->ablation == ABLATE_NO_STAGING)
        return s->k_rows[j];
#endif
    (void)job;
    return s->k[j];
}

static const float *value_of(const row_scratch *s, const heed_job *job, int64_t j)
{
#if HEED_ABLATE == ABLATE_CHOSEN
    if (job->ablation == ABLATE_NO_STAGING)
        return s->v_rows[j];
#endif
    (void)job;
    return s->v[j];
}

/* Elements of a row to multiply: all @dim, or with ABLATE_NO_PRODUCTS the first @few. */
static int64_t count_of(const heed_job *job, int64_t dim, int64_t few)
{
    return JOB_ABLATES(job, ABLATE_NO_PRODUCTS) ? heed_min(dim, few) : dim;
}

static float dot(const float *a, const float *b, int64_t count)
{
    float lane[LANES] = { 0 };
    int64_t i = 0;
    INNER_LOOP
    for (; i + LANES <= count; i += LANES)
        for (int64_t t = 0; t < LANES; t++)
            lane[t] += a[i + t] * b[i + t];
    for (int64_t t = 0; i < count; i++, t++)
        lane[t] += a[i] * b[i];
    for (int64_t width = LANES / 2; width > 0; width /= 2)
        for (int64_t t = 0; t < width; t++)
            lane[t] += lane[t + width];
    return lane[0];
}

/* 2^x, for weights: 0 below 2^-126, since products with denormal weights would be slow. */
static float power_of_two(const heed_job *job, float x)
{
    if (JOB_ABLATES(job, ABLATE_NO_EXP))
        return x;
    if (JOB_ABLATES(job, ABLATE_MISPREDICTED) && heed_cpu_lowest_bit(&x)) {
        __asm__ volatile(""); /* otherwise the branches would be merged */
        return 2 * exp2f(x - 1);
    }
    float power = exp2f(x);
    return power < FLT_MIN ? 0 : power;
}

/* The logits of row @r in the tile as a patch. */
static heed_patch patch_of(row_scratch *s, const heed_job *job, int64_t r)
{
    return (heed_patch){ .logits = s->p,
                         .kept = s->program + r * job->need.kept,
                         .scratch = s->program + ROWS * job->need.kept,
                         .key = s->first,
                         .keys = KEYS };
}

/* Runs the program on the natural logits of row @r. */
static void modify_logits(row_scratch *s, const heed_job *job, int64_t r, heed_interval seen)
{
    heed_patch patch = patch_of(s, job, r);
    for (int64_t j = 0; j < KEYS; j++)
        if (j < seen.begin || j >= seen.end)
            s->p[j] = 0;
    if (job->modify->hides)
        patch.shows = job->modify->by->see(job->modify, &patch);
    job->modify->by->run(job->modify, &patch);
}

/* The base-2 logarithm of a weight: @logit, natural if the program @changes logits, less the base-2
 * @shift. A rounded product could be far from the exact one, and so from the shift, which is
 * rounded too; but where that is large, both must be. */
static float log2_weight(float logit, float shift, bool changes)
{
    if (!changes)
        return logit - shift;
    return fabsf(shift) > HEED_FAR ? logit * HEED_LOG2_E - shift
                                   : (float)((double)logit * HEED_LOG2_E - shift);
}

/* Adds the weighted values of the keys @seen of the tile, whose largest logit is @top, to the sums
 * of row @r; @hides, a constant, is true if the program hides any. */
static inline __attribute__((always_inline)) void add_values(row_scratch *s, const heed_job *job,
                                                             int64_t r, heed_interval seen,
                                                             float top, bool hides)
{
    const heed_problem *problem = job->problem;
    const heed_patch patch = patch_of(s, job, r);
    float shift = top == -INFINITY ? -FLT_MAX : top; /* finite even if no key was seen yet */
    float shrink = exp2f(s->m[r] - shift);
    const bool changes = heed_job_changes(job);
    float l = 0, o[HEED_DIM_MAX];
    memset(o, 0, (size_t)problem->dim_v * sizeof *o);
    for (int64_t j = seen.begin; j < seen.end; j++) {
        if (hides && !heed_modify_sees(job->modify, &patch, j, 0))
            continue;
        float p = power_of_two(job, log2_weight(s->p[j], shift, changes));
        const float *v = value_of(s, job, j);
        l += p;
        const int64_t dims = count_of(job, problem->dim_v, 1);
        INNER_LOOP
        for (int64_t c = 0; c < dims; c++)
            o[c] += p * v[c];
    }
    s->m[r] = top;
    s->l[r] = s->l[r] * shrink + l;
    for (int64_t c = 0; c < problem->dim_v; c++)
        s->o[r][c] = s->o[r][c] * shrink + o[c];
}

/* Processes one row with the keys @seen of the tile. */
static void row_step(row_scratch *s, int64_t r, heed_interval seen, const heed_job *job)
{
    const heed_problem *problem = job->problem;
    const float factor = job->factor;
    float top = s->m[r];
    heed_job_extra_barrier(job);
    if (seen.begin == seen.end)
        return;
    for (int64_t j = seen.begin; j < seen.end; j++) {
        s->p[j] = factor * dot(s->q[r], key_of(s, job, j), count_of(job, problem->dim_qk, LANES));
        top = s->p[j] > top || isnan(s->p[j]) ? s->p[j] : top;
    }
    if (job->modify) {
        const float unit = heed_job_changes(job) ? HEED_LOG2_E : 1;
        modify_logits(s, job, r, seen);
        top = s->m[r];
        for (int64_t j = seen.begin; j < seen.end; j++)
            top = s->p[j] * unit > top || isnan(s->p[j]) ? s->p[j] * unit : top;
    }
    if (job->modify && job->modify->hides)
        add_values(s, job, r, seen, top, true);
    else
        add_values(s, job, r, seen, top, false);
}

/* Adds the sums of the finished section to those of earlier ones. */
static void end_section(row_scratch *s, int64_t rows, int64_t dim)
{
    for (int64_t r = 0; r < rows; r++)
        heed_sums_add((heed_sums){ s->all_o[r], &s->all_m[r], &s->all_l[r] },
                      (heed_sums){ s->o[r], &s->m[r], &s->l[r] }, dim);
}

static void finish_row(row_scratch *s, int64_t r, const heed_job *job, const heed_task *task)
{
    const heed_problem *p = job->problem;
    int64_t row = task->row_begin + r;
    heed_target target = heed_job_target(job, task, row);
    float l = s->all_l[r], *o = s->all_o[r];
    float total = heed_job_total(job, task, row, s->all_m[r], l);
    for (int64_t c = 0; c < p->dim_v; c++)
        o[c] = l == 0 ? 0 : o[c] / total;
    heed_store_row(target.o, o, p->dim_v, target.partial ? HEED_F32 : p->type);
    heed_job_set_sums(job, task, row, s->all_m[r], l);
}

/* Converts @keys keys from @first on, and their values. */
static void load_tile(row_scratch *s, const heed_job *job, const heed_task *task, int64_t first,
                      int64_t keys)
{
    const heed_problem *p = job->problem;
    for (int64_t j = 0; j < keys; j++) {
        const void *k = heed_job_k(job, task, first + j), *v = heed_job_v(job, task, first + j);
#if HEED_ABLATE == ABLATE_CHOSEN
        s->k_rows[j] = k;
        s->v_rows[j] = v;
        if (job->ablation == ABLATE_NO_STAGING)
            continue;
#endif
        heed_load_row(s->k[j], k, p->dim_qk, p->type);
        heed_load_row(s->v[j], v, p->dim_v, p->type);
    }
}

/* The same, element by element, column by column. */
static void load_tile_strided(row_scratch *s, const heed_job *job, const heed_task *task,
                              int64_t first, int64_t keys)
{
    const heed_problem *p = job->problem;
    for (int64_t c = 0; c < p->dim_qk; c++)
        for (int64_t j = 0; j < keys; j++)
            heed_load_row(&s->k[j][c],
                          (const char *)heed_job_k(job, task, first + j) + c * job->element, 1,
                          p->type);
    for (int64_t c = 0; c < p->dim_v; c++)
        for (int64_t j = 0; j < keys; j++)
            heed_load_row(&s->v[j][c],
                          (const char *)heed_job_v(job, task, first + j) + c * job->element, 1,
                          p->type);
}

static void take_tile(row_scratch *s, const heed_job *job, const heed_task *task, int64_t first,
                      int64_t keys)
{
    s->first = first;
    if (JOB_ABLATES(job, ABLATE_STRIDED))
        load_tile_strided(s, job, task, first, keys);
    else if (!JOB_ABLATES(job, ABLATE_NO_LOADS) || first == task->key_begin)
        load_tile(s, job, task, first, keys);
    for (int64_t row = task->row_begin; row < task->row_end; row++)
        row_step(s, row - task->row_begin, heed_job_tile_keys(job, task, row, first, keys), job);
}

static void run(const heed_job *job, const heed_task *task, void *scratch)
{
    row_scratch *s = scratch;
    const heed_problem *p = job->problem;
    s->program = (float *)(void *)((char *)scratch + PROGRAM);
    int64_t rows = task->row_end - task->row_begin;
    for (int64_t r = 0; r < rows; r++) {
        heed_load_row(s->q[r], heed_job_q(job, task, task->row_begin + r), p->dim_qk, p->type);
        memset(s->o[r], 0, (size_t)p->dim_v * sizeof *s->o[r]);
        memset(s->all_o[r], 0, (size_t)p->dim_v * sizeof *s->all_o[r]);
        s->m[r] = s->all_m[r] = -INFINITY;
        s->l[r] = s->all_l[r] = 0;
        heed_job_begin_rows(job, task, task->row_begin + r, 1, s->program + r * job->need.kept);
    }
    for (int64_t j0 = task->key_begin; j0 < task->key_end; j0 += KEYS) {
        int64_t keys = heed_min(KEYS, task->key_end - j0);
        if (heed_job_may_see(job, task, j0, keys))
            take_tile(s, job, task, j0, keys);
        if ((j0 + keys - task->key_begin) % HEED_SECTION == 0 || j0 + keys == task->key_end)
            end_section(s, rows, p->dim_v);
    }
    for (int64_t r = 0; r < rows; r++)
        finish_row(s, r, job, task);
}

static heed_cut cut(const heed_config *config)
{
    return (heed_cut){ .block_rows = ROWS, .key_tile = KEYS, .splits = config->value[SPLITS] };
}

static size_t scratch_size(const heed_cpu_code *code, const heed_problem *problem,
                           const heed_cut *cut, const heed_modify_need *need)
{
    (void)code;
    (void)problem;
    (void)cut;
    return (size_t)(PROGRAM + (ROWS * need->kept + need->patch) * (int64_t)sizeof(float));
}

#ifndef ROW_CODE
#define ROW_CODE heed_row_scalar
#endif
const heed_cpu_code ROW_CODE = {
    .cut = cut,
    .scratch = scratch_size,
    .rates = { .multiply_adds = 8e9, .exps = 8e7, .elements = 5e8, .row_step = 1 },
    .run = run,
    .modifier = &heed_modifier_scalar,
    .grid = { .lanes = PROGRAM_LANES, .inner = 1, .outer = KEYS / PROGRAM_LANES },
};

#if HEED_ABLATE == ABLATE_NONE
const heed_algorithm heed_algorithm_row = {
    .knobs = { { 's', "SPLITS", { 1, 2, 4, 8, 16, 32, 64 } } },
    .modifies = true,
    .legal = heed_cpu_legal,
    .worthwhile = heed_cpu_worthwhile,
    .cost = heed_cpu_cost,
    .plans = &heed_cpu_plans,
};
#endif
