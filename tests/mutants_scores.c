/*
 * mutants_scores.c - wrong kernels: which keys, their logits, and the softmax of them
 */
#include "mutants_wrong.h"

/* -------------------------------------------------------------------------- */
/* Wrong keys and heads                                                       */
/* -------------------------------------------------------------------------- */

static void dropped_row(row_state *r)
{
    r->keys -= r->keys > 16 ? r->keys / 16 : 0;
    plain_row(r);
}

void dropped_keys(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, dropped_row);
}

static void one_less_row(row_state *r)
{
    r->keys -= r->keys > 1;
    plain_row(r);
}

void one_key_less(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, one_less_row);
}

static void one_more_row(row_state *r)
{
    r->keys += r->keys < r->problem->seq_k;
    plain_row(r);
}

void one_key_more(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, one_more_row);
}

void other_corner(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem other = *problem;
    other.mask = HEED_MASK_CAUSAL_TOP_LEFT;
    run_all(&other, buffers, plain_row);
}

static void interleaved_row(row_state *r)
{
    r->kv_head = r->row.head % r->problem->heads_kv;
    plain_row(r);
}

void interleaved_heads(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, interleaved_row);
}

/* The last tile is filled up with keys of zeros, and these are not masked. */
static void tail_row(row_state *r)
{
    logits(r);
    int64_t padded = (r->keys + 15) / 16 * 16;
    for (int64_t j = r->keys; j < padded; j++)
        r->s[j] = 0;
    float high = highest(r->s, padded), sum = 0;
    for (int64_t j = 0; j < padded; j++)
        sum += expf(r->s[j] - high);
    softmax(r, high);
    r->lse = high + logf(sum);
    weighted_sum(r, sum);
}

void unmasked_tail(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, tail_row);
}

/* -------------------------------------------------------------------------- */
/* Wrong logits                                                               */
/* -------------------------------------------------------------------------- */

static void mean_row(row_state *r)
{
    memset(r->s, 0, (size_t)r->keys * sizeof *r->s);
    finish(r);
}

void mean_of_values(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, mean_row);
}

static void half_row(row_state *r)
{
    logits(r);
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] *= 0.5F;
    finish(r);
}

void half_the_logits(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_row);
}

void scale_of_dim_v(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem other = *problem;
    other.scale = 1 / sqrtf((float)problem->dim_v);
    run_all(&other, buffers, plain_row);
}

void positive_scale(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem other = *problem;
    other.scale = fabsf(problem->scale);
    run_all(&other, buffers, plain_row);
}

static void short_dot_row(row_state *r)
{
    heed_problem cut = *r->problem;
    cut.dim_qk -= cut.dim_qk % 8;
    mistaken_row(r, &cut);
}

void dim_tail_dropped(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, short_dot_row);
}

static void biased_row(row_state *r)
{
    logits(r);
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] += 0.001F * (float)j;
    finish(r);
}

void position_bias(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, biased_row);
}

static void capped_row(row_state *r)
{
    logits(r);
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = fminf(r->s[j], 8);
    finish(r);
}

void capped_logits(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, capped_row);
}

/* -------------------------------------------------------------------------- */
/* Wrong softmax                                                              */
/* -------------------------------------------------------------------------- */

static void no_maximum_row(row_state *r)
{
    logits(r);
    weighted_sum(r, softmax(r, 0));
}

void no_maximum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, no_maximum_row);
}

static void stale_output_row(row_state *r)
{
    online(r, 16, true, false);
}

void stale_output(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, stale_output_row);
}

static void stale_sum_row(row_state *r)
{
    online(r, 16, false, true);
}

void stale_sum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, stale_sum_row);
}

static void base_two_row(row_state *r)
{
    plain_row(r);
    r->lse *= 1.44269504F;
}

void base_two_lse(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, base_two_row);
}

static void bare_lse_row(row_state *r)
{
    logits(r);
    float high = highest(r->s, r->keys);
    weighted_sum(r, softmax(r, high));
    r->lse -= high;
}

void lse_without_maximum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, bare_lse_row);
}

static void rough_row(row_state *r)
{
    logits(r);
    float high = highest(r->s, r->keys);
    for (int64_t j = 0; j < r->keys; j++) /* as an exponential of 16 bits would */
        r->s[j] = high + 0.0001F * roundf(10000 * (r->s[j] - high));
    finish(r);
}

void rough_exponential(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, rough_row);
}

static void nan_for_empty_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v && r->keys == 0; c++)
        r->o[c] = NAN;
}

void nan_for_empty(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, nan_for_empty_row);
}

/* All keys are computed, and what is masked gets the weight 0: 0 * NaN is NaN. */
static void leaking_row(row_state *r)
{
    int64_t seen = r->keys;
    logits(r);
    float sum = softmax(r, highest(r->s, r->keys));
    for (r->keys = r->problem->seq_k; seen < r->keys; seen++)
        r->s[seen] = 0;
    weighted_sum(r, sum);
}

void masked_by_zero(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, leaking_row);
}

/* The maximum is taken over masked keys as well: harmless until they are large. */
static void peeking_row(row_state *r)
{
    int64_t seen = r->keys;
    r->keys = r->problem->seq_k;
    logits(r);
    float high = highest(r->s, r->keys);
    r->keys = seen;
    weighted_sum(r, softmax(r, high));
}

void peeking_maximum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, peeking_row);
}

static void swallowing_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = isfinite(r->o[c]) ? r->o[c] : 0;
}

void swallowed_nan(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, swallowing_row);
}
