/*
 * calibrate.c - duels of a kernel with itself, to find the smallest detectable difference on this
 * machine
 */
#include <string.h>

#include "lab/bench/pair.h"
#include "lab/measure/power.h"
#include "src/measure.h"

enum {
    PAIRS_MAX = 1000
};

/* The median of all blocks of both sides. */
static double median_call(const lab_duel *duel)
{
    double all[2 * PAIRS_MAX];
    memcpy(all, duel->a, duel->pairs * sizeof *all);
    memcpy(all + duel->pairs, duel->b, duel->pairs * sizeof *all);
    lab_stats_sort(all, 2 * duel->pairs);
    return lab_stats_median(all, 2 * duel->pairs);
}

static heed_status duel_of(const lab_bench *bench, lab_bench_calibration *row)
{
    const lab_duel_options options = { .rules = { .margin = bench->margin, .looks = 1 },
                                       .seconds = bench->seconds,
                                       .pairs_max = PAIRS_MAX,
                                       .seed = bench->seed };
    const lab_rules rules = { .margin = bench->margin, .looks = LAB_DUEL_LOOKS };
    lab_bench_pair *pair = &row->pair;
    heed_status status = lab_bench_pair_run(pair, bench, row->source, &options);
    if (pair->outcome == LAB_BENCH_WRONG)
        snprintf(pair->reason, sizeof pair->reason,
                 "its output is wrong: %.3g times the error allowed", pair->error[pair->blame]);
    if (status != HEED_OK || pair->duel.pairs == 0)
        return status;
    row->seconds = median_call(&pair->duel);
    lab_series series = lab_duel_series(&pair->duel);
    return lab_power_detectable(&series, &rules, bench->seed, &row->detectable);
}

heed_status lab_bench_calibrate_problem(const lab_bench *bench, const lab_bench_source *source,
                                        lab_bench_calibration *row)
{
    heed_plan *plan = NULL;
    *row = (lab_bench_calibration){ .source = source, .pair = { .itself = true } };
    heed_status status = lab_bench_plan(bench, &source->problem, &plan);
    if (status == HEED_OK) {
        row->pair.names[0] = row->pair.names[1] = heed_plan_name(plan);
        status = duel_of(bench, row);
    }
    heed_plan_destroy(plan);
    if (status != HEED_OK && heed_context_stopped(bench->context))
        return HEED_ERR_SYSTEM;
    if (status != HEED_OK)
        row->pair.outcome = lab_bench_outcome_of(status, row->pair.reason);
    return HEED_OK;
}
