/*
 * changes_scene.c - tensors and operands of problems that change logits, with traps in values that
 * must not be read
 */
#include "changes_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulator/half.h"
#include "problem/operand.h"

/* -------------------------------------------------------------------------- */
/* Data                                                                       */
/* -------------------------------------------------------------------------- */

static double draw(changes_scene *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(s->random >> 33) / (double)(UINT64_C(1) << 30) - 1;
}

/* Memory that is inaccessible after its end, rounded up to @unit bytes. */
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

double changes_get(const void *data, heed_data type, int64_t i)
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

heed_data changes_data_of(heed_type type)
{
    return type == HEED_F32 ? HEED_DATA_F32 : type == HEED_F16 ? HEED_DATA_F16 : HEED_DATA_BF16;
}

/* A dense tensor of @count elements. */
static void *fill_tensor(changes_scene *s, int64_t count, double **values)
{
    heed_data type = changes_data_of(s->problem.type);
    void *data = guarded((size_t)count * heed_data_size(type), 16);
    *values = test_calloc((size_t)count, sizeof **values);
    for (int64_t i = 0; i < count; i++) {
        put(data, type, i, draw(s));
        (*values)[i] = changes_get(data, type, i);
    }
    return data;
}

/* The number of the vector in K and V for key @j of head @kv. */
int64_t changes_key_vector(const changes_scene *s, int64_t b, int64_t kv, int64_t j)
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

/* The element of a dense operand for a query and a key. */
static int64_t place_of(const changes_scene *s, int index, int64_t b, int64_t h, int64_t i,
                        int64_t j)
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

double changes_operand_at(const changes_scene *s, int index, int64_t b, int64_t h, int64_t i,
                          int64_t j)
{
    return changes_get(heed_operand_buffer(&s->buffers, index),
                       heed_problem_operand(&s->problem, index)->type,
                       place_of(s, index, b, h, i, j));
}

bool changes_has(const changes_scene *s, int index)
{
    return heed_problem_operand(&s->problem, index)->type != HEED_DATA_NONE;
}

int64_t changes_length(const changes_scene *s, int64_t b)
{
    if (!changes_has(s, HEED_OPERAND_LENGTHS))
        return s->problem.seq_k;
    return (int64_t)changes_operand_at(s, HEED_OPERAND_LENGTHS, b, 0, 0, 0) - s->ahead;
}

/* The value of element @n of an operand. */
static double value_of(changes_scene *s, int index, int64_t n)
{
    double x = draw(s);
    switch (index) {
    case HEED_OPERAND_BIAS:
        return 2 * x;
    case HEED_OPERAND_SLOPES:
        return n % 6 == 1 ? 0 : n % 6 == 3 ? -0.02 : n % 6 == 4 ? 1000 : 0.3 * fabs(x);
    case HEED_OPERAND_SINKS:
        return n % 5 == 4 ? -INFINITY : 3 * x;
    case HEED_OPERAND_STARTS: { /* documents, longer ones in the second batch element; the last one
                                   is beyond the keys of some problems */
        int64_t i = n % s->problem.seq_q, rows = n < s->problem.seq_q ? 23 : 150;
        return (double)(i / rows * rows * s->problem.seq_k / s->problem.seq_q +
                        (i > 180 ? 400 : 0));
    }
    case HEED_OPERAND_LENGTHS: /* nearly all keys of the second batch element */
        return (double)(s->ahead + (n == 0 ? s->problem.seq_k / 3 : s->problem.seq_k - 1));
    case HEED_OPERAND_TABLE: { /* in reverse order, without the first three pages */
        int64_t keys = s->problem.seq_k, page = n * s->problem.page, first = page / keys * keys;
        int64_t length = changes_length(s, page / keys);
        return page - first < length ? (double)(s->problem.pages - 1 - n) : INT32_MAX;
    }
    default:
        return n / s->problem.seq_k % 7 == 3 ? 0 : x > -0.3; /* some rows see nothing */
    }
}

static void fill_operands(changes_scene *s)
{
    const heed_problem *p = &s->problem;
    for (int index = 0; index < HEED_OPERANDS; index++) {
        const heed_operand *operand = heed_problem_operand(p, index);
        if (!changes_has(s, index))
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
/* Values that must not be read                                               */
/* -------------------------------------------------------------------------- */

/* Number of rows of head @kv that see key @j. */
static int64_t count_seen(const changes_scene *s, int64_t b, int64_t kv, int64_t j)
{
    const heed_problem *p = &s->problem;
    int64_t group = p->heads_q / p->heads_kv, count = 0;
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = 0; i < p->seq_q; i++)
            count += s->seen[((b * p->heads_q + h) * p->seq_q + i) * p->seq_k + j];
    return count;
}

static void spoil(const changes_scene *s, const void *tensor, double *values, int64_t at)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY };
    put((void *)(uintptr_t)tensor, changes_data_of(s->problem.type), at, bad[at % 3]);
    values[at] = bad[at % 3];
}

