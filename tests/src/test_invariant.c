/*
 * test_invariant.c - batch-invariant problems: every batch element and packed sequence has the same
 * bits in any batch
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "contexts.h"
#include "heed.h"
#include "problems.h"

#define ELEMENTS 24 /* pool of elements for batches */
#define QUERIES 12
#define KEYS 704
#define HEADS_Q 4
#define HEADS_KV 2
#define DIM 32
#define PAGE 16
#define PAGES (KEYS / PAGE) /* per element */
#define BATCHES 100         /* of each kind */

#define Q_SIZE (QUERIES * HEADS_Q * DIM)
#define KEY_SIZE (HEADS_KV * DIM)
#define K_SIZE (KEYS * KEY_SIZE)

/* Sizes and words of a kind of problem; a packed one has the tokens that the batch needs. */
static const struct kind {
    int queries;
    enum {
        PADDED,
        PACKED,
        PAGED
    } keys;
    const char *words;
} kinds[] = {
    { 1, PADDED, "" },
    { 1, PADDED, "lengths causal=br" },
    { QUERIES, PADDED, "causal=br softcap=5" },
    { QUERIES, PADDED, "lengths window=90:2 align=br" },
    { 1, PACKED, "" },
    { QUERIES, PACKED, "causal=br" },
    { QUERIES, PACKED, "lengths chunk=50 align=br" },
    { 5, PADDED, "lengths sinks" },
    { 1, PAGED, "lengths" },
    { QUERIES, PAGED, "lengths causal=br" },
};

static float q[ELEMENTS][Q_SIZE], k[ELEMENTS][K_SIZE], v[ELEMENTS][K_SIZE];
static int32_t lengths[ELEMENTS];
static const float sinks[HEADS_Q] = { 0.5F, -1, 2, 0 };

static float batch_q[ELEMENTS * Q_SIZE];
static float batch_k[ELEMENTS * PAGES * PAGE * KEY_SIZE],
    batch_v[ELEMENTS * PAGES * PAGE * KEY_SIZE];
static int32_t table[ELEMENTS * PAGES];
static float o[ELEMENTS * Q_SIZE], own[Q_SIZE];
static uint32_t state_of_draws = 1;

static uint32_t draw(void)
{
    state_of_draws = state_of_draws * 1664525U + 1013904223U;
    return state_of_draws >> 8;
}

static void fill(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)draw() / (float)(1 << 23) - 1;
}

/* Writes @count values of @type, up to @size. */
static void fill_type(void *data, heed_type type, size_t count, float size)
{
    for (size_t i = 0; i < count; i++) {
        float x;
        uint32_t bits;
        fill(&x, 1);
        x *= size;
        memcpy(&bits, &x, sizeof bits);
        if (type == HEED_BF16)
            ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
        else
            ((float *)data)[i] = x;
    }
}

static heed_plan *plan_for(heed_context *context, const struct kind *kind, int batch,
                           const char *more)
{
    char spec[192], sizes[64] = "";
    heed_problem problem;
    heed_plan *plan = NULL;
    if (kind->keys == PACKED)
        snprintf(sizes, sizeof sizes, "varlen=%d/%d", batch * kind->queries, batch * KEYS);
    if (kind->keys == PAGED)
        snprintf(sizes, sizeof sizes, "paged=%d/%d", PAGE, batch * PAGES);
    snprintf(spec, sizeof spec, "b%d h%d/%d s%d/%d d%d f32 %s %s %s", batch, HEADS_Q, HEADS_KV,
             kind->queries, KEYS, DIM, kind->words, sizes, more);
    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        heed_plan_create(&plan, context, &problem, HEED_ESTIMATE) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    return plan;
}

/* Assigns pages to the elements of a batch, in a random order. */
static void draw_table(int batch)
{
    for (int i = 0; i < batch * PAGES; i++) {
        const int j = (int)(draw() % (uint32_t)(i + 1));
        table[i] = table[j];
        table[j] = i;
    }
}

/* Writes the keys and values of an element: densely from key @at on, or to the pages of batch
 * element @b. */
static void place_keys(const struct kind *kind, int member, int b, int at, int keys)
{
    for (int j = 0; j < keys; j++) {
        const int page = kind->keys == PAGED ? table[b * PAGES + j / PAGE] : 0;
        const size_t to = (size_t)(kind->keys == PAGED ? page * PAGE + j % PAGE : at + j) *
                          KEY_SIZE;
        memcpy(batch_k + to, k[member] + (size_t)j * KEY_SIZE, KEY_SIZE * sizeof(float));
        memcpy(batch_v + to, v[member] + (size_t)j * KEY_SIZE, KEY_SIZE * sizeof(float));
    }
}

