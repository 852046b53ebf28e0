/*
 * check.c - runs a kernel on guarded tensors and keeps its outputs and traces
 */
#include "lab/verify/check.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/base/modes.h"
#include "lab/verify/reference/reference.h"

/* Records the addresses of all blocks, to explain a stray access of the kernel. */
static void trace_blocks(lab_trace *trace, const lab_stage *stage, bool locked)
{
    if (!trace)
        return;
    trace->place_count = 0;
    for (int i = 0; i < LAB_BLOCKS; i++) {
        const lab_region *region = &stage->block[i].region;
        if (!region->map)
            continue;
        lab_place *place = &trace->places[trace->place_count++];
        *place = (lab_place){
            .data = (uintptr_t)region->data,
            .size = region->size,
            .start = (uintptr_t)region->map,
            .end = (uintptr_t)region->map + region->map_size,
            .locked = locked && !lab_stage_writes(stage, i),
        };
        snprintf(place->name, sizeof place->name, "%s", lab_block_name(i));
    }
}

static heed_status allocate_outputs(lab_run *run, const heed_problem *problem, bool lse)
{
    size_t rows = (size_t)lab_rows(problem), size;
    if (__builtin_mul_overflow(rows, (size_t)problem->dim_v * heed_type_size(problem->type), &size))
        return HEED_ERR_NO_MEMORY;
    run->o = malloc(size);
    run->lse = lse ? calloc(rows, sizeof *run->lse) : NULL;
    return run->o && (run->lse || !lse) ? HEED_OK : HEED_ERR_NO_MEMORY;
}

/* Runs the subject on @stage, in the memory of this process. */
static heed_status run_here(const lab_check *check, const lab_stage *stage, heed_status *outcome)
{
    heed_buffers buffers = lab_stage_buffers(stage);
    if (check->lock && !lab_stage_lock(stage, true))
        return HEED_ERR_SYSTEM;
    trace_blocks(check->trace, stage, check->lock);
    *outcome = check->subject->run(check->subject->data, &buffers);
    if (check->trace)
        check->trace->place_count = 0;
    return check->lock && !lab_stage_lock(stage, false) ? HEED_ERR_SYSTEM : HEED_OK;
}

heed_status lab_check_stage(const lab_check *check, lab_stage *stage, heed_status *outcome)
{
    const lab_subject *subject = check->subject;
    const uint64_t before = lab_modes();
    fenv_t environment;
    fegetenv(&environment);
    heed_status status = subject->run_away ? subject->run_away(subject->data, stage, outcome)
                                           : run_here(check, stage, outcome);
    stage->modes_changed = lab_modes() != before;
    if (stage->modes_changed)
        fesetenv(&environment);
    return status;
}

static bool is_aligned(const lab_stage *stage)
{
    uintptr_t bits = 0;
    for (int role = LAB_Q; role < LAB_ROLES; role++)
        bits |= (uintptr_t)stage->block[role].region.data;
    return bits % LAB_ODD_BYTES == 0;
}

/* Runs the subject on @stage, and checks what it changed there. */
static heed_status run_on(lab_run *run, const lab_check *check, lab_stage *stage,
                          const lab_values *values)
{
    heed_status status = lab_check_stage(check, stage, &run->status);
    if (status != HEED_OK)
        return status;
    run->aligned = is_aligned(stage);
    lab_stage_take(stage, run->o, run->lse);
    if (!check->lock)
        lab_stage_changed(stage, values, run->changed, sizeof run->changed);
    lab_stage_misses(stage, values, run->missing, sizeof run->missing);
    lab_stage_spoiled(stage, !check->lock, run->spoiled, sizeof run->spoiled);
    if (stage->modes_changed && !run->spoiled[0])
        snprintf(run->spoiled, sizeof run->spoiled,
                 "the caller's rounding, treatment of denormal numbers, x87 registers or flags are "
                 "left changed");
    return HEED_OK;
}

heed_status lab_run_create(lab_run *run, const lab_check *check, const lab_values *values,
                           lab_layout layout)
{
    const heed_problem *problem = &values->problem;
    lab_stage stage;
    memset(run, 0, sizeof *run);
    run->status = check->subject->prepare(check->subject->data, problem, &run->needs);
    if (run->status != HEED_OK)
        return HEED_OK;
    layout.seed = check->seed;
    layout.workspace = run->needs.workspace_size;
    heed_status status = lab_stage_create(&stage, values, &layout);
    if (status == HEED_OK)
        status = allocate_outputs(run, problem, layout.lse);
    if (status == HEED_OK)
        status = run_on(run, check, &stage, values);
    lab_stage_destroy(&stage);
    if (status != HEED_OK)
        lab_run_destroy(run);
    return status;
}

void lab_run_destroy(lab_run *run)
{
    free(run->o);
    free(run->lse);
    memset(run, 0, sizeof *run);
}

bool lab_run_equal(const heed_problem *problem, const lab_run *a, const lab_run *b, int64_t *row)
{
    size_t bytes = (size_t)problem->dim_v * heed_type_size(problem->type);
    for (*row = 0; *row < lab_rows(problem); ++*row) {
        size_t at = (size_t)*row * bytes;
        if (memcmp((const char *)a->o + at, (const char *)b->o + at, bytes) != 0)
            return false;
        if (a->lse && b->lse && memcmp(&a->lse[*row], &b->lse[*row], sizeof(float)) != 0)
            return false;
    }
    return true;
}
