/*
 * pair.c - two kernels timed in turns, with checks of their output
 */
#include "lab/bench/pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/measure/power.h"
#include "src/measure.h"

/* Calls timed to size blocks, and the time limit for that. */
#define ESTIMATES_MAX 7
#define ESTIMATE_SECONDS 20e-3

/* -------------------------------------------------------------------------- */
/* A plan as a contender                                                      */
/* -------------------------------------------------------------------------- */

static heed_status start(void *data, const lab_bench_tensors *tensors, double *seconds)
{
    lab_bench_player *it = data;
    const lab_bench_maker *maker = it->maker;
    heed_plan *plan = NULL;
    heed_status status = maker ? maker->plan(maker->data, &tensors->problem, &plan)
                               : heed_plan_create_named(&plan, it->context, &tensors->problem,
                                                        it->name);
    return status == HEED_OK
               ? lab_bench_engine_begin(&it->engine, tensors, plan, maker ? maker->library : NULL,
                                        it->replay, seconds)
               : status;
}

static void stop(void *data)
{
    lab_bench_player *it = data;
    lab_bench_engine_stop(&it->engine);
}

lab_bench_contender lab_bench_player_contender(lab_bench_player *player)
{
    return (lab_bench_contender){ .data = player,
                                  .name = player->name,
                                  .start = start,
                                  .side = lab_bench_engine_side(&player->engine),
                                  .stop = stop };
}

/* -------------------------------------------------------------------------- */
/* A pair                                                                     */
/* -------------------------------------------------------------------------- */

static void set_outcome(lab_bench_pair *pair, int side, lab_bench_outcome outcome,
                        const char *reason)
{
    pair->outcome = outcome;
    pair->blame = side;
    snprintf(pair->reason, sizeof pair->reason, "%s", reason);
}

static void set_wrong(lab_bench_pair *pair, int side)
{
    char reason[LAB_PEER_REASON_SIZE];
    snprintf(reason, sizeof reason, "%.95s computes a wrong result: %.3g times the allowed error",
             pair->planned[side], pair->error[side]);
    set_outcome(pair, side, LAB_BENCH_WRONG, reason);
}

static heed_status plan_side(lab_bench_pair *pair, const lab_bench *bench,
                             const heed_problem *problem, int side, heed_plan **plan)
{
    const char *name = pair->names[side];
    const lab_bench_maker *maker = side == 1 ? pair->maker : NULL;
    if (maker) {
        snprintf(pair->planned[side], sizeof pair->planned[side], "%.95s", maker->name);
        return maker->plan(maker->data, problem, plan);
    }
    heed_status status = name ? heed_plan_create_named(plan, bench->context, problem, name)
                              : heed_plan_create(plan, bench->context, problem, HEED_ESTIMATE);
    if (status == HEED_OK)
        snprintf(pair->planned[side], sizeof pair->planned[side], "%s", heed_plan_name(*plan));
    return status;
}

/* Seconds of a call. The first call pays one-time costs, and others may be disturbed. With their
 * minimum, the blocks of both sides get about the same number of calls. */
static heed_status estimate(lab_bench_engine *engine, bool replay, double *seconds)
{
    double spent = 0, least = (double)INFINITY;
    heed_status status = HEED_OK;
    for (int i = 0; i < 2 || (i < ESTIMATES_MAX && spent < ESTIMATE_SECONDS); i++) {
        double now = 0;
        status = lab_bench_engine_estimate(engine, replay, &now);
        if (status != HEED_OK)
            return status;
        least = fmin(least, now);
        spent += now;
    }
    *seconds = least;
    return status;
}

