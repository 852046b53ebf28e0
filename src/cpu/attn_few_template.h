/*
 * attn_few_template.h - attention for few queries, as in decoding: head dims in the lanes of
 * vectors
 *
 * With a handful of rows there is nothing to fill the lanes of a strip with, and reading K and V
 * once is what takes the time. So K and V are taken as they come, a row at a time: logits are dot
 * products along the head dim, summed across lanes for LANES keys together by one transposition,
 * and O gathers whole rows of V. The rows of a task, the query heads of one group among them, share
 * each tile of K and V. Keys that a row does not see are not touched for it. The online softmax is
 * that of attn_scalar.c.
 *
 * Parameters, defined by the file that includes this template after simd_*.h and simd_rows.h:
 *
 *   FEW_CODE   the heed_few_code to define
 *   RATES      what the cost model should believe
 *
 * Knobs m (rows per task) and s (tasks that share the keys) are in attn_few.c.
 *
 * Version log
 *   1  tiles of 32 keys, converted to float32 first; 4 vectors of O at a time.
 *   -  Prefetching the next tile by software while this one is read (AVX-512, one thread, Zen 4):
 * 65536 keys from memory 88 -> 69 ms with rows 2 KB apart, but no change with dense rows, and 512
 * keys from the caches 131 -> 163 us. Dropped.
 */
#include <math.h>

#include "few.h"

#define CHUNK 4 /* vectors of O that are kept in registers */

typedef struct few_state {
    const heed_job *job;
    const heed_task *task;
    heed_few_layout y;
    float *base;
    float factor; /* scale * log2(e) */
} few_state;

static void load_filled(float *to, const void *from, int64_t count, int64_t filled, heed_type type)
{
    load_row(to, from, count, type);
    memset(to + count, 0, (size_t)(filled - count) * sizeof *to);
}

static void load_tile(const few_state *t, int64_t first, int64_t keys)
{
    const heed_problem *p = t->job->problem;
    for (int64_t j = 0; j < keys; j++) {
        load_filled(t->base + t->y.k + j * t->y.dim_qk, heed_job_k(t->job, t->task, first + j),
                    p->dim_qk, t->y.dim_qk, p->type);
        load_filled(t->base + t->y.v + j * t->y.dim_v, heed_job_v(t->job, t->task, first + j),
                    p->dim_v, t->y.dim_v, p->type);
    }
}

/* Logits of LANES keys from @j on, in base 2; -infinity from @keys on. */
static vf logits(const few_state *t, const float *q, int64_t j, int64_t keys)
{
    const float *k = t->base + t->y.k + j * t->y.dim_qk;
    float index[LANES];
    vf acc[LANES];
    for (int i = 0; i < LANES; i++) {
        acc[i] = v_zero();
        index[i] = (float)(j + i);
    }
    for (int64_t c = 0; c < t->y.dim_qk; c += LANES) {
        vf x = v_load(q + c);
        for (int i = 0; i < LANES; i++)
            acc[i] = v_fma(x, v_load(k + i * t->y.dim_qk + c), acc[i]);
    }
    v_transpose(acc);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            acc[i] = v_add(acc[i], acc[i + width]);
    return v_keep_below(v_mul(acc[0], v_set(t->factor)), v_load(index), v_set((float)keys));
}

/* O = O alpha + sum over @keys keys of their weight times their row of V. */
static void accumulate(const few_state *t, float *o, const float *weights, int64_t keys,
                       float alpha)
{
    for (int64_t c = 0; c < t->y.dim_v; c += CHUNK * LANES) {
        const float *v = t->base + t->y.v + c;
        vf acc[CHUNK];
        for (int i = 0; i < CHUNK; i++)
            acc[i] = v_mul(v_load(o + c + i * LANES), v_set(alpha));
        for (int64_t j = 0; j < keys; j++, v += t->y.dim_v) {
            vf weight = v_set(weights[j]);
            for (int i = 0; i < CHUNK; i++)
                acc[i] = v_fma(weight, v_load(v + i * LANES), acc[i]);
        }
        for (int i = 0; i < CHUNK; i++)
            v_store(o + c + i * LANES, acc[i]);
    }
}

/* Row @r against the first @keys keys of the tile. */
static void run_row(const few_state *t, int64_t r, int64_t keys)
{
    float *m = t->base + t->y.m + r;
    float *l = t->base + t->y.l + r;
    float weights[FEW_KEYS];
    vf x[FEW_KEYS / LANES];
    vf top = v_set(*m);
    for (int i = 0; i < FEW_KEYS / LANES; i++) {
        x[i] = v_set(-INFINITY);
        if (i * LANES < keys)
            x[i] = logits(t, t->base + t->y.q + r * t->y.dim_qk, i * LANES, keys);
        top = v_max(x[i], top);
    }
    float now = v_top(top);
    if (now == -INFINITY)
        now = -3.402823466e38f; /* finite where no key was seen yet */
    vf sum = v_zero();
    for (int i = 0; i < FEW_KEYS / LANES; i++) {
        vf weight = v_exp2(v_sub(x[i], v_set(now)));
        v_store(weights + i * LANES, weight);
        sum = v_add(sum, weight);
    }
    float alpha = exp2f(*m - now);
    *m = now;
    *l = *l * alpha + v_sum(sum);
    accumulate(t, t->base + t->y.o + r * t->y.dim_v, weights, keys, alpha);
}

static void store_rows(const few_state *t, int64_t rows)
{
    const heed_problem *p = t->job->problem;
    bool lse = t->job->buffers->lse || t->job->cut.splits > 1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t row = t->task->row_begin + r;
        float *o = t->base + t->y.o + r * t->y.dim_v;
        float l = t->base[t->y.l + r];
        heed_target target = heed_job_target(t->job, t->task, row);
        vf inverse = v_set(l == 0 ? 0 : 1 / l);
        for (int64_t c = 0; c < t->y.dim_v; c += LANES)
            v_store(o + c, v_mul(v_load(o + c), inverse));
        store_row(target.o, o, p->dim_v, target.partial ? HEED_F32 : p->type);
        if (lse)
            heed_job_set_lse(t->job, t->task, row,
                             l == 0 ? -INFINITY : t->base[t->y.m + r] + log2f(l));
    }
}

static void run(const heed_job *job, const heed_task *task, void *scratch)
{
    const heed_problem *p = job->problem;
    few_state t = { .job = job, .task = task, .base = scratch };
    t.y = heed_few_layout_of(&FEW_CODE, p, &job->cut);
    t.factor = p->scale * 1.44269504088896341f; /* log2(e) */
    int64_t rows = task->row_end - task->row_begin;
    for (int64_t r = 0; r < rows; r++) {
        load_filled(t.base + t.y.q + r * t.y.dim_qk, heed_job_q(job, task, task->row_begin + r),
                    p->dim_qk, t.y.dim_qk, p->type);
        t.base[t.y.m + r] = -INFINITY;
        t.base[t.y.l + r] = 0;
    }
    memset(t.base + t.y.o, 0, (size_t)(rows * t.y.dim_v) * sizeof(float));
    for (int64_t first = task->key_begin; first < task->key_end; first += FEW_KEYS) {
        int64_t keys = heed_min(FEW_KEYS, task->key_end - first);
        load_tile(&t, first, keys);
        for (int64_t r = 0; r < rows; r++) {
            int64_t seen = heed_min(heed_job_visible(job, task->row_begin + r) - first, keys);
            if (seen > 0)
                run_row(&t, r, seen);
        }
    }
    store_rows(&t, rows);
}

const heed_few_code FEW_CODE = { .step = CHUNK * LANES, .rates = RATES, .run = run };
