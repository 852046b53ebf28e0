/*
 * test_modified_logits.c - CPU kernels on problems whose operands and expressions change logits,
 * hide keys or add sinks, compared with the definition in float64
 *
 * Each expression is also written in C here.
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "expect.h"
#include "heed.h"
#include "lab/tensor/convert.h"
#include "logits_scene.h"

/* -------------------------------------------------------------------------- */
/* Features                                                                   */
/* -------------------------------------------------------------------------- */

static double element(const logits_pair *at, int array, int64_t a, int64_t b, int64_t c)
{
    const heed_array *x = &at->scene->problem.arrays[array];
    const int64_t given[] = { a, b, c };
    int64_t index = 0;
    for (int i = 0; i < x->rank; i++) {
        int64_t one = given[i] < 0 ? 0 : given[i] >= x->size[i] ? x->size[i] - 1 : given[i];
        index = index * x->size[i] + one;
    }
    const void *data = at->scene->buffers.arrays[array];
    return x->type == HEED_DATA_F32   ? (double)((const float *)data)[index]
           : x->type == HEED_DATA_I32 ? ((const int32_t *)data)[index]
                                      : ((const uint8_t *)data)[index] != 0;
}

static double polynomial(const logits_pair *at, double s)
{
    return s * 1.5 - 0.25 * fabs((double)(at->query - at->key)) +
           element(at, 0, at->head, at->query % 7, at->key);
}

static double relative(const logits_pair *at, double s)
{
    return s + element(at, 0, at->position - at->key + 20, 0, 0);
}

static double flagged(const logits_pair *at, double s)
{
    return element(at, 0, at->key, 0, 0) != 0 ? s : s - 3.5;
}

static double functions(const logits_pair *at, double s)
{
    double a = fabs(s);
    return s + exp(-a) * tanh(s) * sqrt(a) + log(1 + a) + floor((double)at->key / 3) / 64;
}

static double constant(const logits_pair *at, double s)
{
    (void)at;
    (void)s;
    return 0.5;
}

static double of_key(const logits_pair *at, double s)
{
    (void)s;
    return (double)at->key * 0.01;
}

static double of_row(const logits_pair *at, double s)
{
    (void)s;
    return element(at, 0, at->head, 0, 0) + (double)at->batch;
}

static double of_array(const logits_pair *at, double s)
{
    (void)s;
    return element(at, 0, at->query, at->key, 0);
}

static double limited(const logits_pair *at, double s)
{
    double low = s > -0.25 ? s : -0.25;
    return (low < 0.5 ? low : 0.5) * (double)(1 + at->head % 2);
}

static bool documents(const logits_pair *at)
{
    return element(at, 0, at->batch, at->query, 0) == element(at, 0, at->batch, at->key, 0) ||
           at->key % 5 == 0;
}

static bool even_queries(const logits_pair *at)
{
    return at->query % 2 == 0;
}

static bool some_keys(const logits_pair *at)
{
    return logits_floor_divide(at->key, 3) % 2 == 1 && !(at->key > 40 && at->query < 9);
}

static bool none(const logits_pair *at)
{
    (void)at;
    return false;
}

static bool table(const logits_pair *at)
{
    return element(at, 0, at->query * 31 + at->key, 0, 0) != 0;
}

#define ALL "softcap=2 bias=f16:hq alibi=bh starts shown=bits:q sinks=bh "

