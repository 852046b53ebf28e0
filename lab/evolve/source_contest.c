/*
 * source_contest.c - contests of a source with another one, with the leaders of the board, and with
 * heed's plans
 */
#include <math.h>
#include <stdlib.h>

#include "lab/evolve/sources.h"

/* ---- A source as a contender ---- */

static size_t number_of(const lab_sweep *sweep, const lab_bench_tensors *tensors)
{
    size_t i = 0;
    while (&sweep->shapes[i].tensors != tensors)
        i++;
    return i;
}

/* Two sources get blocks of the same number of calls, so only the sources differ. */
static heed_status start(void *data, const lab_bench_tensors *tensors, double *seconds)
{
    lab_desk *desk = data;
    lab_bench_process *process = &desk->worker.process;
    desk->shape = number_of(&desk->all->run->sweep, tensors);
    process->renewed = false;
    if (!lab_bench_worker_open(&desk->worker, &tensors->problem) ||
        !lab_bench_process_take(process, tensors))
        return HEED_ERR_SYSTEM;
    *seconds = sqrt(desk->kernel->seconds[desk->shape] * desk->beside->seconds[desk->shape]);
    lab_bench_process_size(process, *seconds, LAB_BENCH_PROCESS_SECONDS);
    return HEED_OK;
}

static void stop(void *data)
{
    lab_desk *desk = data;
    lab_bench_process_leave(&desk->worker.process);
}

static lab_bench_contender contender_of(lab_desk *desk)
{
    return (lab_bench_contender){ .data = desk,
                                  .name = desk->kernel->name,
                                  .start = start,
                                  .side = lab_bench_process_side(&desk->worker.process),
                                  .stop = stop };
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    lab_desk *desk = data;
    lab_record_trial trial = lab_desk_trial(desk->all, desk->kernel, shape, attempt, &desk->words);
    trial.artifact = lab_desk_artifact(desk, desk->kernel, desk->words.artifact);
    return trial;
}

static lab_challenger challenger_of(lab_desk *desk)
{
    return (lab_challenger){ .contender = contender_of(desk),
                             .source = desk->kernel->source,
                             .number = desk->kernel - desk->all->kernels,
                             .worker = &desk->worker,
                             .trial = trial_of };
}

/* Removes the champion if it was wrong or broke a rule in its last contest. Returns false if it did
 * not. */
static bool falls(lab_sources *all, const lab_desk *desk)
{
    lab_sources_kernel *kernel = &all->kernels[all->champion];
    const char *words = desk->worker.process.outcome.text;
    lab_record_verdict fault = lab_bench_worker_fault(&desk->worker);
    if (fault == LAB_RECORD_OK)
        return false;
    kernel->verdict = fault;
    kernel->score = INFINITY;
    lab_sources_set_log(kernel, words);
    lab_say(all->run->sweep.sink, LAB_WARNING, "%s has lost, on %s: %s", kernel->name,
            all->run->sweep.shapes[desk->shape].spec, words);
    return true;
}

/* ---- Within the evolution ---- */

/* Goes through the gates again, with other values: the first time it was one of many. */
static heed_status gates_again(void *data, bool *yes, bool *asked)
{
    lab_desk *desk = data;
    lab_sources_kernel again = *desk->kernel;
    heed_status status = HEED_OK;
    again.log = NULL;
    for (size_t i = 0; i < desk->all->run->sweep.problems.count && status == HEED_OK; i++)
        status = lab_desk_pass_gates(desk, &again, i);
    free(again.log);
    *yes = again.verdict == LAB_RECORD_OK;
    *asked = status == HEED_OK;
    return status;
}

