/*
 * keys.c - wrong kernels: the keys that a row reads, and their heads
 */
#include "lab/verify/mutants/steps.h"

/* ---------------------------------------------------------------------------------------------- */
/* Keys                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

static void dropped(mutant_row *r)
{
    r->keys -= r->keys > 16 ? r->keys / 16 : 0;
    mutant_plain_row(r);
}

static void one_less(mutant_row *r)
{
    r->keys -= r->keys > 1;
    mutant_plain_row(r);
}

static void one_more(mutant_row *r)
{
    r->keys += r->first + r->keys < lab_keys(r->problem);
    mutant_plain_row(r);
}

static void other_corner(heed_problem *problem)
{
    problem->mask = HEED_MASK_CAUSAL_TOP_LEFT;
}

static void unmasked(mutant_row *r)
{
    mutant_see_all(r);
    mutant_plain_row(r);
}

/* The diagonal is masked in the first row of every tile of 16. */
static void diagonal_lost(mutant_row *r)
{
    r->keys -= r->row.query % 16 == 0 && r->keys > 1;
    mutant_plain_row(r);
}

/* The last tile is padded with zero keys that are not masked. */
static void unmasked_tail(mutant_row *r)
{
    mutant_logits(r);
    int64_t padded = (r->keys + 15) / 16 * 16;
    for (int64_t j = r->keys; j < padded; j++)
        r->s[j] = 0;
    float high = mutant_highest(r->s, padded), sum = 0;
    for (int64_t j = 0; j < padded; j++)
        sum += expf(r->s[j] - high);
    mutant_softmax(r, high);
    r->lse = high + logf(sum);
    mutant_weighted_sum(r, sum);
}

/* A 16-bit index. */
static void short_index(mutant_row *r)
{
    r->keys = r->keys > UINT16_MAX ? UINT16_MAX : r->keys;
    mutant_plain_row(r);
}

#define WINDOW 32

/* Keys of weight 0, as in sparse kernels. */
static float local_window(const mutant_row *r, int64_t j)
{
    return j + WINDOW < r->keys ? -INFINITY : r->s[j];
}

static float light_keys(const mutant_row *r, int64_t j)
{
    return r->s[j] < r->high - 5 ? -INFINITY : r->s[j];
}

static float better_half(const mutant_row *r, int64_t j)
{
    float sum = 0;
    for (int64_t i = 0; i < r->keys; i++)
        sum += isfinite(r->s[i]) ? r->s[i] : 0;
    return r->keys > 2 && r->s[j] < sum / (float)r->keys - 1 ? -INFINITY : r->s[j];
}

/* As if two adjacent keys were equal. */
static void every_other_key(mutant_row *r)
{
    mutant_logits(r);
    for (int64_t j = 1; j < r->keys; j += 2)
        r->s[j] = -INFINITY;
    mutant_finish(r);
    r->lse += 0.69314718F;
}

/* ---------------------------------------------------------------------------------------------- */
/* Heads and batch elements                                                                       */
/* ---------------------------------------------------------------------------------------------- */

static void interleaved_heads(mutant_row *r)
{
    r->kv_head = r->row.head % r->problem->heads_kv;
    mutant_plain_row(r);
}

/* A group of three is treated as one of two. */
static void shifted_groups(mutant_row *r)
{
    int64_t group = r->problem->heads_q / r->problem->heads_kv, shift = 0;
    while (group >> (shift + 1))
        shift++;
    r->kv_head = (r->row.head >> shift) % r->problem->heads_kv;
    mutant_plain_row(r);
}

static void values_of_another_head(mutant_row *r)
{
    float sum = mutant_weights(r);
    r->kv_head = (r->kv_head + 1) % r->problem->heads_kv;
    mutant_weighted_sum(r, sum);
}

/* The same for the very last head: an index that is one too large is clamped. */
static void last_head_alone(mutant_row *r)
{
    const heed_problem *p = r->problem;
    bool last = r->row.batch == p->batch - 1 && r->row.head == p->heads_q - 1;
    r->kv_head -= last && p->heads_kv > 1;
    mutant_plain_row(r);
}

static void keys_of_the_first_element(mutant_row *r)
{
    const int64_t batch = r->kv_batch;
    r->kv_batch = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        r->s[j] = 0;
        for (int64_t c = 0; c < r->problem->dim_qk; c++) {
            float q = mutant_q_at(r, c);
            r->s[j] += r->problem->scale * q * mutant_k_at(r, j, c);
        }
    }
    r->kv_batch = batch;
    mutant_finish(r);
}

/* A pipeline that is off by one stage from its second tile on: the weights of a tile with the
 * values of the previous one. */
