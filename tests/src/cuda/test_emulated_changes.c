/*
 * test_emulated_changes.c - CUDA kernels that change logits, hide keys by steps and add sinks, on
 * the emulator, beside the formulas of heed.h in double precision
 *
 * The formulas are written out here, without the library's steps; packed sequences and splits that
 * are spread go through the gates of the laboratory instead. NaN and infinities lie in K, V
 * and operands wherever a key is hidden, and some in V where only some rows see them. Operands end
 * where a page ends that nobody may read.
 *
 *     test_emulated_changes [sample | NAME]
 *
 * With "sample" every second kernel is tried on one shape, always the same one; with a NAME only
 * kernels that have it in theirs are tried.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arrays.h"
#include "cuda/score/score.h"
#include "emulated.h"
#include "emulator/half.h"
#include "lab/verify/verify.h"
#include "problem/operand.h"

/* Shapes: even numbers of keys, so that operands are read in pairs, and odd ones. Operands keep all
 * their dimensions, and steps are the same for all. */
static const struct {
    const char *sizes;
    unsigned splits;
} shapes[] = {
    { "b2 h6/2 s70/130", 1 }, { "b2 h6/3 s33/257", 1 },  { "b2 h6 s100/64 scale=-0.4", 1 },
    { "b2 h6/1 s5/600", 3 },  { "b2 h6/2 s190/190", 1 }, { "b2 h6/2 s3/2", 1 },
    { "b2 h6/2 s9/592", 1 },  { "b2 h6/2 s7/384", 1 },   { "b2 h6/3 s304/304", 1 },
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* -------------------------------------------------------------------------- */
/* Data                                                                       */
/* -------------------------------------------------------------------------- */

typedef struct scene {
    heed_problem problem;
    const emulated_kernel *kernel;
    uint64_t random;
    int64_t ahead; /* keys that lengths count and that are not there */
    heed_buffers buffers;
    double *q, *k, *v; /* as they are in the buffers */
    int64_t v_pitch;   /* from one vector of V to the next */
    bool *seen;        /* [batch, heads, queries, keys] */
    double *o, *lse;   /* expected */
} scene;

static double draw(scene *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(s->random >> 33) / (double)(UINT64_C(1) << 30) - 1;
}

/* Memory that ends, but for less than @unit bytes, where none may be read. */
static void *guarded(size_t size, size_t unit)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page + 1;
    char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + (pages - 1) * page, page, PROT_NONE), 0);
    return memory + (pages - 1) * page - (size + unit - 1) / unit * unit;
}

static void put(void *data, heed_data type, int64_t i, double x)
{
    if (type == HEED_DATA_F32)
        ((float *)data)[i] = (float)x;
    else if (type == HEED_DATA_I32)
        ((int32_t *)data)[i] = (int32_t)x;
    else if (type == HEED_DATA_BYTES)
        ((uint8_t *)data)[i] = x != 0 ? 0x80 : 0;
    else if (type == HEED_DATA_BITS)
        ((uint32_t *)data)[i / 32] |= (uint32_t)(x != 0) << i % 32;
    else
        ((uint16_t *)data)[i] = type == HEED_DATA_F16 ? half_to_f16((float)x)
                                                      : half_to_bf16((float)x);
}

static double get(const void *data, heed_data type, int64_t i)
{
    if (type == HEED_DATA_F32)
        return ((const float *)data)[i];
    if (type == HEED_DATA_I32)
        return ((const int32_t *)data)[i];
    if (type == HEED_DATA_BYTES)
        return ((const uint8_t *)data)[i] != 0;
    if (type == HEED_DATA_BITS)
        return ((const uint32_t *)data)[i / 32] >> i % 32 & 1;
    uint16_t half = ((const uint16_t *)data)[i];
    return type == HEED_DATA_F16 ? half_from_f16(half) : half_from_bf16(half);
}

static heed_data data_of(heed_type type)
{
    return type == HEED_F32 ? HEED_DATA_F32 : type == HEED_F16 ? HEED_DATA_F16 : HEED_DATA_BF16;
}

/* A dense tensor of @count elements. */
static void *fill_tensor(scene *s, int64_t count, double **values)
{
    heed_data type = data_of(s->problem.type);
    void *data = guarded((size_t)count * heed_data_size(type), 16);
    *values = test_calloc((size_t)count, sizeof **values);
    for (int64_t i = 0; i < count; i++) {
        put(data, type, i, draw(s));
        (*values)[i] = get(data, type, i);
    }
    return data;
}