/* A source that fails in the middle has lost; an error of the laboratory will show again. */
static heed_status break_off(lab_desk *a, lab_desk *b, bool *yes)
{
    lab_sources *all = a->all;
    const char *words = a->worker.process.outcome.text;
    lab_say(all->run->sweep.sink, LAB_WARNING, "%s: the contest was broken off: %s",
            a->kernel->name, *words ? words : b->worker.process.outcome.text);
    all->run->sweep.trouble.text[0] = '\0';
    b->shape = a->shape; /* which began first */
    *yes = falls(all, b);
    heed_status status = lab_desk_add_fault(a, a->shape);
    return status == HEED_OK ? lab_desk_add_fault(b, a->shape) : status;
}

static heed_status hold(lab_desk *a, lab_desk *b, bool *yes)
{
    lab_evolve *run = a->all->run;
    const heed_problem *first = &run->sweep.shapes[0].source.problem;
    const lab_challenger challenger = challenger_of(a);
    const lab_bench_contender champion = contender_of(b);
    lab_evolve_contest contest = {
        .run = run, .challenger = &challenger, .gates = gates_again, .proved = true, .data = a
    };
    heed_status status = HEED_ERR_SYSTEM;
    if (lab_bench_worker_open(&a->worker, first) && lab_bench_worker_open(&b->worker, first))
        status = lab_evolve_contest_champion(&contest, &champion, yes);
    lab_bench_process_close(&a->worker.process);
    lab_bench_process_close(&b->worker.process);
    return status == HEED_OK || lab_interrupted(run->sweep.sink) ? status : break_off(a, b, yes);
}

heed_status lab_sources_contest(lab_sources *all, size_t challenger, bool *yes)
{
    lab_desk *a = lab_desk_new(all, challenger, all->champion);
    lab_desk *b = lab_desk_new(all, all->champion, challenger);
    *yes = false;
    heed_status status = a && b ? hold(a, b, yes) : HEED_ERR_NO_MEMORY;
    lab_desk_free(a);
    lab_desk_free(b);
    return status;
}

/* ---- Against the leaders of the board ---- */

heed_status lab_sources_lead(lab_sources *all)
{
    lab_desk *desk = lab_desk_new(all, all->champion, all->champion);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    const lab_challenger challenger = challenger_of(desk);
    heed_status status = lab_evolve_lead(all->run, &challenger);
    if (status != HEED_OK && falls(all, desk)) {
        all->run->sweep.trouble.text[0] = '\0';
        status = lab_desk_add_fault(desk, desk->shape);
    }
    lab_desk_free(desk);
    return status;
}

/* ---- Against heed's plans ---- */

/* Both are timed by the clock, as the plan may have several threads. */
static heed_status meet_plan(lab_sources *all, lab_desk *desk, size_t index)
{
    lab_evolve *run = all->run;
    const lab_duel_options options = { .seconds = run->duel, .seed = run->session.seed + index };
    const lab_bench_contender contender = contender_of(desk);
    lab_duel duel;
    desk->worker.process.by_clock = true;
    heed_status status = lab_sweep_meet_usual(&run->sweep, index, &contender, &options, &duel);
    lab_duel_free(&duel);
    if (status != HEED_OK) {
        lab_desk_add_fault(desk, index);
        falls(all, desk);
    }
    return status;
}

heed_status lab_sources_meet_plan(lab_sources *all)
{
    const lab_sink *sink = all->run->sweep.sink;
    heed_status status = HEED_OK;
    lab_desk *desk = lab_desk_new(all, all->champion, all->champion);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < all->run->sweep.problems.count && status == HEED_OK; i++)
        if (*all->run->sweep.shapes[i].usual)
            status = meet_plan(all, desk, i);
    const char *broken = desk->worker.process.outcome.text;
    if (status != HEED_OK && *broken && !lab_interrupted(sink)) {
        if (desk->kernel->verdict == LAB_RECORD_OK)
            lab_say(sink, LAB_WARNING, "%s against heed's plan: the comparison was broken off: %s",
                    desk->kernel->name, broken);
        status = HEED_OK;
    }
    lab_desk_free(desk);
    return status;
}
