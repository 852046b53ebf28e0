/*
 * bench_engine.c - one side of a comparison runs its blocks
 */
#include "bench_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/measure.h"

/* A block lasts about this long; the calls before it that are not timed, that long. */
#define BLOCK_SECONDS 5e-3
#define WARMUP_SECONDS 2e-3

heed_status bench_engine_start(bench_engine *engine, const bench_tensors *tensors, heed_plan *plan)
{
    size_t size = heed_plan_workspace_size(plan);
    *engine = (bench_engine){ .tensors = tensors, .plan = plan };
    engine->workspace = aligned_alloc(HEED_ALIGNMENT, (size / HEED_ALIGNMENT + 1) * HEED_ALIGNMENT);
    return engine->workspace ? HEED_OK : HEED_ERR_NO_MEMORY;
}

void bench_engine_stop(bench_engine *engine)
{
    free(engine->workspace);
    heed_plan_destroy(engine->plan);
    memset(engine, 0, sizeof *engine);
}

heed_status bench_engine_call(void *data)
{
    bench_engine *self = data;
    heed_buffers buffers = bench_tensors_buffers(self->tensors, self->call++);
    buffers.workspace = self->workspace;
    buffers.workspace_size = heed_plan_workspace_size(self->plan);
    return cli_interrupted() ? HEED_ERR_SYSTEM : heed_execute(self->plan, &buffers);
}

static heed_status engine_calls(bench_engine *engine, int64_t calls)
{
    heed_status status = HEED_OK;
    for (int64_t i = 0; i < calls && status == HEED_OK; i++)
        status = bench_engine_call(engine);
    return status;
}

heed_status bench_engine_block(void *data, double *seconds)
{
    bench_engine *self = data;
    if (self->rival)
        lab_rival_pause(self->rival);
    heed_status status = engine_calls(self, self->warmup);
    int64_t start = heed_clock_ns();
    if (status == HEED_OK)
        status = engine_calls(self, self->calls);
    *seconds = (double)(heed_clock_ns() - start) * 1e-9 / (double)self->calls;
    return status;
}

double bench_engine_error(const bench_engine *engine, const lab_expect *expect)
{
    return bench_error(&engine->tensors->problem,
                       bench_tensors_buffers(engine->tensors, engine->call - 1).o, expect);
}

void bench_block_size(double seconds, int64_t *warmup, int64_t *calls)
{
    *calls = seconds < BLOCK_SECONDS ? (int64_t)ceil(BLOCK_SECONDS / seconds) : 1;
    *warmup = seconds < BENCH_WARMUP_CALL_MAX ? (int64_t)ceil(WARMUP_SECONDS / seconds) : 0;
}

heed_status bench_guest_block(void *data, double *seconds)
{
    bench_guest *self = data;
    /* heed's threads look for work for a moment before they sleep. */
    const struct timespec nap = { .tv_nsec = 1000000 };
    nanosleep(&nap, NULL);
    double expected = self->expected * (double)(self->warmup + self->calls);
    self->answer = lab_rival_run(self->rival, self->warmup, self->calls, expected, seconds);
    return self->answer == LAB_ANSWER_OK ? HEED_OK : HEED_ERR_SYSTEM;
}
