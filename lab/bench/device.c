/*
 * device.c - timings of heed alone on an asynchronous device: replays, single calls, launches
 */
#include <stdlib.h>
#include <string.h>

#include "lab/bench/match.h"
#include "lab/inspect/roofline.h"
#include "src/cuda/gpu.h"
#include "src/measure.h"

enum {
    SAMPLES_MIN = 5,
    SAMPLES_MAX = 1000,
    HOT_SAMPLES = 7,
    LAUNCHES = 50 /* at a time: few enough for a launch queue not to fill up */
};

/* Calls timed for launch overhead last at most this long. */
#define LAUNCH_SECONDS 0.05

/* Allowance for devices that exceed their data sheet, and for the part of the cache that survives a
 * rotation through twice its size. */
#define SHEET_SLACK 1.05
#define CACHED_SHARE 0.5

/* Samples one way to rotate: at least @least times, and as often as the time allows. */
static heed_status sample(lab_bench_engine *engine, int64_t budget_ns, int least, double *samples,
                          int *count)
{
    heed_status status = HEED_OK;
    int64_t end = heed_clock_ns() + budget_ns;
    for (*count = 0; status == HEED_OK && *count < SAMPLES_MAX; ++*count) {
        if (*count >= least && heed_clock_ns() >= end)
            break;
        status = lab_bench_engine_replay(engine, 1, 1, &samples[*count]);
        if (status == HEED_OK)
            samples[*count] = lab_stats_round(samples[*count]);
    }
    return status;
}

/* The median of replays on the same buffers every time. */
static heed_status sample_hot(lab_bench_row *row, lab_bench_engine *engine, int64_t calls)
{
    double samples[SAMPLES_MAX];
    lab_summary summary = { 0 };
    int count = 0;
    heed_status status = lab_bench_engine_capture(engine, calls, 1);
    if (status == HEED_OK)
        status = sample(engine, 0, HOT_SAMPLES, samples, &count);
    if (status == HEED_OK)
        lab_stats_summarize(samples, (size_t)count, &summary);
    row->hot = summary.p50;
    return status;
}

/* Single calls on an idle device, from launch to completion. */
static heed_status sample_single(lab_bench_row *row, lab_bench_engine *engine, double seconds)
{
    double samples[LAB_RIVAL_EAGER_MAX];
    int64_t count = lab_bench_single_count(seconds);
    heed_status status = lab_bench_engine_call(engine);
    if (status == HEED_OK)
        status = heed_device_wait(engine->tensors->context);
    for (int64_t i = 0; status == HEED_OK && i < count; i++) {
        int64_t start = heed_clock_ns();
        status = lab_bench_engine_call(engine);
        if (status == HEED_OK)
            status = heed_device_wait(engine->tensors->context);
        samples[i] = (double)(heed_clock_ns() - start) * 1e-9;
    }
    if (status == HEED_OK)
        lab_stats_summarize(samples, (size_t)count, &row->eager);
    return status;
}

/* The time of heed_execute() itself while the device is busy with earlier calls. */
static heed_status sample_launch(lab_bench_row *row, lab_bench_engine *engine, double seconds)
{
    double samples[LAUNCHES];
    lab_summary summary = { 0 };
    int64_t count = LAUNCH_SECONDS / seconds > LAUNCHES ? LAUNCHES
                                                        : (int64_t)(LAUNCH_SECONDS / seconds);
    if (count < SAMPLES_MIN)
        count = SAMPLES_MIN;
    heed_status status = HEED_OK;
    for (int64_t i = 0; status == HEED_OK && i < count; i++) {
        int64_t start = heed_clock_ns();
        status = lab_bench_engine_call(engine);
        samples[i] = (double)(heed_clock_ns() - start) * 1e-9;
    }
    heed_status waited = heed_device_wait(engine->tensors->context);
    if (status == HEED_OK && waited == HEED_OK)
        lab_stats_summarize(samples, (size_t)count, &summary);
    row->launch = summary.p50;
    return status == HEED_OK ? waited : status;
}

/* The figure: replays, with hot or cold caches as in bench->cold. */
static heed_status sample_replays(lab_bench *bench, lab_bench_row *row, lab_bench_engine *engine)
{
    double seconds, sorted[SAMPLES_MAX];
    row->samples = malloc(SAMPLES_MAX * sizeof *row->samples);
    if (!row->samples)
        return HEED_ERR_NO_MEMORY;
    heed_status status = lab_bench_engine_estimate(engine, true, &seconds);
    if (status == HEED_OK)
        status = lab_bench_engine_ready(engine, true, seconds);
    if (status == HEED_OK)
        status = sample(engine, lab_bench_alone_ns(bench), SAMPLES_MIN, row->samples, &row->count);
    if (status != HEED_OK)
        return status;
    memcpy(sorted, row->samples, (size_t)row->count * sizeof *sorted);
    lab_stats_summarize(sorted, (size_t)row->count, &row->summary);
    heed_device_read_state(bench->context, &row->state);
    row->calls = engine->replay.calls;
    return HEED_OK;
}

heed_status lab_bench_sample_replays(lab_bench *bench, lab_bench_row *row, lab_bench_engine *engine,
                                     const lab_expect *expect)
{
    int64_t copies = engine->tensors->copies;
    heed_status status = lab_bench_tensors_poison(engine->tensors);
    if (status == HEED_OK)
        status = sample_replays(bench, row, engine);
    if (status == HEED_OK)
        status = lab_bench_engine_error(engine, expect, &row->error);
    if (status == HEED_OK)
        status = sample_single(row, engine, row->summary.p50);
    if (status == HEED_OK)
        status = sample_launch(row, engine, row->summary.p50);
    /* Where one copy exceeds the caches, hot and cold are the same. */
    row->cold = bench->cold ? row->summary.p50 : 0;
    row->hot = row->summary.p50;
    if (status == HEED_OK && copies > 1)
        status = sample_hot(row, engine, row->calls);
    return status == HEED_OK ? lab_bench_engine_ready(engine, true, row->summary.p50) : status;
}

double lab_bench_device_floor(const lab_bench *bench, const lab_bench_row *row)
{
    const heed_problem *problem = &row->source->problem;
    heed_device_limits limits = heed_device_get_limits(bench->context);
    double cache = (double)heed_device_cache(bench->context);
    double compute = 0, move = 0;
    double bytes = row->sequences.count > 0 ? row->work.bytes : heed_problem_bytes(problem);
    double matrix = heed_gpu_get_rates(heed_device_arch(bench->context)).matrix;
    if (matrix > 0 && limits.clock_hz > 0)
        compute = row->work.flops / (matrix * limits.clock_hz * limits.multiprocessors);
    if (limits.bandwidth > 0 && cache > 0 && bytes * (double)row->copies > 2 * cache)
        move = (1 - CACHED_SHARE) * row->work.bytes / limits.bandwidth;
    return (compute > move ? compute : move) / SHEET_SLACK;
}
