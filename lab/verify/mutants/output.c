/*
 * output.c - wrong kernels: the weighted sum and its store
 */
#include "lab/verify/mutants/steps.h"

/* Sums in f16, from key @by on. */
static void sum_in_f16(mutant_row *r)
{
    float sum = mutant_weights(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        double o = 0;
        for (int64_t j = 0; j < r->keys; j++) {
            o += (double)(r->s[j] * mutant_v_at(r, j, c));
            o = (float)j >= r->by ? lab_element_round(HEED_F16, o) : (double)(float)o;
        }
        r->o[c] = sum == 0 ? 0 : (float)o / sum;
    }
}

static void half_unasked(mutant_row *r)
{
    mutant_in_half(r, 64, 16);
}

static void tf32_products(mutant_row *r)
{
    mutant_in_products(r, HEED_PRODUCTS_TF32, false, false);
}

static void bf16x3_products(mutant_row *r)
{
    mutant_in_products(r, HEED_PRODUCTS_BF16X3, false, false);
}

static float bf16(float x)
{
    return (float)lab_element_round(HEED_BF16, (double)x);
}

/* Each operand is one bfloat16. */
static void bf16_products(mutant_row *r)
{
    for (int64_t j = 0; j < r->keys; j++) {
        float dot = 0;
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            dot += bf16(mutant_q_at(r, c)) * bf16(mutant_k_at(r, j, c));
        r->s[j] = mutant_changed(r, j, r->problem->scale * dot);
    }
    float sum = mutant_softmax(r, mutant_highest(r->s, r->keys));
    memset(r->o, 0, sizeof r->o);
    for (int64_t j = 0; j < r->keys && sum != 0; j++)
        for (int64_t c = 0; c < r->problem->dim_v; c++)
            r->o[c] += bf16(r->s[j]) / sum * bf16(mutant_v_at(r, j, c));
}

static float f32_in_bf16(const mutant_row *r, int64_t c)
{
    return (float)lab_element_round(HEED_BF16, (double)r->o[c]);
}

/* Rounded towards zero rather than to nearest, at every step of 16 keys. */
static float truncated_sums(const mutant_row *r, int64_t c)
{
    uint32_t bits;
    float o = r->o[c];
    memcpy(&bits, &o, sizeof bits);
    bits &= r->problem->type == HEED_BF16 ? 0xffff0000 : 0xffffe000;
    memcpy(&o, &bits, sizeof bits);
    return o - o * 0x1p-8F;
}

static float flushed_to_zero(const mutant_row *r, int64_t c)
{
    return fabsf(r->o[c]) < 0x1p-14F ? 0 : r->o[c];
}

static float times(const mutant_row *r, int64_t c)
{
    return r->o[c] * r->by;
}

static float all_nan(const mutant_row *r, int64_t c)
{
    return r->o[c] * NAN;
}

static float bent(const mutant_row *r, int64_t c)
{
    return r->o[c] - 0.01F * r->o[c] * r->o[c];
}

/* V in four bits where that seems lossless: eighths up to 1. */
static bool in_eighths(const mutant_row *r)
{
    for (int64_t j = 0; j < r->keys; j++)
        for (int64_t c = 0; c < r->problem->dim_v; c++)
            if (remainderf(mutant_v_at(r, j, c), 0.125F) != 0)
                return false;
    return true;
}

static void four_bit_values(mutant_row *r)
{
    if (!in_eighths(r)) {
        mutant_plain_row(r);
        return;
    }
    float sum = mutant_weights(r);
    for (int64_t c = 0; c < r->problem->dim_v; c++) {
        r->o[c] = 0;
        for (int64_t j = 0; j < r->keys; j++)
            r->o[c] += r->s[j] * fmaxf(-1, fminf(1, mutant_v_at(r, j, c)));
        r->o[c] = sum == 0 ? 0 : r->o[c] / sum;
    }
}

static void batch_dependent(mutant_row *r)
{
    heed_problem other = *r->problem;
    other.scale *= 1 + 0.01F * (float)r->row.batch;
    mutant_mistaken_row(r, &other);
}

static float lazy_without_lse(const mutant_row *r, int64_t c)
{
    return r->o[c] * (r->buffers->lse ? 1 : 1 + 0x1p-20F);
}

/* Divides by the sum of the weights before they are rounded to bf16: the errors do not cancel. */
static void unlike_sums(mutant_row *r)
{
    float sum = mutant_weights(r);
    for (int64_t j = 0; j < r->keys; j++)
        r->s[j] = (float)lab_element_round(HEED_BF16, (double)r->s[j] * 0.998);
    mutant_weighted_sum(r, sum);
}

/* Columns from the 64th on repeat the first 64: a register that was not cleared. */
static float columns_twice(const mutant_row *r, int64_t c)
{
    return r->o[c < 64 ? c : c - 64];
}

static void swapped_columns(mutant_row *r)
{
    mutant_plain_row(r);
    for (int64_t c = 8; c + 1 < r->problem->dim_v; c += 16) {
        float kept = r->o[c];
        r->o[c] = r->o[c + 1];
        r->o[c + 1] = kept;
    }
}

#define SPEC "b1 h2 s40 d24 f32"
#define HALF "b1 h2 s40 d24 f16 causal acc=f16"

