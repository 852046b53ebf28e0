/*
 * evolve_source_contest.c - two sources that meet in turns
 */
#include <math.h>
#include <stdlib.h>

#include "evolve_sources.h"

/* ---- A source as a side ---- */

/* Blocks of as many calls for two of them: nothing but the sources differs. */
static heed_status start(void *data, size_t number, lab_side *side)
{
    source_desk *desk = data;
    lab_bench_process *process = &desk->worker.process;
    const lab_sweep_shape *shape = &desk->all->run->sweep.shapes[number];
    desk->shape = number;
    *side = lab_bench_process_side(process);
    if (!source_desk_open(desk, &shape->tensors.problem) ||
        !lab_bench_process_take(process, &shape->tensors))
        return HEED_ERR_SYSTEM;
    lab_bench_process_size(process,
                           sqrt(desk->kernel->seconds[number] * desk->beside->seconds[number]),
                           LAB_BENCH_PROCESS_SECONDS);
    return HEED_OK;
}

static void stop(void *data)
{
    source_desk *desk = data;
    lab_bench_process_leave(&desk->worker.process);
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    source_desk *desk = data;
    lab_record_trial trial = source_trial(desk->all, desk->kernel, shape, attempt, &desk->words);
    trial.artifact = source_artifact(desk, desk->kernel, desk->words.artifact);
    return trial;
}

static evolve_challenger challenger_of(source_desk *desk)
{
    return (evolve_challenger){ .name = desk->kernel->name,
                                .source = desk->kernel->source,
                                .number = desk->kernel - desk->all->kernels,
                                .side = { start, stop, desk },
                                .worker = &desk->worker,
                                .trial = trial_of };
}

/* ---- Within the evolution ---- */

/* Once more through the gates, with other values: the first time it was one of many. */
static heed_status gates_again(void *data, bool *yes, bool *asked)
{
    source_desk *desk = data;
    source_kernel again = *desk->kernel;
    heed_status status = HEED_OK;
    again.log = NULL;
    for (size_t i = 0; i < desk->all->run->sweep.problems.count && status == HEED_OK; i++)
        status = source_pass_gates(desk, &again, i);
    free(again.log);
    *yes = again.verdict == LAB_RECORD_OK;
    *asked = status == HEED_OK;
    return status;
}

bool source_falls(evolve_sources *all, size_t number, size_t shape, const lab_bench_worker *worker)
{
    source_kernel *kernel = &all->kernels[number];
    lab_record_verdict fault = lab_bench_worker_fault(worker);
    if (fault == LAB_RECORD_OK)
        return false;
    kernel->verdict = fault;
    kernel->score = INFINITY;
    source_set_log(kernel, worker->process.outcome.text);
    cli_warning("%s has lost, on %s: %s", kernel->name, all->run->sweep.shapes[shape].spec,
                worker->process.outcome.text);
    return true;
}

/* A source that breaks in the middle has lost; an error of the laboratory will show again. */
static heed_status break_off(const source_desk *a, const source_desk *b, bool *yes)
{
    evolve_sources *all = a->all;
    const char *words = a->worker.process.outcome.text;
    cli_warning("%s: the contest was broken off: %s", a->kernel->name,
                *words ? words : b->worker.process.outcome.text);
    all->run->trouble.text[0] = '\0';
    *yes = source_falls(all, all->champion, a->shape, &b->worker);
    heed_status status = source_add_fault(all, a->kernel, a->shape, &a->worker.process);
    return status == HEED_OK ? source_add_fault(all, b->kernel, a->shape, &b->worker.process)
                             : status;
}

static source_desk *new_desk(evolve_sources *all, size_t number, size_t beside)
{
    source_desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return NULL;
    desk->all = all;
    desk->kernel = &all->kernels[number];
    desk->beside = &all->kernels[beside];
    return desk;
}

static heed_status hold(source_desk *a, source_desk *b, bool *yes)
{
    evolve_run *run = a->all->run;
    const heed_problem *first = &run->sweep.shapes[0].source.problem;
    const evolve_challenger challenger = challenger_of(a);
    evolve_contest contest = {
        .run = run, .challenger = &challenger, .gates = gates_again, .proved = true, .data = a
    };
    heed_status status = HEED_ERR_SYSTEM;
    if (source_desk_open(a, first) && source_desk_open(b, first))
        status = evolve_contest_champion(&contest, b->kernel->name, (evolve_side){ start, stop, b },
                                         yes);
    source_desk_close(a);
    source_desk_close(b);
    return status == HEED_OK || cli_interrupted() ? status : break_off(a, b, yes);
}

heed_status source_contest(evolve_sources *all, size_t challenger, bool *yes)
{
    source_desk *a = new_desk(all, challenger, all->champion);
    source_desk *b = new_desk(all, all->champion, challenger);
    *yes = false;
    heed_status status = a && b ? hold(a, b, yes) : HEED_ERR_NO_MEMORY;
    free(a);
    free(b);
    return status;
}

/* ---- Against those who lead the board ---- */

heed_status source_lead(evolve_sources *all)
{
    source_desk *desk = new_desk(all, all->champion, all->champion);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    const evolve_challenger challenger = challenger_of(desk);
    heed_status status = evolve_lead(all->run, &challenger);
    if (status != HEED_OK && source_falls(all, all->champion, desk->shape, &desk->worker)) {
        all->run->trouble.text[0] = '\0';
        status = source_add_fault(all, desk->kernel, desk->shape, &desk->worker.process);
    }
    source_desk_close(desk);
    free(desk);
    return status;
}
