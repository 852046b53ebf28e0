/*
 * mutants_wrong.c - wrong kernels, each with the gate that must kill it
 *
 * They vary steps of one plain implementation: which keys, logits, softmax, weighted sum, store.
 */
#include <unistd.h>

#include "mutant_steps.h"

/* -------------------------------------------------------------------------- */
/* Wrong keys and heads                                                       */
/* -------------------------------------------------------------------------- */

static void dropped_row(row_state *r)
{
    r->keys -= r->keys > 16 ? r->keys / 16 : 0;
    plain_row(r);
}

static void dropped_keys(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, dropped_row);
}

static void one_less_row(row_state *r)
{
    r->keys -= r->keys > 1;
    plain_row(r);
}

static void one_key_less(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, one_less_row);
}

static void one_more_row(row_state *r)
{
    r->keys += r->keys < r->problem->seq_k;
    plain_row(r);
}

static void one_key_more(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, one_more_row);
}

static void other_corner(const heed_problem *problem, const heed_buffers *buffers)
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

static void interleaved_heads(const heed_problem *problem, const heed_buffers *buffers)
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

static void unmasked_tail(const heed_problem *problem, const heed_buffers *buffers)
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

static void mean_of_values(const heed_problem *problem, const heed_buffers *buffers)
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

static void half_the_logits(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_row);
}

static void scale_of_dim_v(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem other = *problem;
    other.scale = 1 / sqrtf((float)problem->dim_v);
    run_all(&other, buffers, plain_row);
}

static void positive_scale(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem other = *problem;
    other.scale = fabsf(problem->scale);
    run_all(&other, buffers, plain_row);
}

static void short_dot_row(row_state *r)
{
    heed_problem cut = *r->problem;
    cut.dim_qk -= cut.dim_qk % 8;
    const heed_problem *whole = r->problem;
    r->problem = &cut;
    logits(r);
    r->problem = whole;
    finish(r);
}

static void dim_tail_dropped(const heed_problem *problem, const heed_buffers *buffers)
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

static void position_bias(const heed_problem *problem, const heed_buffers *buffers)
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

static void capped_logits(const heed_problem *problem, const heed_buffers *buffers)
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

static void no_maximum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, no_maximum_row);
}

static void stale_output_row(row_state *r)
{
    online(r, 16, true, false);
}

static void stale_output(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, stale_output_row);
}

static void stale_sum_row(row_state *r)
{
    online(r, 16, false, true);
}

static void stale_sum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, stale_sum_row);
}

static void base_two_row(row_state *r)
{
    plain_row(r);
    r->lse *= 1.44269504F;
}

static void base_two_lse(const heed_problem *problem, const heed_buffers *buffers)
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

static void lse_without_maximum(const heed_problem *problem, const heed_buffers *buffers)
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

static void rough_exponential(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, rough_row);
}

static void nan_for_empty_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v && r->keys == 0; c++)
        r->o[c] = NAN;
}

static void nan_for_empty(const heed_problem *problem, const heed_buffers *buffers)
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

static void masked_by_zero(const heed_problem *problem, const heed_buffers *buffers)
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

static void peeking_maximum(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, peeking_row);
}

static void swallowing_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = isfinite(r->o[c]) ? r->o[c] : 0;
}

static void swallowed_nan(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, swallowing_row);
}

/* -------------------------------------------------------------------------- */
/* Wrong sums and outputs                                                     */
/* -------------------------------------------------------------------------- */

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

static void half_unasked(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_tiles_row);
}

static void sums_in_f16(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, half_sum_row);
}

static void rounded_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = (float)lab_element_round(HEED_BF16, (double)r->o[c]);
}

static void f32_in_bf16(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, rounded_row);
}

static void flushing_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = fabsf(r->o[c]) < 0x1p-14F ? 0 : r->o[c];
}

static void flushed_to_zero(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, flushing_row);
}

static void stretched_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] *= 1.1F;
}

static void stretched_output(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, stretched_row);
}

static void zero_row(row_state *r)
{
    plain_row(r);
    memset(r->o, 0, sizeof r->o);
}

static void zeros(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, zero_row);
}

static void bent_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] -= 0.01F * r->o[c] * r->o[c];
}

static void bent_output(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, bent_row);
}

static void drifting_row(row_state *r)
{
    heed_problem other = *r->problem;
    other.scale *= 1 + 0.01F * (float)r->row.batch;
    const heed_problem *whole = r->problem;
    r->problem = &other;
    logits(r);
    r->problem = whole;
    finish(r);
}

static void batch_dependent(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, drifting_row);
}

static void lazy_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v && !r->buffers->lse; c++)
        r->o[c] *= 1 + 0x1p-20F;
}

static void other_without_lse(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, lazy_row);
}