static void late_values(mutant_row *r)
{
    float sum = mutant_weights(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys; j++)
            r->o[c] += r->s[j] * mutant_v_at(r, j < 32 ? j : j - 16, c);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

/* If V is a part of K: its last columns in place of the first, */
static void last_columns(mutant_row *r)
{
    int64_t shift = r->problem->dim_qk - r->problem->dim_v;
    mutant_logits(r);
    float high = mutant_high(r), sum = mutant_softmax(r, high);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys; j++)
            r->o[c] += r->s[j] * mutant_k_at(r, j, c + shift);
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

/* or its vectors taken as dense, like those of a separate V. */
static void dense_columns(mutant_row *r)
{
    r->v.strides.head = r->problem->dim_v;
    r->v.strides.seq = r->problem->heads_kv * r->problem->dim_v;
    mutant_plain_row(r);
}

#define SPEC "b1 h2 s40 d24 f32"
#define CAUSAL "b1 h2 s40 d24 f32 causal"
#define HALF "b1 h2 s40 d24 f16 causal acc=f16"

/* clang-format off */
const lab_mutant lab_mutants_keys[] = {
    { .name = "drops-keys", .does = "leaves out the last sixteenth of the keys", .behaviour.row = dropped,
      .spec = "b1 h2 s10/512 d32 f16", .inputs = "normal", .gate = "error" },
    { .name = "drops-last-key", .does = "leaves out the last key", .behaviour.row = one_less,
      .spec = "b1 h2 s10/512 d32 f32", .inputs = "normal", .gate = "error" },
    { .name = "drops-last-key-bf16", .does = "leaves out the last key, where bf16 could hide it", .behaviour.row = one_less,
      .spec = "b1 h2 s10/512 d32 bf16", .inputs = "impulse", .gate = "error" },
    { .name = "drops-diagonal", .does = "masks the diagonal as well", .behaviour.row = one_less,
      .spec = CAUSAL, .inputs = "normal", .gate = "error" },
    { .name = "drops-tile-diagonal", .does = "masks the diagonal in the first row of every tile", .behaviour.row = diagonal_lost,
      .spec = CAUSAL, .inputs = "normal", .gate = "error" },
    { .name = "one-key-more", .does = "sees one key too many", .behaviour.row = one_more,
      .spec = CAUSAL, .inputs = "normal", .gate = "error" },
    { .name = "one-key-more-masked", .does = "sees one key too many, detected by changes of other keys", .behaviour.row = one_more,
      .spec = CAUSAL, .inputs = "normal", .gate = "causal" },
    { .name = "one-key-more-nan", .does = "sees one key too many, detected by NaN", .behaviour.row = one_more,
      .spec = CAUSAL, .inputs = "masked", .gate = "finite" },
    { .name = "no-mask", .does = "has no mask", .behaviour.row = unmasked,
      .spec = CAUSAL, .inputs = "normal", .gate = "causal" },
    { .name = "square-mask", .does = "aligns the mask as if there were as many keys as queries", .behaviour.misread = other_corner,
      .spec = "b1 h2 s20/40 d24 f32 causal=br", .inputs = "normal", .gate = "error" },
    { .name = "unmasked-tail", .does = "counts the zero keys that pad the last tile", .behaviour.row = unmasked_tail,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "unmasked-tail-lse", .does = "the same, detected by the LSE", .behaviour.row = unmasked_tail,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "16-bit-keys", .does = "drops the keys beyond 65535", .behaviour.row = short_index,
      .spec = "b1 h1 s1/65700 d2/8 f32", .inputs = "impulse", .gate = "error" },
    { .name = "local-window", .does = "reads the last 32 keys only", .behaviour.logit = local_window,
      .spec = "b1 h1 s64 d24 f16 causal", .inputs = "normal", .gate = "error" },
    { .name = "light-keys", .does = "drops keys of small weight", .behaviour.logit = light_keys,
      .spec = "b1 h1 s8/300 d64 f16", .inputs = "normal", .gate = "error" },
    { .name = "every-other-key", .does = "counts every other key twice", .behaviour.row = every_other_key,
      .spec = "b1 h1 s8/512 d32 f16", .inputs = "normal", .gate = "error" },
    { .name = "better-half", .does = "drops keys whose logits are below the average", .behaviour.logit = better_half,
      .spec = "b1 h1 s8/128 d32 f16", .inputs = "normal", .gate = "error" },
    { .name = "interleaved-heads", .does = "maps grouped heads by modulo instead of division", .behaviour.row = interleaved_heads,
      .spec = "b1 h4/2 s20 d24 f32", .inputs = "normal", .gate = "error" },
    { .name = "shifted-groups", .does = "assumes that the group size is a power of two", .behaviour.row = shifted_groups,
      .spec = "b1 h6/2 s20 d24 f32", .inputs = "normal", .gate = "error" },
    { .name = "other-values", .does = "weights the values of another head", .behaviour.row = values_of_another_head,
      .spec = "b1 h4/2 s20 d24 f32", .inputs = "needle", .gate = "error" },
    { .name = "last-head-alone", .does = "has another head's keys in the last head of the last batch element",
      .behaviour.row = last_head_alone,
      .spec = "b2 h4/2 s20 d24 f16", .inputs = "normal", .gate = "error" },
    { .name = "first-keys", .does = "uses the keys of the first batch element for all", .behaviour.row = keys_of_the_first_element,
      .spec = "b3 h2 s20 d24 f32", .inputs = "normal", .gate = "error" },
    { .name = "late-values", .does = "weights the values of the previous tile", .behaviour.row = late_values,
      .spec = "b1 h2 s70 d24 f32", .inputs = "normal", .gate = "error" },
    { .name = "last-columns", .does = "takes the last columns of K as V instead of the first", .behaviour.row = last_columns,
      .spec = "b1 h4/1 s20/30 d24/16 f32 shared", .inputs = "normal", .gate = "error" },
    { .name = "dense-columns", .does = "takes V as dense, though it has the strides of K", .behaviour.row = dense_columns,
      .spec = "b1 h4/1 s20/30 d24/16 f32 shared", .inputs = "normal", .gate = "error" },

    /* The same where half-precision accumulation is permitted. */
    { .name = "drops-keys-acc16", .does = "leaves out the last sixteenth of the keys", .behaviour.row = dropped,
      .spec = "b1 h2 s10/512 d32 f16 acc=f16", .inputs = "normal", .gate = "error", .text = "acc=f16" },
    { .name = "drops-last-key-acc16", .does = "leaves out the last key", .behaviour.row = one_less,
      .spec = "b1 h2 s10/512 d32 f16 acc=f16", .inputs = "impulse", .gate = "error" },
    { .name = "one-key-more-acc16", .does = "sees one key too many", .behaviour.row = one_more,
      .spec = HALF, .inputs = "normal", .gate = "error" },
    { .name = NULL },
};
/* clang-format on */
