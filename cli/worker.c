/*
 * worker.c - blocks of a candidate in its process
 */
#include "worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/message.h"

/* A block lasts about this long, if memory has room for so many sets. */
#define BLOCK_SECONDS 5e-3

/* What asking takes beside computing is some 50 microseconds; so much is allowed for. */
#define OVERHEAD_SECONDS 100e-6

static const char *const compiler_options[] = { "-O3", "-march=native" };

static heed_status fail(const cli_worker *worker)
{
    return heed_fail(HEED_ERR_UNSUPPORTED, "%s: %s", worker->name, worker->outcome.text);
}

static bool open_trial(cli_worker *worker, const heed_problem *problem, size_t *size)
{
    const lab_candidate candidate = { .name = worker->name,
                                      .language = LAB_LANGUAGE_C,
                                      .source = worker->source,
                                      .source_size = strlen(worker->source),
                                      .options = compiler_options,
                                      .option_count = 2 };
    return lab_trial_open(&worker->trial, &candidate, &worker->limits, &worker->outcome) &&
           lab_trial_prepare(worker->trial, problem, size, &worker->outcome);
}

/* How many calls make a block, for calls of @seconds. */
static void size_block(cli_worker *worker, double seconds)
{
    size_t bytes = 1;
    for (int i = 0; i < LAB_SPANS; i++)
        bytes += worker->sets[0].span[i].room_size + 16384;
    double room = (double)lab_limits_fill(&worker->limits).tensor_bytes / 2 / (double)bytes;
    double calls = fmin(ceil(BLOCK_SECONDS / fmax(seconds, 1e-9)), fmin(room, LAB_WIRE_SETS));
    worker->calls = calls > 1 ? (int)calls : 1;
}

static heed_status block(void *data, double *seconds)
{
    cli_worker *worker = data;
    if (cli_interrupted())
        return HEED_ERR_SYSTEM;
    if (!lab_trial_run(worker->trial, worker->sets, worker->calls, 0, &worker->outcome))
        return fail(worker);
    *seconds = worker->outcome.seconds / worker->calls;
    return HEED_OK;
}

static heed_status start(void *data, const bench_tensors *tensors, double *seconds)
{
    cli_worker *worker = data;
    heed_buffers buffers = bench_tensors_buffers(tensors, 0);
    size_t size = 0;
    if (!open_trial(worker, &tensors->problem, &size))
        return fail(worker);
    worker->workspace = size > 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    if (size > 0 && !worker->workspace)
        return heed_fail(HEED_ERR_NO_MEMORY, "%s: no memory for its workspace", worker->name);
    buffers.workspace = worker->workspace;
    buffers.workspace_size = size;
    for (int i = 0; i < LAB_WIRE_SETS; i++)
        worker->sets[i] = lab_set_of(&tensors->problem, &buffers);
    worker->calls = 1;
    heed_status status = HEED_OK;
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first time pays for what is new */
        status = block(worker, seconds);
    if (status == HEED_OK)
        size_block(worker, *seconds);
    return status;
}

static void stop(void *data)
{
    cli_worker *worker = data;
    lab_trial_close(worker->trial);
    free(worker->workspace);
    worker->trial = NULL;
    worker->workspace = NULL;
}

cli_guest cli_worker_guest(cli_worker *worker)
{
    return (cli_guest){
        .data = worker, .name = worker->name, .start = start, .block = block, .stop = stop
    };
}

double cli_worker_overhead(const cli_worker *worker, double seconds)
{
    double block_seconds = seconds * worker->calls;
    return block_seconds > OVERHEAD_SECONDS ? OVERHEAD_SECONDS / block_seconds : 1;
}
