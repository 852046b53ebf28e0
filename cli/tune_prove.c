/*
 * tune_prove.c - all gates for who leads in the end
 *
 * heed verify does that, in a process of its own: a process that has talked to CUDA can have no
 * children that do, what crashes there leaves this one alone, and what takes too long is ended.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "tune.h"

#define LEAST_SECONDS 0.05 /* less is not worth a process */

static int verify(const tune_run *tune, const tune_shape *shape, int64_t until_ns)
{
    char threads[16];
    const char *words[20] = { "heed",     "verify",
                              "--device", cli_device(tune->args),
                              "--kernel", tune_contender(shape),
                              "--once",   "--time-limit",
                              "1",        shape->spec };
    size_t count = 10;
    if (cli_args_given(tune->args, "cpu")) {
        words[count++] = "--cpu";
        words[count++] = cli_args_text(tune->args, "cpu");
    }
    if (cli_args_given(tune->args, "threads")) {
        snprintf(threads, sizeof threads, "%d", (int)cli_args_integer(tune->args, "threads"));
        words[count++] = "--threads";
        words[count++] = threads;
    }
    return cli_run_self_until((char *const *)(const void *)words, until_ns);
}

/* A winner without a proof is none. */
static void lose(tune_shape *shape, const char *why)
{
    if (shape->meeting.won)
        snprintf(shape->meeting.why, sizeof shape->meeting.why,
                 "%.100s is faster than %.40s, and %s", tune_contender(shape), shape->leader.name,
                 why);
    if (shape->challenge.won)
        snprintf(shape->challenge.why, sizeof shape->challenge.why, "%.100s is faster, and %s",
                 shape->best, why);
    shape->challenge.won = shape->meeting.won = false;
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
    cli_warning("%s: %.100s %s: see 'heed verify --once --kernel %.100s \"%s\"'", shape->spec,
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
        bool winner = shape->challenge.won || shape->meeting.won;
        if (winner == winners && shape->proof == TUNE_NO_TIME &&
            (winners || shape->before.outcome == BENCH_OK))
            list[count++] = shape;
    }
    if (count > 1)
        qsort(list, count, sizeof(tune_shape *), by_time);
    return count;
}

cli_exit tune_prove(tune_run *tune, bool winners)
{
    int64_t until = tune_until(tune, winners ? TUNE_PROOFS : TUNE_AFTERWARDS);
    tune_shape **list = calloc(tune->count + 1, sizeof(tune_shape *));
    size_t count = list ? collect(tune, winners, list) : 0;
    cli_progress progress = cli_progress_start(winners ? "verifying" : "verifying champions",
                                               count);
    for (size_t i = 0; i < count && !cli_interrupted(); i++) {
        bool time = heed_clock_ns() + (int64_t)(LEAST_SECONDS * 1e9) < until;
        cli_progress_step(&progress, i, list[i]->spec);
        judge(list[i], time ? verify(tune, list[i], until) : CLI_TIMEOUT);
    }
    cli_progress_end(&progress);
    free(list);
    if (list || tune->count == 0)
        return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
    cli_error("not enough memory to verify %zu problems", tune->count);
    return CLI_ENVIRONMENT;
}
