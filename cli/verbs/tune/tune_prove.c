/*
 * tune_prove.c - all gates for who leads in the end
 *
 * heed verify does that, in a process of its own: a process that has talked to CUDA can have no
 * children that do, what crashes there leaves this one alone, and what takes too long is ended.
 */
#include <stdlib.h>
#include <string.h>

#include "src/measure.h"
#include "tune.h"
#include "wisdom_line.h"

#define LEAST_SECONDS 0.05 /* less is not worth a process */

/* A winner that is not proven has not won. */
static void lose(tune_shape *shape, const char *why)
{
    if (shape->lead.won)
        snprintf(shape->lead.why, sizeof shape->lead.why, "%.100s is faster than %.40s, and %s",
                 tune_contender(shape), shape->leader.name, why);
    if (shape->challenge.won)
        snprintf(shape->challenge.why, sizeof shape->challenge.why, "%.100s is faster, and %s",
                 shape->best, why);
    shape->challenge.won = shape->lead.won = false;
}

static void judge(tune_shape *shape, int code)
{
    char why[100];
    if (code == CLI_OK) {
        shape->proof = TUNE_PROVED;
        return;
    }
    if (code == CLI_TIMEOUT) {
        shape->proof = TUNE_NO_TIME;
        lose(shape, "there was no time to verify it");
        return;
    }
    bool refuted = code == CLI_VERIFY_FAILED || code == CLI_FINDING;
    shape->proof = refuted ? TUNE_REFUTED : TUNE_UNTOLD;
    snprintf(why, sizeof why,
             refuted ? "does not pass 'heed verify'"
                     : "could not be verified: 'heed verify' returned %d",
             code);
    cli_warning("%s: %.100s %s: see 'heed verify --proof --kernel %.100s \"%s\"'", shape->spec,
                tune_contender(shape), why, tune_contender(shape), shape->spec);
    lose(shape, why);
}

/* The quick ones first: there may be no time for all. */
static int by_time(const void *a, const void *b)
{
    const tune_shape *one = *(tune_shape *const *)a, *other = *(tune_shape *const *)b;
    double mine = one->before.summary.p50, theirs = other->before.summary.p50;
    return mine < theirs ? -1 : mine > theirs;
}

static size_t collect(const tune_run *tune, bool winners, tune_shape **list)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->count; i++) {
        tune_shape *shape = &tune->shapes[i];
        bool winner = shape->challenge.won || shape->lead.won;
        if (winner == winners && shape->proof == TUNE_NO_TIME &&
            (winners || shape->before.outcome == LAB_BENCH_OK))
            list[count++] = shape;
    }
    if (count > 1)
        qsort(list, count, sizeof(tune_shape *), by_time);
    return count;
}

/* A champion that nobody beat has the time that it had beside the rivals: now it can be ranked. The
 * first one of a problem, which heed plans, leads until another one beats it. */
static cli_exit confirm(const tune_run *tune, tune_shape *shape)
{
    lab_error error;
    int64_t id = 0;
    if (shape->proof != TUNE_PROVED)
        return CLI_OK;
    heed_status status = tune_add_row(tune, shape, &shape->before, TUNE_PROVEN, NULL, &id, &error);
    if (status == HEED_OK && id && !shape->promoted && !shape->foreign) {
        shape->promoted = id;
        status = lab_record_promote(tune->session.record, id, 0,
                                    "it is what heed plans, and nothing led before", &error);
    }
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

cli_exit tune_prove(tune_run *tune, bool winners)
{
    cli_exit code = CLI_OK;
    int64_t until = tune_until(tune, winners ? TUNE_PROOFS : TUNE_AFTERWARDS);
    tune_shape **list = calloc(tune->count + 1, sizeof(tune_shape *));
    size_t count = list ? collect(tune, winners, list) : 0;
    lab_progress progress = lab_progress_start(
        &cli_sink, winners ? "verifying" : "verifying champions", count);
    for (size_t i = 0; i < count && code == CLI_OK && !cli_interrupted(); i++) {
        bool time = heed_clock_ns() + (int64_t)(LEAST_SECONDS * 1e9) < until;
        lab_progress_step(&progress, i, list[i]->spec);
        const char *spec = list[i]->spec;
        judge(list[i],
              time ? cli_prove(&tune->options.machine, tune_contender(list[i]), &spec, 1, until)
                   : CLI_TIMEOUT);
        if (!winners)
            code = confirm(tune, list[i]);
    }
    lab_progress_end(&progress);
    free(list);
    if (list || tune->count == 0)
        return cli_interrupted() ? CLI_INTERRUPTED : code;
    cli_error("not enough memory to verify %zu problems", tune->count);
    return CLI_ENVIRONMENT;
}

/* ---- Keeping ---- */

/* The time of the final leader, if it has passed all gates: not the one that it was chosen by. 0:
 * it has not, or was not timed. */
static double proved_seconds(const tune_shape *shape)
{
    if (shape->proof != TUNE_PROVED)
        return 0;
    if (shape->challenge.won)
        return shape->challenge.pairs[1].seconds[0];
    return shape->before.outcome == LAB_BENCH_OK && shape->before.count > 0
               ? shape->before.summary.p50
               : 0;
}

void tune_keep(tune_run *tune)
{
    const char *path = cli_args_text(tune->args, "wisdom");
    size_t kept = 0;
    for (size_t i = 0; i < tune->count; i++) {
        tune_shape *shape = &tune->shapes[i];
        double seconds = proved_seconds(shape);
        if (!(seconds > 0))
            continue;
        shape->kept = heed_wisdom_learn(tune->bench.context, &shape->source->problem,
                                        tune_contender(shape), seconds) == HEED_OK;
        kept += shape->kept;
        if (!shape->kept)
            cli_warning("%s: no wisdom: %s", shape->spec, heed_message());
    }
    if (path && kept < tune->count)
        cli_message("--wisdom: %s gets %zu of %zu problems; of the others nothing was proved, and "
                    "more --seconds may change that",
                    path, kept, tune->count);
}