/* -------------------------------------------------------------------------- */
/* Wrong memory                                                               */
/* -------------------------------------------------------------------------- */

static void dense_strides(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem dense = *problem;
    memset(&dense.k, 0, sizeof dense.k);
    heed_problem_normalize(&dense, &dense);
    run_all(&dense, buffers, plain_row);
}

static void last_row_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    run_rows(problem, buffers, plain_row, 0, lab_rows(problem) - 1);
}

static void columns_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    int64_t last = lab_view_extent(&o) - 1;
    double kept = lab_element_get(problem->type, buffers->o, last);
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, last, kept);
}

static void empty_rows_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    for (int64_t n = 0; n < lab_rows(problem); n++)
        if (lab_visible(problem, lab_row_at(problem, n).query) > 0)
            run_rows(problem, buffers, plain_row, n, n + 1);
}

static void lse_missing(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers without = *buffers;
    without.lse = NULL;
    plain(problem, &without);
}

static void past_the_end(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view o = lab_view_of(problem, LAB_O);
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, lab_view_extent(&o), 0);
}

static void before_the_start(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, -1, 0);
}

static void into_the_gap(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    lab_element_set(problem->type, buffers->o, problem->dim_v, 0);
}

static void past_the_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    ((char *)buffers->workspace)[buffers->workspace_size] = 0;
}

static void reads_past_the_end(const heed_problem *problem, const heed_buffers *buffers)
{
    lab_view k = lab_view_of(problem, LAB_K);
    volatile double sink = lab_element_get(problem->type, buffers->k, lab_view_extent(&k) + 3);
    (void)sink;
    plain(problem, buffers);
}

static void scales_in_place(const heed_problem *problem, const heed_buffers *buffers)
{
    union {
        const void *input;
        void *writable;
    } q = { buffers->q };
    double value = lab_element_get(problem->type, q.writable, 0);
    lab_element_set(problem->type, q.writable, 0, value * (double)problem->scale);
    plain(problem, buffers);
}

/* Sums on top of what the workspace holds. */
static void dirty_workspace(const heed_problem *problem, const heed_buffers *buffers)
{
    float left;
    memcpy(&left, buffers->workspace, sizeof left);
    plain(problem, buffers);
    double value = lab_element_get(problem->type, buffers->o, 0);
    lab_element_set(problem->type, buffers->o, 0, value + (double)left);
}

/* Offsets of 32 bits. */
static void narrow_offsets(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_problem narrow = *problem;
    narrow.k.batch = (int32_t)(uint32_t)problem->k.batch;
    run_all(&narrow, buffers, plain_row);
}

static void lse_always(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    buffers->lse[0] += 0;
}

/* Takes 16 bytes at a time, wherever they begin. */
static void rounded_pointers(const heed_problem *problem, const heed_buffers *buffers)
{
    heed_buffers rounded = *buffers;
    rounded.k = (const char *)buffers->k - (uintptr_t)buffers->k % 16;
    run_all(problem, &rounded, plain_row);
}

static void endless(const heed_problem *problem, const heed_buffers *buffers)
{
    plain(problem, buffers);
    for (;;)
        sleep(1);
}

/* Right but for less than the error that bf16 must have. */
static void slight_row(row_state *r)
{
    plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] *= 1 + 0x1p-7F;
}

static void slightly_off(const heed_problem *problem, const heed_buffers *buffers)
{
    run_all(problem, buffers, slight_row);
}

/* -------------------------------------------------------------------------- */
/* The table                                                                  */
/* -------------------------------------------------------------------------- */

#define SPEC "b1 h2 s40 d24 f32"
#define CAUSAL "b1 h2 s40 d24 f32 causal"
#define HALF "b1 h2 s40 d24 f16 causal acc=f16"
#define GAPS "b1 h2 s9 d8 f32 o=400:40:16"

