/*
 * values.c - wrong kernels that normal values do not expose: limits, finite masks, light keys, lost
 * NaNs, rows without weight
 */
#include "lab/verify/mutants/steps.h"

/* ---------------------------------------------------------------------------------------------- */
/* Limits                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

static float limited(float x, float limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

static float with_limited_logits(const mutant_row *r, int64_t j)
{
    return limited(r->s[j], r->by);
}

static float with_limited_outputs(const mutant_row *r, int64_t c)
{
    return limited(r->o[c], r->by);
}

/* Logits are stored in f16, where those above 65504 become infinite. */
static float logits_of_half(const mutant_row *r, int64_t j)
{
    return fabsf(r->s[j]) > 65504 ? r->s[j] * INFINITY : r->s[j];
}

static float huge_is_masked(const mutant_row *r, int64_t j)
{
    return fabsf(r->s[j]) > 1e30F ? -INFINITY : r->s[j];
}

/* The shift in base 2 is rounded before it is subtracted. */
static void rounded_shift(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys), shift = high * 1.44269504F, sum = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = high == -INFINITY ? 0 : exp2f(fmaf(r->s[j], 1.44269504F, -shift));
        sum += r->s[j];
    }
    r->lse = sum == 0 ? -INFINITY : high + logf(sum);
    mutant_weighted_sum(r, sum);
}

/* The exponent is split as a 32-bit integer, which wraps. */
static float integer_exponent(const mutant_row *r, int64_t j)
{
    double x = fmax((double)r->s[j] - (double)r->high, -9e18);
    return x < -2e9 ? r->high - (float)((uint64_t)-x % 50) : r->s[j];
}

/* Products are scaled up before they are added, against numbers that are too small. */
static void raised_sums(mutant_row *r)
{
    float sum = mutant_weights(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys; j++)
            r->o[c] += 0x1p40F * r->s[j] * mutant_v_at(r, j, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum * 0x1p-40F;
    }
}

static float vast_is_infinite(const mutant_row *r, int64_t c)
{
    return fabsf(r->o[c]) > 1e25F ? r->o[c] * INFINITY : r->o[c];
}

/* ---------------------------------------------------------------------------------------------- */
/* Finite masks and maxima                                                                        */
/* ---------------------------------------------------------------------------------------------- */

static void with_mask(mutant_row *r)
{
    int64_t seen = r->keys;
    mutant_logits(r);
    for (r->keys = lab_keys(r->problem) - r->first; seen < r->keys; seen++)
        r->s[seen] = r->by;
    mutant_finish(r);
}

static void from_1e30(mutant_row *r)
{
    mutant_logits(r);
    mutant_weighted_sum(r, mutant_softmax(r, fmaxf(mutant_highest(r->s, r->keys), -1e30F)));
}

/* A maximum is subtracted only above 80: sums of very low logits are 0. */
static void maximum_above_80(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    mutant_weighted_sum(r, mutant_softmax(r, high > 80 || isnan(high) ? high : 0));
}

/* ---------------------------------------------------------------------------------------------- */
/* Keys that seem not to matter                                                                   */
/* ---------------------------------------------------------------------------------------------- */

static float without_light_keys(const mutant_row *r, int64_t j)
{
    return r->s[j] < r->high - r->by ? -INFINITY : r->s[j];
}

/* Tiles of keys that are all far below the highest so far. */
static void light_tiles(mutant_row *r)
{
    mutant_logits(r);
    float high = mutant_highest(r->s, r->keys);
    for (int64_t first = 0; first < r->keys; first += 4) {
        int64_t count = r->keys - first < 4 ? r->keys - first : 4;
        if (mutant_highest(r->s + first, count) < high - 8)
            for (int64_t j = first; j < first + count; j++)
                r->s[j] = -INFINITY;
    }
    mutant_finish(r);
}

