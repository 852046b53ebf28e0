/*
 * tune.c - the stages of tuning, their time limits, and matches with the rivals
 */
#include "lab/tune/tune.h"

#include <math.h>

#include "src/measure.h"

#define LEAST_SECONDS 0.01 /* of a match */

/* ---- Time ---- */

#define NS_PER_SECOND 1e9

/* The end of each stage, as a share of the total time. Unused time goes to later stages. A third is
 * reserved for the gates: only kernels that pass them are ranked or kept. */
static const double ends[LAB_TUNE_STAGES] = { [LAB_TUNE_BASELINES] = 0.20,
                                              [LAB_TUNE_SEARCHES] = 0.50,
                                              [LAB_TUNE_DUELS] = 0.65,
                                              [LAB_TUNE_PROOFS] = 0.85,
                                              [LAB_TUNE_AFTERWARDS] = 1.0 };

int64_t lab_tune_until(const lab_tune *tune, lab_tune_stage stage)
{
    return tune->start_ns + (int64_t)(tune->seconds * ends[stage] * NS_PER_SECOND);
}

double lab_tune_left(const lab_tune *tune, lab_tune_stage stage)
{
    return fmax((double)(lab_tune_until(tune, stage) - heed_clock_ns()) / NS_PER_SECOND, 0);
}

int64_t lab_tune_share(const lab_tune *tune, lab_tune_stage stage, size_t parts)
{
    int64_t now = heed_clock_ns(), left = lab_tune_until(tune, stage) - now;
    return left <= 0 ? now : now + left / (int64_t)(parts > 0 ? parts : 1);
}

double lab_tune_passed(const lab_tune *tune)
{
    return (double)(heed_clock_ns() - tune->start_ns) / NS_PER_SECOND;
}

/* ---- Beginning ---- */

heed_status lab_tune_begin(lab_tune *tune)
{
    char what[32], budget[64];
    snprintf(what, sizeof what, "insights %d", tune->insights);
    snprintf(budget, sizeof budget, "%g s", tune->seconds);
    const lab_session_work work = { .what = what,
                                    .subject = "",
                                    .budget = budget,
                                    .specs = tune->shapes[0].spec,
                                    .stride = sizeof *tune->shapes,
                                    .count = tune->count };
    tune->bench.deadline_ns = lab_tune_until(tune, LAB_TUNE_BASELINES);
    return lab_session_begin(&tune->session, &work, &tune->trouble);
}

void lab_tune_free(lab_tune *tune)
{
    for (size_t i = 0; i < tune->count; i++) {
        lab_tune_shape *shape = &tune->shapes[i];
        for (int round = 0; round < LAB_ROUNDS; round++) {
            lab_bench_pair_free(&shape->challenge.pairs[round]);
            lab_bench_pair_free(&shape->lead.pairs[round]);
        }
        lab_bench_row_free(&shape->before);
        lab_bench_row_free(&shape->after);
    }
}

/* Makes sure that the champion can be planned, or uses heed's plan. */
static heed_status plan_champion(lab_tune *tune, lab_tune_shape *shape)
{
    heed_plan *plan = NULL;
    heed_status status = HEED_ERR_INVALID;
    if (*shape->champion)
        status = heed_plan_create_named(&plan, tune->bench.context, &shape->source->problem,
                                        shape->champion);
    if (status != HEED_OK) {
        shape->foreign = *shape->champion != '\0';
        if (shape->foreign)
            lab_say(
                tune->bench.sink, LAB_MESSAGE,
                "%s: %s leads the board and cannot be planned: the result will be timed against it",
                shape->spec, shape->champion);
        shape->promoted = 0;
        status = heed_plan_create(&plan, tune->bench.context, &shape->source->problem,
                                  HEED_ESTIMATE);
    }
    if (status != HEED_OK)
        return lab_fail(&tune->trouble, status, "%s: %s", shape->spec, heed_message());
    snprintf(shape->champion, sizeof shape->champion, "%s", heed_plan_name(plan));
    heed_plan_destroy(plan);
    return HEED_OK;
}