/* clang-format off */
const mutant mutants[] = {
    /* Keys and heads. */
    { .name = "drops 1/16 of the keys", .run = dropped_keys,
      .spec = "b1 h2 s10/512 d32 f16", .inputs = "normal", .gate = "error" },
    { .name = "drops the last key", .run = one_key_less,
      .spec = "b1 h2 s10/512 d32 f32", .inputs = "normal", .gate = "error" },
    { .name = "drops the last key of bf16", .run = one_key_less,
      .spec = "b1 h2 s10/512 d32 bf16", .inputs = "impulse", .gate = "error" },
    { .name = "drops the diagonal", .run = one_key_less,
      .spec = CAUSAL, .inputs = "normal", .gate = "error" },
    { .name = "sees one key too many", .run = one_key_more,
      .spec = CAUSAL, .inputs = "normal", .gate = "error" },
    { .name = "sees one key too many, told by the mask", .run = one_key_more,
      .spec = CAUSAL, .inputs = "normal", .gate = "causal" },
    { .name = "sees one key too many, told by NaN", .run = one_key_more,
      .spec = CAUSAL, .inputs = "masked", .gate = "finite" },
    { .name = "aligns the mask at the other corner", .run = other_corner,
      .spec = "b1 h2 s20/40 d24 f32 causal=br", .inputs = "normal", .gate = "error" },
    { .name = "interleaves the grouped heads", .run = interleaved_heads,
      .spec = "b1 h4/2 s20 d24 f32", .inputs = "normal", .gate = "error" },
    { .name = "leaves the padded tail unmasked", .run = unmasked_tail,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "leaves the padded tail unmasked, told by the LSE", .run = unmasked_tail,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },

    /* Logits. */
    { .name = "averages V", .run = mean_of_values,
      .spec = "b1 h1 s4/16384 d64 bf16", .inputs = "normal", .gate = "error" },
    { .name = "halves the logits", .run = half_the_logits,
      .spec = "b1 h1 s4/16384 d64 bf16", .inputs = "normal", .gate = "error" },
    { .name = "scales by the dim of V", .run = scale_of_dim_v,
      .spec = "b1 h2 s30 d24/40 bf16", .inputs = "normal", .gate = "error" },
    { .name = "ignores the sign of the scale", .run = positive_scale,
      .spec = "b1 h2 s30 d24 f32 scale=-0.2", .inputs = "needle", .gate = "error" },
    { .name = "drops the tail of the head dim", .run = dim_tail_dropped,
      .spec = "b1 h2 s30 d65 f16", .inputs = "normal", .gate = "error" },
    { .name = "prefers late keys", .run = position_bias,
      .spec = SPEC, .inputs = "normal", .gate = "permuted" },
    { .name = "caps the logits", .run = capped_logits,
      .spec = SPEC, .inputs = "normal", .gate = "shifted" },

    /* Softmax. */
    { .name = "does not take off the maximum", .run = no_maximum,
      .spec = SPEC, .inputs = "large", .gate = "finite" },
    { .name = "does not rescale the output", .run = stale_output,
      .spec = SPEC, .inputs = "rising", .gate = "error" },
    { .name = "does not rescale the sum", .run = stale_sum,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "gives the LSE in base 2", .run = base_two_lse,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "gives the LSE in base 2, told by merging", .run = base_two_lse,
      .spec = SPEC, .inputs = "normal", .gate = "merged" },
    { .name = "leaves the maximum out of the LSE", .run = lse_without_maximum,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "has an exponential of four digits", .run = rough_exponential,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "gives NaN for empty rows", .run = nan_for_empty,
      .spec = "b1 h2 s40/20 d24 f32 causal=br", .inputs = "normal", .gate = "finite" },
    { .name = "masks by a weight of zero", .run = masked_by_zero,
      .spec = CAUSAL, .inputs = "masked", .gate = "finite" },
    { .name = "takes the maximum over masked keys", .run = peeking_maximum,
      .spec = CAUSAL, .inputs = "normal", .gate = "causal" },
    { .name = "swallows NaN", .run = swallowed_nan,
      .spec = SPEC, .inputs = "visible", .gate = "finite" },

    /* Sums and outputs. */
    { .name = "sums in f16", .run = sums_in_f16,
      .spec = "b1 h2 s8/2048 d16 f16", .inputs = "normal", .gate = "error" },
    { .name = "accumulates in f16 unasked", .run = half_unasked,
      .spec = "b1 h1 s4/4096 d64 f16", .inputs = "normal", .gate = "error" },
    { .name = "accumulates dot products in f16 unasked", .run = half_unasked,
      .spec = "b1 h2 s40 d128 f16", .inputs = "normal", .gate = "lse" },
    { .name = "rounds f32 to bf16", .run = f32_in_bf16,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "flushes subnormals to zero", .run = flushed_to_zero,
      .spec = "b1 h2 s40 d24 f16", .inputs = "tiny", .gate = "error" },
    { .name = "stretches the output", .run = stretched_output,
      .spec = SPEC, .inputs = "needle", .gate = "range" },
    { .name = "writes zeros", .run = zeros, .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "bends the output", .run = bent_output,
      .spec = SPEC, .inputs = "normal", .gate = "linear" },
    { .name = "is off by one bit of bf16", .run = slightly_off,
      .spec = "b1 h2 s40 d24 bf16", .inputs = "exact", .gate = "exact" },
    { .name = "scales by the batch element", .run = batch_dependent,
      .spec = "b3 h2 s20 d24 f32", .inputs = "normal", .gate = "batch" },
    { .name = "computes something else without LSE", .run = other_without_lse,
      .spec = SPEC, .inputs = "normal", .gate = "optional-lse" },

    /* The same where half-precision accumulation is permitted. */
    { .name = "drops 1/16 of the keys", .run = dropped_keys,
      .spec = "b1 h2 s10/512 d32 f16 acc=f16", .inputs = "normal", .gate = "error", .text = "acc=f16" },
    { .name = "drops the last key", .run = one_key_less,
      .spec = "b1 h2 s10/512 d32 f16 acc=f16", .inputs = "impulse", .gate = "error" },
    { .name = "sees one key too many", .run = one_key_more,
      .spec = HALF, .inputs = "normal", .gate = "error" },
    { .name = "averages V", .run = mean_of_values,
      .spec = "b1 h1 s4/16384 d64 f16 acc=f16", .inputs = "normal", .gate = "error" },
    { .name = "halves the logits", .run = half_the_logits,
      .spec = "b1 h1 s4/16384 d64 f16 acc=f16", .inputs = "normal", .gate = "error" },
    { .name = "drops the tail of the head dim", .run = dim_tail_dropped,
      .spec = "b1 h2 s30 d65 f16 acc=f16", .inputs = "normal", .gate = "error" },
    { .name = "does not rescale the output", .run = stale_output,
      .spec = HALF, .inputs = "rising", .gate = "error" },
    { .name = "does not rescale the sum", .run = stale_sum,
      .spec = HALF, .inputs = "normal", .gate = "error" },
    { .name = "gives the LSE in base 2", .run = base_two_lse,
      .spec = HALF, .inputs = "normal", .gate = "lse" },
    { .name = "does not take off the maximum", .run = no_maximum,
      .spec = "b1 h2 s40 d8 f16 acc=f16", .inputs = "large", .gate = "finite" },
    { .name = "stretches the output", .run = stretched_output,
      .spec = HALF, .inputs = "needle", .gate = "range" },
    { .name = "is off by three bits of f16", .run = slightly_off,
      .spec = HALF, .inputs = "exact", .gate = "exact" },

    /* Memory. */
    { .name = "takes K to be dense", .run = dense_strides,
      .spec = "b1 h2 s20 d24 f32 k=2000:100:40", .inputs = "normal", .gate = "finite" },
    { .name = "takes V's order of dimensions for granted", .run = dense_strides,
      .spec = "b1 h2 s20 d24 f32 k=960:24:480", .inputs = "normal", .gate = "error" },
    { .name = "leaves the last row unwritten", .run = last_row_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "leaves the last element unwritten", .run = columns_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written" },
    { .name = "leaves empty rows unwritten", .run = empty_rows_missing,
      .spec = "b1 h2 s40/20 d24 f32 causal=br", .inputs = "normal", .gate = "written" },
    { .name = "leaves the LSE unwritten", .run = lse_missing,
      .spec = SPEC, .inputs = "normal", .gate = "written", .text = "LSE" },
    { .name = "writes past the end of O", .run = past_the_end,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "touched O" },
    { .name = "writes before the start of O", .run = before_the_start,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "before its start" },
    { .name = "writes into a gap of O", .run = into_the_gap,
      .spec = GAPS, .inputs = "normal", .gate = "canaries", .text = "gap" },
    { .name = "writes past the end of the workspace", .run = past_the_workspace,
      .spec = SPEC, .inputs = "normal", .gate = "canaries", .text = "workspace", .workspace = 100 },
    { .name = "reads past the end of K", .run = reads_past_the_end,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "touched K" },
    { .name = "scales Q in place", .run = scales_in_place,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "wrote to the input Q" },
    { .name = "scales Q in place, unlocked", .run = scales_in_place,
      .spec = SPEC, .inputs = "normal", .gate = "inputs", .text = "Q", .unlocked = true },
    { .name = "adds to what the workspace holds", .run = dirty_workspace,
      .spec = SPEC, .inputs = "normal", .gate = "finite", .workspace = 64 },
    { .name = "has offsets of 32 bits", .run = narrow_offsets,
      .spec = "b2 h1 s4 d8 f32 k=2147483652:8:8", .inputs = "normal", .gate = "executes", .text = "SIGSEGV" },
    { .name = "writes the LSE that nobody wants", .run = lse_always,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "without LSE" },
    { .name = "rounds its pointers down", .run = rounded_pointers,
      .spec = "b1 h2 s40 d24 f16", .inputs = "normal", .gate = "unaligned" },
    { .name = "sums by address", .run = by_address,
      .spec = SPEC, .inputs = "normal", .gate = "deterministic" },
    { .name = "never ends", .run = endless,
      .spec = SPEC, .inputs = "normal", .gate = "executes", .text = "not done" },
    { .name = NULL },
};
/* clang-format on */