/* Makes a side ready for blocks, and checks its output. */
static heed_status start_side(lab_bench_pair *pair, const lab_bench *bench,
                              const lab_bench_tensors *tensors, const lab_expect *expect,
                              lab_bench_engine *engine, int side)
{
    heed_plan *plan = NULL;
    double seconds = 0;
    heed_status status = plan_side(pair, bench, &tensors->problem, side, &plan);
    if (status != HEED_OK)
        return status;
    status = lab_bench_engine_start(engine, tensors, plan,
                                    side == 1 && pair->maker ? pair->maker->library : NULL);
    engine->behind = bench->behind;
    if (status == HEED_OK)
        status = lab_bench_tensors_poison(tensors);
    if (status == HEED_OK)
        status = estimate(engine, bench->replay, &seconds);
    if (status == HEED_OK)
        status = lab_bench_engine_error(engine, expect, &pair->error[side]);
    if (status == HEED_OK && !(pair->error[side] <= 1))
        set_wrong(pair, side);
    if (status == HEED_OK)
        pair->seconds[side] = seconds;
    return status == HEED_OK ? lab_bench_engine_ready(engine, bench->replay, seconds) : status;
}

/* A contender checks its own output, in every block. A wrong one is an outcome. */
static heed_status judge_contender(lab_bench_pair *pair, heed_status status)
{
    pair->error[1] = pair->contender->error(pair->contender->data);
    if (pair->error[1] <= 1)
        return status;
    if (pair->outcome == LAB_BENCH_OK)
        set_wrong(pair, 1);
    return HEED_OK;
}

static heed_status start_contender(lab_bench_pair *pair, const lab_bench_tensors *tensors)
{
    const lab_bench_contender *contender = pair->contender;
    snprintf(pair->planned[1], sizeof pair->planned[1], "%.95s", contender->name);
    return judge_contender(pair, contender->start(contender->data, tensors, &pair->seconds[1]));
}

/* Checks the outputs of a side's blocks and of one more call. */
static heed_status check_side(lab_bench_pair *pair, lab_bench_engine *engine,
                              const lab_expect *expect, int side)
{
    double error;
    heed_status status = lab_bench_engine_check(engine, expect, &error);
    if (status == HEED_OK && !(error <= pair->error[side]))
        pair->error[side] = error;
    if (status == HEED_OK && pair->outcome == LAB_BENCH_OK && !(error <= 1))
        set_wrong(pair, side);
    return status;
}

static heed_status take_turns(lab_bench_pair *pair, lab_bench_engine engines[2],
                              const lab_duel_options *options)
{
    const lab_side a = lab_bench_engine_side(&engines[0]);
    const lab_bench_contender *contender = pair->contender;
    const lab_side b = contender ? contender->side : lab_bench_engine_side(&engines[1]);
    heed_status status = contender ? HEED_OK : lab_bench_engine_level(&engines[0], &engines[1]);
    if (status == HEED_OK)
        status = lab_duel_run(&pair->duel, &a, &b, options);
    pair->calls = engines[0].replay.calls;
    if (status == HEED_OK) {
        pair->seconds[0] = lab_stats_summary_of(pair->duel.a, pair->duel.pairs).p50;
        pair->seconds[1] = lab_stats_summary_of(pair->duel.b, pair->duel.pairs).p50;
    }
    return status;
}

/* Times some calls of A alone; no verdict depends on them. */
static heed_status time_alone(lab_bench_pair *pair, lab_bench_engine *engine)
{
    double seconds[5];
    heed_status status = HEED_OK;
    for (int i = 0; i < 5 && status == HEED_OK; i++)
        status = lab_bench_engine_block(engine, &seconds[i]);
    if (status == HEED_OK)
        pair->seconds[0] = pair->seconds[1] = lab_stats_summary_of(seconds, 5).p50;
    return status;
}

