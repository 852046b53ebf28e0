/*
 * usual.c - heed's plan without a search, and duels with it
 *
 * The times of the search are the fastest samples from different moments, good enough for
 * selection. Whether the selected point is faster than the plan is decided here, on fresh samples.
 */
#include <stdio.h>

#include "lab/sweep/sweep.h"
#include "src/cuda/facts.h"
#include "src/device.h"

/* Checks that the kernel exists and supports this problem, for an architecture or a context. */
heed_status lab_sweep_try_kernel(heed_context *context, int arch, const heed_problem *problem,
                                 const char *name)
{
    heed_cuda_facts facts;
    heed_plan *plan = NULL;
    heed_status status = arch ? heed_cuda_facts_find(name, problem, arch, &facts)
                              : heed_plan_create_named(&plan, context, problem, name);
    heed_plan_destroy(plan);
    return status;
}

heed_status lab_sweep_kernel_runs(heed_context *context, const heed_problem *problem,
                                  const char *name)
{
    return lab_sweep_try_kernel(context, heed_device_arch(context), problem, name);
}

/* heed's plan without a search. */
void lab_sweep_find_usual(lab_sweep *run)
{
    for (size_t i = 0; i < run->problems.count; i++) {
        heed_plan *plan = NULL;
        if (heed_plan_create(&plan, run->context, &run->problems.items[i], HEED_ESTIMATE) ==
            HEED_OK)
            snprintf(run->shapes[i].usual, sizeof run->shapes[i].usual, "%s", heed_plan_name(plan));
        heed_plan_destroy(plan);
    }
}

static heed_status start(void *data, const lab_bench_tensors *tensors, double *seconds)
{
    lab_sweep_player *it = data;
    heed_plan *plan;
    heed_status status = heed_plan_create_named(&plan, it->sweep->context, &tensors->problem,
                                                it->name);
    return status == HEED_OK ? lab_bench_engine_begin(&it->engine, tensors, plan, NULL,
                                                      it->sweep->replay, seconds)
                             : status;
}

static void stop(void *data)
{
    lab_sweep_player *it = data;
    lab_bench_engine_stop(&it->engine);
}

lab_bench_contender lab_sweep_contender(lab_sweep_player *player)
{
    return (lab_bench_contender){ .data = player,
                                  .name = player->name,
                                  .start = start,
                                  .side = lab_bench_engine_side(&player->engine),
                                  .stop = stop };
}

heed_status lab_sweep_play(const lab_sweep *run, size_t number, const lab_bench_contender *a,
                           const lab_bench_contender *b, const lab_duel_options *options,
                           lab_duel *duel)
{
    lab_sweep_shape *shape = &run->shapes[number];
    double seconds;
    *duel = (lab_duel){ .pairs = 0 };
    heed_status status = lab_sweep_open_shape(run, shape);
    if (status == HEED_OK)
        status = a->start(a->data, &shape->tensors, &seconds);
    if (status == HEED_OK)
        status = b->start(b->data, &shape->tensors, &seconds);
    if (status == HEED_OK && a->side.fn == lab_bench_engine_block &&
        b->side.fn == lab_bench_engine_block)
        status = lab_bench_engine_level(a->side.data, b->side.data);
    if (status == HEED_OK)
        status = lab_duel_run(duel, &a->side, &b->side, options);
    b->stop(b->data);
    a->stop(a->data);
    return status;
}

static void take_verdict(lab_sweep_shape *shape, const lab_duel *duel)
{
    const lab_comparison *it = &duel->comparison;
    shape->ratio = it->ratio.estimate;
    shape->low = it->ratio.low;
    shape->high = it->ratio.high;
    shape->verdict = lab_compared_name(it->verdict);
    shape->found_seconds = lab_stats_summary_of(duel->a, duel->pairs).p50;
    shape->usual_seconds = lab_stats_summary_of(duel->b, duel->pairs).p50;
}

heed_status lab_sweep_meet_usual(lab_sweep *run, size_t number, const lab_bench_contender *found,
                                 const lab_duel_options *options, lab_duel *duel)
{
    lab_sweep_player usual = { .sweep = run };
    snprintf(usual.name, sizeof usual.name, "%s", run->shapes[number].usual);
    const lab_bench_contender b = lab_sweep_contender(&usual);
    heed_status status = lab_sweep_play(run, number, found, &b, options, duel);
    if (status == HEED_OK)
        take_verdict(&run->shapes[number], duel);
    return status;
}
