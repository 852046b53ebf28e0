/*
 * test_spec_random.c - problem specs: round trips of random problems
 */
#include "run_tests.h"

#include <math.h>
#include <string.h>

#include "helpers/random_expression.h"
#include "internal.h"
#include "lab/tensor/random.h"
#include "problem/program.h"

/* -------------------------------------------------------------------------- */
/* Random problems                                                            */
/* -------------------------------------------------------------------------- */

#define PROBLEMS 20000

typedef struct source {
    uint64_t seed;
    uint64_t index;
} source;

static int64_t below(source *s, int64_t limit)
{
    return lab_random_below(s->seed, s->index++, limit);
}

/* Mostly small, often 1, sometimes large. */
static int64_t random_size(source *s)
{
    static const int64_t limits[] = { 1, 1, 3, 9, 9, 100, 3000, 20000 };
    return 1 + below(s, limits[below(s, 8)]);
}

/* Strides of a tensor whose dimensions nest in a random order, with random gaps. */
static heed_strides random_strides(source *s, const int64_t sizes[3], int64_t dim)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    const int *order = orders[below(s, 6)];
    bool gaps = below(s, 2);
    int64_t strides[3], extent = dim;
    for (int i = 2; i >= 0; i--) {
        strides[order[i]] = extent + (gaps ? below(s, 5) : 0);
        extent += (sizes[order[i]] - 1) * strides[order[i]];
    }
    return (heed_strides){ strides[0], strides[1], strides[2] };
}

/* Like random_strides(), but sometimes dense, or with repeated or overlapping elements. */
static heed_strides random_input_strides(source *s, const int64_t sizes[3], int64_t dim)
{
    heed_strides strides = random_strides(s, sizes, dim);
    switch (below(s, 6)) {
    case 0:
        return (heed_strides){ 0, 0, 0 };
    case 1:
        strides.batch = 0;
        break;
    case 2:
        strides.seq = below(s, 3);
        break;
    case 3:
        strides.head = 0;
        break;
    default:
        break;
    }
    return strides;
}

static float random_scale(source *s)
{
    if (below(s, 2))
        return 0;
    uint32_t bits = (uint32_t)lab_random_bits(s->seed, s->index++);
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return isfinite(scale) ? scale : 1;
}

static void random_window(source *s, heed_problem *p)
{
    if (p->mask != HEED_MASK_CAUSAL_TOP_LEFT)
        p->align = (heed_align)below(s, 2);
    p->window.sides = (unsigned)below(s, 4);
    if (p->window.sides & HEED_WINDOW_LEFT)
        p->window.left = below(s, 9) ? random_size(s) - 1 : HEED_SIZE_MAX;
    if (p->window.sides & HEED_WINDOW_RIGHT)
        p->window.right = below(s, 9) ? random_size(s) - 1 : 0;
    if (p->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT && below(s, 2))
        p->align = HEED_ALIGN_BOTTOM_RIGHT;
    p->chunk = below(s, 2) ? random_size(s) : 0;
}

/* Dense, of any type and with any dimensions that it may have. */
static heed_operand random_operand(source *s, heed_data type, unsigned needs, unsigned may)
{
    return (heed_operand){ .type = type, .along = needs | ((unsigned)below(s, 16) & may) };
}

/* Random expressions may have more steps than are allowed. */
static void drop_long(const heed_problem *p, char *text, heed_kind kind)
{
    char why[128];
    size_t at;
    if (!heed_expression_check(p, text, kind, why, sizeof why, &at))
        memset(text, 0, HEED_EXPRESSION_SIZE);
}

