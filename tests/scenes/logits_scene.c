/*
 * logits_scene.c - problems whose operands and expressions change logits, and their expected
 * results
 *
 * The definition here is written from heed.h alone.
 */
#include "logits_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expect.h"
#include "lab/tensor/convert.h"

/* -------------------------------------------------------------------------- */
/* Data                                                                       */
/* -------------------------------------------------------------------------- */

static double draw(logits_scene *s)
{
    s->seed = s->seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(s->seed >> 33) / 0x1p30 - 1;
}

void *logits_make(size_t bytes)
{
    void *data = calloc(1, bytes ? bytes : 1);
    assert_non_null(data);
    return data;
}

static void *make_tensor(logits_scene *s, int64_t count)
{
    heed_type type = s->problem.type;
    void *data = logits_make((size_t)count * heed_type_size(type));
    for (int64_t i = 0; i < count; i++)
        lab_element_set(type, data, i, lab_element_round(type, draw(s)));
    return data;
}

heed_type logits_float_type(heed_data type)
{
    return type == HEED_DATA_F16 ? HEED_F16 : type == HEED_DATA_BF16 ? HEED_BF16 : HEED_F32;
}

/* Index of an operand's element; elements are dense. */
int64_t logits_operand_index(const heed_problem *p, const heed_operand *operand,
                             const logits_pair *at)
{
    const struct {
        unsigned bit;
        int64_t size, index;
    } dims[] = { { HEED_ALONG_BATCH, p->batch, at->batch },
                 { HEED_ALONG_HEAD, p->heads_q, at->head },
                 { HEED_ALONG_QUERY, p->seq_q, at->query } };
    int64_t index = 0;
    for (int i = 0; i < 3; i++)
        if (operand->along & dims[i].bit)
            index = index * dims[i].size + dims[i].index;
    if (!(operand->along & HEED_ALONG_KEY))
        return index;
    if (operand->type == HEED_DATA_BITS)
        return index * ((p->seq_k + 31) / 32) * 32 + at->key;
    return index * p->seq_k + at->key;
}

int64_t logits_operand_count(const heed_problem *p, const heed_operand *operand)
{
    const logits_pair last = {
        .batch = p->batch - 1, .head = p->heads_q - 1, .query = p->seq_q - 1, .key = p->seq_k - 1
    };
    return logits_operand_index(p, operand, &last) + 1;
}

static double number_at(const logits_scene *s, const heed_operand *operand, const void *data,
                        const logits_pair *at)
{
    return lab_element_get(logits_float_type(operand->type), data,
                           logits_operand_index(&s->problem, operand, at));
}

bool logits_truth_at(const logits_scene *s, const heed_operand *operand, const void *data,
                     const logits_pair *at)
{
    int64_t index = logits_operand_index(&s->problem, operand, at);
    if (operand->type == HEED_DATA_BITS)
        return ((const uint32_t *)data)[index / 32] >> index % 32 & 1;
    return ((const uint8_t *)data)[index] != 0;
}

static const void *make_numbers(logits_scene *s, const heed_operand *operand)
{
    int64_t count = logits_operand_count(&s->problem, operand);
    heed_type type = logits_float_type(operand->type);
    void *data = logits_make((size_t)count * 4);
    for (int64_t i = 0; i < count; i++)
        lab_element_set(type, data, i, lab_element_round(type, 2 * draw(s)));
    return data;
}

static const void *make_truths(logits_scene *s, const heed_operand *operand)
{
    int64_t count = logits_operand_count(&s->problem, operand);
    uint8_t *data = logits_make((size_t)count + 32);
    for (int64_t i = 0; i < count; i++)
        if (operand->type == HEED_DATA_BYTES)
            data[i] = draw(s) < 0.2 ? 0 : (uint8_t)(1 + i % 255);
        else if (draw(s) > -0.6)
            ((uint32_t *)(void *)data)[i / 32] |= 1U << i % 32;
    return data;
}