static heed_status meet(lab_bench_pair *pair, const lab_bench *bench,
                        const lab_bench_tensors *tensors, const lab_expect *expect,
                        const lab_duel_options *options)
{
    lab_bench_engine engines[2] = { { .tensors = NULL } };
    lab_bench_checker *checker = NULL;
    heed_status status = HEED_OK;
    for (int i = 0; i < 2 && status == HEED_OK && pair->outcome == LAB_BENCH_OK; i++) {
        pair->blame = i;
        status = i == 1 && pair->contender
                     ? start_contender(pair, tensors)
                     : start_side(pair, bench, tensors, expect, &engines[i], i);
    }
    bool met = status == HEED_OK && pair->outcome == LAB_BENCH_OK;
    if (met) {
        pair->blame = -1;
        pair->same = !pair->contender && !pair->maker && !pair->itself &&
                     strcmp(pair->planned[0], pair->planned[1]) == 0;
        lab_bench_checker_create(&checker, tensors, bench->seed, bench->host_threads);
        engines[0].checker = engines[1].checker = checker;
        status = pair->same ? time_alone(pair, &engines[0]) : take_turns(pair, engines, options);
        status = pair->contender ? judge_contender(pair, status) : status;
    }
    for (int i = 0; i < (pair->contender ? 1 : 2) && met && status == HEED_OK; i++)
        status = check_side(pair, &engines[i], expect, i);
    for (int i = 0; i < 2; i++)
        lab_bench_engine_stop(&engines[i]);
    if (pair->contender)
        pair->contender->stop(pair->contender->data);
    lab_bench_checker_destroy(checker);
    return status;
}

heed_status lab_bench_pair_run(lab_bench_pair *pair, const lab_bench *bench,
                               const lab_bench_source *source, const lab_duel_options *options)
{
    lab_bench_tensors tensors;
    lab_expect *expect = NULL;
    const lab_sampling rows = { .seed = bench->seed,
                                .work = LAB_BENCH_EXPECT_WORK,
                                .threads = bench->host_threads };
    pair->blame = -1;
    heed_status status = lab_bench_tensors_create(&tensors, bench->context, source, bench->seed,
                                                  lab_bench_rotation_bytes(bench));
    if (status == HEED_OK) {
        pair->copies = tensors.copies;
        heed_buffers data = lab_bench_tensors_inputs(&tensors);
        status = lab_expect_create(&expect, &tensors.problem, &data, &rows);
        if (status == HEED_OK)
            status = meet(pair, bench, &tensors, expect, options);
        lab_expect_destroy(expect);
        lab_bench_tensors_free(&tensors);
    }
    if (status != HEED_OK && heed_context_stopped(bench->context))
        return HEED_ERR_SYSTEM;
    if (status != HEED_OK)
        pair->outcome = lab_bench_outcome_of(status, pair->reason);
    if (status == HEED_ERR_INVALID)
        pair->outcome = LAB_BENCH_REFUSED;
    return HEED_OK;
}

void lab_bench_pair_free(lab_bench_pair *pair)
{
    lab_duel_free(&pair->duel);
}

/* The detectable difference, from the series as if both sides were equally fast. */
static double detectable_of(const lab_bench_pair *pair, const lab_comparison *of, double margin,
                            uint64_t seed)
{
    size_t pairs = pair->duel.pairs;
    double *b = malloc((pairs > 0 ? pairs : 1) * sizeof *b);
    double least = (double)INFINITY;
    if (b && of->ratio.estimate > 0) {
        for (size_t i = 0; i < pairs; i++)
            b[i] = pair->duel.b[i] / of->ratio.estimate;
        const lab_series series = { .a = pair->duel.a, .b = b, .pairs = pairs };
        const lab_rules rules = { .margin = margin, .looks = LAB_DUEL_LOOKS };
        if (pairs == 0 || lab_power_detectable(&series, &rules, seed, &least) != HEED_OK)
            least = (double)INFINITY;
    }
    free(b);
    return least;
}

void lab_bench_pair_doubt(const lab_bench_pair *pair, const lab_comparison *of, double margin,
                          uint64_t seed, char *reason, size_t size)
{
    double least = detectable_of(pair, of, margin, seed);
    if (!isfinite(least))
        snprintf(reason, size, "%zu pair%s of blocks in %.3g s are too few to tell anything",
                 pair->duel.pairs, lab_plural(pair->duel.pairs), pair->duel.seconds);
    else
        snprintf(reason, size,
                 "%.4f to %.4f crosses what is allowed; less than %.3g %% cannot be told here in "
                 "%.3g s, as a pair of blocks varies by %.3g %%%s",
                 of->ratio.low, of->ratio.high, 100 * least, pair->duel.seconds, 100 * of->noise,
                 of->merged > 1 ? ", and what disturbs it lasts long" : "");
}
