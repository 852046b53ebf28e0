/*
 * appended.c - caches before and after appending keys and values, by an independent definition
 */
#include "appended.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "problem/operand.h"
#include "problems.h"

static void make(lab_region *region, int64_t elements, size_t element)
{
    size_t size = (size_t)elements * element;
    assert_int_equal(lab_region_create(region, size, element, LAB_EDGE_END), HEED_OK);
    memset(region->data, 0xff, size);
}

static int64_t length_of(const appended *a, int64_t batch)
{
    return ((const int32_t *)(const void *)a->lengths.data)[batch];
}

/* Index of key @j of head @head of batch element @batch in K or V. */
static int64_t cache_at(const appended *a, int role, int64_t batch, int64_t j, int64_t head)
{
    const heed_tensor t = heed_problem_tensor(&a->problem, role);
    const int64_t page = a->problem.page;
    if (page > 0) {
        const int32_t *table = (const int32_t *)(const void *)a->table.data;
        batch = table[batch * a->problem.table.strides.batch + j / page];
        j = j % page;
    }
    return batch * t.strides.batch + j * t.strides.seq + head * t.strides.head;
}

static int64_t plain_at(const appended *a, int role, int64_t batch, int64_t i, int64_t head)
{
    const heed_tensor t = heed_problem_tensor(&a->problem, role);
    return batch * t.strides.batch + i * t.strides.seq + head * t.strides.head;
}

static void fill(const appended *a, void *data, int64_t at, int64_t dim, uint64_t seed)
{
    for (int64_t c = 0; c < dim; c++)
        lab_element_set(a->problem.type, data, at + c, lab_random_normal(seed, (uint64_t)(at + c)));
}

static void fill_plain(appended *a, int role)
{
    const heed_tensor t = heed_problem_tensor(&a->problem, role);
    for (int64_t b = 0; b < t.batch; b++)
        for (int64_t i = 0; i < t.seq; i++)
            for (int64_t h = 0; h < t.heads; h++)
                fill(a, a->tensors[role].data, plain_at(a, role, b, i, h), t.dim,
                     (uint64_t)role + 1);
}

/* The first row of packed sequence @batch in Q. */
static int64_t first_query(const appended *a, int64_t batch)
{
    return (int64_t)lab_data_get(a->problem.cu_seqlens_q.type, a->cu_q.data, batch);
}

static int64_t count_queries(const appended *a, int64_t batch)
{
    return a->problem.tokens_q > 0 ? first_query(a, batch + 1) - first_query(a, batch)
                                   : a->problem.seq_q;
}

static int64_t count_new(const appended *a, int64_t batch)
{
    return a->problem.append_packed ? count_queries(a, batch) : a->problem.append;
}

/* Fills in the existing keys. */
static void fill_cache(appended *a, int role)
{
    const heed_tensor t = heed_problem_tensor(&a->problem, role);
    for (int64_t b = 0; b < a->problem.batch; b++)
        for (int64_t j = 0; j < length_of(a, b) - count_new(a, b); j++)
            for (int64_t h = 0; h < t.heads; h++)
                fill(a, a->tensors[role].data, cache_at(a, role, b, j, h), t.dim,
                     (uint64_t)role + 1);
}

static void fill_lengths(appended *a)
{
    const heed_problem *p = &a->problem;
    int32_t *lengths = (int32_t *)(void *)a->lengths.data;
    for (int64_t b = 0; b < p->batch; b++) {
        const int64_t least = count_new(a, b), more = p->seq_k - least;
        const int64_t some[] = { p->seq_k, least, least + more / 2, least + (more + 2) / 3 };
        lengths[b] = (int32_t)some[b % 4];
    }
}

/* Sequences of 0, seq_q, 1 and seq_q - 1 queries in turns. Remaining rows belong to no sequence. */
static void fill_cumulative(appended *a)
{
    const heed_problem *p = &a->problem;
    const int64_t some[] = { 0, p->seq_q, 1, p->seq_q - 1 };
    for (int64_t b = 0, at = 0; b <= p->batch; b++) {
        lab_data_set(p->cu_seqlens_q.type, a->cu_q.data, b, (double)at);
        at += some[b % 4];
        at = at < p->tokens_q ? at : p->tokens_q;
    }
}