/* Which vector of K and V is that of key @j of head @kv. */
static int64_t key_vector(const scene *s, int64_t b, int64_t kv, int64_t j)
{
    const heed_problem *p = &s->problem;
    int64_t place = b * p->seq_k + j;
    if (p->page > 0)
        place = ((const int32_t *)s->buffers.table)[place / p->page] * p->page + j % p->page;
    return place * p->heads_kv + kv;
}

static int64_t pool_size(const heed_problem *p)
{
    return (p->page > 0 ? p->pages * p->page : p->batch * p->seq_k) * p->heads_kv;
}

/* Where the element of a dense operand for a query and a key is. */
static int64_t place_of(const scene *s, int index, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const heed_operand *operand = heed_problem_operand(&s->problem, index);
    int64_t keys = operand->type == HEED_DATA_BITS ? (s->problem.seq_k + 31) / 32 * 32
                                                   : s->problem.seq_k;
    int64_t place = operand->along & HEED_ALONG_BATCH ? b : 0;
    if (operand->along & HEED_ALONG_HEAD)
        place = place * s->problem.heads_q + h;
    if (operand->along & HEED_ALONG_QUERY)
        place = place * s->problem.seq_q + i;
    if (operand->along & HEED_ALONG_PAGE)
        place = place * (s->problem.seq_k / s->problem.page) + j / s->problem.page;
    return operand->along & HEED_ALONG_KEY ? place * keys + j : place;
}

static double operand_at(const scene *s, int index, int64_t b, int64_t h, int64_t i, int64_t j)
{
    return get(heed_operand_buffer(&s->buffers, index),
               heed_problem_operand(&s->problem, index)->type, place_of(s, index, b, h, i, j));
}

static bool has(const scene *s, int index)
{
    return heed_problem_operand(&s->problem, index)->type != HEED_DATA_NONE;
}

static int64_t length_of(const scene *s, int64_t b)
{
    if (!has(s, HEED_OPERAND_LENGTHS))
        return s->problem.seq_k;
    return (int64_t)operand_at(s, HEED_OPERAND_LENGTHS, b, 0, 0, 0) - s->ahead;
}

/* The value of an operand's element number @n. */
static double value_of(scene *s, int index, int64_t n)
{
    double x = draw(s);
    switch (index) {
    case HEED_OPERAND_BIAS:
        return 2 * x;
    case HEED_OPERAND_SLOPES:
        return n % 6 == 1 ? 0 : n % 6 == 3 ? -0.02 : n % 6 == 4 ? 1000 : 0.3 * fabs(x);
    case HEED_OPERAND_SINKS:
        return n % 5 == 4 ? -INFINITY : 3 * x;
    case HEED_OPERAND_STARTS: { /* documents, the last one beyond the keys of some problems */
        int64_t i = n % s->problem.seq_q;
        return (double)(i / 23 * 23 * s->problem.seq_k / s->problem.seq_q + (i > 180 ? 400 : 0));
    }
    case HEED_OPERAND_LENGTHS: /* of the second batch element almost all */
        return (double)(s->ahead + (n == 0 ? s->problem.seq_k / 3 : s->problem.seq_k - 1));
    case HEED_OPERAND_TABLE: { /* backwards, all but the first three pages */
        int64_t keys = s->problem.seq_k, page = n * s->problem.page, first = page / keys * keys;
        int64_t length = length_of(s, page / keys);
        return page - first < length ? (double)(s->problem.pages - 1 - n) : INT32_MAX;
    }
    default:
        return n / s->problem.seq_k % 7 == 3 ? 0 : x > -0.3; /* some rows see nothing */
    }
}

