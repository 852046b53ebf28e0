/*
 * evolve_title.c - the champion of an evolution against those who lead the board
 *
 * Evolution begins with what heed plans, so its champion has not met whoever holds the titles. It
 * meets them here, each on his problem: FASTER by 3 % on two problems, or on the only one, SLOWER
 * on none, and that again on fresh samples. Then it takes the titles of the problems on which it is
 * FASTER.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_engine.h"
#include "evolve.h"
#include "leader.h"

#define TITLE_ATTEMPT 16 /* on the board; before it are the challenges within the evolution */

typedef struct title_bout {
    evolve_run *run;
    const evolve_challenger *challenger;
    size_t count;
    size_t shapes[LAB_SEARCH_SHAPES];
    const char *holders[LAB_SEARCH_SHAPES]; /* by bout, not by shape */
    cli_leader leaders[LAB_SEARCH_SHAPES];
    bench_engine holder;
} title_bout;

static void part(void *data, size_t index)
{
    title_bout *it = data;
    (void)index;
    bench_engine_stop(&it->holder);
    it->challenger->stop(it->challenger->data);
}

static heed_status meet(void *data, size_t index, lab_side *a, lab_side *b)
{
    title_bout *it = data;
    sweep_run *sweep = &it->run->sweep;
    size_t number = it->shapes[index];
    it->holder = (bench_engine){ .tensors = NULL };
    heed_status status = sweep_open_shape(sweep, &sweep->shapes[number]);
    if (status == HEED_OK)
        status = it->challenger->start(it->challenger->data, number, a);
    if (status == HEED_OK)
        status = evolve_engine_start(sweep, &sweep->shapes[number], it->holders[index],
                                     &it->holder);
    if (status != HEED_OK)
        part(it, index);
    *b = (lab_side){ bench_engine_block, bench_engine_renew, &it->holder };
    return status;
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    const title_bout *it = data;
    return it->challenger->trial(it->challenger->data, shape, attempt);
}

/* It passed them before it came here. */
static heed_status no_gates(void *data, bool *yes)
{
    (void)data;
    (void)yes;
    return HEED_OK;
}

static heed_status take_title(void *data, size_t index, const lab_comparison *fresh, int64_t trial,
                              const char *reason)
{
    title_bout *it = data;
    if (fresh->verdict != LAB_FASTER || trial == 0)
        return HEED_OK;
    it->run->titles++;
    return lab_record_promote(it->run->record, trial, it->leaders[index].trial, reason,
                              &it->run->trouble);
}

/* Who leads on a problem: of the board, else what heed plans. False: nobody that can be met here.
 */
static bool find_holder(title_bout *it, size_t number, heed_status *status)
{
    evolve_run *run = it->run;
    const sweep_shape *shape = &run->sweep.shapes[number];
    cli_leader *leader = &it->leaders[it->count];
    *status = cli_leader_find(run->record, run->sweep.context, shape->spec, run->sweep.cold, leader,
                              &run->trouble);
    if (*status != HEED_OK)
        return false;
    if (leader->trial == 0)
        snprintf(leader->name, sizeof leader->name, "%s", shape->usual);
    if (!*leader->name || strcmp(leader->name, it->challenger->name) == 0)
        return false;
    if (sweep_kernel_runs(run->sweep.context, &shape->source.problem, leader->name) == HEED_OK)
        return true;
    cli_message("%s: %s, which leads the board, cannot be planned and keeps its title", shape->spec,
                leader->name);
    return false;
}

heed_status evolve_take_titles(evolve_run *run, const evolve_challenger *challenger)
{
    heed_status status = HEED_OK;
    bool yes = false;
    title_bout *it = calloc(1, sizeof *it);
    if (!it)
        return HEED_ERR_NO_MEMORY;
    it->run = run;
    it->challenger = challenger;
    for (size_t i = 0; i < run->sweep.problems.count && status == HEED_OK; i++)
        if (find_holder(it, i, &status)) {
            it->holders[it->count] = it->leaders[it->count].name;
            it->shapes[it->count++] = i;
        }
    const evolve_contest contest = {
        .run = run,
        .challenger = challenger->name,
        .champion = "who leads the board",
        .number = challenger->number + TITLE_ATTEMPT,
        .family = { .count = it->count, .meet = meet, .part = part, .data = it },
        .shapes = it->shapes,
        .holders = it->holders,
        .attempt = TITLE_ATTEMPT,
        .trial = trial_of,
        .gates = no_gates,
        .won = take_title
    };
    /* With several problems two wins are needed, also where it meets somebody on one of them alone.
     */
    if (status == HEED_OK && it->count > (run->sweep.problems.count > 1))
        status = evolve_contest_run(&contest, &yes);
    free(it);
    return status;
}
