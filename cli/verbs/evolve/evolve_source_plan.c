/*
 * evolve_source_plan.c - heed's own plan beside the champion, which it was ranked before
 */
#include <stdlib.h>

#include "evolve_sources.h"

/* In turns; both by the clock, as the plan may have several threads. */
static heed_status meet(evolve_sources *all, source_desk *desk, size_t index)
{
    evolve_run *run = all->run;
    lab_sweep_shape *shape = &run->sweep.shapes[index];
    lab_bench_process *process = &desk->worker.process;
    const lab_duel_options options = { .seconds = run->duel, .seed = run->seed + index };
    lab_duel duel = { .pairs = 0 };
    heed_status status = lab_sweep_open_shape(&run->sweep, shape);
    process->by_clock = true;
    if (status == HEED_OK && (!source_desk_open(desk, &shape->tensors.problem) ||
                              !lab_bench_process_take(process, &shape->tensors)))
        status = HEED_ERR_SYSTEM;
    if (status == HEED_OK) {
        const lab_side side = lab_bench_process_side(process);
        lab_bench_process_size(process, desk->kernel->seconds[index], LAB_BENCH_PROCESS_SECONDS);
        status = lab_sweep_meet_usual(&run->sweep, index, &side, &options, &duel);
    }
    lab_duel_free(&duel);
    if (status != HEED_OK) {
        source_add_fault(all, desk->kernel, index, process);
        source_falls(all, all->champion, index, &desk->worker);
    }
    lab_bench_process_leave(process);
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
    const char *broken = desk->worker.process.outcome.text;
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