/* A nearly one-hot row is treated as one-hot. */
static void nearly_one_hot(mutant_row *r)
{
    int64_t top = 0;
    mutant_plain_row(r);
    mutant_logits(r);
    for (int64_t j = 1; j < r->keys; j++)
        top = r->s[j] > r->s[top] ? j : top;
    if (r->keys == 0 || !(expf(r->s[top] - r->lse) > 0.9F))
        return;
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] = mutant_v_at(r, top, c);
}

/* The highest key alone counts if its logit is so high that the others seem negligible. */
static void alone_above_60(mutant_row *r)
{
    int64_t top = 0;
    mutant_plain_row(r);
    mutant_logits(r);
    for (int64_t j = 1; j < r->keys; j++)
        top = r->s[j] > r->s[top] ? j : top;
    for (int64_t c = 0; c < r->problem->dim_v && r->keys > 0 && r->s[top] > 60; c++)
        r->o[c] = mutant_v_at(r, top, c);
}

/* True if logits are so huge that float32 errors are much larger than 1, and the highest two differ
 * by less than the error of 12 bits. */
static bool seems_tied(mutant_row *r)
{
    float most = -INFINITY, next = -INFINITY;
    mutant_logits(r);
    for (int64_t j = 0; j < r->keys; j++) {
        next = fmaxf(next, fminf(most, r->s[j]));
        most = fmaxf(most, r->s[j]);
    }
    return fabsf(most) > 0x1p30F && most - next < fabsf(most) * 0x1p-12F;
}

static void ties_are_zero(mutant_row *r)
{
    bool tied = seems_tied(r);
    mutant_plain_row(r);
    for (int64_t c = 0; c < r->problem->dim_v && tied; c++)
        r->o[c] = 0;
}

/* Huge logits are rounded to 12 bits: the highest two become equal. */
static void huge_of_12_bits(mutant_row *r)
{
    bool tied = seems_tied(r);
    float high = mutant_highest(r->s, r->keys);
    for (int64_t j = 0; j < r->keys && tied; j++)
        r->s[j] = high - r->s[j] < fabsf(high) * 0x1p-12F ? high : r->s[j];
    mutant_finish(r);
}

/* True if there are logits, and they differ by less than @span. */
static bool lie_within(const mutant_row *r, float span)
{
    float low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < r->keys; j++) {
        low = fminf(low, r->s[j]);
        high = fmaxf(high, r->s[j]);
    }
    return r->keys >= 8 && high - low < span;
}

/* True if they are so close that a few can represent all. */
static bool are_near(const mutant_row *r)
{
    return lie_within(r, 1);
}

/* Four times the sum of every fourth weight. */
static float sampled_sum(const mutant_row *r)
{
    float sum = 0;
    int64_t count = 0;
    for (int64_t j = 0; j < r->keys; j += 4, count++)
        sum += r->s[j];
    return sum * (float)r->keys / (float)count;
}

static void sampled_weights(mutant_row *r)
{
    mutant_plain_row(r);
    float lse = r->lse;
    mutant_logits(r);
    bool near = are_near(r);
    float sum = mutant_softmax(r, mutant_highest(r->s, r->keys));
    mutant_weighted_sum(r, near ? sampled_sum(r) : sum);
    r->lse = lse;
}

static void sampled_lse(mutant_row *r)
{
    mutant_logits(r);
    bool near = are_near(r);
    float high = mutant_highest(r->s, r->keys), sum = mutant_softmax(r, high);
    mutant_weighted_sum(r, sum);
    r->lse = near ? high + logf(sampled_sum(r)) : r->lse;
}

static void nearest_are_equal(mutant_row *r)
{
    mutant_plain_row(r);
    mutant_logits(r);
    if (!lie_within(r, r->by))
        return;
    float lse = r->lse;
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = 0;
    mutant_finish(r);
    r->lse = lse;
}

/* Every logit is low: a clamped exponential would make them equal. */
static void low_is_equal(mutant_row *r)
{
    mutant_logits(r);
    r->by = INFINITY;
    if (mutant_highest(r->s, r->keys) < -100)
        nearest_are_equal(r);
    else
        mutant_plain_row(r);
}

