/*
 * evolve_source_contest.c - two sources that meet in turns
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../src/message.h"
#include "evolve_sources.h"

typedef struct source_meeting {
    evolve_sources *all;
    size_t challenger, champion;
    size_t shape; /* the problem that they met on last */
    source_desk a, b;
    source_kernel held; /* who leads the board */
    source_words words;
} source_meeting;

static heed_status start(source_desk *side, const sweep_shape *shape, double seconds)
{
    if (!source_desk_open(side, &shape->tensors.problem) ||
        !cli_seat_take(&side->worker.seat, &shape->tensors))
        return HEED_ERR_SYSTEM;
    cli_seat_size(&side->worker.seat, seconds, CLI_SEAT_BLOCK_SECONDS);
    return HEED_OK;
}

static void part(void *data, size_t index)
{
    source_meeting *it = data;
    (void)index;
    cli_seat_leave(&it->a.worker.seat);
    cli_seat_leave(&it->b.worker.seat);
}

static heed_status meet(void *data, size_t index, lab_side *a, lab_side *b)
{
    source_meeting *it = data;
    it->shape = index;
    sweep_shape *shape = &it->all->run->sweep.shapes[index];
    heed_status status = sweep_open_shape(&it->all->run->sweep, shape);
    double seconds = sqrt(it->all->kernels[it->challenger].seconds[index] *
                          it->all->kernels[it->champion].seconds[index]);
    if (status == HEED_OK) /* blocks of as many calls for both: nothing but the sources differs */
        status = start(&it->a, shape, seconds);
    if (status == HEED_OK)
        status = start(&it->b, shape, seconds);
    if (status != HEED_OK)
        part(it, index);
    *a = cli_seat_side(&it->a.worker.seat);
    *b = cli_seat_side(&it->b.worker.seat);
    return status;
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    source_meeting *it = data;
    const source_kernel *kernel = &it->all->kernels[it->challenger];
    lab_record_trial trial = source_trial(it->all, kernel, shape, attempt, &it->words);
    trial.artifact = source_artifact(&it->a, kernel, it->words.artifact);
    return trial;
}

/* Once more through the gates, with other values: the first time it was one of many. */
static heed_status gates_again(void *data, bool *yes, bool *asked)
{
    source_meeting *it = data;
    source_kernel again = it->all->kernels[it->challenger];
    heed_status status = HEED_OK;
    again.log = NULL;
    for (size_t i = 0; i < it->all->run->sweep.problems.count && status == HEED_OK; i++)
        status = source_pass_gates(&it->a, &again, i);
    free(again.log);
    *yes = again.verdict == LAB_RECORD_OK;
    *asked = status == HEED_OK;
    return status;
}

bool source_falls(evolve_sources *all, size_t number, size_t shape, const cli_worker *worker)
{
    source_kernel *kernel = &all->kernels[number];
    lab_record_verdict fault = cli_worker_fault(worker);
    if (fault == LAB_RECORD_OK)
        return false;
    kernel->verdict = fault;
    kernel->score = INFINITY;
    source_set_log(kernel, worker->seat.outcome.text);
    cli_warning("%s has lost, on %s: %s", kernel->name, all->run->sweep.shapes[shape].spec,
                worker->seat.outcome.text);
    return true;
}

static heed_status hold(source_meeting *it, size_t challenger, bool *yes)
{
    evolve_sources *all = it->all;
    const evolve_contest contest = { .run = all->run,
                                     .challenger = all->kernels[challenger].name,
                                     .champion = all->kernels[all->champion].name,
                                     .number = (int64_t)challenger,
                                     .count = all->run->sweep.problems.count,
                                     .data = it,
                                     .meet = meet,
                                     .part = part,
                                     .trial = trial_of,
                                     .gates = gates_again,
                                     .proved = true };
    const heed_problem *first = &all->run->sweep.shapes[0].source.problem;
    heed_status status = HEED_ERR_SYSTEM;
    *yes = false;
    if (source_desk_open(&it->a, first) && source_desk_open(&it->b, first))
        status = evolve_contest_run(&contest, yes);
    source_desk_close(&it->a);
    source_desk_close(&it->b);
    if (status == HEED_OK || cli_interrupted())
        return status;
    /* A challenger that breaks in the middle has lost; what breaks the laboratory shows again. */
    const char *words = *it->a.worker.seat.outcome.text ? it->a.worker.seat.outcome.text
                                                        : it->b.worker.seat.outcome.text;
    cli_warning("%s: the contest was broken off: %s", contest.challenger, words);
    all->run->trouble.text[0] = '\0';
    /* A champion that breaks in the middle has lost, too. */
    *yes = source_falls(all, it->champion, it->shape, &it->b.worker);
    status = source_add_fault(all, it->a.kernel, it->shape, &it->a.worker.seat);
    return status == HEED_OK ? source_add_fault(all, it->b.kernel, it->shape, &it->b.worker.seat)
                             : status;
}

