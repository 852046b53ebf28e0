/*
 * worker.c - blocks of a candidate in its process
 */
#include "worker.h"

#include <string.h>

#include "../src/message.h"

/* A block lasts about this long, if memory has room for so many sets. */
#define BLOCK_SECONDS 5e-3

/* What asking takes beside computing is some 50 microseconds; so much is allowed for. */
#define OVERHEAD_SECONDS 100e-6

static const char *const compiler_options[] = { "-O3", "-march=native" };

static heed_status fail(const cli_worker *worker)
{
    return heed_fail(HEED_ERR_UNSUPPORTED, "%s: %s", worker->name, worker->seat.outcome.text);
}

static bool open_trial(cli_worker *worker)
{
    const lab_candidate candidate = { .name = worker->name,
                                      .language = LAB_LANGUAGE_C,
                                      .source = worker->source,
                                      .source_size = strlen(worker->source),
                                      .options = compiler_options,
                                      .option_count = 2 };
    worker->seat.limits = worker->limits;
    return lab_trial_open(&worker->seat.trial, &candidate, &worker->limits, &worker->seat.outcome);
}

static heed_status block(void *data, double *seconds)
{
    cli_worker *worker = data;
    heed_status status = cli_seat_block(&worker->seat, seconds);
    return status == HEED_OK || cli_interrupted() ? status : fail(worker);
}

static heed_status start(void *data, const bench_tensors *tensors, double *seconds)
{
    cli_worker *worker = data;
    heed_status status = HEED_OK;
    if (!open_trial(worker) || !cli_seat_take(&worker->seat, tensors))
        return fail(worker);
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first time pays for what is new */
        status = block(worker, seconds);
    if (status == HEED_OK)
        cli_seat_size(&worker->seat, *seconds, BLOCK_SECONDS);
    return status;
}

static double error(void *data)
{
    const cli_worker *worker = data;
    return worker->seat.worst;
}

static void stop(void *data)
{
    cli_worker *worker = data;
    cli_seat_close(&worker->seat);
}

cli_guest cli_worker_guest(cli_worker *worker)
{
    return (cli_guest){ .data = worker,
                        .name = worker->name,
                        .start = start,
                        .block = block,
                        .error = error,
                        .stop = stop };
}

double cli_worker_overhead(const cli_worker *worker, double seconds)
{
    double block_seconds = seconds * worker->seat.calls;
    return block_seconds > OVERHEAD_SECONDS ? OVERHEAD_SECONDS / block_seconds : 1;
}