static void fill_operands(scene *s)
{
    const heed_problem *p = &s->problem;
    for (int index = 0; index < HEED_OPERANDS; index++) {
        const heed_operand *operand = heed_problem_operand(p, index);
        if (!has(s, index))
            continue;
        bool bits = operand->type == HEED_DATA_BITS;
        int64_t count = place_of(s, index, p->batch - 1, p->heads_q - 1, p->seq_q - 1,
                                 bits ? (p->seq_k - 1) / 32 * 32 + 31 : p->seq_k - 1) +
                        1;
        size_t size = bits ? (size_t)count / 8 : (size_t)count * heed_data_size(operand->type);
        void *data = guarded(
            size, bits || operand->type == HEED_DATA_F32 ? 4 : heed_data_size(operand->type));
        memcpy((char *)&s->buffers + heed_operand_rows[index].buffer, &data, sizeof data);
        for (int64_t n = 0; n < count; n++)
            put(data, operand->type, n, value_of(s, index, n));
    }
    float *slope = guarded(6 * sizeof(float), 4); /* the arrays of the expressions */
    int32_t *doc = guarded(2 * 600 * sizeof(int32_t), 4);
    for (int i = 0; i < 6; i++)
        slope[i] = 0.05F * (float)i;
    for (int i = 0; i < 2 * 600; i++)
        doc[i] = i % 600 / 37 % 3;
    s->buffers.arrays[0] = slope;
    s->buffers.arrays[1] = doc;
}

/* -------------------------------------------------------------------------- */
/* Formulas                                                                   */
/* -------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t position_of(const scene *s, int64_t b, int64_t i)
{
    const heed_problem *p = &s->problem;
    int64_t keys = length_of(s, b);
    bool right = p->mask != HEED_MASK_NONE ? p->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT
                                           : p->align == HEED_ALIGN_BOTTOM_RIGHT;
    return right ? i + keys - p->seq_q : i;
}

static double doc_at(const scene *s, int64_t b, int64_t i)
{
    return ((const int32_t *)s->buffers.arrays[1])[b * 600 + (i < 599 ? i : 599)];
}

static bool is_seen(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const heed_problem *p = &s->problem;
    int64_t at = position_of(s, b, i);
    bool seen = p->mask == HEED_MASK_NONE || j <= at;
    seen = seen && j < length_of(s, b);
    if (p->window.sides & HEED_WINDOW_LEFT)
        seen = seen && j >= at - p->window.left;
    if (p->window.sides & HEED_WINDOW_RIGHT)
        seen = seen && j <= at + p->window.right;
    if (p->chunk)
        seen = seen && floor_div(j, p->chunk) == floor_div(at, p->chunk);
    if (has(s, HEED_OPERAND_STARTS))
        seen = seen && (double)j >= operand_at(s, HEED_OPERAND_STARTS, b, h, i, j);
    if (has(s, HEED_OPERAND_SHOWN))
        seen = seen && operand_at(s, HEED_OPERAND_SHOWN, b, h, i, j) != 0;
    if (strstr(p->visible, "doc"))
        seen = seen && doc_at(s, b, i) == doc_at(s, b, j);
    if (strstr(p->visible, "130"))
        seen = seen && i / 130 == j / 130;
    if (strstr(p->visible, "head"))
        seen = seen && (h % 2 == 0 || j / 50 % 3 == i / 50 % 3);
    if (strstr(p->visible, "k%50"))
        seen = seen && j % 50 != 7;
    if (strstr(p->visible, "q+9"))
        seen = seen && j <= i + 9;
    return seen;
}

static double logit_of(const scene *s, double dot, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const heed_problem *p = &s->problem;
    double t = (double)p->scale * dot;
    if (p->softcap != 0)
        t = (double)p->softcap * tanh(t / (double)p->softcap);
    if (has(s, HEED_OPERAND_BIAS))
        t += operand_at(s, HEED_OPERAND_BIAS, b, h, i, j);
    if (has(s, HEED_OPERAND_SLOPES))
        t -= operand_at(s, HEED_OPERAND_SLOPES, b, h, i, j) *
             fabs((double)(position_of(s, b, i) - j));
    if (strstr(p->score, "tanh"))
        t = 20 * tanh((t + (double)(j % 3)) / 20) - 0.1 * (double)(position_of(s, b, i) - j) / 2;
    else if (p->score[0])
        t -= (double)((const float *)s->buffers.arrays[0])[h] * fabs((double)(i - j));
    return t;
}

/* The row of query @i of head @h. */
static void expect_row(const scene *s, int64_t b, int64_t h, int64_t i)
{
    const heed_problem *p = &s->problem;
    int64_t row = (b * p->heads_q + h) * p->seq_q + i, kv = h / (p->heads_q / p->heads_kv);
    double *o = s->o + ((b * p->seq_q + i) * p->heads_q + h) * p->dim_v, top = -INFINITY, sum = 0;
    double *logits = test_calloc((size_t)p->seq_k, sizeof *logits);
    double sink = has(s, HEED_OPERAND_SINKS) ? operand_at(s, HEED_OPERAND_SINKS, b, h, i, 0)
                                             : -INFINITY;
    for (int64_t j = 0; j < p->seq_k; j++) {
        double dot = 0;
        logits[j] = -INFINITY;
        if (!s->seen[row * p->seq_k + j])
            continue;
        for (int64_t d = 0; d < p->dim_qk; d++)
            dot += s->q[((b * p->seq_q + i) * p->heads_q + h) * p->dim_qk + d] *
                   s->k[key_vector(s, b, kv, j) * p->dim_qk + d];
        logits[j] = logit_of(s, dot, b, h, i, j);
        top = fmax(top, logits[j]);
    }
    bool none = top == -INFINITY;
    top = fmax(top, sink);
    sum = sink == -INFINITY ? 0 : exp(sink - top);
    for (int64_t j = 0; j < p->seq_k && !none; j++) {
        if (!s->seen[row * p->seq_k + j])
            continue;
        double weight = exp(logits[j] - top);
        sum += weight;
        for (int64_t d = 0; d < p->dim_v; d++)
            o[d] += weight * s->v[key_vector(s, b, kv, j) * s->v_pitch + d];
    }
    for (int64_t d = 0; d < p->dim_v && !none; d++)
        o[d] /= sum;
    s->lse[row] = top == -INFINITY ? -INFINITY : top + log(sum);
    test_free(logits);
}