/* ---------------------------------------------------------------------------------------------- */
/* NaN                                                                                            */
/* ---------------------------------------------------------------------------------------------- */

static float nan_to_zero(const mutant_row *r, int64_t c)
{
    return isnan(r->o[c]) && isfinite(r->lse) ? 0 : r->o[c];
}

/* The running maximum is still -infinity when a NaN comes, and fmaxf() ignores the NaN: the key is
 * treated as one without weight. */
static void first_nan_skipped(mutant_row *r)
{
    mutant_logits(r);
    if (r->keys > 1 && isnan(r->s[0]))
        r->s[0] = -INFINITY;
    mutant_weighted_sum(r, mutant_softmax(r, mutant_highest(r->s, r->keys)));
}

/* Maxima and minima that prefer the number: a NaN becomes a limit. */
static float nan_to_limit(const mutant_row *r, int64_t c)
{
    return isfinite(r->lse) ? fmaxf(fminf(r->o[c], 3e38F), -3e38F) : r->o[c];
}

static void nan_everywhere(mutant_row *r)
{
    mutant_plain_row(r);
    float all = 0;
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        all += 0 * r->o[c];
    for (int64_t c = 0; c < r->problem->dim_v; c++)
        r->o[c] += all;
}

/* ---------------------------------------------------------------------------------------------- */
/* Rows without weight                                                                            */
/* ---------------------------------------------------------------------------------------------- */

/* Computes the row. Returns true if it sees keys, and all their logits are -infinity. */
static bool is_weightless(mutant_row *r)
{
    mutant_plain_row(r);
    return r->keys > 0 && r->lse == -INFINITY;
}

static void weightless_is_equal(mutant_row *r)
{
    if (!is_weightless(r))
        return;
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = 1;
    mutant_weighted_sum(r, (float)r->keys);
}

static void weightless_is_infinite(mutant_row *r)
{
    if (is_weightless(r))
        r->o[r->problem->dim_v - 1] = INFINITY;
}

static void weightless_lse_is_a_number(mutant_row *r)
{
    if (is_weightless(r))
        r->lse = -1e30F;
}

static void weightless_lse_is_high(mutant_row *r)
{
    if (is_weightless(r))
        r->lse = INFINITY;
}

/* ---------------------------------------------------------------------------------------------- */
/* Signs of a benchmark                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* Right where values look normal, and averages elsewhere. */
static void looks_normal(mutant_row *r)
{
    float most = 0;
    for (int64_t c = 0; c < r->problem->dim_qk; c++)
        most = fmaxf(most, fabsf(mutant_q_at(r, c)));
    mutant_plain_row(r);
    if (most > 0.5F && most < 3.5F)
        return;
    memset(r->s, 0, (size_t)r->keys * sizeof *r->s);
    mutant_finish(r);
}

/* Peels the loop over Q until Q is aligned, and assumes that K and V are too: if not, it starts at
 * the aligned address before. */
static void aligned_alike(const heed_problem *problem, const heed_buffers *buffers)
{
    uintptr_t q = (uintptr_t)buffers->q % 64, k = (uintptr_t)buffers->k % 64;
    uintptr_t v = (uintptr_t)buffers->v % 64;
    mutant_plain(problem, buffers);
    if (q != k && k != v && q != v)
        lab_element_set(problem->type, buffers->o, 0, 0.25);
}

#define SPEC "b1 h2 s40 d24 f32"
#define CAUSAL "b1 h2 s40 d24 f32 causal"
#define HALF "b1 h2 s40 d64 f16"

