/*
 * evolve_source_plan.c - heed's own plan beside the champion, which it was ranked before
 */
#include <stdlib.h>

#include "evolve_sources.h"

#define BLOCK_SECONDS 2e-3

/* In turns; both by the clock, as the plan may have several threads. */
static heed_status play(evolve_run *run, size_t index, lab_bench_seat *seat, lab_bench_engine *plan)
{
    sweep_shape *shape = &run->sweep.shapes[index];
    const lab_side a = lab_bench_seat_side(seat);
    const lab_side b = { lab_bench_engine_block, lab_bench_engine_renew, plan };
    const lab_duel_options options = { .seconds = run->duel, .seed = run->seed + index };
    lab_duel duel;
    heed_status status = lab_duel_run(&duel, &a, &b, &options);
    if (status == HEED_OK)
        sweep_take_verdict(shape, &duel);
    lab_duel_free(&duel);
    return status;
}

static heed_status meet(evolve_sources *all, source_desk *desk, size_t index)
{
    evolve_run *run = all->run;
    sweep_shape *shape = &run->sweep.shapes[index];
    lab_bench_engine plan = { .tensors = NULL };
    heed_status status = sweep_open_shape(&run->sweep, shape);
    desk->worker.seat.by_clock = true;
    if (status == HEED_OK && (!source_desk_open(desk, &shape->tensors.problem) ||
                              !lab_bench_seat_take(&desk->worker.seat, &shape->tensors)))
        status = HEED_ERR_SYSTEM;
    if (status == HEED_OK) {
        lab_bench_seat_size(&desk->worker.seat, desk->kernel->seconds[index], BLOCK_SECONDS);
        status = sweep_start_engine(&run->sweep, shape, shape->usual, &plan);
    }
    if (status == HEED_OK)
        status = play(run, index, &desk->worker.seat, &plan);
    if (status != HEED_OK) {
        source_add_fault(all, desk->kernel, index, &desk->worker.seat);
        source_falls(all, all->champion, index, &desk->worker);
    }
    lab_bench_seat_leave(&desk->worker.seat);
    lab_bench_engine_stop(&plan);
    return status;
}

heed_status source_meet_plan(evolve_sources *all)
{
    heed_status status = HEED_OK;
    source_desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    desk->all = all;
    desk->kernel = &all->kernels[all->champion];
    for (size_t i = 0; i < all->run->sweep.problems.count && status == HEED_OK; i++)
        if (*all->run->sweep.shapes[i].usual)
            status = meet(all, desk, i);
    const char *broken = desk->worker.seat.outcome.text;
    if (status != HEED_OK && *broken && !cli_interrupted()) {
        if (desk->kernel->verdict == LAB_RECORD_OK)
            cli_warning("%s beside what heed plans: the comparison was broken off: %s",
                        desk->kernel->name, broken);
        status = HEED_OK;
    }
    source_desk_close(desk);
    free(desk);
    return status;
}
