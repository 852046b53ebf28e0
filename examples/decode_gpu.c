/*
 * decode_gpu.c - the decode steps of decode.c on an NVIDIA GPU, as launches of one CUDA graph
 *
 * The pools of keys and values, new keys, lengths and page table are in device memory. The call of
 * heed_execute() is captured once; each step then writes its inputs to the same addresses and
 * launches the graph, in which heed rotates and appends the new keys and computes attention. Six
 * sequences of different lengths run for 100 steps.
 *
 * The results are compared with the definition on a dense copy of the keys, in double precision on
 * numbers rounded to bfloat16 as on the device.
 *
 *     cc decode_gpu.c -o decode_gpu $(pkg-config --cflags --libs heed) -lm
 *     ./decode_gpu
 *
 * A program that already uses CUDA gets memory, a stream and graphs from CUDA. This one gets them
 * from the driver (driver.h).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
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
#define SPEC "b6 h8/2 s1/512 d64 bf16 causal=br lengths paged=16/96 append=1 rotary=64"

/* Weights and results in bfloat16 have relative errors of up to 2^-8. */
#define TOLERANCE 0.01

static const int32_t first_lengths[BATCH] = { 0, 1, 17, 130, 256, 412 };

/* The tensors on the host: bfloat16 numbers in 16 bits. */
static uint16_t q[BATCH][HEADS_Q][DIM], o[BATCH][HEADS_Q][DIM];
static uint16_t k_new[BATCH][HEADS_KV][DIM], v_new[BATCH][HEADS_KV][DIM];
static uint16_t k[PAGES][PAGE][HEADS_KV][DIM], v[PAGES][PAGE][HEADS_KV][DIM];
static int32_t lengths[BATCH], table[BATCH][CAPACITY / PAGE];
static int used_pages;

/* For each position and pair of columns c and c + DIM / 2. */
static float cosines[CAPACITY][DIM / 2], sines[CAPACITY][DIM / 2];

/* All keys, rotated, and values, for the definition. */
static double keys[BATCH][CAPACITY][HEADS_KV][DIM], values[BATCH][CAPACITY][HEADS_KV][DIM];

static int fail(const char *what)
{
    fprintf(stderr, "decode_gpu: %s: %s\n", what, heed_message());
    return 1;
}

/* ---- Copies on the device ---- */

/* Host arrays with a copy on the device, and the field of heed_buffers for its address. Arrays with
 * @of_step are uploaded in each step. */
static const struct {
    void *host;
    size_t size, field;
    int of_step;
} arrays[] = {
    { q, sizeof q, offsetof(heed_buffers, q), 1 },
    { k, sizeof k, offsetof(heed_buffers, k), 0 },
    { v, sizeof v, offsetof(heed_buffers, v), 0 },
    { o, sizeof o, offsetof(heed_buffers, o), 0 },
    { k_new, sizeof k_new, offsetof(heed_buffers, k_new), 1 },
    { v_new, sizeof v_new, offsetof(heed_buffers, v_new), 1 },
    { lengths, sizeof lengths, offsetof(heed_buffers, lengths), 1 },
    { table, sizeof table, offsetof(heed_buffers, table), 1 },
    { cosines, sizeof cosines, offsetof(heed_buffers, rotary_cos), 0 },
    { sines, sizeof sines, offsetof(heed_buffers, rotary_sin), 0 },
};
#define ARRAYS (sizeof arrays / sizeof *arrays)

static uintptr_t place_of(const heed_buffers *buffers, size_t i)
{
    uintptr_t place;
    memcpy(&place, (const char *)buffers + arrays[i].field, sizeof place);
    return place;
}

/* Allocates and fills the copies, and allocates the workspace. Returns 0 on success. */
static int make_copies(const driver *cuda, heed_buffers *buffers)
{
    uintptr_t workspace = 0;
    int failed = 0;
    for (size_t i = 0; i < ARRAYS && !failed; i++) {
        uintptr_t place = 0;
        failed = cuda->allocate(&place, arrays[i].size);
        memcpy((char *)buffers + arrays[i].field, &place, sizeof place);
        if (!failed)
            failed = cuda->upload(place, arrays[i].host, arrays[i].size);
    }
    if (!failed && buffers->workspace_size > 0)
        failed = cuda->allocate(&workspace, buffers->workspace_size);
    buffers->workspace = (void *)workspace;
    return failed;
}

static void free_copies(const driver *cuda, const heed_buffers *buffers)
{
    for (size_t i = 0; i < ARRAYS; i++)
        if (place_of(buffers, i))
            cuda->free(place_of(buffers, i));
    if (buffers->workspace)
        cuda->free((uintptr_t)buffers->workspace);
}

/* ---- Numbers ---- */

