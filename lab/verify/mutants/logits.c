/*
 * logits.c - wrong kernels: the logits
 */
#include "lab/verify/mutants/steps.h"

static float halved(const mutant_row *r, int64_t j)
{
    return r->s[j] * 0.5F;
}

static void scale_of_dim_v(heed_problem *problem)
{
    problem->scale = 1 / sqrtf((float)problem->dim_v);
}

/* The head dim rounded up to whole tiles. */
static void scale_of_padding(heed_problem *problem)
{
    int64_t padded = (problem->dim_qk + 15) / 16 * 16;
    problem->scale = 1 / sqrtf((float)padded);
}

static void positive_scale(heed_problem *problem)
{
    problem->scale = fabsf(problem->scale);
}

static void short_dot(mutant_row *r)
{
    heed_problem cut = *r->problem;
    cut.dim_qk -= cut.dim_qk % 8;
    mutant_mistaken_row(r, &cut);
}

static float biased(const mutant_row *r, int64_t j)
{
    return r->s[j] + 0.001F * (float)j;
}

static float capped(const mutant_row *r, int64_t j)
{
    return fminf(r->s[j], 12);
}

/* Elements of K in eight bits, three of them significand. */
static float in_eight_bits(float x)
{
    int exponent;
    float fraction = frexpf(x, &exponent);
    return ldexpf(roundf(fraction * 16) / 16, exponent);
}

static float eight_bit_keys(const mutant_row *r, int64_t j)
{
    float sum = 0;
    for (int64_t c = 0; c < r->problem->dim_qk; c++)
        sum += r->problem->scale * mutant_q_at(r, c) * in_eight_bits(mutant_k_at(r, j, c));
    return sum;
}

/* Products of f32 with ten bits of significand, as on tensor cores. */
static float in_ten_bits(float x)
{
    return (float)lab_element_round(HEED_F16, (double)x);
}

static float ten_bit_products(const mutant_row *r, int64_t j)
{
    float sum = 0;
    for (int64_t c = 0; c < r->problem->dim_qk; c++)
        sum += in_ten_bits(mutant_q_at(r, c)) * in_ten_bits(mutant_k_at(r, j, c));
    return r->problem->scale * sum;
}

static float rounded_logits(const mutant_row *r, int64_t j)
{
    return (float)lab_element_round(r->problem->type, (double)r->s[j]);
}

/* Sums the products of a logit in f16 without permission, with the LSE of the right logits. */
static void half_dot(mutant_row *r)
{
    mutant_plain_row(r);
    float lse = r->lse;
    for (int64_t j = 0; j < r->keys; j++) {
        double sum = 0;
        for (int64_t c = 0; c < r->problem->dim_qk; c++)
            sum = lab_element_round(HEED_F16,
                                    sum + (double)(mutant_q_at(r, c) * mutant_k_at(r, j, c)));
        r->s[j] = r->problem->scale * (float)sum;
    }
    mutant_finish(r);
    r->lse = lse;
}

/* The query of the previous row: a fragment that was not reloaded. */
static void query_before(mutant_row *r)
{
    int64_t query = r->row.query;
    r->row.query = query % 8 == 7 ? query - 1 : query;
    mutant_logits(r);
    r->row.query = query;
    mutant_finish(r);
}

#define SPEC "b1 h2 s40 d24 f32"

/* clang-format off */
const lab_mutant lab_mutants_logits[] = {
    { .name = "mean-of-values", .does = "averages V, whatever Q and K are", .behaviour.row = mutant_mean_row,
      .spec = "b1 h1 s4/16384 d64 bf16", .inputs = "needle", .gate = "error" },
    { .name = "mean-of-values-normal", .does = "the same, with values among which long sequences hide it", .behaviour.row = mutant_mean_row,
      .spec = "b1 h1 s1/8192 d64 bf16", .inputs = "normal", .gate = "error" },
    { .name = "half-the-logits", .does = "halves the logits", .behaviour.logit = halved,
      .spec = "b1 h1 s1/8192 d64 bf16", .inputs = "normal", .gate = "error" },
    { .name = "scale-of-values", .does = "scales by the head dim of V", .behaviour.misread = scale_of_dim_v,
      .spec = "b1 h2 s30 d24/40 bf16", .inputs = "normal", .gate = "error" },
    { .name = "scale-of-padding", .does = "scales by the padded head dim", .behaviour.misread = scale_of_padding,
      .spec = "b1 h2 s30 d40 bf16", .inputs = "normal", .gate = "error" },
    { .name = "positive-scale", .does = "ignores the sign of the scale", .behaviour.misread = positive_scale,
      .spec = "b1 h2 s30 d24 f32 scale=-0.2", .inputs = "needle", .gate = "error" },
    { .name = "short-dot", .does = "drops the tail of the head dim", .behaviour.row = short_dot,
      .spec = "b1 h2 s30 d65 f16", .inputs = "normal", .gate = "error" },
    { .name = "position-bias", .does = "prefers late keys", .behaviour.logit = biased,
      .spec = SPEC, .inputs = "normal", .gate = "permuted" },
    { .name = "capped-logits", .does = "caps the logits at 12", .behaviour.logit = capped,
      .spec = SPEC, .inputs = "normal", .gate = "shifted" },
    { .name = "8-bit-keys", .does = "rounds K to eight bits", .behaviour.logit = eight_bit_keys,
      .spec = "b1 h2 s40 d64 bf16", .inputs = "normal", .gate = "error" },
    { .name = "10-bit-products", .does = "multiplies f32 in TF32 without permission", .behaviour.logit = ten_bit_products,
      .spec = "b1 h2 s40 d64 f32", .inputs = "normal", .gate = "error" },
    { .name = "rounded-logits", .does = "rounds the logits to bf16", .behaviour.logit = rounded_logits,
      .spec = "b1 h2 s40 d64 bf16", .inputs = "large", .gate = "lse" },
    { .name = "half-dot", .does = "sums the products of a logit in f16 without permission", .behaviour.row = half_dot,
      .spec = "b1 h2 s40 d64 f16", .inputs = "normal", .gate = "error" },
    { .name = "query-before", .does = "uses the previous row's query for every eighth row", .behaviour.row = query_before,
      .spec = SPEC, .inputs = "needle", .gate = "error" },

    /* The same where half-precision accumulation is permitted. */
    { .name = "mean-of-values-acc16", .does = "averages V, whatever Q and K are", .behaviour.row = mutant_mean_row,
      .spec = "b1 h1 s4/16384 d64 f16 acc=f16", .inputs = "needle", .gate = "error" },
    { .name = "half-the-logits-acc16", .does = "halves the logits", .behaviour.logit = halved,
      .spec = "b1 h1 s1/8192 d64 f16 acc=f16", .inputs = "normal", .gate = "error" },
    { .name = "short-dot-acc16", .does = "drops the tail of the head dim", .behaviour.row = short_dot,
      .spec = "b1 h2 s30 d65 f16 acc=f16", .inputs = "normal", .gate = "error" },
    { .name = NULL },
};
/* clang-format on */