heed_status source_contest(evolve_sources *all, size_t challenger, bool *yes)
{
    source_meeting *it = calloc(1, sizeof *it);
    if (!it)
        return HEED_ERR_NO_MEMORY;
    it->all = it->a.all = it->b.all = all;
    it->challenger = challenger;
    it->champion = all->champion;
    it->a.kernel = &all->kernels[challenger];
    it->b.kernel = &all->kernels[all->champion];
    heed_status status = hold(it, challenger, yes);
    free(it);
    return status;
}

/* ---- Against those who lead the board ---- */

static heed_status start_champion(void *data, size_t shape, lab_side *side)
{
    source_meeting *it = data;
    it->shape = shape;
    it->a.worker.seat.by_clock = true; /* beside a plan of heed's; see start_source() */
    *side = cli_seat_side(&it->a.worker.seat);
    return start(&it->a, &it->all->run->sweep.shapes[shape],
                 it->all->kernels[it->challenger].seconds[shape]);
}

static void stop_champion(void *data)
{
    source_meeting *it = data;
    cli_seat_leave(&it->a.worker.seat);
}

/* A leader runs in a process of its own, too. */
static heed_status start_source(void *data, size_t shape, const char *name, const char *source,
                                lab_side *side)
{
    source_meeting *it = data;
    double seconds = 0;
    it->held = (source_kernel){ .name = (char *)(uintptr_t)name,
                                .source = (char *)(uintptr_t)source };
    it->b.all = it->all;
    it->b.kernel = &it->held;
    it->a.worker.seat.by_clock = it->b.worker.seat.by_clock = false;
    *side = cli_seat_side(&it->b.worker.seat);
    heed_status status = start(&it->b, &it->all->run->sweep.shapes[shape], CLI_SEAT_BLOCK_SECONDS);
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first time pays for what is new */
        status = cli_seat_block(&it->b.worker.seat, &seconds);
    if (status != HEED_OK)
        return heed_fail(status, "%s", it->b.worker.seat.outcome.text);
    cli_seat_size(&it->b.worker.seat, seconds, CLI_SEAT_BLOCK_SECONDS);
    return status;
}

static const cli_worker *source_worker(void *data)
{
    const source_meeting *it = data;
    return &it->b.worker;
}

static void stop_source(void *data)
{
    source_meeting *it = data;
    source_desk_close(&it->b);
}

heed_status source_take_titles(evolve_sources *all)
{
    source_meeting *it = calloc(1, sizeof *it);
    if (!it)
        return HEED_ERR_NO_MEMORY;
    it->all = it->a.all = all;
    it->challenger = all->champion;
    it->a.kernel = &all->kernels[all->champion];
    const evolve_challenger challenger = { .name = it->a.kernel->name,
                                           .source = it->a.kernel->source,
                                           .number = (int64_t)all->champion,
                                           .start = start_champion,
                                           .stop = stop_champion,
                                           .trial = trial_of,
                                           .start_source = start_source,
                                           .stop_source = stop_source,
                                           .source_worker = source_worker,
                                           .data = it };
    heed_status status = evolve_take_titles(all->run, &challenger);
    if (status != HEED_OK && source_falls(all, all->champion, it->shape, &it->a.worker)) {
        all->run->trouble.text[0] = '\0';
        status = source_add_fault(all, it->a.kernel, it->shape, &it->a.worker.seat);
    }
    source_desk_close(&it->a);
    free(it);
    return status;
}