static void random_operands(source *s, heed_problem *p)
{
    const unsigned rest = HEED_ALONG_BATCH | HEED_ALONG_HEAD | HEED_ALONG_QUERY;
    if (below(s, 2))
        p->softcap = 0.1F + (float)below(s, 1000) / 7;
    if (below(s, 2))
        p->bias = random_operand(s, (heed_data)(HEED_DATA_F32 + below(s, 3)), HEED_ALONG_KEY, rest);
    if (below(s, 3) == 0)
        p->slopes = random_operand(s, HEED_DATA_F32, HEED_ALONG_HEAD, HEED_ALONG_BATCH);
    if (below(s, 3) == 0)
        p->sinks = random_operand(s, HEED_DATA_F32, HEED_ALONG_HEAD, HEED_ALONG_BATCH);
    if (below(s, 3) == 0)
        p->starts = random_operand(s, HEED_DATA_I32, HEED_ALONG_QUERY, HEED_ALONG_BATCH);
    if (below(s, 3) == 0)
        p->shown = random_operand(s, below(s, 2) ? HEED_DATA_BYTES : HEED_DATA_BITS, HEED_ALONG_KEY,
                                  rest);
    if (below(s, 2))
        return;
    p->arrays[0] = (heed_array){ .name = "a", .type = HEED_DATA_F32, .rank = 1, .size = { 5 } };
    p->arrays[1] = (heed_array){ .name = "b", .type = HEED_DATA_I32, .rank = 2, .size = { 2, 3 } };
    p->arrays[2] = (heed_array){ .name = "c", .type = HEED_DATA_BYTES, .rank = 1, .size = { 7 } };
    if (below(s, 2))
        random_expression(s->seed, false, p->score);
    if (below(s, 2))
        random_expression(s->seed, true, p->visible);
    drop_long(p, p->score, HEED_KIND_FLOAT);
    drop_long(p, p->visible, HEED_KIND_BOOL);
}

/* Packed queries and new keys. */
static void random_packed(source *s, heed_problem *p)
{
    p->append = p->seq_q;
    p->append_packed = 1;
    p->tokens_q = 1 + below(s, p->batch * p->seq_q);
    p->cu_seqlens_q = (heed_operand){ .type = below(s, 2) ? HEED_DATA_I64 : HEED_DATA_I32,
                                      .along = HEED_ALONG_SEQUENCE };
    p->q = p->o = (heed_strides){ 0, 0, 0 };
}

/* Appended keys, if K and V have no two elements at one address. */
static void random_append(source *s, heed_problem *p)
{
    const int64_t keys[3] = { p->batch, p->seq_k, p->heads_kv };
    p->lengths = random_operand(s, HEED_DATA_I32, HEED_ALONG_BATCH, 0);
    p->append = 1 + below(s, p->seq_k);
    if (p->seq_q <= p->seq_k && below(s, 2))
        random_packed(s, p);
    const int64_t added[3] = { p->append_packed ? 1 : p->batch,
                               p->append_packed ? p->tokens_q : p->append, p->heads_kv };
    p->k = below(s, 2) ? random_strides(s, keys, p->dim_qk) : (heed_strides){ 0, 0, 0 };
    p->v = below(s, 2) && !p->shared ? random_strides(s, keys, p->dim_v)
                                     : (heed_strides){ 0, 0, 0 };
    p->k_new = random_input_strides(s, added, p->dim_qk);
    if (!p->shared)
        p->v_new = random_input_strides(s, added, p->dim_v);
    const int64_t turned = p->dim_qk - (p->shared ? p->dim_v : 0);
    if (turned < 2 || below(s, 2))
        return;
    p->rotary = 2 * (1 + below(s, turned / 2));
    p->interleaved = below(s, 2);
    p->rotary_cos.type = p->rotary_sin.type = (heed_data)(HEED_DATA_F32 + below(s, 3));
    p->rotary_cos.along = p->rotary_sin.along = HEED_ALONG_POSITION;
}

/* A shared key prefix, if the problem may have one. */
static void random_prefix(source *s, heed_problem *p)
{
    heed_problem with = *p;
    with.prefix = 1 + below(s, p->seq_k);
    if (heed_problem_check(&with) == HEED_OK)
        *p = with;
}

