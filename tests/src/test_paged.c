/*
 * test_paged.c - paged keys give the same results as contiguous ones: pages of 1 to 1024 keys in
 * any order, lengths at page boundaries, on every kernel that supports them
 *
 * Everything outside the sequences is NaN: other pages, and keys past a length. Table entries past
 * a length are not numbers of pages.
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"
#include "problems.h"

#define BATCH 6
#define QUERIES 3
#define HEADS_Q 4
#define HEADS_KV 2
#define DIM 8
#define KEY (HEADS_KV * DIM) /* elements per key, all heads */
#define LEAST_KEYS 70        /* per sequence */
#define MOST_KEYS 2048
#define SPARE 5 /* pages that belong to no sequence */

static const int page_sizes[] = { 1,  2,   3,   5,   7,   8,   16,  31,   64,
                                  65, 100, 128, 255, 256, 257, 999, 1023, 1024 };
#define SIZES (sizeof page_sizes / sizeof *page_sizes)

static const char *const words[] = { "", "causal=br", "window=5:1 align=br", "causal=br alibi" };
#define WORDS (sizeof words / sizeof *words)

/* Order of pages in their pool. */
typedef enum order {
    IN_ORDER,
    REVERSED,
    SHUFFLED,
    ORDERS
} order;

/* The keys, contiguous and in pages. */
typedef struct memory {
    int page, columns, keys, pages;
    int32_t lengths[BATCH];
    int32_t *table;
    float *k, *v, *pool_k, *pool_v;
} memory;

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static float *make(size_t count, uint32_t seed)
{
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)draw(&seed) / (float)(1 << 23) - 1;
    return data;
}

static float *make_nan(size_t count)
{
    float *data = make(count, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = NAN;
    return data;
}

/* Lengths: none, one, a page, one more than a page, one less than two pages, all keys; or all
 * equal. */
static void set_lengths(memory *m, bool equal)
{
    const int two = 2 * m->page - 1;
    const int lengths[BATCH] = { 0, 1, m->page, m->page + 1, two > 0 ? two : 1, m->keys };
    for (int b = 0; b < BATCH; b++)
        m->lengths[b] = equal ? m->page + 1 : lengths[(b + m->page) % BATCH];
}

/* The page numbers of all sequences, one sequence after another. */
static void set_table(memory *m, order way)
{
    const int needed = BATCH * m->columns;
    uint32_t seed = (uint32_t)(m->page * ORDERS + (int)way);
    int32_t *numbers = malloc((size_t)m->pages * sizeof *numbers);
    assert_non_null(numbers);
    for (int n = 0; n < m->pages; n++)
        numbers[n] = way == REVERSED ? m->pages - 1 - n : n;
    for (int n = m->pages - 1; way == SHUFFLED && n > 0; n--) {
        const int other = (int)(draw(&seed) % (uint32_t)(n + 1));
        const int32_t number = numbers[n];
        numbers[n] = numbers[other];
        numbers[other] = number;
    }
    memcpy(m->table, numbers, (size_t)needed * sizeof *numbers);
    free(numbers);
}

/* Places key @j of sequence @b in its page, in which heads come first if @heads_first. */
static void place_key(const memory *m, int b, int j, bool heads_first)
{
    const size_t from = ((size_t)b * (size_t)m->keys + (size_t)j) * KEY;
    const size_t page = (size_t)m->table[b * m->columns + j / m->page] * (size_t)m->page * KEY;
    for (int h = 0; h < HEADS_KV; h++) {
        const int at = heads_first ? (h * m->page + j % m->page) * DIM
                                   : (j % m->page * HEADS_KV + h) * DIM;
        memcpy(m->pool_k + page + at, m->k + from + h * DIM, DIM * sizeof(float));
        memcpy(m->pool_v + page + at, m->v + from + h * DIM, DIM * sizeof(float));
    }
}

static void fill_pool(memory *m, bool heads_first)
{
    for (size_t i = 0; i < (size_t)m->pages * (size_t)m->page * KEY; i++)
        m->pool_k[i] = m->pool_v[i] = NAN;
    for (int b = 0; b < BATCH; b++) {
        for (int j = 0; j < m->lengths[b]; j++)
            place_key(m, b, j, heads_first);
        for (int n = 0; n < m->columns; n++)
            if (n * m->page >= m->lengths[b])
                m->table[b * m->columns + n] = n % 2 ? -1 : INT32_MAX;
    }
}

static memory open_memory(int page)
{
    const int columns = LEAST_KEYS / page + 2;
    memory m = { .page = page, .columns = columns, .keys = columns * page };
    m.pages = BATCH * columns + SPARE;
    assert_true(m.keys <= MOST_KEYS + page);
    m.table = malloc((size_t)(BATCH * columns) * sizeof *m.table);
    assert_non_null(m.table);
    m.k = make((size_t)BATCH * (size_t)m.keys * KEY, 1);
    m.v = make((size_t)BATCH * (size_t)m.keys * KEY, 2);
    m.pool_k = make_nan((size_t)m.pages * (size_t)page * KEY);
    m.pool_v = make_nan((size_t)m.pages * (size_t)page * KEY);
    return m;
}

static void close_memory(memory *m)
{
    free(m->table);
    free(m->k);
    free(m->v);
    free(m->pool_k);
    free(m->pool_v);
}

/* The outputs of one run. */
typedef struct result {
    float o[BATCH * QUERIES * HEADS_Q * DIM], lse[BATCH * HEADS_Q * QUERIES];
} result;

static float q[BATCH * QUERIES * HEADS_Q * DIM];
static const float slopes[BATCH * HEADS_Q] = { 0.5F, 0.25F, 0.1F };

/* Returns false if the kernel does not support the spec. */
static bool run(heed_context *context, const char *kernel, const char *spec, heed_buffers buffers,
                result *found)
{
    const heed_problem problem = parsed(spec);
    buffers.q = q;
    buffers.o = found->o;
    buffers.lse = found->lse;
    buffers.slopes = slopes;
    return host_compute(context, &problem, kernel, buffers);
}

static bool is_near(const float *x, const float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(x[i] - y[i]) <= 2e-5F) && x[i] != y[i])
            return false;
    return true;
}