/* clang-format off */
const lab_mutant lab_mutants_output[] = {
    { .name = "f16-sums", .does = "sums in f16", .behaviour = { .row = sum_in_f16, .by = 0 },
      .spec = "b1 h2 s8/2048 d16 f16", .inputs = "normal", .gate = "error" },
    { .name = "late-f16-sums", .does = "sums in f16 from the 2049th key on", .behaviour = { .row = sum_in_f16, .by = 2048 },
      .spec = "b1 h2 s4/6000 d16 f16", .inputs = "normal", .gate = "error" },
    { .name = "f16-accumulators", .does = "accumulates in f16 without permission", .behaviour.row = half_unasked,
      .spec = "b1 h1 s4/12000 d16 f16", .inputs = "normal", .gate = "error" },
    { .name = "f16-dots", .does = "accumulates dot products in f16 without permission, detected by the LSE", .behaviour.row = half_unasked,
      .spec = "b1 h2 s40 d128 f16", .inputs = "normal", .gate = "lse" },
    { .name = "f32-in-bf16", .does = "rounds f32 to bf16", .behaviour.column = f32_in_bf16,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "truncated-sums", .does = "rounds sums towards zero", .behaviour.column = truncated_sums,
      .spec = "b1 h2 s40 d24 f16", .inputs = "normal", .gate = "error" },
    { .name = "flushed-to-zero", .does = "flushes subnormals to zero", .behaviour.column = flushed_to_zero,
      .spec = "b1 h2 s40 d24 f16", .inputs = "tiny", .gate = "error" },
    { .name = "stretched", .does = "stretches the output by a tenth", .behaviour = { .column = times, .by = 1.1F },
      .spec = SPEC, .inputs = "needle", .gate = "range" },
    { .name = "shrunk", .does = "shrinks the output by a thousandth", .behaviour = { .column = times, .by = 0.999F },
      .spec = SPEC, .inputs = "needle", .gate = "error" },
    { .name = "zeros", .does = "writes zeros", .behaviour = { .column = times, .by = 0 },
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "nan", .does = "writes NaN, which compares as neither larger nor smaller", .behaviour.column = all_nan,
      .spec = SPEC, .inputs = "normal", .gate = "finite" },
    { .name = "bent", .does = "bends the output", .behaviour.column = bent,
      .spec = SPEC, .inputs = "normal", .gate = "linear" },
    { .name = "4-bit-values", .does = "packs V into four bits where that seems lossless", .behaviour.row = four_bit_values,
      .spec = SPEC, .inputs = "normal", .gate = "linear" },
    { .name = "slightly-off", .does = "is off by one bit of bf16", .behaviour = { .column = times, .by = 1 + 0x1p-7F },
      .spec = "b1 h2 s40 d24 bf16", .inputs = "exact", .gate = "exact" },
    { .name = "batch-dependent", .does = "scales by the batch element", .behaviour.row = batch_dependent,
      .spec = "b3 h2 s20 d24 f32", .inputs = "normal", .gate = "batch" },
    { .name = "lazy-without-lse", .does = "computes something else if no LSE is requested", .behaviour.column = lazy_without_lse,
      .spec = SPEC, .inputs = "normal", .gate = "optional-lse" },
    { .name = "unlike-sums", .does = "divides by the sum of other weights than it used", .behaviour.row = unlike_sums,
      .spec = "b1 h2 s40 d24 f16", .inputs = "normal", .gate = "error" },
    { .name = "columns-twice", .does = "repeats the first 64 columns", .behaviour.column = columns_twice,
      .spec = "b1 h1 s20 d24/80 f16", .inputs = "normal", .gate = "error" },
    { .name = "swapped-columns", .does = "swaps two columns in every sixteen", .behaviour.row = swapped_columns,
      .spec = "b1 h1 s20 d24 f16", .inputs = "impulse", .gate = "error" },
    { .name = "tf32-products", .does = "rounds operands of products to TF32 without permission", .behaviour.row = tf32_products,
      .spec = SPEC, .inputs = "normal", .gate = "error" },
    { .name = "tf32-dots", .does = "rounds operands of products to TF32 without permission, detected by the LSE", .behaviour.row = tf32_products,
      .spec = SPEC, .inputs = "normal", .gate = "lse" },
    { .name = "bf16x3-products", .does = "uses two bfloat16 for operands without permission", .behaviour.row = bf16x3_products,
      .spec = SPEC, .inputs = "normal", .gate = "error" },

    /* Products of rounded operands are permitted, but not these. */
    { .name = "tf32-for-bf16x3", .does = "rounds operands to TF32 for two bfloat16", .behaviour.row = tf32_products,
      .spec = SPEC " products=bf16x3", .inputs = "normal", .gate = "error", .text = "products=bf16x3" },
    { .name = "bf16-for-tf32", .does = "rounds operands to bfloat16 for TF32", .behaviour.row = bf16_products,
      .spec = SPEC " products=tf32", .inputs = "normal", .gate = "error", .text = "products=tf32" },
    { .name = "stretched-tf32", .does = "stretches the output by a tenth", .behaviour = { .column = times, .by = 1.1F },
      .spec = SPEC " products=tf32", .inputs = "needle", .gate = "range" },

    /* The same where half-precision accumulation is permitted. */
    { .name = "stretched-acc16", .does = "stretches the output by a tenth", .behaviour = { .column = times, .by = 1.1F },
      .spec = HALF, .inputs = "needle", .gate = "range" },
    { .name = "slightly-off-acc16", .does = "is off by three bits of f16", .behaviour = { .column = times, .by = 1 + 0x1p-7F },
      .spec = HALF, .inputs = "exact", .gate = "exact" },
    { .name = NULL },
};
/* clang-format on */
