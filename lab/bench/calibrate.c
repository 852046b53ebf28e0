/*
 * calibrate.c - duels of a kernel with itself, to find the smallest detectable difference on this
 * machine
 */
#include <string.h>

#include "lab/bench/match.h"
#include "lab/measure/power.h"
#include "src/measure.h"

enum {
    PAIRS_MAX = 1000
};

/* Makes an engine ready: its plan, the same kernel for each of a pair, and the size of its blocks.
 */
static heed_status start_engine(const lab_bench *bench, lab_bench_calibration *row,
                                lab_bench_engine *engine, const lab_bench_tensors *tensors)
{
    heed_plan *plan = NULL;
    double seconds = 0;
    heed_status status = row->kernel[0] ? heed_plan_create_named(&plan, bench->context,
                                                                 &tensors->problem, row->kernel)
                                        : lab_bench_plan(bench, &tensors->problem, &plan);
    if (status != HEED_OK)
        return status;
    snprintf(row->kernel, sizeof row->kernel, "%s", heed_plan_name(plan));
    status = lab_bench_engine_start(engine, tensors, plan, NULL);
    engine->behind = bench->behind;
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first call pays one-time costs */
        status = lab_bench_engine_estimate(engine, bench->replay, &seconds);
    return status == HEED_OK ? lab_bench_engine_ready(engine, bench->replay, seconds) : status;
}

/* Checks the engine's results: times of wrong ones are meaningless. */
static heed_status check_engine(lab_bench_calibration *row, lab_bench_engine *engine,
                                const lab_expect *expect)
{
    double error;
    heed_status status = lab_bench_engine_check(engine, expect, &error);
    if (status == HEED_OK && !(error <= 1)) {
        row->outcome = LAB_BENCH_WRONG;
        snprintf(row->reason, sizeof row->reason,
                 "its output is wrong: %.3g times the error allowed", error);
    }
    return status;
}

/* The median of all blocks of both sides. */
static double median_call(const lab_duel *duel)
{
    double all[2 * PAIRS_MAX];
    memcpy(all, duel->a, duel->pairs * sizeof *all);
    memcpy(all + duel->pairs, duel->b, duel->pairs * sizeof *all);
    lab_stats_sort(all, 2 * duel->pairs);
    return lab_stats_median(all, 2 * duel->pairs);
}

static heed_status duel_of(const lab_bench *bench, lab_bench_calibration *row,
                           lab_bench_engine engines[2])
{
    const lab_duel_options options = { .rules = { .margin = bench->margin, .looks = 1 },
                                       .seconds = bench->seconds,
                                       .pairs_max = PAIRS_MAX,
                                       .seed = bench->seed };
    const lab_rules rules = { .margin = bench->margin, .looks = LAB_DUEL_LOOKS };
    const lab_side a = lab_bench_engine_side(&engines[0]), b = lab_bench_engine_side(&engines[1]);
    heed_status status = lab_duel_run(&row->duel, &a, &b, &options);
    if (status != HEED_OK)
        return status;
    row->seconds = median_call(&row->duel);
    row->calls = engines[0].replay.calls;
    lab_series series = lab_duel_series(&row->duel);
    return lab_power_detectable(&series, &rules, 0, bench->seed, &row->detectable);
}

static heed_status measure(const lab_bench *bench, lab_bench_calibration *row,
                           const lab_bench_tensors *tensors)
{
    lab_bench_engine engines[2] = { { .tensors = NULL } };
    lab_bench_checker *checker = NULL;
    lab_expect *expect = NULL;
    heed_buffers data = lab_bench_tensors_inputs(tensors);
    lab_sampling rows = { .seed = bench->seed,
                          .work = LAB_BENCH_EXPECT_WORK,
                          .threads = bench->host_threads };
    heed_status status = lab_expect_create(&expect, &tensors->problem, &data, &rows);
    for (int i = 0; i < 2 && status == HEED_OK; i++)
        status = start_engine(bench, row, &engines[i], tensors);
    if (status == HEED_OK)
        status = lab_bench_engine_level(&engines[0], &engines[1]);
    if (status == HEED_OK)
        lab_bench_checker_create(&checker, tensors, bench->seed, bench->host_threads);
    engines[0].checker = engines[1].checker = checker;
    if (status == HEED_OK)
        status = duel_of(bench, row, engines);
    for (int i = 0; i < 2 && status == HEED_OK && row->outcome == LAB_BENCH_OK; i++)
        status = check_engine(row, &engines[i], expect);
    for (int i = 0; i < 2; i++)
        lab_bench_engine_stop(&engines[i]);
    lab_bench_checker_destroy(checker);
    lab_expect_destroy(expect);
    return status;
}

heed_status lab_bench_calibrate_problem(const lab_bench *bench, const lab_bench_source *source,
                                        lab_bench_calibration *row)
{
    lab_bench_tensors tensors;
    *row = (lab_bench_calibration){ .source = source };
    heed_status status = lab_bench_tensors_create(&tensors, bench->context, source, bench->seed,
                                                  lab_bench_rotation_bytes(bench));
    if (status == HEED_OK) {
        row->copies = tensors.copies;
        status = measure(bench, row, &tensors);
        lab_bench_tensors_free(&tensors);
    }
    if (status != HEED_OK && heed_context_stopped(bench->context))
        return HEED_ERR_SYSTEM;
    if (status != HEED_OK)
        row->outcome = lab_bench_outcome_of(status, row->reason);
    return HEED_OK;
}