static const logits_feature features[] = {
    { "sinks", NULL, NULL },
    { "sinks=bh", NULL, NULL },
    { "softcap=0.7", NULL, NULL },
    { "bias=f32", NULL, NULL },
    { "bias=f16:hq", NULL, NULL },
    { "bias=bf16:b", NULL, NULL },
    { "bias=f32:q", NULL, NULL },
    { "bias=f32:h", NULL, NULL },
    { "alibi", NULL, NULL },
    { "alibi=bh", NULL, NULL },
    { "starts", NULL, NULL },
    { "starts=q", NULL, NULL },
    { "lengths", NULL, NULL },
    { "lengths=b sinks softcap=3 alibi", NULL, NULL },
    { "lengths=b@3:0:0 alibi", NULL, NULL },
    { "shown=bytes", NULL, NULL },
    { "shown=bytes:bq", NULL, NULL },
    { "shown=bits", NULL, NULL },
    { "shown=bits:b", NULL, NULL },
    { ALL, NULL, NULL },
    { "array=w:f32:4x7x53 score=s*1.5-0.25*abs(float(q-k))+w[head,q%7,k]", polynomial, NULL },
    { "array=t:f32:41 score=s+t[p-k+20]", relative, NULL },
    { "array=f:bytes:29 score=f[k]?s:s-3.5", flagged, NULL },
    { "score=s+exp(-abs(s))*tanh(s)*sqrt(abs(s))+log(1+abs(s))+floor(float(k)/3)/64", functions,
      NULL },
    { "score=0.5", constant, NULL },
    { "score=0.01*k", of_key, NULL },
    { "array=w:f32:3 score=w[head]+batch", of_row, NULL },
    { "array=w:f32:37x53 score=w[q,k]", of_array, NULL },
    { "score=min(max(s,-0.25),0.5)*(1+head%2)", limited, NULL },
    { "array=doc:i32:2x53 visible=doc[batch,q]==doc[batch,k]||k%5==0", NULL, documents },
    { "visible=q%2==0", NULL, even_queries },
    { "visible=k//3%2==1&&!(k>40&&q<9)", NULL, some_keys },
    { "visible=false sinks", NULL, none },
    { "visible=false", NULL, none },
    { "array=m:bytes:900 visible=m[q*31+k]", NULL, table },
    { ALL "array=t:f32:41 score=s+t[p-k+20] visible=q%2==0", relative, even_queries },
};

static const char *const masks[] = {
    "align=br",
    "causal=br",
    "causal=tl",
    "align=tl window=9:2",
    "causal=br window=17:",
    "align=tl",
    "align=br chunk=16",
    "causal=tl chunk=20",
    "window=:30 align=br",
};

static const char *const shapes[] = { "b2 h4/2 s37/53 d24/40 f32", "b1 h6/2 s5/131 d33 f16",
                                      "b2 h3/1 s21/70 d16/9 bf16",
                                      "b1 h2 s150/90 d8 f32 scale=-0.5",
                                      "b1 h4/1 s1/200 d64/32 f32" };

static void with_all(void (*body)(logits_scene *s, heed_context *context))
{
    heed_context *context = host_context(2);
    for (size_t f = 0; f < COUNT(features); f++)
        for (size_t m = 0; m < COUNT(masks); m++)
            for (size_t i = 0; i < COUNT(shapes); i++) {
                char shape[128];
                logits_scene s;
                /* Each feature with each mask and with each shape, but not all combinations of the
                 * three. */
                if ((f + m + i) % 3 != 0)
                    continue;
                snprintf(shape, sizeof shape, "%s %s", shapes[i], masks[m]);
                logits_begin(&s, shape, &features[f]);
                body(&s, context);
                logits_end(&s);
            }
    heed_context_destroy(context);
}

static void check_plain(logits_scene *s, heed_context *context)
{
    logits_define(s);
    logits_check_kernels(s, context);
}

static void test_features_as_defined(void **state)
{
    with_all(check_plain);
}

/* Puts NaN into keys and values that no query sees and into the bias of hidden pairs, and an
 * infinity into a value that some queries see. */