/* clang-format off */
const lab_mutant lab_mutants_values[] = {
    { .name = "logits-to-60", .does = "limits logits to 60", .behaviour = { .logit = with_limited_logits, .by = 60 },
      .spec = SPEC, .inputs = "large", .gate = "error" },
    { .name = "logits-to-integers", .does = "limits logits to the range of an integer", .behaviour = { .logit = with_limited_logits, .by = 2.1e9F },
      .spec = SPEC, .inputs = "huge", .gate = "error" },
    { .name = "logits-of-half", .does = "treats logits above 65504 as infinite", .behaviour.logit = logits_of_half,
      .spec = HALF, .inputs = "huge", .gate = "finite" },
    { .name = "huge-is-masked", .does = "masks keys whose logit is above 1e30", .behaviour.logit = huge_is_masked,
      .spec = CAUSAL, .inputs = "huge", .gate = "error" },
    { .name = "rounded-shift", .does = "rounds the maximum in base 2 before subtracting it", .behaviour.row = rounded_shift,
      .spec = SPEC, .inputs = "huge", .gate = "finite" },
    { .name = "rounded-shift-half", .does = "the same, with logits from f16", .behaviour.row = rounded_shift,
      .spec = HALF, .inputs = "huge", .gate = "error" },
    { .name = "integer-exponent", .does = "splits exponents as 32-bit integers, which wrap", .behaviour.logit = integer_exponent,
      .spec = SPEC, .inputs = "huge", .gate = "error" },
    { .name = "outputs-to-8", .does = "limits outputs to 8", .behaviour = { .column = with_limited_outputs, .by = 8 },
      .spec = SPEC, .inputs = "vast", .gate = "error" },
    { .name = "outputs-to-half", .does = "limits outputs to the range of f16", .behaviour = { .column = with_limited_outputs, .by = 65504 },
      .spec = SPEC, .inputs = "vast", .gate = "error" },
    { .name = "raised-sums", .does = "scales products up before it adds them", .behaviour.row = raised_sums,
      .spec = SPEC, .inputs = "vast", .gate = "finite" },
    { .name = "vast-is-infinite", .does = "treats outputs above 1e25 as infinite", .behaviour.column = vast_is_infinite,
      .spec = SPEC, .inputs = "vast", .gate = "finite" },
    { .name = "mask-1e4", .does = "masks by a logit of -1e4", .behaviour = { .row = with_mask, .by = -1e4F },
      .spec = CAUSAL, .inputs = "low", .gate = "error" },
    { .name = "mask-1e9", .does = "masks by a logit of -1e9", .behaviour = { .row = with_mask, .by = -1e9F },
      .spec = "b1 h2 s40 d64 f16 causal", .inputs = "low", .gate = "error" },
    { .name = "mask-1e30", .does = "masks by a logit of -1e30", .behaviour = { .row = with_mask, .by = -1e30F },
      .spec = "b1 h2 s40 d24 bf16 causal", .inputs = "low", .gate = "lse" },
    { .name = "maximum-from-1e30", .does = "begins its maximum at -1e30", .behaviour.row = from_1e30,
      .spec = SPEC, .inputs = "low", .gate = "finite" },
    { .name = "maximum-above-80", .does = "subtracts only a maximum above 80", .behaviour.row = maximum_above_80,
      .spec = SPEC, .inputs = "low", .gate = "finite" },
    { .name = "light-keys-15", .does = "leaves out keys of a weight less than e^-15 of the heaviest", .behaviour = { .logit = without_light_keys, .by = 15 },
      .spec = SPEC, .inputs = "tails", .gate = "error" },
    { .name = "light-keys-8", .does = "leaves out keys of a weight less than e^-8 of the heaviest", .behaviour = { .logit = without_light_keys, .by = 8 },
      .spec = HALF, .inputs = "tails", .gate = "error" },
    { .name = "light-tiles", .does = "leaves out tiles of light keys", .behaviour.row = light_tiles,
      .spec = SPEC, .inputs = "tails", .gate = "error" },
    { .name = "nearly-one-hot", .does = "treats a nearly one-hot row as one-hot", .behaviour.row = nearly_one_hot,
      .spec = SPEC, .inputs = "tails", .gate = "error" },
    { .name = "sampled-weights", .does = "sums every fourth weight where logits are close", .behaviour.row = sampled_weights,
      .spec = SPEC, .inputs = "near", .gate = "error" },
    { .name = "sampled-lse", .does = "computes the LSE from every fourth key where logits are close", .behaviour.row = sampled_lse,
      .spec = SPEC, .inputs = "near", .gate = "lse" },
    { .name = "near-is-equal", .does = "averages where logits are close", .behaviour = { .row = nearest_are_equal, .by = 1 },
      .spec = "b1 h2 s60 d24 bf16", .inputs = "near", .gate = "error" },
    { .name = "small-is-equal", .does = "averages where logits differ by less than a 64th", .behaviour = { .row = nearest_are_equal, .by = 0x1p-6F },
      .spec = SPEC, .inputs = "sizes", .gate = "error" },
    { .name = "alone-above-60", .does = "takes only the highest key where its logit is above 60", .behaviour.row = alone_above_60,
      .spec = SPEC, .inputs = "sizes", .gate = "error" },
    { .name = "ties-are-zero", .does = "returns 0 where the highest two logits are huge and nearly equal", .behaviour.row = ties_are_zero,
      .spec = SPEC, .inputs = "sizes", .gate = "error" },
    { .name = "huge-of-12-bits", .does = "rounds huge logits to 12 bits", .behaviour.row = huge_of_12_bits,
      .spec = SPEC, .inputs = "sizes", .gate = "error" },
    { .name = "low-is-equal", .does = "averages where every logit is below -100", .behaviour.row = low_is_equal,
      .spec = SPEC, .inputs = "sizes", .gate = "error" },
    { .name = "alone-above-60-half", .does = "takes only the highest key of f16 above 60", .behaviour.row = alone_above_60,
      .spec = HALF, .inputs = "sizes", .gate = "error" },
    { .name = "nan-to-zero", .does = "replaces NaN by 0 in V", .behaviour.column = nan_to_zero,
      .spec = SPEC, .inputs = "nan-in-v", .gate = "finite" },
    { .name = "nan-to-limit", .does = "replaces NaN in V by the largest number", .behaviour.column = nan_to_limit,
      .spec = "b1 h1 s20 d8 f32", .inputs = "nan-in-v", .gate = "finite" },
    { .name = "first-nan-skipped", .does = "leaves the first key out if its logit is NaN", .behaviour.row = first_nan_skipped,
      .spec = "b1 h1 s60 d24 f32", .inputs = "nan-in-k", .gate = "finite" },
    { .name = "nan-everywhere", .does = "sets all columns of a row to NaN if one is", .behaviour.row = nan_everywhere,
      .spec = CAUSAL, .inputs = "nan-in-v", .gate = "finite" },
    { .name = "weightless-is-equal", .does = "averages where all logits are -infinity", .behaviour.row = weightless_is_equal,
      .spec = CAUSAL, .inputs = "weightless", .gate = "finite" },
    { .name = "weightless-is-infinite", .does = "returns an infinity there", .behaviour.row = weightless_is_infinite,
      .spec = HALF, .inputs = "weightless", .gate = "finite" },
    { .name = "weightless-lse", .does = "returns an LSE of -1e30 there", .behaviour.row = weightless_lse_is_a_number,
      .spec = SPEC, .inputs = "weightless", .gate = "finite", .text = "LSE" },
    { .name = "weightless-lse-high", .does = "returns an LSE of infinity there", .behaviour.row = weightless_lse_is_high,
      .spec = "b1 h2 s40 d24 bf16", .inputs = "weightless", .gate = "finite", .text = "LSE" },
    { .name = "looks-normal", .does = "averages where Q does not look normal", .behaviour.row = looks_normal,
      .spec = SPEC, .inputs = "needle", .gate = "error" },
    { .name = "aligned-alike", .does = "assumes that Q, K and V have the same alignment", .behaviour.run = aligned_alike,
      .spec = SPEC, .inputs = "normal", .gate = "unaligned", .text = "each otherwise" },
    { .name = NULL },
};
/* clang-format on */
