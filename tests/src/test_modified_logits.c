/*
 * test_modified_logits.c - CPU kernels on problems whose operands and expressions change logits,
 * hide keys or add sinks, against the definition in float64
 *
 * The definition here is written from heed.h alone, and each expression a second time in C.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"
#include "heed.h"
#include "lab/tensor/convert.h"

/* One query, or one query and one key, and the data of a scene. */
typedef struct pair {
    const struct scene *scene;
    int64_t batch, head, query, key;
    int64_t position;
} pair;

typedef double score_fn(const pair *at, double s);
typedef bool visible_fn(const pair *at);

/* Words of a spec, and what their expressions mean. */
typedef struct feature {
    const char *words;
    score_fn *score;
    visible_fn *visible;
} feature;

typedef struct scene {
    heed_problem problem;
    const feature *feature;
    heed_buffers buffers;
    double *o, *lse; /* as defined */
    uint64_t seed;
} scene;

/* -------------------------------------------------------------------------- */
/* Data                                                                       */
/* -------------------------------------------------------------------------- */

static double draw(scene *s)
{
    s->seed = s->seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(s->seed >> 33) / 0x1p30 - 1;
}

static void *make(size_t bytes)
{
    void *data = calloc(1, bytes ? bytes : 1);
    assert_non_null(data);
    return data;
}

static void *make_tensor(scene *s, int64_t count)
{
    heed_type type = s->problem.type;
    void *data = make((size_t)count * heed_type_size(type));
    for (int64_t i = 0; i < count; i++)
        lab_element_set(type, data, i, lab_element_round(type, draw(s)));
    return data;
}

static heed_type float_type(heed_data type)
{
    return type == HEED_DATA_F16 ? HEED_F16 : type == HEED_DATA_BF16 ? HEED_BF16 : HEED_F32;
}

/* Elements of an operand, dense. */
static int64_t operand_index(const heed_problem *p, const heed_operand *operand, const pair *at,
                             bool count)
{
    const struct {
        unsigned bit;
        int64_t size, index;
    } dims[] = { { HEED_ALONG_BATCH, p->batch, count ? p->batch - 1 : at->batch },
                 { HEED_ALONG_HEAD, p->heads_q, count ? p->heads_q - 1 : at->head },
                 { HEED_ALONG_QUERY, p->seq_q, count ? p->seq_q - 1 : at->query } };
    int64_t index = 0;
    for (int i = 0; i < 3; i++)
        if (operand->along & dims[i].bit)
            index = index * dims[i].size + dims[i].index;
    int64_t key = count ? p->seq_k - 1 : at->key;
    if (!(operand->along & HEED_ALONG_KEY))
        return index;
    if (operand->type == HEED_DATA_BITS)
        return index * ((p->seq_k + 31) / 32) * 32 + key;
    return index * p->seq_k + key;
}

static int64_t operand_count(const heed_problem *p, const heed_operand *operand)
{
    return operand_index(p, operand, NULL, true) + 1;
}

static double number_at(const scene *s, const heed_operand *operand, const void *data,
                        const pair *at)
{
    return lab_element_get(float_type(operand->type), data,
                           operand_index(&s->problem, operand, at, false));
}

static bool truth_at(const scene *s, const heed_operand *operand, const void *data, const pair *at)
{
    int64_t index = operand_index(&s->problem, operand, at, false);
    if (operand->type == HEED_DATA_BITS)
        return ((const uint32_t *)data)[index / 32] >> index % 32 & 1;
    return ((const uint8_t *)data)[index] != 0;
}

static const void *make_numbers(scene *s, const heed_operand *operand)
{
    int64_t count = operand_count(&s->problem, operand);
    heed_type type = float_type(operand->type);
    void *data = make((size_t)count * 4);
    for (int64_t i = 0; i < count; i++)
        lab_element_set(type, data, i, lab_element_round(type, 2 * draw(s)));
    return data;
}

static const void *make_truths(scene *s, const heed_operand *operand)
{
    int64_t count = operand_count(&s->problem, operand);
    uint8_t *data = make((size_t)count + 32);
    for (int64_t i = 0; i < count; i++)
        if (operand->type == HEED_DATA_BYTES)
            data[i] = draw(s) < 0.2 ? 0 : (uint8_t)(1 + i % 255);
        else if (draw(s) > -0.6)
            ((uint32_t *)(void *)data)[i / 32] |= 1U << i % 32;
    return data;
}