/* Assigns pages from the last one down, alternating between batch elements. */
static void fill_table(appended *a)
{
    const heed_problem *p = &a->problem;
    int32_t *table = (int32_t *)(void *)a->table.data;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t n = 0; n < p->seq_k / p->page; n++)
            table[b * p->table.strides.batch + n] = (int32_t)(p->pages - 1 - n * p->batch - b);
}

/* As in models, but with base 100. */
static void fill_turns(appended *a)
{
    const heed_problem *p = &a->problem;
    for (int64_t j = 0; j < p->seq_k; j++)
        for (int64_t c = 0; c < p->rotary / 2; c++) {
            double angle = (double)j * pow(100, -2.0 * (double)c / (double)p->rotary);
            lab_data_set(p->rotary_cos.type, a->cos.data, j * (p->rotary / 2) + c, cos(angle));
            lab_data_set(p->rotary_sin.type, a->sin.data, j * (p->rotary / 2) + c, sin(angle));
        }
}

/* Rotates the vector of @dim elements at @at of @data to @position: two columns of each pair are a
 * complex number, which is multiplied by that of the angle. */
static void turn(const appended *a, void *data, int64_t at, int64_t position)
{
    const heed_problem *p = &a->problem;
    for (int64_t c = 0; c < p->rotary / 2; c++) {
        int64_t first = at + (p->shared ? p->dim_v : 0) + (p->interleaved ? 2 * c : c);
        int64_t second = p->interleaved ? first + 1 : first + p->rotary / 2;
        double re = lab_data_get(p->rotary_cos.type, a->cos.data, position * (p->rotary / 2) + c);
        double im = lab_data_get(p->rotary_sin.type, a->sin.data, position * (p->rotary / 2) + c);
        double x = lab_element_get(p->type, data, first);
        double y = lab_element_get(p->type, data, second);
        lab_element_set(p->type, data, first, (double)(float)(x * re - y * im));
        lab_element_set(p->type, data, second, (double)(float)(x * im + y * re));
    }
}

static void finish_cache(appended *a, int role)
{
    const heed_problem *p = &a->problem;
    const int from = role == HEED_ROLE_K ? HEED_ROLE_K_NEW : HEED_ROLE_V_NEW;
    const heed_tensor t = heed_problem_tensor(p, role);
    const size_t element = heed_type_size(p->type);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t n = 0; n < count_new(a, b); n++)
            for (int64_t h = 0; h < t.heads; h++) {
                const int64_t j = length_of(a, b) - count_new(a, b) + n;
                const int64_t to = cache_at(a, role, b, j, h);
                const int64_t at = p->append_packed ? plain_at(a, from, 0, first_query(a, b) + n, h)
                                                    : plain_at(a, from, b, n, h);
                memcpy((char *)a->after[role] + (size_t)to * element,
                       a->tensors[from].data + (size_t)at * element, (size_t)t.dim * element);
                if (role == HEED_ROLE_K)
                    turn(a, a->after[role], to, j);
            }
}

static void finish_queries(appended *a)
{
    const heed_problem *p = &a->problem;
    for (int64_t b = 0; b < p->batch && p->rotary > 0; b++)
        for (int64_t i = 0; i < count_queries(a, b); i++)
            for (int64_t h = 0; h < p->heads_q; h++) {
                const int64_t position = i + length_of(a, b) - count_queries(a, b);
                const int64_t at = p->tokens_q > 0
                                       ? plain_at(a, HEED_ROLE_Q, 0, first_query(a, b) + i, h)
                                       : plain_at(a, HEED_ROLE_Q, b, i, h);
                turn(a, a->after[HEED_ROLE_Q], at, position > 0 ? position : 0);
            }
}

/* Returns whether V is only a part of K. */
static bool is_part(const appended *a, int role)
{
    return role == HEED_ROLE_V && a->problem.shared;
}