/* Tries both layouts. Returns false if the kernel does not support pages. */
static bool try_kernel(heed_context *context, const char *kernel, const char *more, const memory *m,
                       bool heads_first)
{
    static result paged, dense;
    char spec[160];
    snprintf(spec, sizeof spec, "b%d h%d/%d s%d/%d d%d f32 lengths paged=%d/%d %s", BATCH, HEADS_Q,
             HEADS_KV, QUERIES, m->keys, DIM, m->page, m->pages, more);
    if (heads_first) {
        const int head = m->page * DIM;
        const size_t length = strlen(spec);
        snprintf(spec + length, sizeof spec - length, " k=%d:%d:%d v=%d:%d:%d", HEADS_KV * head,
                 DIM, head, HEADS_KV * head, DIM, head);
    }
    heed_buffers buffers = {
        .lengths = m->lengths, .k = m->pool_k, .v = m->pool_v, .table = m->table
    };
    if (!run(context, kernel, spec, buffers, &paged))
        return false;
    char plain[160];
    snprintf(plain, sizeof plain, "b%d h%d/%d s%d/%d d%d f32 lengths %s", BATCH, HEADS_Q, HEADS_KV,
             QUERIES, m->keys, DIM, more);
    buffers = (heed_buffers){ .lengths = m->lengths, .k = m->k, .v = m->v };
    assert_true(run(context, kernel, plain, buffers, &dense));
    if (!is_near(paged.o, dense.o, sizeof paged.o / sizeof *paged.o) ||
        !is_near(paged.lse, dense.lse, sizeof paged.lse / sizeof *paged.lse))
        fail_msg("%s, %s: differs from the result without pages", kernel, spec);
    return true;
}

static void test_like_contiguous_keys(void **state)
{
    heed_context *context;
    size_t tried = 0, expected = 0;
    float *queries = make(sizeof q / sizeof *q, 3);
    (void)state;
    memcpy(q, queries, sizeof q);
    free(queries);
    context = host_context(2);
    for (size_t i = 0; i < SIZES; i++) {
        memory m = open_memory(page_sizes[i]);
        for (int round = 0; round < 2 * ORDERS; round++, expected++) {
            const bool heads_first = (round + (int)i) % 2 == 1;
            set_lengths(&m, round >= ORDERS);
            set_table(&m, (order)(round % ORDERS));
            fill_pool(&m, heads_first);
            for (size_t n = 0; heed_kernel_name(n); n++)
                tried += try_kernel(context, heed_kernel_name(n),
                                    words[((size_t)round + i + n) % WORDS], &m, heads_first);
        }
        close_memory(&m);
    }
    assert_true(tried >= expected);
    heed_context_destroy(context);
}

RUN_TESTS(test_like_contiguous_keys)