/* Computes the batch of the elements @members with @plan. Packed sequences have their lengths. */
static void compute(const heed_plan *plan, const struct kind *kind, const int *members, int batch,
                    float *result)
{
    int32_t length[ELEMENTS], cu_q[ELEMENTS + 1] = { 0 }, cu_k[ELEMENTS + 1] = { 0 };
    const size_t rows = (size_t)kind->queries * HEADS_Q * DIM;
    draw_table(batch);
    for (int b = 0; b < batch; b++) {
        const int own_keys = kind->keys == PACKED ? lengths[members[b]] : KEYS;
        length[b] = lengths[members[b]];
        cu_q[b + 1] = cu_q[b] + kind->queries;
        cu_k[b + 1] = cu_k[b] + own_keys;
        memcpy(batch_q + (size_t)b * rows, q[members[b]], rows * sizeof(float));
        place_keys(kind, members[b], b, cu_k[b], own_keys);
    }
    const heed_buffers buffers = { .q = batch_q,
                                   .k = batch_k,
                                   .v = batch_v,
                                   .o = result,
                                   .sinks = sinks,
                                   .lengths = length,
                                   .table = table,
                                   .cu_seqlens_q = cu_q,
                                   .cu_seqlens_k = cu_k };
    host_execute(plan, buffers);
}

/* A batch of random size and elements, and each of them alone. */
static void try_batch(heed_context *context, const struct kind *kind)
{
    int members[ELEMENTS];
    const int batch = 1 + (int)(draw() % ELEMENTS);
    const size_t rows = (size_t)kind->queries * HEADS_Q * DIM;
    heed_plan *together = plan_for(context, kind, batch, "invariant");
    heed_plan *alone = plan_for(context, kind, 1, "invariant");
    assert_string_equal(heed_plan_name(together), heed_plan_name(alone));
    for (int b = 0; b < batch; b++)
        members[b] = (int)(draw() % ELEMENTS);
    compute(together, kind, members, batch, o);
    const int looked_at = (int)(draw() % (uint32_t)batch);
    compute(alone, kind, &members[looked_at], 1, own);
    if (memcmp(own, o + (size_t)looked_at * rows, rows * sizeof *own) != 0)
        fail_msg("%s: element %d of %d has different bits alone", heed_plan_name(alone), looked_at,
                 batch);
    heed_plan_destroy(together);
    heed_plan_destroy(alone);
}

static void test_thousand_batches(void **state)
{
    heed_context *context = host_context(4);
    (void)state;
    fill(q[0], sizeof q / sizeof(float));
    fill(k[0], sizeof k / sizeof(float));
    fill(v[0], sizeof v / sizeof(float));
    for (int i = 0; i < ELEMENTS; i++)
        lengths[i] = i < 3 ? i * (KEYS / 2) : (int32_t)(draw() % (KEYS + 1));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int n = 0; n < BATCHES; n++)
            try_batch(context, &kinds[i]);
    heed_context_destroy(context);
}

/* Without the word, kernels or splits depend on the batch; otherwise the test above would be
 * vacuous. */
static void test_word_matters(void **state)
{
    heed_context *context = host_context(4);
    (void)state;
    heed_plan *one = plan_for(context, &kinds[0], 1, ""),
              *many = plan_for(context, &kinds[0], ELEMENTS, "");
    assert_string_not_equal(heed_plan_name(one), heed_plan_name(many));
    heed_plan_destroy(one);
    heed_plan_destroy(many);
    heed_context_destroy(context);
}

/* Wisdom for one batch applies to all, with other strides too. */
static void test_wisdom_is_shared(void **state)
{
    static const char *const specs[] = { "b9 h2 s3/40 d16 f32 invariant",
                                         "b1 h2 s3/40 d16 f32 invariant layout=sbhd" };
    heed_context *context = host_context(4);
    char names[2][HEED_NAME_SIZE];
    (void)state;
    for (int i = 0; i < 2; i++) {
        heed_problem problem = parsed(specs[i]);
        heed_plan *plan;
        assert_int_equal(
            heed_plan_create(&plan, context, &problem, i == 0 ? HEED_MEASURE : HEED_WISDOM_ONLY),
            HEED_OK);
        snprintf(names[i], sizeof names[i], "%s", heed_plan_name(plan));
        heed_plan_destroy(plan);
    }
    assert_string_equal(names[0], names[1]);
    heed_context_destroy(context);
}

/* ---- Rows beside other rows ---- */

#define ROW_HEADS 100 /* in which a difference of a sum's last bit shows up */
#define ROW_QUERIES 12
#define ROW_KEYS 500
#define ROW_FIRST 53 /* first key of a row, inside a part of its sums */

/* Another call changes this for all queries but one. All heads read the same values. */
static const struct neighbours {
    enum {
        OTHER_MASKS,
        OTHER_STARTS,
        OTHER_QUERIES,
        OTHER_NUMBER
    } what;
    const char *words;
} neighbours[] = {
    { OTHER_MASKS, "shown=bytes:q d32 v=0:32:0" },
    { OTHER_STARTS, "starts=q d32 v=0:32:0" },
    { OTHER_QUERIES, "softcap=1e9 d32 v=0:32:0" },
    { OTHER_NUMBER, "varlen=12/0 window=90:2 align=br d32 v=0:32:0" },
    { OTHER_NUMBER, "varlen=12/0 window=90:2 align=br d32/4 v=0:4:0" },
};