/* -------------------------------------------------------------------------- */
/* Values that must not be looked at                                          */
/* -------------------------------------------------------------------------- */

/* How many rows that read key @j of head @kv see it. */
static int64_t count_seen(const scene *s, int64_t b, int64_t kv, int64_t j)
{
    const heed_problem *p = &s->problem;
    int64_t group = p->heads_q / p->heads_kv, count = 0;
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < p->seq_q; i++)
            count += s->seen[((b * p->heads_q + h) * p->seq_q + i) * p->seq_k + j];
    return count;
}

static void spoil(const scene *s, const void *tensor, double *values, int64_t at)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY };
    put((void *)(uintptr_t)tensor, data_of(s->problem.type), at, bad[at % 3]);
    values[at] = bad[at % 3];
}

/* Values of V that are not finite, in one column of some keys that a few rows see; and all of keys
 * that no row sees. */
static void spoil_keys(scene *s)
{
    const heed_problem *p = &s->problem;
    for (int64_t n = 0; p->page > 0 && n < 3 * p->page * p->heads_kv; n++) {
        spoil(s, s->buffers.k, s->k, n * p->dim_qk);
        spoil(s, s->buffers.v, s->v, n * s->v_pitch + p->dim_v - 1);
    }
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t kv = 0; kv < p->heads_kv; kv++)
            for (int64_t j = 0; j < p->seq_k; j++) {
                int64_t seen = count_seen(s, b, kv, j);
                if (p->page > 0 && seen == 0) /* it may be in no page */
                    continue;
                int64_t at = key_vector(s, b, kv, j);
                if (seen < p->seq_q && draw(s) > 0.98)
                    spoil(s, s->buffers.v, s->v, at * s->v_pitch + j % p->dim_v);
                for (int64_t d = 0; d < p->dim_qk && seen == 0; d++)
                    spoil(s, s->buffers.k, s->k, at * p->dim_qk + d);
                for (int64_t d = 0; d < p->dim_v && seen == 0; d++)
                    spoil(s, s->buffers.v, s->v, at * s->v_pitch + d);
            }
}

/* NaN in the bias of keys that are hidden, where it is no other's bias too. */
static void spoil_bias(const scene *s)
{
    const heed_problem *p = &s->problem;
    const unsigned all = HEED_ALONG_BATCH | HEED_ALONG_HEAD | HEED_ALONG_QUERY | HEED_ALONG_KEY;
    if (!has(s, HEED_OPERAND_BIAS) || p->bias.along != all)
        return;
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q * p->seq_k; n++)
        if (!s->seen[n] && n % 3 == 0)
            put((void *)(uintptr_t)s->buffers.bias, p->bias.type, n, NAN);
}

/* -------------------------------------------------------------------------- */
/* Scenes                                                                     */
/* -------------------------------------------------------------------------- */

