/*
 * prove.c - runs all gates on the final leaders
 */
#include <stdlib.h>

#include "lab/tune/tune.h"
#include "src/measure.h"

#define LEAST_SECONDS 0.05 /* minimum worth a process */

/* Withdraws the win of a kernel that is not proven. */
static void lose(lab_tune_shape *shape, const char *why)
{
    if (shape->lead.won)
        snprintf(shape->lead.why, sizeof shape->lead.why, "%.100s is faster than %.40s, and %s",
                 lab_tune_contender(shape), shape->leader.name, why);
    if (shape->challenge.won)
        snprintf(shape->challenge.why, sizeof shape->challenge.why, "%.100s is faster, and %s",
                 shape->best, why);
    shape->challenge.won = shape->lead.won = false;
}

/* Runs the gates on the leading kernel, until @until_ns. */
static void judge(lab_tune *tune, lab_tune_shape *shape, int64_t until_ns)
{
    const lab_sink *sink = tune->bench.sink;
    const char *kernel = lab_tune_contender(shape), *spec = shape->spec;
    char time_advice[LAB_ADVICE_SIZE], advice[LAB_ADVICE_SIZE];
    char why[LAB_PROVER_WHY] = "";
    bool time = heed_clock_ns() + (int64_t)(LEAST_SECONDS * 1e9) < until_ns;
    if (time)
        shape->proven = tune->prover.prove(tune->prover.data, kernel, &spec, 1, until_ns, why);
    if (shape->proven == LAB_PROVEN)
        return;
    if (shape->proven == LAB_UNPROVEN) {
        if (shape->challenge.won || shape->lead.won)
            lab_say(sink, LAB_MESSAGE,
                    "%s: %.100s is faster, and there was no time to verify it%s%s", spec, kernel,
                    lab_advise(sink, LAB_ADVICE_TIME, time_advice),
                    lab_advise_prove(sink, kernel, spec, advice));
        lose(shape, "there was no time to verify it");
        return;
    }
    lab_say(sink, LAB_WARNING, "%s: %.100s %s%s", spec, kernel, why,
            lab_advise_prove(sink, kernel, spec, advice));
    lose(shape, why);
}

/* Fast ones first: there may not be time for all. */
static int by_time(const void *a, const void *b)
{
    const lab_tune_shape *one = *(lab_tune_shape *const *)a, *other = *(lab_tune_shape *const *)b;
    double mine = one->before.summary.p50, theirs = other->before.summary.p50;
    return mine < theirs ? -1 : mine > theirs;
}

static size_t collect(const lab_tune *tune, bool winners, lab_tune_shape **list)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->count; i++) {
        lab_tune_shape *shape = &tune->shapes[i];
        bool winner = shape->challenge.won || shape->lead.won;
        if (winner == winners && shape->proven == LAB_UNPROVEN &&
            (winners || shape->before.outcome == LAB_BENCH_OK))
            list[count++] = shape;
    }
    if (count > 1)
        qsort(list, count, sizeof(lab_tune_shape *), by_time);
    return count;
}

/* Ranks an unbeaten champion, now proven, with its time from the match with the rivals. The first
 * champion of a problem, heed's plan, leads until it is beaten. */
static heed_status confirm(lab_tune *tune, lab_tune_shape *shape)
{
    int64_t id = 0;
    if (shape->proven != LAB_PROVEN)
        return HEED_OK;
    heed_status status = lab_tune_add_row(tune, shape, &shape->before, LAB_TUNE_PROVEN, NULL, &id);
    if (status != HEED_OK || !id || shape->promoted || shape->foreign)
        return status;
    shape->promoted = id;
    return lab_record_promote(tune->session.record, id, 0,
                              "it is heed's plan, and there was no leader", &tune->trouble);
}

heed_status lab_tune_prove(lab_tune *tune, bool winners)
{
    const lab_sink *sink = tune->bench.sink;
    heed_status status = HEED_OK;
    int64_t until = lab_tune_until(tune, winners ? LAB_TUNE_PROOFS : LAB_TUNE_AFTERWARDS);
    lab_tune_shape **list = calloc(tune->count + 1, sizeof(lab_tune_shape *));
    if (!list)
        return lab_fail(&tune->trouble, HEED_ERR_NO_MEMORY,
                        "not enough memory to verify %zu problems", tune->count);
    size_t count = collect(tune, winners, list);
    lab_progress progress = lab_progress_start(sink, winners ? "verifying" : "verifying champions",
                                               count);
    for (size_t i = 0; i < count && status == HEED_OK && !lab_interrupted(sink); i++) {
        lab_progress_step(&progress, i, list[i]->spec);
        judge(tune, list[i], until);
        if (!winners)
            status = confirm(tune, list[i]);
    }
    lab_progress_end(&progress);
    free(list);
    return lab_interrupted(sink) ? HEED_ERR_SYSTEM : status;
}

double lab_tune_proved_seconds(const lab_tune_shape *shape)
{
    if (shape->proven != LAB_PROVEN)
        return 0;
    if (shape->challenge.won)
        return shape->challenge.pairs[1].seconds[0];
    return shape->before.outcome == LAB_BENCH_OK && shape->before.count > 0
               ? shape->before.summary.p50
               : 0;
}