static heed_status find_champions(lab_tune *tune)
{
    heed_status status = HEED_OK;
    for (size_t i = 0; i < tune->count && status == HEED_OK; i++) {
        lab_tune_shape *shape = &tune->shapes[i];
        status = lab_leaders_find(tune->session.record, tune->bench.context, shape->spec,
                                  tune->bench.cold, &shape->leader, 1, &tune->trouble);
        if (status != HEED_OK)
            return status;
        lab_leaders_tell_left_out(tune->session.record, tune->bench.sink, shape->spec, 0);
        snprintf(shape->champion, sizeof shape->champion, "%s", shape->leader.name);
        shape->promoted = shape->leader.trial;
        status = plan_champion(tune, shape);
        if (status == HEED_OK)
            lab_tune_find_spaces(tune, shape);
    }
    return status;
}

/* ---- Matches with the rivals ---- */

/* Divides the remaining time among heed and the rivals, with the same again for overhead. */
static void set_time(lab_tune *tune, lab_tune_stage stage, size_t problems)
{
    size_t sides = 1;
    for (size_t i = 0; i < tune->bench.rival_count; i++)
        sides += tune->bench.rivals[i].open;
    double each = lab_tune_left(tune, stage) / (double)problems / (double)(2 * sides);
    tune->bench.seconds = fmax(fmin(tune->rivals, each), LEAST_SECONDS);
    tune->bench.deadline_ns = lab_tune_share(tune, stage, problems);
}

static heed_status time_shape(lab_tune *tune, lab_tune_shape *shape, bool after)
{
    lab_bench_row *row = after ? &shape->after : &shape->before;
    int64_t trial = 0;
    char started[LAB_RECORD_TIME_SIZE];
    lab_record_now(started);
    tune->bench.kernel = after ? shape->best : shape->champion;
    heed_status status = lab_bench_measure(&tune->bench, shape->source, row);
    if (status != HEED_OK)
        return status;
    if (row->outcome != LAB_BENCH_OK)
        lab_say(tune->bench.sink, LAB_WARNING, "%s: %s", shape->spec, row->reason);
    return lab_tune_add_row(tune, shape, row, after ? LAB_TUNE_AFTER : LAB_TUNE_BEFORE, started,
                            &trial);
}

static size_t count_wanted(const lab_tune *tune, bool after)
{
    size_t count = 0;
    for (size_t i = 0; i < tune->count; i++)
        count += !after || tune->shapes[i].challenge.won;
    return count;
}

static heed_status time_all(lab_tune *tune, bool after)
{
    lab_tune_stage stage = after ? LAB_TUNE_AFTERWARDS : LAB_TUNE_BASELINES;
    size_t left = count_wanted(tune, after), done = 0;
    heed_status code = HEED_OK;
    lab_progress progress = lab_progress_start(tune->bench.sink,
                                               after ? "timing after" : "timing before", left);
    for (size_t i = 0; i < tune->count && code == HEED_OK; i++) {
        lab_tune_shape *shape = &tune->shapes[i];
        lab_bench_row *row = after ? &shape->after : &shape->before;
        if (after && !shape->challenge.won)
            continue;
        lab_progress_step(&progress, done++, shape->spec);
        set_time(tune, stage, left--);
        if (lab_tune_left(tune, LAB_TUNE_AFTERWARDS) > 0)
            code = time_shape(tune, shape, after);
        else
            *row = (lab_bench_row){ .source = shape->source,
                                    .outcome = LAB_BENCH_SKIPPED,
                                    .reason = "no time was left" };
    }
    lab_progress_end(&progress);
    return code;
}

/* ---- The run ---- */

heed_status lab_tune_run(lab_tune *tune)
{
    heed_status status = find_champions(tune);
    if (status == HEED_OK)
        status = time_all(tune, false);
    if (status == HEED_OK)
        status = lab_tune_search(tune);
    if (status == HEED_OK)
        status = lab_tune_challenge(tune);
    if (status == HEED_OK)
        status = time_all(tune, true);
    return status == HEED_OK ? lab_tune_prove(tune, false) : status;
}
