/*
 * append.c - appending new keys and values to the KV cache, as the laboratory expects it
 */
#include "lab/verify/append.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/verify/stage/stage.h"

static int64_t length_of(const heed_problem *problem, const heed_buffers *data, int64_t batch)
{
    const lab_view lengths = lab_view_of(problem, LAB_LENGTHS);
    return (int64_t)lab_data_get(lengths.kind, data->lengths, lab_view_at(&lengths, batch, 0, 0));
}

int64_t lab_append_count(const heed_problem *problem, const heed_buffers *data, int64_t batch)
{
    const lab_range queries = lab_queries_of(problem, data, batch);
    return problem->append_packed ? queries.end - queries.begin : problem->append;
}

int64_t lab_append_first(const heed_problem *problem, const heed_buffers *data, int64_t batch)
{
    if (problem->append == 0)
        return INT64_MAX;
    return length_of(problem, data, batch) - lab_append_count(problem, data, batch);
}

int64_t lab_append_at(const heed_problem *problem, const heed_buffers *data, const lab_view *view,
                      int64_t batch, int64_t n, int64_t head)
{
    if (!problem->append_packed)
        return lab_view_at(view, batch, n, head);
    return lab_view_at(view, 0, lab_queries_of(problem, data, batch).begin + n, head);
}

/* Rounds @value to float32, then to the type. */
static double rounded(heed_type type, double value)
{
    return lab_element_round(type, (double)(float)value);
}

void lab_rotate(const heed_problem *problem, const heed_buffers *data, int64_t position,
                double *vector)
{
    const heed_problem *p = problem;
    const int64_t pairs = p->rotary / 2, turned = p->shared ? p->dim_v : 0;
    for (int64_t c = 0; c < pairs; c++) {
        double cosine = lab_data_get(p->rotary_cos.type, data->rotary_cos, position * pairs + c);
        double sine = lab_data_get(p->rotary_sin.type, data->rotary_sin, position * pairs + c);
        double *a = vector + turned + (p->interleaved ? 2 * c : c);
        double *b = p->interleaved ? a + 1 : a + pairs;
        double x = *a, y = *b;
        *a = rounded(p->type, x * cosine - y * sine);
        *b = rounded(p->type, x * sine + y * cosine);
    }
}

void lab_rotate_query(const heed_problem *problem, const heed_buffers *data, lab_row row,
                      double *vector)
{
    if (problem->rotary == 0)
        return;
    const lab_row own = lab_row_within(problem, data, row);
    const lab_range queries = lab_queries_of(problem, data, own.batch);
    const int64_t keys = length_of(problem, data, own.batch);
    const int64_t position = own.query + keys - (queries.end - queries.begin);
    lab_rotate(problem, data, position > 0 ? position : 0, vector);
}

/* The new vectors of K or V, and their places in the cache. */
typedef struct places {
    lab_view cache, added;
    unsigned char *data;       /* the cache's */
    const unsigned char *from; /* the new vectors' */
} places;

static places places_of(const heed_problem *problem, const heed_buffers *data, lab_role role)
{
    const lab_role added = role == LAB_K ? LAB_K_NEW : LAB_V_NEW;
    places p = { .cache = lab_view_of(problem, role),
                 .added = lab_view_of(problem, added),
                 .from = lab_buffers_get(data, added) };
    const void *cache = lab_buffers_get(data, role);
    memcpy(&p.data, &cache, sizeof cache);
    lab_view_bind(&p.cache, problem, data->table);
    return p;
}

/* A new vector: its batch element, head, and number. */
typedef struct place {
    int64_t batch, head, n;
} place;

/* Moves @at, initially BEFORE_ALL, to the next new vector. Returns false if there are no more. */
static bool next_place(const heed_problem *problem, const heed_buffers *data, place *at)
{
    at->n++;
    while (at->batch < problem->batch && at->n >= lab_append_count(problem, data, at->batch)) {
        at->n = 0;
        at->head = (at->head + 1) % problem->heads_kv;
        at->batch += at->head == 0;
    }
    return at->batch < problem->batch;
}

#define BEFORE_ALL ((place){ 0, 0, -1 })

/* The element of the cache where the vector begins. */
static int64_t cache_at(const heed_problem *problem, const heed_buffers *data, const places *p,
                        place at)
{
    int64_t key = lab_append_first(problem, data, at.batch) + at.n;
    return lab_view_at(&p->cache, at.batch, key, at.head);
}

void lab_append_derive(const heed_problem *problem, const heed_buffers *data, lab_role role,
                       void *to)
{
    const places p = places_of(problem, data, role == LAB_K_NEW ? LAB_K : LAB_V);
    const size_t bytes = (size_t)p.added.dim * p.added.element;
    for (place at = BEFORE_ALL; next_place(problem, data, &at);) {
        const int64_t into = lab_append_at(problem, data, &p.added, at.batch, at.n, at.head);
        const int64_t from = cache_at(problem, data, &p, at);
        memcpy((unsigned char *)to + (size_t)into * p.added.element,
               p.data + (size_t)from * p.cache.element, bytes);
    }
}

