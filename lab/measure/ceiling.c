/*
 * ceiling.c - runs the ceiling loops, copies and reads on several threads
 */
#include "ceiling.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/planner.h"
#include "ceiling_loops.h"
#include "measure.h"

/* The loops for a CPU feature. The first matching row is used; for bfloat16 later rows are tried
 * too, as some CPUs run the dot product at half the rate of multiply-adds, with no gain. */
typedef struct loop_row {
    const char *feature;
    bool bf16_only;
    const lab_ceiling_loop *loop;
    const lab_ceiling_loop *exp;
} loop_row;

static const loop_row rows[] = {
#ifdef HEED_X86
    { "amx", true, &lab_ceiling_bf16_amx, &lab_ceiling_exp_avx512 },
    { "avx512bf16", true, &lab_ceiling_bf16_avx512bf16, &lab_ceiling_exp_avx512 },
    { "avx512", false, &lab_ceiling_f32_avx512, &lab_ceiling_exp_avx512 },
    { "avx2", false, &lab_ceiling_f32_avx2, &lab_ceiling_exp_avx2 },
#endif
    { "scalar", false, &lab_ceiling_f32_scalar, &lab_ceiling_exp_scalar },
};

static bool row_fits(const loop_row *row, const char *cpu, heed_type type)
{
    return lab_cpu_has(cpu, row->feature) && (!row->bf16_only || type == HEED_BF16);
}

enum {
    LOOP_SLICES = 24,
    COPY_SLICES = 5,
    READ_SLICES = 12,
    READ_UNIT = 128 /* bytes */
};
#define SLICE_NS INT64_C(2000000)
#define COPY_BYTES ((size_t)64 << 20)

/* The work of one thread. It keeps its best slice; the team's rate is the sum over its threads. */
typedef struct member {
    pthread_t thread;
    const lab_ceiling_loop *loop;
    char *from; /* this thread's part of a copy */
    char *to;
    size_t bytes;
    double rate; /* operations or bytes per second */
    volatile float result;
    volatile uint64_t bits;
} member;

/* Factors near 1 and 0 that the compiler cannot know. */
static volatile float factor_source[2] = { 0.999f, 0.001f };

static void *loop_main(void *data)
{
    member *self = data;
    float factors[2] = { factor_source[0], factor_source[1] };
    int64_t rounds = 1024;

    for (int slice = 0; slice < LOOP_SLICES; slice++) {
        int64_t start = heed_clock_ns();
        self->result = self->loop->run(rounds, factors);
        int64_t ns = heed_clock_ns() - start;
        if (ns < SLICE_NS / 2) {
            rounds *= 2; /* too short to time */
            slice--;
            continue;
        }
        double rate = self->loop->flops * (double)rounds / ((double)ns * 1e-9);
        self->rate = rate > self->rate ? rate : self->rate;
    }
    return NULL;
}

static void *copy_main(void *data)
{
    member *self = data;

    /* The copying thread writes the memory first, so its pages are allocated, on its NUMA node. */
    memset(self->from, 1, self->bytes);
    memset(self->to, 2, self->bytes);
    for (int slice = 0; slice < COPY_SLICES; slice++) {
        int64_t start = heed_clock_ns();
        memcpy(self->to, self->from, self->bytes);
        int64_t ns = heed_clock_ns() - start;
        double rate = 2.0 * (double)self->bytes / ((double)ns * 1e-9);
        self->rate = rate > self->rate ? rate : self->rate;
        self->result = self->to[slice];
    }
    return NULL;
}

/* A slice has enough passes to be timed. */
static void *read_main(void *data)
{
    member *self = data;
    int passes = 1;

    memset(self->from, 1, self->bytes);
    for (int slice = 0; slice < READ_SLICES; slice++) {
        int64_t start = heed_clock_ns();
        for (int i = 0; i < passes; i++)
            self->bits = lab_ceiling_read(self->from, self->bytes);
        int64_t ns = heed_clock_ns() - start;
        if (ns < SLICE_NS / 2) {
            passes *= 2;
            slice--;
            continue;
        }
        double rate = (double)passes * (double)self->bytes / ((double)ns * 1e-9);
        self->rate = rate > self->rate ? rate : self->rate;
    }
    return NULL;
}

