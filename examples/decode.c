/*
 * decode.c - the attention of a server's decoding steps, with one plan for all lengths
 *
 * Six sequences of different lengths share a pool of pages, each of which has room for 16 keys and
 * values of one of them. In each step every sequence gets a key and a value, on a page of its own
 * that is taken from the pool when the last one is full, and one query that attends to all keys it
 * has by then. The plan is for as many keys as a page table has room for; heed_execute() reads the
 * lengths and the table of the step, and does work for those keys alone. Nothing is planned or
 * allocated between steps.
 *
 * The results are compared with the definition: sums in double precision.
 *
 *     cc decode.c -o decode $(pkg-config --cflags --libs heed) -lm
 *     ./decode
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"

enum {
    STEPS = 100,
    BATCH = 6,
    CAPACITY = 512, /* keys that a sequence may have */
    PAGE = 16,
    PAGES = 96, /* fewer than all sequences might need */
    HEADS_Q = 8,
    HEADS_KV = 2,
    DIM = 64
};
#define SPEC "b6 h8/2 s1/512 d64 f32 causal=br lengths paged=16/96"

static const int32_t first_lengths[BATCH] = { 0, 1, 17, 130, 256, 412 };

static float q[BATCH][HEADS_Q][DIM], o[BATCH][HEADS_Q][DIM];
static float k[PAGES][PAGE][HEADS_KV][DIM], v[PAGES][PAGE][HEADS_KV][DIM];
static int32_t lengths[BATCH], table[BATCH][CAPACITY / PAGE];
static int used_pages;

static int fail(const char *what)
{
    fprintf(stderr, "decode: %s: %s\n", what, heed_message());
    return 1;
}

/* Numbers between -1 and 1 in the place of those that a model would make. */
static void fill(float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
}

/* Where the vectors of key @j of a sequence are, of all heads. */
static float *key(int b, int j)
{
    return &k[table[b][j / PAGE]][j % PAGE][0][0];
}

static float *value(int b, int j)
{
    return &v[table[b][j / PAGE]][j % PAGE][0][0];
}

/* Adds a key and a value to a sequence. */
static void append(int b)
{
    const int j = lengths[b]++;
    if (j % PAGE == 0)
        table[b][j / PAGE] = used_pages++;
    fill(key(b, j), HEADS_KV * DIM);
    fill(value(b, j), HEADS_KV * DIM);
}

/* How far one head's output is from the definition, at most. */
static double error_of(int b, int head)
{
    const int kv = head / (HEADS_Q / HEADS_KV);
    double weights[CAPACITY], sum = 0, most = 0;
    for (int j = 0; j < lengths[b]; j++) {
        double dot = 0;
        for (int c = 0; c < DIM; c++)
            dot += (double)q[b][head][c] * (double)key(b, j)[kv * DIM + c];
        weights[j] = exp(dot / sqrt(DIM));
        sum += weights[j];
    }
    for (int c = 0; c < DIM; c++) {
        double expected = 0;
        for (int j = 0; j < lengths[b]; j++)
            expected += weights[j] / sum * (double)value(b, j)[kv * DIM + c];
        most = fmax(most, fabs(expected - (double)o[b][head][c]));
    }
    return most;
}

static int decode(const heed_plan *plan, heed_buffers *buffers)
{
    double most = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < BATCH; b++)
            append(b);
        fill(&q[0][0][0], sizeof q / sizeof(float));
        if (heed_execute(plan, buffers) != HEED_OK)
            return fail("execute");
        for (int n = 0; n < BATCH * HEADS_Q; n++)
            most = fmax(most, error_of(n / HEADS_Q, n % HEADS_Q));
    }
    printf("%d steps of %d sequences by %s: %s\n", STEPS, BATCH, heed_plan_name(plan),
           most < 1e-5 ? "right" : "wrong");
    return most < 1e-5 ? 0 : 1;
}

int main(void)
{
    const heed_options options = { .size = sizeof options, .device = "cpu" };
    heed_problem problem;
    heed_context *context = NULL;
    heed_plan *plan = NULL;
    int result = 1;

    memset(k, 0xff, sizeof k); /* NaN, which nothing may look at */
    memset(v, 0xff, sizeof v);
    for (int b = 0; b < BATCH; b++)
        while (lengths[b] < first_lengths[b])
            append(b);
    if (heed_problem_parse(&problem, SPEC) != HEED_OK)
        return fail("problem");
    if (heed_context_create(&context, &options) != HEED_OK)
        return fail("context");
    if (heed_plan_create(&plan, context, &problem, HEED_ESTIMATE) == HEED_OK) {
        size_t size = heed_plan_workspace_size(plan);
        void *workspace = aligned_alloc(HEED_ALIGNMENT,
                                        (size / HEED_ALIGNMENT + 1) * HEED_ALIGNMENT);
        heed_buffers buffers = { .size = sizeof buffers,
                                 .q = q,
                                 .k = k,
                                 .v = v,
                                 .o = o,
                                 .lengths = lengths,
                                 .table = table,
                                 .workspace = workspace,
                                 .workspace_size = size };
        if (workspace)
            result = decode(plan, &buffers);
        free(workspace);
    } else {
        fail("plan");
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return result;
}