static void plant(logits_scene *s)
{
    const heed_problem *p = &s->problem;
    const heed_operand *bias = &p->bias;
    int64_t rows = p->batch * p->heads_kv * p->seq_k;
    bool *seen = logits_make((size_t)rows),
         *bias_seen = logits_make((size_t)(logits_operand_count(p, bias)));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t n = 0; n < logits_queries(p); n++) {
            logits_pair at = logits_pair_of(s, n);
            for (at.key = 0; at.key < p->seq_k; at.key++) {
                int64_t place = bias->type ? logits_operand_index(p, bias, &at) : 0;
                if (pass == 0) {
                    seen[logits_k_row(p, &at)] |= logits_sees(s, &at);
                    bias_seen[place] |= logits_sees(s, &at);
                } else if (bias->type && !bias_seen[place]) {
                    lab_element_set(logits_float_type(bias->type), (void *)s->buffers.bias, place,
                                    NAN);
                }
            }
        }
    for (int64_t n = 0; n < rows; n++) {
        for (int64_t c = 0; c < p->dim_qk && !seen[n]; c++)
            lab_element_set(p->type, (void *)s->buffers.k, n * p->dim_qk + c,
                            c % 2 ? NAN : INFINITY);
        for (int64_t c = 0; c < p->dim_v && !seen[n]; c++)
            lab_element_set(p->type, (void *)s->buffers.v, n * p->dim_v + c,
                            c % 2 ? NAN : INFINITY);
    }
    for (int64_t n = 3; n < rows; n += 17)
        lab_element_set(p->type, (void *)s->buffers.v, n * p->dim_v + 1, NAN);
    free(seen);
    free(bias_seen);
}

static void check_planted(logits_scene *s, heed_context *context)
{
    plant(s);
    logits_define(s);
    logits_check_kernels(s, context);
}

static void test_hidden_keys_never_count(void **state)
{
    with_all(check_planted);
}

/* -------------------------------------------------------------------------- */
/* Equivalent descriptions                                                    */
/* -------------------------------------------------------------------------- */

/* Makes the operands of @b from those of @a. */
typedef void convert_fn(const logits_scene *a, logits_scene *b);

static void share_slopes(const logits_scene *a, logits_scene *b)
{
    memcpy((void *)b->buffers.arrays[0], a->buffers.slopes,
           (size_t)a->problem.heads_q * sizeof(float));
}

static void share_starts(const logits_scene *a, logits_scene *b)
{
    memcpy((void *)b->buffers.arrays[0], a->buffers.starts,
           (size_t)a->problem.seq_q * sizeof(int32_t));
}

/* Calls each(b, pair, is it visible in a?) for all pairs. */
static void for_shown(const logits_scene *a, logits_scene *b,
                      void (*each)(logits_scene *b, const logits_pair *at, bool shown))
{
    const heed_problem *p = &a->problem;
    for (int64_t n = 0; n < logits_queries(p); n++) {
        logits_pair at = logits_pair_of(a, n);
        for (at.key = 0; at.key < p->seq_k; at.key++)
            each(b, &at, logits_truth_at(a, &p->shown, a->buffers.shown, &at));
    }
}

static void set_bit(logits_scene *b, const logits_pair *at, bool shown)
{
    int64_t index = logits_operand_index(&b->problem, &b->problem.shown, at);
    uint32_t *word = (uint32_t *)b->buffers.shown + index / 32;
    *word = shown ? *word | 1U << index % 32 : *word & ~(1U << index % 32);
}

static void set_bias(logits_scene *b, const logits_pair *at, bool shown)
{
    int64_t index = logits_operand_index(&b->problem, &b->problem.bias, at);
    ((float *)b->buffers.bias)[index] = shown ? 0 : -INFINITY;
}

static void share_bits(const logits_scene *a, logits_scene *b)
{
    for_shown(a, b, set_bit);
}

static void share_bias(const logits_scene *a, logits_scene *b)
{
    for_shown(a, b, set_bias);
}

static void share_nothing(const logits_scene *a, logits_scene *b)
{
    (void)a;
    (void)b;
}