/* Starts that rise from 0, so that each document has a few queries. */
static const void *make_starts(logits_scene *s, const heed_operand *operand)
{
    const heed_problem *p = &s->problem;
    int64_t count = logits_operand_count(p, operand);
    int32_t *data = logits_make((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++) {
        int64_t query = i % p->seq_q;
        int64_t step = 1 + p->seq_q / 5;
        data[i] = (int32_t)(query / step * step * p->seq_k / p->seq_q + i / p->seq_q % 2);
    }
    return data;
}

/* A third of the keys, and all keys for batch element 1; -1 in the gaps. */
static const void *make_lengths(logits_scene *s)
{
    const heed_problem *p = &s->problem;
    const int64_t stride = p->lengths.strides.batch, count = (p->batch - 1) * stride + 1;
    int32_t *data = logits_make((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++)
        data[i] = i % stride ? -1 : (int32_t)(i == stride ? p->seq_k : p->seq_k / 3);
    return data;
}

/* The keys of batch element @batch. */
static int64_t keys_of(const logits_scene *s, int64_t batch)
{
    const heed_problem *p = &s->problem;
    const int32_t *lengths = s->buffers.lengths;
    return lengths ? lengths[batch * p->lengths.strides.batch] : p->seq_k;
}

static const void *make_array(logits_scene *s, const heed_array *array)
{
    int64_t count = 1;
    for (int i = 0; i < array->rank; i++)
        count *= array->size[i];
    void *data = logits_make((size_t)count * 4);
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

static void make_operands(logits_scene *s)
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
    if (p->lengths.type)
        b->lengths = make_lengths(s);
    for (int i = 0; i < HEED_ARRAYS_MAX && p->arrays[i].name[0]; i++)
        b->arrays[i] = make_array(s, &p->arrays[i]);
}

/* -------------------------------------------------------------------------- */
/* The definition                                                             */
/* -------------------------------------------------------------------------- */

int64_t logits_floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool sees_by_interval(const heed_problem *p, const logits_pair *at)
{
    if (p->mask != HEED_MASK_NONE && at->key > at->position)
        return false;
    if (p->window.sides & HEED_WINDOW_LEFT && at->key < at->position - p->window.left)
        return false;
    if (p->window.sides & HEED_WINDOW_RIGHT && at->key > at->position + p->window.right)
        return false;
    return !p->chunk ||
           logits_floor_divide(at->key, p->chunk) == logits_floor_divide(at->position, p->chunk);
}

bool logits_sees(const logits_scene *s, const logits_pair *at)
{
    const heed_problem *p = &s->problem;
    if (!sees_by_interval(p, at))
        return false;
    if (p->starts.type &&
        at->key < ((const int32_t *)s->buffers.starts)[logits_operand_index(p, &p->starts, at)])
        return false;
    if (at->key >= keys_of(s, at->batch))
        return false;
    if (p->shown.type && !logits_truth_at(s, &p->shown, s->buffers.shown, at))
        return false;
    return !s->feature->visible || s->feature->visible(at);
}

int64_t logits_q_row(const heed_problem *p, const logits_pair *at)
{
    return (at->batch * p->seq_q + at->query) * p->heads_q + at->head;
}

int64_t logits_k_row(const heed_problem *p, const logits_pair *at)
{
    int64_t head = at->head / (p->heads_q / p->heads_kv);
    return (at->batch * p->seq_k + at->key) * p->heads_kv + head;
}

static double logit(const logits_scene *s, const logits_pair *at)
{
    const heed_problem *p = &s->problem;
    const heed_buffers *b = &s->buffers;
    double t = 0;
    for (int64_t c = 0; c < p->dim_qk; c++)
        t += lab_element_get(p->type, b->q, logits_q_row(p, at) * p->dim_qk + c) *
             lab_element_get(p->type, b->k, logits_k_row(p, at) * p->dim_qk + c);
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
static void define_row(logits_scene *s, logits_pair at)
{
    const heed_problem *p = &s->problem;
    double *o = s->o + logits_q_row(p, &at) * p->dim_v;
    double *t = logits_make((size_t)p->seq_k * sizeof *t), top = -INFINITY, sum = 0;
    for (at.key = 0; at.key < p->seq_k; at.key++) {
        t[at.key] = logits_sees(s, &at) ? logit(s, &at) : -INFINITY;
        top = t[at.key] > top || isnan(t[at.key]) ? t[at.key] : top;
    }
    double sink = p->sinks.type ? number_at(s, &p->sinks, s->buffers.sinks, &at) : -INFINITY;
    double most = sink > top ? sink : top;
    for (at.key = 0; at.key < p->seq_k && top > -INFINITY; at.key++) {
        if (!logits_sees(s, &at))
            continue;
        double weight = exp(t[at.key] - most);
        sum += weight;
        for (int64_t c = 0; c < p->dim_v; c++)
            o[c] += weight *
                    lab_element_get(p->type, s->buffers.v, logits_k_row(p, &at) * p->dim_v + c);
    }
    sum += most > -INFINITY ? exp(sink - most) : 0;
    for (int64_t c = 0; c < p->dim_v && sum > 0; c++)
        o[c] /= sum;
    s->lse[(at.batch * p->heads_q + at.head) * p->seq_q + at.query] = sum > 0 ? most + log(sum)
                                                                              : -INFINITY;
    free(t);
}

/* Pair number @n of all queries, with key 0. */
logits_pair logits_pair_of(const logits_scene *s, int64_t n)
{
    const heed_problem *p = &s->problem;
    bool right = p->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT ||
                 (p->mask == HEED_MASK_NONE && p->align == HEED_ALIGN_BOTTOM_RIGHT);
    logits_pair at = { .scene = s,
                       .batch = n / p->seq_q / p->heads_q,
                       .head = n / p->seq_q % p->heads_q,
                       .query = n % p->seq_q };
    at.position = at.query + (right ? keys_of(s, at.batch) - p->seq_q : 0);
    return at;
}

int64_t logits_queries(const heed_problem *p)
{
    return p->batch * p->heads_q * p->seq_q;
}

void logits_define(logits_scene *s)
{
    const heed_problem *p = &s->problem;
    memset(s->o, 0, (size_t)(logits_queries(p) * p->dim_v) * sizeof *s->o);
    for (int64_t n = 0; n < logits_queries(p); n++)
        define_row(s, logits_pair_of(s, n));
}

/* -------------------------------------------------------------------------- */
/* Scenes                                                                     */
/* -------------------------------------------------------------------------- */

void logits_begin(logits_scene *s, const char *shape, const logits_feature *f)
{
    char spec[HEED_SPEC_SIZE];
    snprintf(spec, sizeof spec, "%s %s", shape, f->words);
    *s = (logits_scene){ .feature = f, .seed = 1, .buffers = { .size = sizeof s->buffers } };
    if (heed_problem_parse(&s->problem, spec) != HEED_OK)
        fail_msg("%s", heed_message());
    const heed_problem *p = &s->problem;
    s->buffers.q = make_tensor(s, logits_queries(p) * p->dim_qk);
    s->buffers.k = make_tensor(s, p->batch * p->heads_kv * p->seq_k * p->dim_qk);
    s->buffers.v = make_tensor(s, p->batch * p->heads_kv * p->seq_k * p->dim_v);
    s->buffers.o = logits_make((size_t)(logits_queries(p) * p->dim_v) * sizeof(float));
    s->buffers.lse = logits_make((size_t)logits_queries(p) * sizeof(float));
    s->o = logits_make((size_t)(logits_queries(p) * p->dim_v) * sizeof *s->o);
    s->lse = logits_make((size_t)logits_queries(p) * sizeof *s->lse);
    make_operands(s);
}

void logits_end(logits_scene *s)
{
    const heed_buffers *b = &s->buffers;
    const void *all[] = { b->q,         b->k,         b->v,         b->o,         b->lse,
                          b->bias,      b->slopes,    b->sinks,     b->starts,    b->shown,
                          b->arrays[0], b->arrays[1], b->arrays[2], b->arrays[3], s->o,
                          s->lse,       b->lengths };
    for (size_t i = 0; i < COUNT(all); i++)
        free((void *)all[i]);
}

/* Fills O and LSE with @kernel; returns false if it cannot run here. */
bool logits_run(logits_scene *s, heed_context *context, const char *kernel)
{
    const heed_problem *p = &s->problem;
    heed_plan *plan;
    heed_status status = heed_plan_create_named(&plan, context, p, kernel);
    if (status == HEED_ERR_UNSUPPORTED)
        return false;
    if (status != HEED_OK)
        fail_msg("%s: %s", kernel, heed_message());
    memset(s->buffers.o, 0xff, (size_t)(logits_queries(p) * p->dim_v) * heed_type_size(p->type));
    memset(s->buffers.lse, 0xff, (size_t)logits_queries(p) * sizeof(float));
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

bool logits_near(double got, double wanted, double limit)
{
    if (isnan(wanted) || isinf(wanted))
        return isnan(wanted) ? isnan(got) : got == wanted;
    return fabs(got - wanted) <= limit * (1 + fabs(wanted));
}

static void compare(const logits_scene *s, const char *kernel)
{
    static const double limits[] = { [HEED_F32] = 2e-5, [HEED_F16] = 2e-3, [HEED_BF16] = 1.6e-2 };
    const heed_problem *p = &s->problem;
    char spec[HEED_SPEC_SIZE];
    heed_problem_print(p, spec, sizeof spec);
    for (int64_t n = 0; n < logits_queries(p); n++) {
        logits_pair at = logits_pair_of(s, n);
        double lse = (double)s->buffers.lse[n];
        if (!logits_near(lse, s->lse[n], 2e-5))
            fail_msg("%s, %s: LSE of batch %lld head %lld query %lld is %g, not %g", kernel, spec,
                     (long long)at.batch, (long long)at.head, (long long)at.query, lse, s->lse[n]);
        for (int64_t c = 0; c < p->dim_v; c++) {
            double o = lab_element_get(p->type, s->buffers.o, logits_q_row(p, &at) * p->dim_v + c);
            double wanted = s->o[logits_q_row(p, &at) * p->dim_v + c];
            if (!logits_near(o, wanted, limits[p->type]))
                fail_msg("%s, %s: O of batch %lld head %lld query %lld column %lld is %g, not %g",
                         kernel, spec, (long long)at.batch, (long long)at.head, (long long)at.query,
                         (long long)c, o, wanted);
        }
    }
}

/* Every kernel that this machine supports, with configs that split keys and that do not. */
void logits_check_kernels(logits_scene *s, heed_context *context)
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
            if (!logits_run(s, context, name))
                continue;
            compare(s, name);
            count++;
        }
    assert_true(count >= 3);
}