static void open_scene(scene *s, const emulated_change *change, size_t shape)
{
    char spec[512];
    const emulated_kernel *kernel = change->config.aligned;
    bool square = strstr(shapes[shape].sizes, "s190/190") != NULL;
    bool aligned = strstr(change->words, "window") || strstr(change->words, "chunk") ||
                   strstr(change->words, "alibi") || strstr(change->words, "score");
    const char *words = change->words;
    bool causal = strncmp(words, "causal ", 7) == 0;
    snprintf(spec, sizeof spec, "%s d%d/%d %s %s%s%s", shapes[shape].sizes, kernel->dim_qk,
             kernel->dim_v, heed_type_name((heed_type)kernel->type), kernel->half ? "acc=f16 " : "",
             causal                                           ? square ? "causal" : "causal=br"
             : !square && aligned && !strstr(words, "align=") ? "align=br "
                                                              : "",
             causal ? words + 6 : words);
    *s = (scene){ .kernel = kernel, .random = 18 + shape };
    s->buffers.size = sizeof s->buffers;
    if (heed_problem_parse(&s->problem, spec) != HEED_OK ||
        heed_problem_normalize(&s->problem, &s->problem) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    if (s->problem.page > 0)
        s->problem.pages += 3;
    if (shape % 2 == 0 && !s->problem.slopes.type && !s->problem.score[0]) /* as behind a prefix */
        s->ahead = 1000;
    const heed_problem *p = &s->problem;
    s->buffers.q = fill_tensor(s, p->batch * p->seq_q * p->heads_q * p->dim_qk, &s->q);
    s->buffers.k = fill_tensor(s, pool_size(p) * p->dim_qk, &s->k);
    s->buffers.v = p->shared ? s->buffers.k : fill_tensor(s, pool_size(p) * p->dim_v, &s->v);
    s->v_pitch = p->shared ? p->dim_qk : p->dim_v;
    s->v = p->shared ? s->k : s->v;
    s->buffers.o = guarded(
        (size_t)(p->batch * p->seq_q * p->heads_q * p->dim_v) * heed_type_size(p->type), 16);
    s->buffers.lse = guarded((size_t)(p->batch * p->heads_q * p->seq_q) * sizeof(float), 4);
    fill_operands(s);
}

static void expect(scene *s)
{
    const heed_problem *p = &s->problem;
    size_t rows = (size_t)(p->batch * p->heads_q * p->seq_q);
    s->seen = test_calloc(rows * (size_t)p->seq_k, sizeof *s->seen);
    s->o = test_calloc(rows * (size_t)p->dim_v, sizeof *s->o);
    s->lse = test_calloc(rows, sizeof *s->lse);
    for (size_t n = 0; n < rows * (size_t)p->seq_k; n++) {
        int64_t row = (int64_t)n / p->seq_k, head = row / p->seq_q;
        s->seen[n] = is_seen(s, head / p->heads_q, head % p->heads_q, row % p->seq_q,
                             (int64_t)n % p->seq_k);
    }
    spoil_keys(s);
    spoil_bias(s);
    for (int64_t row = 0; row < (int64_t)rows; row++) {
        int64_t head = row / p->seq_q;
        expect_row(s, head / p->heads_q, head % p->heads_q, row % p->seq_q);
    }
}

static void close_scene(scene *s)
{
    test_free(s->q);
    test_free(s->k);
    if (!s->problem.shared)
        test_free(s->v);
    test_free(s->seen);
    test_free(s->o);
    test_free(s->lse);
}

/* Is @x as expected, by a tolerance, or not finite where that is? */
static bool is_near(double x, double expected, double tolerance)
{
    if (isinf(expected) && expected < 0)
        return x == expected;
    if (!isfinite(expected))
        return !isfinite(x);
    return fabs(x - expected) <= tolerance * (1 + fabs(expected));
}

static int64_t count_wrong(const scene *s, const char *name, size_t shape)
{
    static const double tolerances[] = { 2e-5, 3e-3, 2e-2 };
    const heed_problem *p = &s->problem;
    int64_t rows = p->batch * p->heads_q * p->seq_q, wrong = 0;
    double exact = s->kernel->half ? 4e-3 : 2e-5, loose = tolerances[p->type];
    for (int64_t n = 0; n < rows * p->dim_v; n++) {
        double x = get(s->buffers.o, data_of(p->type), n);
        if (is_near(x, isinf(s->o[n]) ? NAN : s->o[n], s->kernel->half ? 2e-2 : loose))
            continue;
        if (wrong++ < 4)
            print_message("%s '%s': o[%lld] (query %lld, head %lld) is %g, not %g\n", name,
                          shapes[shape].sizes, (long long)n,
                          (long long)(n / p->dim_v / p->heads_q % p->seq_q),
                          (long long)(n / p->dim_v % p->heads_q), x, s->o[n]);
    }
    for (int64_t n = 0; n < rows; n++) {
        if (is_near((double)s->buffers.lse[n], s->lse[n], exact))
            continue;
        if (wrong++ < 4)
            print_message("%s '%s': lse[%lld] is %g, not %g\n", name, shapes[shape].sizes,
                          (long long)n, (double)s->buffers.lse[n], s->lse[n]);
    }
    return wrong;
}

/* Is the number of keys a multiple of the page? */
static bool fits(const emulated_change *change, size_t shape)
{
    const char *page = strstr(change->words, "paged="), *keys = strchr(shapes[shape].sizes, 's');
    const char *slash = strchr(keys, '/');
    return !page || strtol(slash + 1, NULL, 10) % strtol(page + 6, NULL, 10) == 0;
}

/* The one shape of a sample; SHAPES for a kernel that is not in it. */
static size_t sample_shape(const emulated_change *change)
{
    const size_t number = (size_t)(change - emulated_changed);
    size_t shape = number / 2 % SHAPES;
    while (!fits(change, shape))
        shape = (shape + 1) % SHAPES;
    return number % 2 == 0 ? shape : SHAPES;
}

/* A spec of these @sizes with the words of @change. Where these pack sequences, they have most of
 * the rows that there might be. */
static void fit_words(const emulated_change *change, const char *sizes, char spec[512])
{
    const emulated_kernel *kernel = change->config.aligned;
    const char *at = strstr(change->words, "varlen=");
    if (!at) {
        snprintf(spec, 512, "%s d%d/%d %s %s", sizes, kernel->dim_qk, kernel->dim_v,
                 heed_type_name((heed_type)kernel->type), change->words);
        return;
    }
    const char *slash = strchr(at, '/'), *end = at + strcspn(at, " ");
    long queries = strtol(strchr(sizes, 's') + 1, NULL, 10);
    long keys = strtol(strchr(strchr(sizes, 's'), '/') + 1, NULL, 10);
    long batch = strtol(sizes + 1, NULL, 10);
    queries = strtol(at + 7, NULL, 10) > 0 ? batch * queries * 4 / 5 + 1 : 0;
    keys = !slash || slash > end || strtol(slash + 1, NULL, 10) > 0 ? batch * keys * 4 / 5 + 1 : 0;
    snprintf(spec, 512, "%s d%d/%d %s %.*svarlen=%ld/%ld%s", sizes, kernel->dim_qk, kernel->dim_v,
             heed_type_name((heed_type)kernel->type), (int)(at - change->words), change->words,
             queries, keys, end);
}

/* Packed sequences and spread splits are judged by the laboratory: by the gates that need no other
 * problem. */
static int64_t run_gates(const emulated_change *change, const char *sizes, unsigned splits)
{
    static const char *const kinds[] = { "normal", "needle", "masked" };
    char spec[512];
    heed_problem problem;
    int64_t wrong = 0;
    lab_verify_options options = lab_verify_standard();
    options.own = true;
    for (size_t i = 0; i < LAB_GATES; i++)
        if (lab_gate_at(i)->property)
            options.gates &= ~(1U << i);
    fit_words(change, sizes, spec);
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const lab_inputs *inputs = lab_inputs_find(kinds[i]);
        lab_report report;
        emulated it = { .config = &change->config,
                        .changes = true,
                        .splits = splits,
                        .spread = strstr(change->name, "spread") != NULL };
        const lab_subject subject = emulated_subject(&it);
        if (lab_case_absent(&problem, inputs))
            continue;
        options.seed = strlen(sizes);
        assert_int_equal(lab_verify_problem(&problem, inputs, &subject, &options, NULL, &report),
                         HEED_OK);
        if (report.outcome == LAB_PASS && !it.stopped)
            continue;
        wrong++;
        print_message("%s on '%s', %s values: %s\n", change->name, spec, kinds[i], it.worst);
        for (size_t g = 0; g < LAB_GATES; g++)
            if (report.verdicts[g].outcome == LAB_FAIL)
                print_message("    %s: %s\n", lab_gate_at(g)->name, report.verdicts[g].reason);
    }
    return wrong;
}