static uint16_t to_bf16(double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double from_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Random numbers between -1 and 1 in place of a model's. */
static void fill(uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = to_bf16((double)rand() / RAND_MAX * 2 - 1);
}

static void make_angles(void)
{
    for (int j = 0; j < CAPACITY; j++)
        for (int c = 0; c < DIM / 2; c++) {
            const double angle = j * pow(10000, -2.0 * c / DIM);
            cosines[j][c] = (float)cos(angle);
            sines[j][c] = (float)sin(angle);
        }
}

/* Rotates a vector by its position, and rounds it to bfloat16. */
static void rotate(double *to, const uint16_t *from, int position)
{
    for (int c = 0; c < DIM / 2; c++) {
        const double x = from_bf16(from[c]), y = from_bf16(from[c + DIM / 2]);
        const double cosine = (double)cosines[position][c], sine = (double)sines[position][c];
        to[c] = from_bf16(to_bf16(x * cosine - y * sine));
        to[c + DIM / 2] = from_bf16(to_bf16(y * cosine + x * sine));
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
            values[b][j][h][c] = from_bf16(v_new[b][h][c]);
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
                const int h = n / DIM, c = n % DIM;
                k[table[b][j / PAGE]][j % PAGE][h][c] = to_bf16(keys[b][j][h][c]);
                v[table[b][j / PAGE]][j % PAGE][h][c] = v_new[b][h][c];
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
        const double error = fabs(expected - from_bf16(o[b][head][c]));
        most = error <= most ? most : error; /* a NaN stays */
    }
    return most;
}

/* ---- Steps ---- */

/* Executes one step by a launch of @graph. Returns 0 on success. */
static int step(const driver *cuda, const heed_buffers *buffers, void *graph, double *most)
{
    int failed = 0;
    for (int b = 0; b < BATCH; b++)
        grow(b);
    fill(&q[0][0][0], sizeof q / sizeof(uint16_t));
    for (size_t i = 0; i < ARRAYS && !failed; i++)
        if (arrays[i].of_step)
            failed = cuda->upload(place_of(buffers, i), arrays[i].host, arrays[i].size);
    if (!failed)
        failed = cuda->launch(graph, buffers->stream);
    if (!failed)
        failed = cuda->wait(buffers->stream);
    if (!failed)
        failed = cuda->download(o, (uintptr_t)buffers->o, sizeof o);
    for (int n = 0; n < BATCH * HEADS_Q && !failed; n++) {
        const double error = error_of(n / HEADS_Q, n % HEADS_Q);
        *most = error <= *most ? *most : error;
    }
    return failed;
}

static int decode(const driver *cuda, const heed_plan *plan, heed_buffers *buffers)
{
    void *graph = NULL, *ready = NULL;
    double most = 0;
    if (cuda->capture(buffers->stream, 1) != 0) /* only calls of this thread */
        return fprintf(stderr, "decode_gpu: the stream cannot be captured\n"), 1;
    const heed_status status = heed_execute(plan, buffers);
    if (cuda->end_capture(buffers->stream, &graph) != 0 || status != HEED_OK)
        return fail("execute");
    int failed = cuda->instantiate(&ready, graph, 0);
    for (int i = 0; i < STEPS && !failed; i++)
        failed = step(cuda, buffers, ready, &most);
    if (failed)
        fprintf(stderr, "decode_gpu: the driver returned %d\n", failed);
    else
        printf("%d steps of %d sequences by %s in a graph: %s\n", STEPS, BATCH,
               heed_plan_name(plan), most < TOLERANCE ? "right" : "wrong");
    if (ready)
        cuda->end_ready(ready);
    cuda->end_graph(graph);
    return failed || !(most < TOLERANCE);
}

static int run(const heed_plan *plan)
{
    heed_buffers buffers = { .size = sizeof buffers,
                             .workspace_size = heed_plan_workspace_size(plan) };
    driver cuda;
    int result = 1;
    if (!driver_start(&cuda))
        return fprintf(stderr, "decode_gpu: the driver does not start\n"), 1;
    if (cuda.stream(&buffers.stream, 1) != 0 || make_copies(&cuda, &buffers) != 0)
        fprintf(stderr, "decode_gpu: there is not enough device memory\n");
    else
        result = decode(&cuda, plan, &buffers);
    free_copies(&cuda, &buffers);
    if (buffers.stream)
        cuda.end_stream(buffers.stream);
    cuda.release(0);
    return result;
}

int main(void)
{
    const heed_options options = { .size = sizeof options, .device = "cuda:0" };
    heed_context *context = NULL;
    heed_problem problem;
    heed_plan *plan = NULL;
    int result;

    begin();
    if (heed_problem_parse(&problem, SPEC) != HEED_OK)
        return fail("problem");
    if (heed_context_create(&context, &options) != HEED_OK)
        return fail("context"); /* no GPU, driver or compiler: the message says which */
    if (heed_plan_create(&plan, context, &problem, HEED_ESTIMATE) == HEED_OK)
        result = run(plan);
    else
        result = fail("plan");
    heed_plan_destroy(plan);
    heed_context_destroy(context);
    return result;
}