static bool has(const heed_problem *problem, lab_role role)
{
    return problem->append > 0 && !(role == LAB_V && problem->shared);
}

void lab_append_blank(const heed_problem *problem, const heed_buffers *data)
{
    for (int role = LAB_K; role <= LAB_V; role++) {
        if (!has(problem, (lab_role)role))
            continue;
        const places p = places_of(problem, data, (lab_role)role);
        for (place at = BEFORE_ALL; next_place(problem, data, &at);) {
            int64_t into = cache_at(problem, data, &p, at);
            memset(p.data + (size_t)into * p.cache.element, 0xff,
                   (size_t)p.cache.dim * p.cache.element);
        }
    }
}

/* Writes the new vectors to their places in the cache, rotated if @rotated. */
static void write_new(const heed_problem *problem, const heed_buffers *data, bool rotated)
{
    double vector[HEED_DIM_MAX];
    for (int role = LAB_K; role <= LAB_V; role++) {
        if (!has(problem, (lab_role)role))
            continue;
        const places p = places_of(problem, data, (lab_role)role);
        for (place at = BEFORE_ALL; next_place(problem, data, &at);) {
            const int64_t into = cache_at(problem, data, &p, at);
            lab_elements_load(p.added.type, p.from,
                              lab_append_at(problem, data, &p.added, at.batch, at.n, at.head),
                              p.added.dim, vector);
            if (role == LAB_K && problem->rotary > 0 && rotated)
                lab_rotate(problem, data, lab_append_first(problem, data, at.batch) + at.n, vector);
            for (int64_t c = 0; c < p.cache.dim; c++)
                lab_element_set(p.cache.type, p.data, into + c, vector[c]);
        }
    }
}

void lab_append_complete(const heed_problem *problem, const heed_buffers *data)
{
    write_new(problem, data, true);
}

void lab_append_return(const heed_problem *problem, const heed_buffers *data)
{
    if (lab_append_repeats(problem))
        write_new(problem, data, false);
}

bool lab_append_repeats(const heed_problem *problem)
{
    const heed_strides *const all[] = { &problem->k_new, &problem->v_new };
    bool repeats = false;
    for (int i = 0; i < (problem->shared ? 1 : 2) && problem->append > 0; i++)
        repeats |= all[i]->batch == 0 || all[i]->seq == 0 || all[i]->head == 0;
    return repeats;
}

heed_problem lab_append_rest(const heed_problem *problem)
{
    heed_problem rest = *problem;
    rest.append = rest.append_packed = rest.rotary = rest.interleaved = 0;
    rest.k_new = rest.v_new = (heed_strides){ 0 };
    rest.rotary_cos = rest.rotary_sin = (heed_operand){ 0 };
    return rest;
}

/* ---------------------------------------------------------------------------------------------- */
/* The cache afterwards                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* The same bits, or a NaN on both sides. */
static bool is_same(const lab_block *block, int64_t at, const lab_block *expected)
{
    const size_t start = (size_t)at * block->element;
    if (memcmp(block->region.data + start, expected->region.data + start, block->element) == 0)
        return true;
    return isnan(lab_element_get(block->view.type, block->region.data, at)) &&
           isnan(lab_element_get(block->view.type, expected->region.data, at));
}

static bool block_misses(const lab_block *block, const lab_block *expected, const char *name,
                         char *text, size_t size)
{
    const lab_view *view = &block->view;
    for (int64_t n = 0; n < lab_view_vectors(view); n++) {
        const int64_t first = lab_view_vector(&expected->view, n);
        int64_t c = 0;
        while (c < view->dim && is_same(block, first + c, expected))
            c++;
        if (c == view->dim)
            continue;
        snprintf(text, size, "%s has %g, not %g: batch %lld, head %lld, key %lld, column %lld",
                 name, lab_element_get(view->type, block->region.data, first + c),
                 lab_element_get(view->type, expected->region.data, first + c),
                 (long long)(n / view->seq / view->heads), (long long)(n / view->seq % view->heads),
                 (long long)(n % view->seq), (long long)c);
        return true;
    }
    return false;
}

bool lab_stage_misses(const lab_stage *stage, const lab_values *values, char *text, size_t size)
{
    lab_values expected;
    bool misses = false;
    if (stage->problem.append == 0)
        return false;
    if (lab_values_copy(&expected, values) != HEED_OK) {
        snprintf(text, size, "not judged: not enough memory");
        return true;
    }
    heed_buffers data = lab_values_buffers(&expected);
    lab_append_complete(&expected.problem, &data);
    for (int role = LAB_K; role <= LAB_V && !misses; role++)
        if (stage->block[role].region.map)
            misses = block_misses(&stage->block[role], &expected.block[role], lab_block_name(role),
                                  text, size);
    lab_values_destroy(&expected);
    return misses;
}
