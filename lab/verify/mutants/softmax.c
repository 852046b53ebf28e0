/*
 * softmax.c - wrong kernels: the softmax and the LSE
 */
#include "lab/verify/mutants/steps.h"

static void no_maximum(mutant_row *r)
{
    mutant_logits(r);
    mutant_weighted_sum(r, mutant_softmax(r, 0));
}

/* The maximum begins at 0 rather than at minus infinity. */
static void maximum_from_zero(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    mutant_weighted_sum(r, mutant_softmax(r, high < 0 ? 0 : high));
}

static void stale_output(mutant_row *r)
{
    mutant_online(r, 16, true, false);
}

static void stale_sum(mutant_row *r)
{
    mutant_online(r, 16, false, true);
}

/* Online softmax that does not rescale if the new maximum comes in the last tile. */
static void stale_last_tile(mutant_row *r)
{
    int64_t last = r->keys > 16 ? (r->keys - 1) / 16 * 16 : 0;
    mutant_logits(r);
    float before = mutant_highest(r->s, last), high = mutant_highest(r->s, r->keys);
    float sum = mutant_softmax(r, high), stale = last && high > before ? expf(high - before) : 1;
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys; j++)
            r->o[c] += r->s[j] * (j < last ? stale : 1) * mutant_v_at(r, j, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

static void base_two_lse(mutant_row *r)
{
    mutant_plain_row(r);
    r->lse *= 1.44269504F;
}

static void bare_lse(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    mutant_weighted_sum(r, mutant_softmax(r, high));
    r->lse -= high;
}

static void maximum_as_lse(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    mutant_weighted_sum(r, mutant_softmax(r, high));
    r->lse = high;
}

static void rounded_lse(mutant_row *r)
{
    mutant_plain_row(r);
    r->lse = (float)lab_element_round(HEED_F16, (double)r->lse);
}

static void zero_for_empty(mutant_row *r)
{
    mutant_plain_row(r);
    r->lse = r->keys == 0 ? 0 : r->lse;
}

/* 16-bit exponentials. */
static float rough_exponential(const mutant_row *r, int64_t j)
{
    return r->high + 0.0001F * roundf(10000 * (r->s[j] - r->high));
}

/* The first terms of the series, good near 0. */
static void short_series(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys), sum = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        float x = (r->s[j] - high) / 8, y = 1 + x * (1 + x / 2);
        r->s[j] = x < -1 ? expf(8 * x) : powf(y, 8);
        sum += r->s[j];
    }
    r->lse = sum == 0 ? -INFINITY : high + logf(sum);
    mutant_weighted_sum(r, sum);
}

static float nan_for_empty(const mutant_row *r, int64_t c)
{
    return r->keys == 0 ? NAN : r->o[c];
}

/* All keys are computed, and masked ones get the weight 0: 0 * NaN is NaN. */
static void masked_by_zero(mutant_row *r)
{
    int64_t seen = r->keys;
    float sum = mutant_weights(r);
    for (r->keys = lab_keys(r->problem) - r->first; seen < r->keys; seen++)
        r->s[seen] = 0;
    mutant_weighted_sum(r, sum);
}

/* Masked logits are very low rather than minus infinity: rows that see no key see all. */
static void lowest_for_masked(mutant_row *r)
{
    if (r->keys == 0)
        mutant_see_all(r);
    mutant_plain_row(r);
}

/* The maximum is taken over masked keys as well: harmless until they are large. */
static void peeking_maximum(mutant_row *r)
{
    int64_t seen = r->keys;
    r->keys = lab_keys(r->problem) - r->first;
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    r->keys = seen;
    mutant_weighted_sum(r, mutant_softmax(r, high));
}

static float swallowed_nan(const mutant_row *r, int64_t c)
{
    return isfinite(r->o[c]) ? r->o[c] : 0;
}

/* The weights of a key add up to 1 over the heads, not those of a head over the keys. */
static void over_heads(mutant_row *r)
{
    int64_t own = r->row.head, heads = r->problem->heads_q;
    int64_t group = heads / r->problem->heads_kv;
    float all = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        float total = 0, mine = 0;
        for (int64_t h = 0; h < heads; h++) {
            r->row.head = h;
            r->kv_head = h / group;
            float weight = expf(r->problem->scale * mutant_dot(r, j));
            total += weight;
            mine = h == own ? weight : mine;
        }
        r->s[j] = mine / total;
        all += r->s[j];
    }
    r->row.head = own;
    r->kv_head = own / group;
    r->lse = logf(all);
    mutant_weighted_sum(r, 1);
}

/* Two halves of the keys count the same, whatever their weights. */
static void mean_of_halves(mutant_row *r)
{
    mutant_row half[2];
    mutant_plain_row(r);
    if (r->keys < 2)
        return;
    mutant_part(r, &half[0], 0, r->keys / 2);
    mutant_part(r, &half[1], r->keys / 2, r->keys);
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = 0.5F * (half[0].o[c] + half[1].o[c]);
}

/* Four parts of the keys, merged by their LSE; one without keys has the weight exp(NaN). */
static void empty_part(mutant_row *r)
{
    mutant_plain_row(r);
    if (r->keys >= 4)
        return;
    float high = -INFINITY - r->lse;
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] += 0 * high;
}