/* Runs @main on @count members at once and adds up their rates. */
static heed_status run_team(member *team, int count, void *(*main)(void *), double *rate)
{
    int started = 0;

    while (started < count &&
           pthread_create(&team[started].thread, NULL, main, &team[started]) == 0)
        started++;
    *rate = 0;
    for (int i = 0; i < started; i++) {
        pthread_join(team[i].thread, NULL);
        *rate += team[i].rate;
    }
    return started == count ? HEED_OK : HEED_ERR_SYSTEM;
}

static heed_status run_loop(const lab_ceiling_loop *loop, int threads, double *flops)
{
    member *team = calloc((size_t)threads, sizeof *team);
    if (!team)
        return HEED_ERR_NO_MEMORY;
    for (int i = 0; i < threads; i++)
        team[i].loop = loop;
    heed_status status = run_team(team, threads, loop_main, flops);
    free(team);
    return status;
}

heed_status lab_ceiling_flops(lab_ceiling *ceiling, heed_type type, int threads, const char *cpu)
{
    heed_status status = HEED_ERR_INVALID; /* unless a loop matches */

    if (!cpu || threads < 1)
        return HEED_ERR_INVALID;
    *ceiling = (lab_ceiling){ .threads = threads };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double flops = 0;
        if (!row_fits(&rows[i], cpu, type))
            continue;
        status = run_loop(rows[i].loop, threads, &flops);
        if (status == HEED_OK && flops > ceiling->flops) {
            ceiling->flops = flops;
            ceiling->loop = rows[i].loop->name;
        }
        if (status != HEED_OK || !rows[i].bf16_only)
            break;
    }
    return status;
}

heed_status lab_ceiling_exp(lab_ceiling *ceiling, int threads, const char *cpu)
{
    if (!cpu || threads < 1)
        return HEED_ERR_INVALID;
    *ceiling = (lab_ceiling){ .threads = threads };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (row_fits(&rows[i], cpu, HEED_F32)) {
            ceiling->loop = rows[i].exp->name;
            return run_loop(rows[i].exp, threads, &ceiling->flops);
        }
    return HEED_ERR_INVALID;
}

/* Runs @main with @share bytes for each thread, and as many to copy to. */
static heed_status run_memory(int threads, size_t share, void *(*main)(void *), double *bandwidth)
{
    const size_t all = share * (size_t)threads;
    member *team = calloc((size_t)threads, sizeof *team);
    char *memory = aligned_alloc(READ_UNIT, 2 * all); /* it takes no place until it is written */
    heed_status status = HEED_ERR_NO_MEMORY;
    if (team && memory) {
        for (int i = 0; i < threads; i++) {
            team[i].from = memory + (size_t)i * share;
            team[i].to = team[i].from + all;
            team[i].bytes = share;
        }
        status = run_team(team, threads, main, bandwidth);
    }
    free(memory);
    free(team);
    return status;
}

heed_status lab_ceiling_copy(double *bandwidth, int threads)
{
    if (threads < 1)
        return HEED_ERR_INVALID;
    return run_memory(threads, COPY_BYTES / (size_t)threads / READ_UNIT * READ_UNIT, copy_main,
                      bandwidth);
}

heed_status lab_ceiling_stream(double *bandwidth, int threads, size_t bytes)
{
    if (threads < 1 || bytes / READ_UNIT < (size_t)threads)
        return HEED_ERR_INVALID;
    return run_memory(threads, bytes / (size_t)threads / READ_UNIT * READ_UNIT, read_main,
                      bandwidth);
}