/* Starts that rise from 0, so that documents of some queries each remain. */
static const void *make_starts(scene *s, const heed_operand *operand)
{
    const heed_problem *p = &s->problem;
    int64_t count = operand_count(p, operand);
    int32_t *data = make((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++) {
        int64_t query = i % p->seq_q;
        int64_t step = 1 + p->seq_q / 5;
        data[i] = (int32_t)(query / step * step * p->seq_k / p->seq_q + i / p->seq_q % 2);
    }
    return data;
}

static const void *make_array(scene *s, const heed_array *array)
{
    int64_t count = 1;
    for (int i = 0; i < array->rank; i++)
        count *= array->size[i];
    void *data = make((size_t)count * 4);
    for (int64_t i = 0; i < count; i++) {
        if (array->type == HEED_DATA_F32)
            ((float *)data)[i] = (float)draw(s);
        else if (array->type == HEED_DATA_I32)
            ((int32_t *)data)[i] = (int32_t)(i % array->size[array->rank - 1] / 20);
        else
            ((uint8_t *)data)[i] = draw(s) < 0 ? 0 : 200;
    }
    return data;
}

static void make_operands(scene *s)
{
    const heed_problem *p = &s->problem;
    heed_buffers *b = &s->buffers;
    if (p->bias.type)
        b->bias = make_numbers(s, &p->bias);
    if (p->slopes.type)
        b->slopes = make_numbers(s, &p->slopes);
    if (p->sinks.type)
        b->sinks = make_numbers(s, &p->sinks);
    if (p->shown.type)
        b->shown = make_truths(s, &p->shown);
    if (p->starts.type)
        b->starts = make_starts(s, &p->starts);
    for (int i = 0; i < HEED_ARRAYS_MAX && p->arrays[i].name[0]; i++)
        b->arrays[i] = make_array(s, &p->arrays[i]);
}

/* -------------------------------------------------------------------------- */
/* The definition                                                             */
/* -------------------------------------------------------------------------- */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool sees_by_interval(const heed_problem *p, const pair *at)
{
    if (p->mask != HEED_MASK_NONE && at->key > at->position)
        return false;
    if (p->window.sides & HEED_WINDOW_LEFT && at->key < at->position - p->window.left)
        return false;
    if (p->window.sides & HEED_WINDOW_RIGHT && at->key > at->position + p->window.right)
        return false;
    return !p->chunk || floor_divide(at->key, p->chunk) == floor_divide(at->position, p->chunk);
}

static bool sees(const scene *s, const pair *at)
{
    const heed_problem *p = &s->problem;
    if (!sees_by_interval(p, at))
        return false;
    if (p->starts.type &&
        at->key < ((const int32_t *)s->buffers.starts)[operand_index(p, &p->starts, at, false)])
        return false;
    if (p->shown.type && !truth_at(s, &p->shown, s->buffers.shown, at))
        return false;
    return !s->feature->visible || s->feature->visible(at);
}

static int64_t q_row(const heed_problem *p, const pair *at)
{
    return (at->batch * p->seq_q + at->query) * p->heads_q + at->head;
}

static int64_t k_row(const heed_problem *p, const pair *at)
{
    int64_t head = at->head / (p->heads_q / p->heads_kv);
    return (at->batch * p->seq_k + at->key) * p->heads_kv + head;
}

static double logit(const scene *s, const pair *at)
{
    const heed_problem *p = &s->problem;
    const heed_buffers *b = &s->buffers;
    double t = 0;
    for (int64_t c = 0; c < p->dim_qk; c++)
        t += lab_element_get(p->type, b->q, q_row(p, at) * p->dim_qk + c) *
             lab_element_get(p->type, b->k, k_row(p, at) * p->dim_qk + c);
    t *= (double)p->scale;
    if (p->softcap != 0)
        t = (double)p->softcap * tanh(t / (double)p->softcap);
    if (p->bias.type)
        t += number_at(s, &p->bias, b->bias, at);
    if (p->slopes.type)
        t -= number_at(s, &p->slopes, b->slopes, at) * fabs((double)(at->position - at->key));
    return s->feature->score ? s->feature->score(at, t) : t;
}

/* O and LSE of one row, each weight relative to the largest logit. */
static void define_row(scene *s, pair at)
{
    const heed_problem *p = &s->problem;
    double *o = s->o + q_row(p, &at) * p->dim_v;
    double *t = make((size_t)p->seq_k * sizeof *t), top = -INFINITY, sum = 0;
    for (at.key = 0; at.key < p->seq_k; at.key++) {
        t[at.key] = sees(s, &at) ? logit(s, &at) : -INFINITY;
        top = t[at.key] > top || isnan(t[at.key]) ? t[at.key] : top;
    }
    double sink = p->sinks.type ? number_at(s, &p->sinks, s->buffers.sinks, &at) : -INFINITY;
    double most = sink > top ? sink : top;
    for (at.key = 0; at.key < p->seq_k && top > -INFINITY; at.key++) {
        if (!sees(s, &at))
            continue;
        double weight = exp(t[at.key] - most);
        sum += weight;
        for (int64_t c = 0; c < p->dim_v; c++)
            o[c] += weight * lab_element_get(p->type, s->buffers.v, k_row(p, &at) * p->dim_v + c);
    }
    sum += most > -INFINITY ? exp(sink - most) : 0;
    for (int64_t c = 0; c < p->dim_v && sum > 0; c++)
        o[c] /= sum;
    s->lse[(at.batch * p->heads_q + at.head) * p->seq_q + at.query] = sum > 0 ? most + log(sum)
                                                                              : -INFINITY;
    free(t);
}

/* The pair number @n of all queries, at key 0. */
static pair pair_of(const scene *s, int64_t n)
{
    const heed_problem *p = &s->problem;
    bool right = p->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT ||
                 (p->mask == HEED_MASK_NONE && p->align == HEED_ALIGN_BOTTOM_RIGHT);
    pair at = { .scene = s,
                .batch = n / p->seq_q / p->heads_q,
                .head = n / p->seq_q % p->heads_q,
                .query = n % p->seq_q };
    at.position = at.query + (right ? p->seq_k - p->seq_q : 0);
    return at;
}

static int64_t queries_of(const heed_problem *p)
{
    return p->batch * p->heads_q * p->seq_q;
}

static void define(scene *s)
{
    const heed_problem *p = &s->problem;
    memset(s->o, 0, (size_t)(queries_of(p) * p->dim_v) * sizeof *s->o);
    for (int64_t n = 0; n < queries_of(p); n++)
        define_row(s, pair_of(s, n));
}

/* -------------------------------------------------------------------------- */
/* Scenes                                                                     */
/* -------------------------------------------------------------------------- */

static void begin(scene *s, const char *shape, const feature *f)
{
    char spec[HEED_SPEC_SIZE];
    snprintf(spec, sizeof spec, "%s %s", shape, f->words);
    *s = (scene){ .feature = f, .seed = 1, .buffers = { .size = sizeof s->buffers } };
    if (heed_problem_parse(&s->problem, spec) != HEED_OK)
        fail_msg("%s", heed_message());
    const heed_problem *p = &s->problem;
    s->buffers.q = make_tensor(s, queries_of(p) * p->dim_qk);
    s->buffers.k = make_tensor(s, p->batch * p->heads_kv * p->seq_k * p->dim_qk);
    s->buffers.v = make_tensor(s, p->batch * p->heads_kv * p->seq_k * p->dim_v);
    s->buffers.o = make((size_t)(queries_of(p) * p->dim_v) * sizeof(float));
    s->buffers.lse = make((size_t)queries_of(p) * sizeof(float));
    s->o = make((size_t)(queries_of(p) * p->dim_v) * sizeof *s->o);
    s->lse = make((size_t)queries_of(p) * sizeof *s->lse);
    make_operands(s);
}

static void end(scene *s)
{
    const heed_buffers *b = &s->buffers;
    const void *all[] = { b->q,         b->k,         b->v,         b->o,
                          b->lse,       b->bias,      b->slopes,    b->sinks,
                          b->starts,    b->shown,     b->arrays[0], b->arrays[1],
                          b->arrays[2], b->arrays[3], s->o,         s->lse };
    for (size_t i = 0; i < COUNT(all); i++)
        free((void *)all[i]);
}

/* Fills O and LSE with @kernel; false if it cannot run here. */
static bool execute(scene *s, heed_context *context, const char *kernel)
{
    const heed_problem *p = &s->problem;
    heed_plan *plan;
    heed_status status = heed_plan_create_named(&plan, context, p, kernel);
    if (status == HEED_ERR_UNSUPPORTED)
        return false;
    if (status != HEED_OK)
        fail_msg("%s: %s", kernel, heed_message());
    memset(s->buffers.o, 0xff, (size_t)(queries_of(p) * p->dim_v) * heed_type_size(p->type));
    memset(s->buffers.lse, 0xff, (size_t)queries_of(p) * sizeof(float));
    size_t size = heed_plan_workspace_size(plan);
    void *workspace = aligned_alloc(HEED_ALIGNMENT, size + HEED_ALIGNMENT);
    assert_non_null(workspace);
    memset(workspace, 0xff, size);
    s->buffers.workspace = workspace;
    s->buffers.workspace_size = size;
    assert_int_equal(heed_execute(plan, &s->buffers), HEED_OK);
    free(workspace);
    heed_plan_destroy(plan);
    return true;
}

static bool near(double got, double wanted, double limit)
{
    if (isnan(wanted) || isinf(wanted))
        return isnan(wanted) ? isnan(got) : got == wanted;
    return fabs(got - wanted) <= limit * (1 + fabs(wanted));
}

static void compare(const scene *s, const char *kernel)
{
    static const double limits[] = { [HEED_F32] = 2e-5, [HEED_F16] = 2e-3, [HEED_BF16] = 1.6e-2 };
    const heed_problem *p = &s->problem;
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(p, spec, sizeof spec);
    for (int64_t n = 0; n < queries_of(p); n++) {
        pair at = pair_of(s, n);
        double lse = (double)s->buffers.lse[n];
        if (!near(lse, s->lse[n], 2e-5))
            fail_msg("%s, %s: LSE of batch %lld head %lld query %lld is %g, not %g", kernel, spec,
                     (long long)at.batch, (long long)at.head, (long long)at.query, lse, s->lse[n]);
        for (int64_t c = 0; c < p->dim_v; c++) {
            double o = lab_element_get(p->type, s->buffers.o, q_row(p, &at) * p->dim_v + c);
            double wanted = s->o[q_row(p, &at) * p->dim_v + c];
            if (!near(o, wanted, limits[p->type]))
                fail_msg("%s, %s: O of batch %lld head %lld query %lld column %lld is %g, not %g",
                         kernel, spec, (long long)at.batch, (long long)at.head, (long long)at.query,
                         (long long)c, o, wanted);
        }
    }
}

/* Every kernel that this machine has, and configs of it that split keys and that do not. */
static void for_kernels(scene *s, heed_context *context)
{
    static const char *const configs[] = { "",        "__s1",       "__s4",       "__m4s1",
                                           "__m16s4", "__m32n64s1", "__m64n64s2", "__m128n128s4" };
    char name[HEED_NAME_SIZE];
    int count = 0;
    for (size_t i = 0; heed_kernel_name(i); i++)
        for (size_t c = 0; c < COUNT(configs); c++) {
            snprintf(name, sizeof name, "%s%s", heed_kernel_name(i), configs[c]);
            size_t letters = strlen(configs[c]) > 2 ? strspn(configs[c] + 2, "mns0123456789") : 0;
            int knobs = 0, asked = 0;
            while (heed_kernel_knob(i, (size_t)knobs, NULL))
                knobs++;
            for (size_t j = 0; j < letters; j++)
                asked += configs[c][2 + j] > '9';
            if (asked != 0 && asked != knobs)
                continue;
            if (!execute(s, context, name))
                continue;
            compare(s, name);
            count++;
        }
    assert_true(count >= 3);
}

/* -------------------------------------------------------------------------- */
/* Features                                                                   */
/* -------------------------------------------------------------------------- */

static double element(const pair *at, int array, int64_t a, int64_t b, int64_t c)
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

static double polynomial(const pair *at, double s)
{
    return s * 1.5 - 0.25 * fabs((double)(at->query - at->key)) +
           element(at, 0, at->head, at->query % 7, at->key);
}

static double relative(const pair *at, double s)
{
    return s + element(at, 0, at->position - at->key + 20, 0, 0);
}

static double flagged(const pair *at, double s)
{
    return element(at, 0, at->key, 0, 0) != 0 ? s : s - 3.5;
}

static double functions(const pair *at, double s)
{
    double a = fabs(s);
    return s + exp(-a) * tanh(s) * sqrt(a) + log(1 + a) + floor((double)at->key / 3) / 64;
}

static double constant(const pair *at, double s)
{
    (void)at;
    (void)s;
    return 0.5;
}

static double of_key(const pair *at, double s)
{
    (void)s;
    return (double)at->key * 0.01;
}

static double of_row(const pair *at, double s)
{
    (void)s;
    return element(at, 0, at->head, 0, 0) + (double)at->batch;
}

static double of_array(const pair *at, double s)
{
    (void)s;
    return element(at, 0, at->query, at->key, 0);
}

static double limited(const pair *at, double s)
{
    double low = s > -0.25 ? s : -0.25;
    return (low < 0.5 ? low : 0.5) * (double)(1 + at->head % 2);
}

static bool documents(const pair *at)
{
    return element(at, 0, at->batch, at->query, 0) == element(at, 0, at->batch, at->key, 0) ||
           at->key % 5 == 0;
}

static bool even_queries(const pair *at)
{
    return at->query % 2 == 0;
}

static bool some_keys(const pair *at)
{
    return floor_divide(at->key, 3) % 2 == 1 && !(at->key > 40 && at->query < 9);
}

static bool none(const pair *at)
{
    (void)at;
    return false;
}

static bool table(const pair *at)
{
    return element(at, 0, at->query * 31 + at->key, 0, 0) != 0;
}

#define ALL "softcap=2 bias=f16:hq alibi=bh starts shown=bits:q sinks=bh "

static const feature features[] = {
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

static heed_context *make_context(void)
{
    heed_context *context;
    heed_options options = { .size = sizeof options, .threads = 2 };
    assert_int_equal(heed_context_create(&context, &options), HEED_OK);
    return context;
}

static void with_all(void (*body)(scene *s, heed_context *context))
{
    heed_context *context = make_context();
    for (size_t f = 0; f < COUNT(features); f++)
        for (size_t m = 0; m < COUNT(masks); m++)
            for (size_t i = 0; i < COUNT(shapes); i++) {
                char shape[128];
                scene s;
                /* Each feature with each mask, and with each shape, if not all three together. */
                if ((f + m + i) % 3 != 0)
                    continue;
                snprintf(shape, sizeof shape, "%s %s", shapes[i], masks[m]);
                begin(&s, shape, &features[f]);
                body(&s, context);
                end(&s);
            }
    heed_context_destroy(context);
}

static void check_plain(scene *s, heed_context *context)
{
    define(s);
    for_kernels(s, context);
}

static void test_features_as_defined(void **state)
{
    with_all(check_plain);
}

/* Puts NaN into keys and values that no query sees, and into the bias of pairs that do not see each
 * other; and an infinity into a value that some see. */
static void plant(scene *s)
{
    const heed_problem *p = &s->problem;
    const heed_operand *bias = &p->bias;
    int64_t rows = p->batch * p->heads_kv * p->seq_k;
    bool *seen = make((size_t)rows), *bias_seen = make((size_t)(operand_count(p, bias)));
    for (int pass = 0; pass < 2; pass++)
        for (int64_t n = 0; n < queries_of(p); n++) {
            pair at = pair_of(s, n);
            for (at.key = 0; at.key < p->seq_k; at.key++) {
                int64_t place = bias->type ? operand_index(p, bias, &at, false) : 0;
                if (pass == 0) {
                    seen[k_row(p, &at)] |= sees(s, &at);
                    bias_seen[place] |= sees(s, &at);
                } else if (bias->type && !bias_seen[place]) {
                    lab_element_set(float_type(bias->type), (void *)s->buffers.bias, place, NAN);
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

static void check_planted(scene *s, heed_context *context)
{
    plant(s);
    define(s);
    for_kernels(s, context);
}

static void test_hidden_keys_never_count(void **state)
{
    with_all(check_planted);
}

/* -------------------------------------------------------------------------- */
/* Equal ways to say it                                                       */
/* -------------------------------------------------------------------------- */

/* Makes the operands of @b of those of @a. */
typedef void convert_fn(const scene *a, scene *b);

static void share_slopes(const scene *a, scene *b)
{
    memcpy((void *)b->buffers.arrays[0], a->buffers.slopes,
           (size_t)a->problem.heads_q * sizeof(float));
}

static void share_starts(const scene *a, scene *b)
{
    memcpy((void *)b->buffers.arrays[0], a->buffers.starts,
           (size_t)a->problem.seq_q * sizeof(int32_t));
}

/* Calls each(b, pair, is it shown in a?) for all pairs. */
static void for_shown(const scene *a, scene *b, void (*each)(scene *b, const pair *at, bool shown))
{
    const heed_problem *p = &a->problem;
    for (int64_t n = 0; n < queries_of(p); n++) {
        pair at = pair_of(a, n);
        for (at.key = 0; at.key < p->seq_k; at.key++)
            each(b, &at, truth_at(a, &p->shown, a->buffers.shown, &at));
    }
}

static void set_bit(scene *b, const pair *at, bool shown)
{
    int64_t index = operand_index(&b->problem, &b->problem.shown, at, false);
    uint32_t *word = (uint32_t *)b->buffers.shown + index / 32;
    *word = shown ? *word | 1U << index % 32 : *word & ~(1U << index % 32);
}

static void set_bias(scene *b, const pair *at, bool shown)
{
    int64_t index = operand_index(&b->problem, &b->problem.bias, at, false);
    ((float *)b->buffers.bias)[index] = shown ? 0 : -INFINITY;
}

static void share_bits(const scene *a, scene *b)
{
    for_shown(a, b, set_bit);
}

static void share_bias(const scene *a, scene *b)
{
    for_shown(a, b, set_bias);
}

static void share_nothing(const scene *a, scene *b)
{
    (void)a;
    (void)b;
}

static const struct {
    feature a, b;
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

static void compare_scenes(const scene *a, const scene *b, const char *kernel)
{
    const heed_problem *p = &a->problem;
    for (int64_t i = 0; i < queries_of(p); i++)
        if (!near((double)b->buffers.lse[i], (double)a->buffers.lse[i], 2e-6))
            fail_msg("%s: %s and %s differ in LSE", kernel, a->feature->words, b->feature->words);
    for (int64_t i = 0; i < queries_of(p) * p->dim_v; i++)
        if (!near((double)((float *)b->buffers.o)[i], (double)((float *)a->buffers.o)[i], 2e-6))
            fail_msg("%s: %s and %s differ in O", kernel, a->feature->words, b->feature->words);
}

static void test_features_are_their_expressions(void **state)
{
    heed_context *context = make_context();
    for (size_t i = 0; i < COUNT(equals); i++) {
        scene a, b;
        begin(&a, "b2 h6/2 s75/140 d20/36 f32", &equals[i].a);
        begin(&b, "b2 h6/2 s75/140 d20/36 f32", &equals[i].b);
        equals[i].convert(&a, &b);
        for (size_t k = 0; heed_kernel_name(k); k++) {
            if (!execute(&a, context, heed_kernel_name(k)))
                continue;
            assert_true(execute(&b, context, heed_kernel_name(k)));
            compare_scenes(&a, &b, heed_kernel_name(k));
        }
        end(&a);
        end(&b);
    }
    heed_context_destroy(context);
}

/* Sinks multiply O by sigmoid(LSE - sink), however far they are from the logits. */
static void test_sinks_share_the_weight(void **state)
{
    static const float sinks[] = { -INFINITY, -3e38F, -100, -1, 0, 3, 12, 100, 3e38F };
    const feature plain = { "causal=br", NULL, NULL }, sunk = { "causal=br sinks", NULL, NULL };
    heed_context *context = make_context();
    scene a, b;
    begin(&a, "b1 h9/3 s70/60 d20 f32", &plain);
    begin(&b, "b1 h9/3 s70/60 d20 f32", &sunk);
    memcpy((void *)b.buffers.sinks, sinks, sizeof sinks);
    for (size_t k = 0; heed_kernel_name(k); k++) {
        if (!execute(&a, context, heed_kernel_name(k)))
            continue;
        for (int64_t n = 0; n < queries_of(&a.problem); n++) {
            pair at = pair_of(&a, n);
            double lse = (double)a.buffers.lse[n], sink = (double)sinks[at.head];
            double share = lse > -INFINITY ? 1 / (1 + exp(sink - lse)) : 0;
            double most = lse > sink ? lse : sink;
            b.lse[n] = most > -INFINITY ? most + log(exp(lse - most) + exp(sink - most)) : most;
            for (int64_t c = 0; c < a.problem.dim_v; c++) {
                int64_t i = q_row(&a.problem, &at) * a.problem.dim_v + c;
                b.o[i] = share * (double)((float *)a.buffers.o)[i];
            }
        }
        for_kernels(&b, context);
    }
    end(&a);
    end(&b);
    heed_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_as_defined),
        cmocka_unit_test(test_hidden_keys_never_count),
        cmocka_unit_test(test_features_are_their_expressions),
        cmocka_unit_test(test_sinks_share_the_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