static void lse_of_half(mutant_row *r)
{
    mutant_row first;
    mutant_plain_row(r);
    if (r->keys < 2)
        return;
    mutant_part(r, &first, 0, r->keys / 2);
    r->lse = first.lse;
}

#define SPEC "b1 h2 s40 d24 f32"
#define CAUSAL "b1 h2 s40 d24 f32 causal"
#define EMPTY "b1 h2 s40/20 d24 f32 causal=br"
#define HALF "b1 h2 s40 d24 f16 causal acc=f16"

/* clang-format off */
const lab_mutant lab_mutants_softmax[] = {
    { .name = "no-maximum", .does = "does not subtract the maximum", .behaviour.row = no_maximum,
      .spec = SPEC, .inputs = "large", .gate = "finite" },
    { .name = "maximum-from-zero", .does = "begins its maximum at 0", .behaviour.row = maximum_from_zero,
      .spec = "b1 h8 s20 d24 f32 causal", .inputs = "large", .gate = "finite" },
    { .name = "stale-output", .does = "does not scale the output down when the maximum rises", .behaviour.row = stale_output,
      .spec = SPEC, .inputs = "rising", .gate = "error" },
    { .name = "stale-sum", .does = "does not scale the sum down when the maximum rises", .behaviour.row = stale_sum,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "stale-last-tile", .does = "does not scale down when the maximum rises in the last tile", .behaviour.row = stale_last_tile,
      .spec = SPEC, .inputs = "rising", .gate = "error" },
    { .name = "base-2-lse", .does = "returns the LSE in base 2", .behaviour.row = base_two_lse,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "base-2-lse-merged", .does = "returns the LSE in base 2, detected by merging", .behaviour.row = base_two_lse,
      .spec = SPEC, .inputs = "normal", .gate = "merged" },
    { .name = "bare-lse", .does = "leaves the maximum out of the LSE", .behaviour.row = bare_lse,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "maximum-as-lse", .does = "returns the maximum as the LSE", .behaviour.row = maximum_as_lse,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "rounded-lse", .does = "rounds the LSE to f16, with a right output beside it", .behaviour.row = rounded_lse,
      .spec = "b1 h2 s40 d24 f16", .inputs = "needle", .gate = "lse" },
    { .name = "half-the-lse", .does = "returns the LSE of the first half of the keys", .behaviour.row = lse_of_half,
      .spec = SPEC, .inputs = "equal", .gate = "lse" },
    { .name = "zero-for-empty", .does = "returns an LSE of 0 for rows that see no key", .behaviour.row = zero_for_empty,
      .spec = EMPTY, .inputs = "normal", .gate = "finite", .text = "LSE" },
    { .name = "rough-exponential", .does = "computes exponentials to four digits", .behaviour.logit = rough_exponential,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "short-series", .does = "computes the exponential by a few terms of its series", .behaviour.row = short_series,
      .spec = "b1 h2 s40 d24 f16", .inputs = "normal", .gate = "error" },
    { .name = "nan-for-empty", .does = "returns NaN for rows that see no key", .behaviour.column = nan_for_empty,
      .spec = EMPTY, .inputs = "normal", .gate = "finite" },
    { .name = "lowest-for-masked", .does = "averages all keys for rows that see none", .behaviour.row = lowest_for_masked,
      .spec = EMPTY, .inputs = "normal", .gate = "error" },
    { .name = "masked-by-zero", .does = "masks by a weight of 0", .behaviour.row = masked_by_zero,
      .spec = CAUSAL, .inputs = "masked", .gate = "finite" },
    { .name = "peeking-maximum", .does = "takes the maximum over masked keys too", .behaviour.row = peeking_maximum,
      .spec = CAUSAL, .inputs = "normal", .gate = "causal" },
    { .name = "swallowed-nan", .does = "replaces NaN by 0", .behaviour.column = swallowed_nan,
      .spec = SPEC, .inputs = "visible", .gate = "finite" },
    { .name = "over-heads", .does = "normalizes over the heads instead of the keys", .behaviour.row = over_heads,
      .spec = "b1 h4/2 s20 d24 f32", .inputs = "normal", .gate = "error" },
    { .name = "mean-of-halves", .does = "averages the halves of split keys instead of merging them", .behaviour.row = mean_of_halves,
      .spec = SPEC, .inputs = "needle", .gate = "error" },
    { .name = "empty-part", .does = "returns NaN if a part of the keys is empty", .behaviour.row = empty_part,
      .spec = CAUSAL, .inputs = "normal", .gate = "finite" },

    /* The same where half-precision accumulation is permitted. */
    { .name = "stale-output-acc16", .does = "does not scale the output down when the maximum rises", .behaviour.row = stale_output,
      .spec = HALF, .inputs = "rising", .gate = "error" },
    { .name = "stale-sum-acc16", .does = "does not scale the sum down when the maximum rises", .behaviour.row = stale_sum,
      .spec = HALF, .inputs = "normal", .gate = "error" },
    { .name = "base-2-lse-acc16", .does = "returns the LSE in base 2", .behaviour.row = base_two_lse,
      .spec = HALF, .inputs = "normal", .gate = "lse" },
    { .name = "no-maximum-acc16", .does = "does not subtract the maximum", .behaviour.row = no_maximum,
      .spec = "b1 h2 s40 d8 f16 acc=f16", .inputs = "large", .gate = "finite" },
    { .name = NULL },
};
/* clang-format on */