static heed_problem random_problem(source *s)
{
    heed_problem p = { .size = sizeof p,
                       .type = (heed_type)below(s, 3),
                       .mask = (heed_mask)below(s, 3) };
    p.batch = random_size(s);
    p.heads_kv = 1 + below(s, 9);
    p.heads_q = p.heads_kv * (below(s, 2) ? 1 : 1 + below(s, 9));
    p.seq_q = random_size(s);
    p.seq_k = below(s, 2) ? p.seq_q : random_size(s);
    p.dim_qk = 1 + below(s, HEED_DIM_MAX);
    p.dim_v = below(s, 2) ? p.dim_qk : 1 + below(s, HEED_DIM_MAX);
    p.shared = p.dim_v <= p.dim_qk && p.batch % 2 == 0;
    p.scale = random_scale(s);
    if (below(s, 2))
        random_window(s, &p);
    if (below(s, 2))
        random_operands(s, &p);
    p.products = p.type == HEED_F32 ? below(s, HEED_PRODUCTS_COUNT) : HEED_PRODUCTS_FULL;
    p.accumulate = p.type == HEED_F16 && below(s, 2) ? HEED_ACC_F16 : HEED_ACC_F32;
    if (below(s, 3)) {
        const int64_t queries[3] = { p.batch, p.seq_q, p.heads_q };
        const int64_t keys[3] = { p.batch, p.seq_k, p.heads_kv };
        p.q = random_input_strides(s, queries, p.dim_qk);
        p.k = random_input_strides(s, keys, p.dim_qk);
        p.v = random_input_strides(s, keys, p.dim_v);
        if (p.shared)
            p.v = p.batch % 4 == 0 ? p.k : (heed_strides){ 0, 0, 0 };
        p.o = below(s, 3) ? random_strides(s, queries, p.dim_v) : (heed_strides){ 0, 0, 0 };
    }
    if (below(s, 4) == 0)
        random_append(s, &p);
    if (below(s, 4) == 0)
        random_prefix(s, &p);
    return p;
}

/* -------------------------------------------------------------------------- */
/* Round trips                                                                */
/* -------------------------------------------------------------------------- */

static void test_specs_read_back(void **state)
{
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        source s = { seed, 0 };
        heed_problem problem = random_problem(&s), normal, again, back;
        char text[HEED_SPEC_SIZE], other[HEED_SPEC_SIZE];
        if (heed_problem_normalize(&normal, &problem) != HEED_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, heed_message());
        size_t length = heed_problem_print(&problem, text, sizeof text);
        if (length >= sizeof text || length != strlen(text))
            fail_msg("seed %llu: length %zu", (unsigned long long)seed, length);
        if (heed_problem_parse(&back, text) != HEED_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, heed_message());
        if (!heed_problem_equal(&back, &normal))
            fail_msg("seed %llu: %s reads back differently", (unsigned long long)seed, text);
        heed_problem_print(&normal, other, sizeof other);
        if (strcmp(text, other) != 0)
            fail_msg("seed %llu: %s and %s", (unsigned long long)seed, text, other);
        if (heed_problem_normalize(&again, &normal) != HEED_OK ||
            !heed_problem_equal(&again, &normal))
            fail_msg("seed %llu: %s: normalized twice", (unsigned long long)seed, text);
    }
}

/* An equivalent problem in another form. */
static heed_problem disguise(source *s, heed_problem p)
{
    if (p.batch == 1)
        p.q.batch = below(s, 1 << 30);
    if (p.seq_q == 1 && p.tokens_q == 0)
        p.o.seq = below(s, 1 << 30);
    if (p.heads_kv == 1)
        p.k.head = p.v.head = below(s, 1 << 30);
    if (p.seq_q == p.seq_k && p.mask != HEED_MASK_NONE && p.lengths.type == HEED_DATA_NONE)
        p.mask = HEED_MASK_CAUSAL_TOP_LEFT + HEED_MASK_CAUSAL_BOTTOM_RIGHT - p.mask;
    if (p.scale == (float)(1 / sqrt((double)p.dim_qk)))
        p.scale = 0;
    return p;
}

static void test_equal_problems_print_the_same(void **state)
{
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        source s = { seed, 0 };
        heed_problem problem = random_problem(&s), normal, other;
        if (heed_problem_normalize(&normal, &problem) != HEED_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, heed_message());
        other = disguise(&s, normal);
        char text[HEED_SPEC_SIZE], other_text[HEED_SPEC_SIZE];
        heed_problem_print(&problem, text, sizeof text);
        heed_problem_print(&other, other_text, sizeof other_text);
        if (strcmp(text, other_text) != 0)
            fail_msg("seed %llu: %s and %s", (unsigned long long)seed, text, other_text);
    }
}

RUN_TESTS(test_specs_read_back, test_equal_problems_print_the_same)
