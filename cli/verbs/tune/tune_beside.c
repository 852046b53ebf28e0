/*
 * tune_beside.c - problems timed beside the rivals, before and after
 */
#include <math.h>

#include "src/measure.h"
#include "tune.h"

#define LEAST_SECONDS 0.01 /* of a match */

/* Shares out what is left among heed and the rivals, with as much again for what is around it. */
static void set_time(tune_run *tune, tune_stage stage, size_t problems)
{
    size_t sides = 1;
    for (size_t i = 0; i < tune->bench.rival_count; i++)
        sides += tune->bench.rivals[i].open;
    double each = tune_left(tune, stage) / (double)problems / (double)(2 * sides);
    tune->bench.seconds = fmax(fmin(tune->rivals, each), LEAST_SECONDS);
    tune->bench.deadline_ns = tune_share(tune, stage, problems);
}

static cli_exit time_shape(tune_run *tune, tune_shape *shape, bool after)
{
    lab_bench_row *row = after ? &shape->after : &shape->before;
    lab_error error;
    int64_t trial = 0;
    char started[LAB_RECORD_TIME_SIZE];
    lab_record_now(started);
    tune->bench.kernel = after ? shape->best : shape->champion;
    cli_exit code = bench_exit_of_work(lab_bench_measure(&tune->bench, shape->source, row));
    if (code != CLI_OK)
        return code;
    if (row->outcome != LAB_BENCH_OK)
        cli_warning("%s: %s", shape->spec, row->reason);
    heed_status status = tune_add_row(tune, shape, row, after ? TUNE_AFTER : TUNE_BEFORE, started,
                                      &trial, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static size_t count_wanted(const tune_run *tune, bool after)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->count; i++)
        count += !after || tune->shapes[i].challenge.won;
    return count;
}

cli_exit tune_time_all(tune_run *tune, bool after)
{
    tune_stage stage = after ? TUNE_AFTERWARDS : TUNE_BASELINES;
    size_t left = count_wanted(tune, after), done = 0;
    cli_exit code = CLI_OK;
    lab_progress progress = lab_progress_start(&cli_sink, after ? "timing after" : "timing before",
                                               left);
    for (size_t i = 0; i < tune->count && code == CLI_OK; i++) {
        tune_shape *shape = &tune->shapes[i];
        lab_bench_row *row = after ? &shape->after : &shape->before;
        if (after && !shape->challenge.won)
            continue;
        lab_progress_step(&progress, done++, shape->spec);
        set_time(tune, stage, left--);
        if (tune_left(tune, TUNE_AFTERWARDS) > 0)
            code = time_shape(tune, shape, after);
        else
            *row = (lab_bench_row){ .source = shape->source,
                                    .outcome = LAB_BENCH_SKIPPED,
                                    .reason = "no time was left" };
    }
    lab_progress_end(&progress);
    return code;
}