static const struct {
    logits_feature a, b;
    convert_fn *convert;
} equals[] = {
    { { "softcap=20", NULL, NULL }, { "score=20*tanh(s/20)", NULL, NULL }, share_nothing },
    { { "alibi align=br", NULL, NULL },
      { "array=m:f32:6 score=s-m[head]*abs(p-k) align=br", NULL, NULL },
      share_slopes },
    { { "starts=q", NULL, NULL },
      { "array=first:i32:75 visible=k>=first[q] align=tl", NULL, NULL },
      share_starts },
    { { "shown=bytes:hq", NULL, NULL }, { "shown=bits:hq", NULL, NULL }, share_bits },
    { { "shown=bytes:hq", NULL, NULL }, { "bias=f32:hq", NULL, NULL }, share_bias },
    { { "window=20:5 align=br", NULL, NULL },
      { "visible=k>=p-20&&k<=p+5 align=br", NULL, NULL },
      share_nothing },
    { { "chunk=32 align=br", NULL, NULL },
      { "visible=k//32==p//32 align=br", NULL, NULL },
      share_nothing },
};

static void compare_scenes(const logits_scene *a, const logits_scene *b, const char *kernel)
{
    const heed_problem *p = &a->problem;
    for (int64_t i = 0; i < logits_queries(p); i++)
        if (!logits_near((double)b->buffers.lse[i], (double)a->buffers.lse[i], 2e-6))
            fail_msg("%s: %s and %s differ in LSE", kernel, a->feature->words, b->feature->words);
    for (int64_t i = 0; i < logits_queries(p) * p->dim_v; i++)
        if (!logits_near((double)((float *)b->buffers.o)[i], (double)((float *)a->buffers.o)[i],
                         2e-6))
            fail_msg("%s: %s and %s differ in O", kernel, a->feature->words, b->feature->words);
}

static void test_features_are_their_expressions(void **state)
{
    heed_context *context = host_context(2);
    for (size_t i = 0; i < COUNT(equals); i++) {
        logits_scene a, b;
        logits_begin(&a, "b2 h6/2 s75/140 d20/36 f32", &equals[i].a);
        logits_begin(&b, "b2 h6/2 s75/140 d20/36 f32", &equals[i].b);
        equals[i].convert(&a, &b);
        for (size_t k = 0; heed_kernel_name(k); k++) {
            if (!logits_run(&a, context, heed_kernel_name(k)))
                continue;
            assert_true(logits_run(&b, context, heed_kernel_name(k)));
            compare_scenes(&a, &b, heed_kernel_name(k));
        }
        logits_end(&a);
        logits_end(&b);
    }
    heed_context_destroy(context);
}

/* Sinks multiply O by sigmoid(LSE - sink), however far they are from the logits. */
static void test_sinks_share_the_weight(void **state)
{
    static const float sinks[] = { -INFINITY, -3e38F, -100, -1, 0, 3, 12, 100, 3e38F };
    const logits_feature plain = { "causal=br", NULL, NULL },
                         sunk = { "causal=br sinks", NULL, NULL };
    heed_context *context = host_context(2);
    logits_scene a, b;
    logits_begin(&a, "b1 h9/3 s70/60 d20 f32", &plain);
    logits_begin(&b, "b1 h9/3 s70/60 d20 f32", &sunk);
    memcpy((void *)b.buffers.sinks, sinks, sizeof sinks);
    for (size_t k = 0; heed_kernel_name(k); k++) {
        if (!logits_run(&a, context, heed_kernel_name(k)))
            continue;
        for (int64_t n = 0; n < logits_queries(&a.problem); n++) {
            logits_pair at = logits_pair_of(&a, n);
            double lse = (double)a.buffers.lse[n], sink = (double)sinks[at.head];
            double share = lse > -INFINITY ? 1 / (1 + exp(sink - lse)) : 0;
            double most = lse > sink ? lse : sink;
            b.lse[n] = most > -INFINITY ? most + log(exp(lse - most) + exp(sink - most)) : most;
            for (int64_t c = 0; c < a.problem.dim_v; c++) {
                int64_t i = logits_q_row(&a.problem, &at) * a.problem.dim_v + c;
                b.o[i] = share * (double)((float *)a.buffers.o)[i];
            }
        }
        logits_check_kernels(&b, context);
    }
    logits_end(&a);
    logits_end(&b);
    heed_context_destroy(context);
}

RUN_TESTS(test_features_as_defined, test_hidden_keys_never_count,
          test_features_are_their_expressions, test_sinks_share_the_weight)
