/*
 * decode.c - the decode steps of a server with a paged KV cache, with one plan for all lengths
 *
 * Six sequences of different lengths share a pool of pages, each of which holds 16 keys and values
 * of one sequence. In each step every sequence gets a key, a value and a query, which would come
 * from a model. heed_execute() rotates the key by its position, writes it and its value to the page
 * that the page table names, and computes attention of the rotated query over all keys of the
 * sequence. A page is taken from the pool when the last one is full. The plan is for the maximum
 * number of keys in the page table; lengths and table change in each step, and only the existing
 * keys cost time. Nothing is planned or allocated between steps.
 *
 * The results are compared with the definition on a dense copy of the keys, in double precision.
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
#define SPEC "b6 h8/2 s1/512 d64 f32 causal=br lengths paged=16/96 append=1 rotary=64"

static const int32_t first_lengths[BATCH] = { 0, 1, 17, 130, 256, 412 };

static float q[BATCH][HEADS_Q][DIM], o[BATCH][HEADS_Q][DIM];
static float k_new[BATCH][HEADS_KV][DIM], v_new[BATCH][HEADS_KV][DIM];
static float k[PAGES][PAGE][HEADS_KV][DIM], v[PAGES][PAGE][HEADS_KV][DIM];
static int32_t lengths[BATCH], table[BATCH][CAPACITY / PAGE];
static int used_pages;

/* For each position and pair of columns c and c + DIM / 2. */
static float cosines[CAPACITY][DIM / 2], sines[CAPACITY][DIM / 2];

/* All keys, rotated, and values, for the definition. */
static double keys[BATCH][CAPACITY][HEADS_KV][DIM], values[BATCH][CAPACITY][HEADS_KV][DIM];

static int fail(const char *what)
{
    fprintf(stderr, "decode: %s: %s\n", what, heed_message());
    return 1;
}

/* Random numbers between -1 and 1 in place of a model's. */
static void fill(float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
}

static void make_angles(void)
{
    for (int j = 0; j < CAPACITY; j++)
        for (int c = 0; c < DIM / 2; c++) {
            double angle = j * pow(10000, -2.0 * c / DIM);
            cosines[j][c] = (float)cos(angle);
            sines[j][c] = (float)sin(angle);
        }
}

/* Rotates a vector by its position. */
static void rotate(double *to, const float *from, int position)
{
    for (int c = 0; c < DIM / 2; c++) {
        const double x = (double)from[c], y = (double)from[c + DIM / 2];
        const double cosine = (double)cosines[position][c], sine = (double)sines[position][c];
        to[c] = x * cosine - y * sine;
        to[c + DIM / 2] = y * cosine + x * sine;
    }
}

/* Makes a key and a value of a sequence, and takes a page for them where needed. */
static void grow(int b)
{
    const int j = lengths[b]++;
    if (j % PAGE == 0)
        table[b][j / PAGE] = used_pages++;
    fill(&k_new[b][0][0], HEADS_KV * DIM);
    fill(&v_new[b][0][0], HEADS_KV * DIM);
    for (int h = 0; h < HEADS_KV; h++) {
        rotate(keys[b][j][h], k_new[b][h], j);
        for (int c = 0; c < DIM; c++)
            values[b][j][h][c] = (double)v_new[b][h][c];
    }
}

/* Fills the pool with the rotated keys, and the values, of prompts that were computed elsewhere. */
static void begin(void)
{
    memset(k, 0xff, sizeof k); /* NaN: unused elements must not be read */
    memset(v, 0xff, sizeof v);
    make_angles();
    for (int b = 0; b < BATCH; b++)
        while (lengths[b] < first_lengths[b]) {
            const int j = lengths[b];
            grow(b);
            for (int n = 0; n < HEADS_KV * DIM; n++) {
                k[table[b][j / PAGE]][j % PAGE][n / DIM][n % DIM] = (float)
                    keys[b][j][n / DIM][n % DIM];
                v[table[b][j / PAGE]][j % PAGE][n / DIM][n % DIM] = v_new[b][n / DIM][n % DIM];
            }
        }
}

/* Returns the maximum error of one head's output. */
static double error_of(int b, int head)
{
    const int kv = head / (HEADS_Q / HEADS_KV);
    double weights[CAPACITY], query[DIM], sum = 0, most = 0;
    rotate(query, q[b][head], lengths[b] - 1);
    for (int j = 0; j < lengths[b]; j++) {
        double dot = 0;
        for (int c = 0; c < DIM; c++)
            dot += query[c] * keys[b][j][kv][c];
        weights[j] = exp(dot / sqrt(DIM));
        sum += weights[j];
    }
    for (int c = 0; c < DIM; c++) {
        double expected = 0;
        for (int j = 0; j < lengths[b]; j++)
            expected += weights[j] / sum * values[b][j][kv][c];
        most = fmax(most, fabs(expected - (double)o[b][head][c]));
    }
    return most;
}

static int decode(const heed_plan *plan, heed_buffers *buffers)
{
    double most = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < BATCH; b++)
            grow(b);
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

    begin();
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
                                 .k_new = k_new,
                                 .v_new = v_new,
                                 .rotary_cos = cosines,
                                 .rotary_sin = sines,
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