/* Sizes with one block of rows, for kernels that spread keys over so many places a sequence. */
static const struct {
    const char *sizes;
    unsigned splits;
} spread_shapes[SHAPES] = {
    { "b40 h4/2 s3/90", 2 }, { "b3 h6/1 s5/600", 3 }, { "b2 h6/2 s9/592", 8 },
    { "b5 h2/1 s1/2", 2 },   { "b33 h2 s2/64", 4 },   { "b1 h6/2 s7/384", 5 },
};

static int64_t run_one(const emulated_change *change, size_t shape)
{
    scene s;
    lab_needs needs;
    if (strstr(change->name, "spread"))
        return spread_shapes[shape].sizes
                   ? run_gates(change, spread_shapes[shape].sizes, spread_shapes[shape].splits)
                   : 0;
    if (strstr(change->words, "varlen="))
        return run_gates(change, shapes[shape].sizes,
                         change->config.aligned->combine ? shapes[shape].splits : 1);
    open_scene(&s, change, shape);
    expect(&s);
    emulated it = { .config = &change->config,
                    .changes = true,
                    .splits = change->config.aligned->combine ? shapes[shape].splits : 1,
                    .ahead = s.ahead };
    const lab_subject subject = emulated_subject(&it);
    assert_int_equal(subject.prepare(subject.data, &s.problem, &needs), HEED_OK);
    int64_t wrong = 1;
    if (subject.run(subject.data, &s.buffers) == HEED_OK)
        wrong = count_wrong(&s, change->name, shape);
    else
        print_message("%s '%s': %s\n", change->name, shapes[shape].sizes, it.worst);
    close_scene(&s);
    return wrong;
}