/* Inputs and results of a call; float has room for each type. */
typedef struct row_call {
    float q[ROW_QUERIES * ROW_HEADS * DIM], o[ROW_QUERIES * ROW_HEADS * DIM];
    float lse[ROW_HEADS * ROW_QUERIES];
    uint8_t shown[ROW_QUERIES][ROW_KEYS];
    int32_t starts[ROW_QUERIES], cu_q[2];
    size_t row; /* that is compared */
} row_call;

/* Prepares a call whose query @row is always the same. Neighbours differ if @other. */
static void prepare(row_call *call, const heed_problem *problem, int what, bool other)
{
    const size_t values = (size_t)problem->heads_q * (size_t)problem->dim_qk;
    const bool alone = what == OTHER_NUMBER && !other;
    call->row = alone ? 0 : ROW_QUERIES - 1;
    call->cu_q[0] = 0;
    call->cu_q[1] = alone ? 1 : ROW_QUERIES;
    for (size_t i = 0; i < ROW_QUERIES; i++) {
        const int first = i != call->row && other ? 0 : ROW_FIRST;
        const bool far = first == 0 && what == OTHER_QUERIES;
        char *to = (char *)call->q + i * values * heed_type_size(problem->type);
        state_of_draws = i == call->row ? 1 : 2 + (uint32_t)i;
        fill_type(to, problem->type, values, far ? 1e7F : 1);
        call->starts[i] = first;
        for (int j = 0; j < ROW_KEYS; j++)
            call->shown[i][j] = j >= first;
    }
}

/* Makes both calls with @plan, and compares the bits of the row. */
static void compare_rows(const heed_plan *plan, const struct neighbours *kind)
{
    static float key[ROW_KEYS * DIM], value[ROW_KEYS * DIM];
    static row_call call[2];
    const heed_problem *problem = heed_plan_problem(plan);
    const size_t row = (size_t)(problem->heads_q * problem->dim_v) * heed_type_size(problem->type);
    fill_type(key, problem->type, sizeof key / sizeof *key, 1);
    fill_type(value, problem->type, sizeof value / sizeof *value, 1);
    for (int t = 0; t < 2; t++) {
        prepare(&call[t], problem, kind->what, t == 1);
        const heed_buffers buffers = { .q = call[t].q,
                                       .k = key,
                                       .v = value,
                                       .o = call[t].o,
                                       .lse = call[t].lse,
                                       .shown = call[t].shown,
                                       .starts = call[t].starts,
                                       .cu_seqlens_q = call[t].cu_q };
        host_execute(plan, buffers);
    }
    bool equal = memcmp((char *)call[0].o + call[0].row * row,
                        (char *)call[1].o + call[1].row * row, row) == 0;
    for (size_t h = 0; h < ROW_HEADS; h++)
        equal = equal && memcmp(&call[0].lse[h * ROW_QUERIES + call[0].row],
                                &call[1].lse[h * ROW_QUERIES + call[1].row], sizeof(float)) == 0;
    if (!equal)
        fail_msg("%s, %s: a row has other bits beside other rows", heed_plan_name(plan),
                 kind->words);
}

/* The bits of a row depend neither on the number of other queries nor on their masks, starts and
 * sizes, in any kernel that this CPU can run. */
static void test_rows_beside_others(void **state)
{
    heed_context *context = host_context(4);
    int compared = 0;
    (void)state;
    for (size_t i = 0; i < 2 * sizeof neighbours / sizeof *neighbours; i++)
        for (size_t index = 0; heed_kernel_name(index); index++) {
            const struct neighbours *kind = &neighbours[i / 2];
            char spec[128];
            heed_plan *plan;
            snprintf(spec, sizeof spec, "b1 h%d s%d/%d %s %s k=0:32:0 invariant", ROW_HEADS,
                     ROW_QUERIES, ROW_KEYS, i % 2 == 0 ? "f32" : "bf16", kind->words);
            const heed_problem problem = parsed(spec);
            if (heed_plan_create_named(&plan, context, &problem, heed_kernel_name(index)) !=
                HEED_OK)
                continue;
            compare_rows(plan, kind);
            heed_plan_destroy(plan);
            compared++;
        }
    assert_true(compared > 0);
    heed_context_destroy(context);
}

static void test_refusals(void **state)
{
    heed_problem problem = parsed("b1 h1 s1 d1 f32 invariant");
    (void)state;
    assert_int_equal(problem.invariant, 1);
    problem.invariant = 2;
    assert_int_equal(heed_problem_check(&problem), HEED_ERR_INVALID);
    assert_string_equal(heed_message(),
                        "invariant is 2; it must be 0, or 1 for a batch-invariant problem");
    assert_int_equal(heed_problem_parse(&problem, "b1 h1 s1 d1 f32 invariant invariant"),
                     HEED_ERR_INVALID);
}

RUN_TESTS(test_thousand_batches, test_word_matters, test_wisdom_is_shared, test_rows_beside_others,
          test_refusals)