static void make_all(appended *a)
{
    const heed_problem *p = &a->problem;
    for (int role = 0; role < HEED_ALL_TENSORS; role++) {
        const heed_tensor t = heed_problem_tensor(p, role);
        if (heed_problem_has(p, role) && !is_part(a, role))
            make(&a->tensors[role], heed_tensor_extent(&t), heed_type_size(p->type));
    }
    make(&a->lengths, p->batch, sizeof(int32_t));
    if (p->tokens_q > 0)
        make(&a->cu_q, p->batch + 1, heed_data_size(p->cu_seqlens_q.type));
    if (p->page > 0)
        make(&a->table, heed_operand_extent(p, &p->table), sizeof(int32_t));
    if (p->rotary > 0) {
        make(&a->cos, p->seq_k * (p->rotary / 2), heed_data_size(p->rotary_cos.type));
        make(&a->sin, p->seq_k * (p->rotary / 2), heed_data_size(p->rotary_sin.type));
    }
}

void appended_create(appended *a, const char *spec)
{
    *a = (appended){ .problem = parsed(spec) };
    a->rest = a->problem;
    a->rest.append = a->rest.append_packed = a->rest.rotary = a->rest.interleaved = 0;
    a->rest.k_new = a->rest.v_new = (heed_strides){ 0 };
    a->rest.rotary_cos = a->rest.rotary_sin = (heed_operand){ 0 };
    make_all(a);
    if (a->problem.tokens_q > 0)
        fill_cumulative(a);
    fill_lengths(a);
    if (a->problem.page > 0)
        fill_table(a);
    if (a->problem.rotary > 0)
        fill_turns(a);
    fill_plain(a, HEED_ROLE_Q);
    for (int role = HEED_ROLE_K; role <= HEED_ROLE_V; role++) {
        if (is_part(a, role))
            continue;
        fill_cache(a, role);
        fill_plain(a, role == HEED_ROLE_K ? HEED_ROLE_K_NEW : HEED_ROLE_V_NEW);
    }
    for (int role = HEED_ROLE_Q; role <= HEED_ROLE_V; role++)
        if (!is_part(a, role)) {
            a->after[role] = malloc(a->tensors[role].size);
            memcpy(a->after[role], a->tensors[role].data, a->tensors[role].size);
        }
    finish_queries(a);
    for (int role = HEED_ROLE_K; role <= HEED_ROLE_V; role++)
        if (!is_part(a, role))
            finish_cache(a, role);
}

void appended_destroy(appended *a)
{
    for (int role = 0; role < HEED_ALL_TENSORS; role++)
        lab_region_destroy(&a->tensors[role]);
    lab_region *const others[] = { &a->lengths, &a->table, &a->cos, &a->sin, &a->cu_q };
    for (int i = 0; i < 5; i++)
        lab_region_destroy(others[i]);
    for (int role = 0; role < HEED_TENSORS; role++)
        free(a->after[role]);
}

heed_buffers appended_buffers(const appended *a)
{
    heed_buffers buffers = { .size = sizeof buffers,
                             .lengths = a->lengths.data,
                             .table = a->table.data,
                             .rotary_cos = a->cos.data,
                             .rotary_sin = a->sin.data,
                             .cu_seqlens_q = a->cu_q.data };
    for (int role = 0; role < HEED_ALL_TENSORS; role++)
        heed_buffer_set(&buffers, (heed_role)role, a->tensors[role].data);
    return buffers;
}

heed_buffers appended_rest_buffers(const appended *a)
{
    heed_buffers buffers = { .size = sizeof buffers,
                             .q = a->after[HEED_ROLE_Q],
                             .k = a->after[HEED_ROLE_K],
                             .v = a->after[HEED_ROLE_V],
                             .lengths = a->lengths.data,
                             .table = a->table.data,
                             .cu_seqlens_q = a->cu_q.data };
    return buffers;
}

int64_t appended_rows(const appended *a)
{
    return first_query(a, a->problem.batch);
}

bool appended_is_done(const appended *a)
{
    bool done = true;
    for (int role = HEED_ROLE_K; role <= HEED_ROLE_V; role++)
        if (!is_part(a, role))
            done = done &&
                   memcmp(a->tensors[role].data, a->after[role], a->tensors[role].size) == 0;
    return done;
}

void appended_reset(appended *a)
{
    for (int role = HEED_ROLE_K; role <= HEED_ROLE_V; role++) {
        if (is_part(a, role))
            continue;
        memset(a->tensors[role].data, 0xff, a->tensors[role].size);
        fill_cache(a, role);
    }
}