/* Puts non-finite values into V: in one column of some keys that a few rows see, and in all columns
 * of keys that no row sees. */
static void spoil_keys(changes_scene *s)
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
                if (p->page > 0 && seen == 0) /* such a key may be in no page */
                    continue;
                int64_t at = changes_key_vector(s, b, kv, j);
                if (seen < p->seq_q && draw(s) > 0.98)
                    spoil(s, s->buffers.v, s->v, at * s->v_pitch + j % p->dim_v);
                for (int64_t d = 0; d < p->dim_qk && seen == 0; d++)
                    spoil(s, s->buffers.k, s->k, at * p->dim_qk + d);
                for (int64_t d = 0; d < p->dim_v && seen == 0; d++)
                    spoil(s, s->buffers.v, s->v, at * s->v_pitch + d);
            }
}

/* Puts NaN into the bias of hidden keys, unless a visible pair shares the element. */
static void spoil_bias(const changes_scene *s)
{
    const heed_problem *p = &s->problem;
    const unsigned all = HEED_ALONG_BATCH | HEED_ALONG_HEAD | HEED_ALONG_QUERY | HEED_ALONG_KEY;
    if (!changes_has(s, HEED_OPERAND_BIAS) || p->bias.along != all)
        return;
    for (int64_t n = 0; n < p->batch * p->heads_q * p->seq_q * p->seq_k; n++)
        if (!s->seen[n] && n % 3 == 0)
            put((void *)(uintptr_t)s->buffers.bias, p->bias.type, n, NAN);
}

/* -------------------------------------------------------------------------- */
/* Scenes                                                                     */
/* -------------------------------------------------------------------------- */

static void print_spec(char spec[512], const emulated_config *change, const char *sizes)
{
    const emulated_kernel *kernel = change->aligned;
    bool square = strstr(sizes, "s190/190") != NULL;
    bool aligned = strstr(change->words, "window") || strstr(change->words, "chunk") ||
                   strstr(change->words, "alibi") || strstr(change->words, "score");
    const char *words = change->words;
    bool causal = strncmp(words, "causal ", 7) == 0;
    snprintf(spec, 512, "%s d%d/%d %s %s%s%s", sizes, kernel->dim_qk, kernel->dim_v,
             heed_type_name((heed_type)kernel->type), kernel->half ? "acc=f16 " : "",
             causal                                           ? square ? "causal" : "causal=br"
             : !square && aligned && !strstr(words, "align=") ? "align=br "
                                                              : "",
             causal ? words + 6 : words);
}

void changes_begin(changes_scene *s, const emulated_config *change, const char *sizes,
                   size_t number)
{
    char spec[512];
    print_spec(spec, change, sizes);
    *s = (changes_scene){ .kernel = change->aligned, .random = 18 + number };
    s->buffers.size = sizeof s->buffers;
    if (heed_problem_parse(&s->problem, spec) != HEED_OK ||
        heed_problem_normalize(&s->problem, &s->problem) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    if (s->problem.page > 0)
        s->problem.pages += 3;
    if (number % 2 == 0 && !s->problem.slopes.type && !s->problem.score[0]) /* as after a prefix */
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

void changes_define(changes_scene *s)
{
    const heed_problem *p = &s->problem;
    size_t rows = (size_t)(p->batch * p->heads_q * p->seq_q);
    s->seen = test_calloc(rows * (size_t)p->seq_k, sizeof *s->seen);
    s->o = test_calloc(rows * (size_t)p->dim_v, sizeof *s->o);
    s->lse = test_calloc(rows, sizeof *s->lse);
    for (size_t n = 0; n < rows * (size_t)p->seq_k; n++) {
        int64_t row = (int64_t)n / p->seq_k, head = row / p->seq_q;
        s->seen[n] = changes_sees(s, head / p->heads_q, head % p->heads_q, row % p->seq_q,
                                  (int64_t)n % p->seq_k);
    }
    spoil_keys(s);
    spoil_bias(s);
    for (int64_t row = 0; row < (int64_t)rows; row++) {
        int64_t head = row / p->seq_q;
        changes_define_row(s, head / p->heads_q, head % p->heads_q, row % p->seq_q);
    }
}

void changes_end(changes_scene *s)
{
    test_free(s->q);
    test_free(s->k);
    if (!s->problem.shared)
        test_free(s->v);
    test_free(s->seen);
    test_free(s->o);
    test_free(s->lse);
}