static void test_results_are_right(void **state)
{
    const char *only = *state;
    bool sample = only && strcmp(only, "sample") == 0;
    int64_t wrong = 0;
    for (const emulated_change *change = emulated_changed; change->name; change++)
        for (size_t shape = 0; shape < SHAPES; shape++)
            if (sample ? sample_shape(change) == shape
                       : (!only || strstr(change->name, only)) && fits(change, shape))
                wrong += run_one(change, shape);
    assert_int_equal(wrong, 0);
}

/* Documents of 130 keys, and a causal mask: of 25 pairs of 64 queries and 64 keys these stay. */
static void test_hidden_tiles_are_left_out(void **state)
{
    const emulated_change *change = emulated_changed;
    scene s;
    lab_needs needs;
    (void)state;
    while (strcmp(change->name, "changed_wgmma_documents") != 0)
        change++;
    open_scene(&s, change, SHAPES - 1);
    emulated it = { .config = &change->config, .changes = true, .splits = 1, .ahead = s.ahead };
    const lab_subject subject = emulated_subject(&it);
    assert_int_equal(subject.prepare(subject.data, &s.problem, &needs), HEED_OK);
    expect(&s);
    assert_int_equal(subject.run(subject.data, &s.buffers), HEED_OK);
    assert_int_equal(it.all_tiles, s.problem.batch * 25);
    assert_int_equal(it.listed, s.problem.batch * (1 + 2 + 3 + 2 + 3));
    close_scene(&s);
}

/* The kernels were compiled with the text of a problem of other sizes. */
static void test_programs_fit(void **state)
{
    static char text[HEED_CUDA_PROGRAM_SIZE], compiled[HEED_CUDA_PROGRAM_SIZE];
    for (const emulated_change *change = emulated_changed; change->name; change++)
        for (size_t shape = 0; shape < SHAPES; shape++) {
            scene s;
            char path[512];
            if (!fits(change, shape) || strstr(change->words, "varlen=") ||
                strstr(change->name, "spread"))
                continue;
            open_scene(&s, change, shape);
            size_t length = heed_cuda_print_program(&s.problem, text, sizeof text);
            snprintf(path, sizeof path, "%s/%s/program.cuh", PROGRAMS, change->name);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            size_t there = fread(compiled, 1, sizeof compiled - 1, file);
            fclose(file);
            compiled[there] = '\0';
            if (there != length || strcmp(text, compiled) != 0)
                fail_msg("%s '%s': other steps than those compiled:\n%s\n%s", change->name,
                         shapes[shape].sizes, text, compiled);
            close_scene(&s);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_fit),
        cmocka_unit_test(test_hidden_tiles_are_left_out),
        cmocka_unit_test_prestate(test_results_are_right, argc > 1 ? argv[1] : NULL),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
