/*
 * source_trial.c - one source: compiled, through the gates, and timed
 */
#include <math.h>

#include "lab/evolve/sources.h"
#include "src/measure.h"

#define SAMPLES_MIN 3
#define SAMPLE_NS INT64_C(20000000) /* approximate time for the first samples of a problem */

/* Number of calls in which each kind of hard value occurs. */
#define HARD_CALLS 24

/* Returns true once enough blocks have been timed. */
static bool is_timed(const lab_desk *desk, int64_t end)
{
    return desk->sample_count >= SAMPLES_MIN && heed_clock_ns() >= end &&
           desk->worker.process.hardened >= HARD_CALLS;
}

/* Takes the minimum of some blocks, which also check their results. */
static heed_status time_it(lab_desk *desk, lab_sources_kernel *kernel, size_t number)
{
    lab_bench_process *process = &desk->worker.process;
    double least = INFINITY, seconds = 0;
    int64_t end = heed_clock_ns() + SAMPLE_NS;
    desk->sample_count = 0;
    process->hardened = 0;
    for (int i = 0; i < LAB_DESK_SAMPLES && !is_timed(desk, end); i++) {
        heed_status status = lab_bench_process_block(process, &seconds);
        if (status == HEED_ERR_NO_MEMORY)
            return status;
        if (status != HEED_OK) {
            lab_desk_take_outcome(kernel, &process->outcome);
            if (process->worst > 1)
                kernel->verdict = LAB_RECORD_WRONG;
            return lab_interrupted(desk->all->run->sweep.sink) ? HEED_ERR_SYSTEM : HEED_OK;
        }
        least = fmin(least, seconds);
        desk->samples[desk->sample_count++] = seconds;
        if (i == 0)
            lab_bench_process_size(process, seconds, LAB_BENCH_PROCESS_SECONDS);
    }
    kernel->seconds[number] = least;
    return HEED_OK;
}

static heed_status add_answer(lab_desk *desk, lab_sources_kernel *kernel, size_t shape)
{
    lab_desk_words words;
    char reason[400], binds[200], hash[LAB_RECORD_HASH_SIZE];
    lab_record_fact facts[2];
    lab_entry_parts parts;
    lab_error why;
    const lab_evaluation timed = { .samples = desk->samples, .sample_count = desk->sample_count };
    lab_record_trial trial = lab_desk_trial(desk->all, kernel, shape, 0, &words);
    if (trial.fact_count == 1)
        facts[0] = trial.facts[0];
    if (kernel->findings) {
        lab_clue_explain(kernel->findings, binds, sizeof binds);
        facts[trial.fact_count++] = (lab_record_fact){ .name = "binds", .text = binds };
    }
    trial.facts = facts;
    snprintf(reason, sizeof reason, "%s", kernel->log ? kernel->log : "");
    trial.artifact = lab_desk_artifact(desk, kernel, hash);
    if (kernel->verdict == LAB_RECORD_OK)
        lab_entry_take(&trial, &parts, &timed, desk->all->run->sweep.cold);
    trial.verdict = kernel->verdict;
    trial.reason = *reason ? reason : NULL;
    trial.gates = desk->gates.items;
    trial.gate_count = desk->gates.count;
    /* The first source was not chosen by its times, so they are confirmed. */
    trial.confirmed = kernel->verdict == LAB_RECORD_OK && kernel == desk->all->kernels;
    /* An impossible time loses, whatever the output. */
    if (!lab_record_plausible(desk->all->run->session.record, &trial, &why)) {
        kernel->verdict = trial.verdict = LAB_RECORD_IMPOSSIBLE;
        lab_sources_set_log(kernel, why.text);
        trial.reason = why.text;
        trial.confirmed = false;
    }
    trial.started = desk->started;
    kernel->known[shape] = true;
    return lab_sweep_add(&desk->all->run->sweep, &trial, NULL);
}

/* A device left in a bad state would spoil all later results. */
static heed_status probe(lab_desk *desk, const lab_sources_kernel *kernel)
{
    lab_trial_outcome outcome;
    int arch;
    if (desk->all->language == LAB_LANGUAGE_C || kernel->verdict == LAB_RECORD_OK ||
        kernel->verdict == LAB_RECORD_COMPILE || kernel->verdict == LAB_RECORD_REFUSED ||
        kernel->verdict == LAB_RECORD_UNFIT || kernel->verdict == LAB_RECORD_WRONG ||
        lab_trial_probe(&desk->all->limits, &arch, &outcome))
        return HEED_OK;
    return lab_fail(&desk->all->run->sweep.trouble, HEED_ERR_LOST,
                    "the device fails after %.60s: %.150s", kernel->name, outcome.text);
}

static heed_status judge_open(lab_desk *desk, lab_sources_kernel *kernel, size_t number)
{
    lab_sweep_shape *shape = &desk->all->run->sweep.shapes[number];
    lab_desk_inspect(desk, kernel);
    heed_status status = lab_sweep_open_shape(&desk->all->run->sweep, shape);
    if (status == HEED_OK)
        status = lab_desk_pass_gates(desk, kernel, number);
    if (status != HEED_OK || kernel->verdict != LAB_RECORD_OK)
        return status;
    /* The gates also used other kinds of problems. */
    if (lab_bench_worker_open(&desk->worker, &shape->tensors.problem) &&
        lab_bench_process_take(&desk->worker.process, &shape->tensors))
        status = time_it(desk, kernel, number);
    else
        lab_desk_take_outcome(kernel, &desk->worker.process.outcome);
    lab_bench_process_leave(&desk->worker.process);
    return status;
}

static heed_status judge_shape(lab_desk *desk, lab_sources_kernel *kernel, size_t shape)
{
    heed_status status = HEED_OK;
    desk->gates.count = desk->sample_count = 0;
    lab_record_now(desk->started);
    if (lab_bench_worker_open(&desk->worker, &desk->all->run->sweep.shapes[shape].source.problem)) {
        status = judge_open(desk, kernel, shape);
    } else {
        if (*desk->worker.log)
            lab_sources_set_log(kernel, desk->worker.log);
        lab_desk_take_outcome(kernel, &desk->worker.process.outcome);
    }
    if (lab_interrupted(desk->all->run->sweep.sink))
        return HEED_ERR_SYSTEM;
    if (status == HEED_OK)
        status = add_answer(desk, kernel, shape);
    return status == HEED_OK ? probe(desk, kernel) : status;
}

heed_status lab_sources_judge(lab_sources *all, lab_sources_kernel *kernel)
{
    size_t count = all->run->sweep.problems.count, number = (size_t)(kernel - all->kernels);
    heed_status status = HEED_OK;
    lab_desk *desk = lab_desk_new(all, number, number);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    for (size_t i = 0; i < count && kernel->verdict == LAB_RECORD_OK && status == HEED_OK; i++)
        if (!kernel->known[i])
            status = judge_shape(desk, kernel, i);
    lab_desk_free(desk);
    lab_sources_score(all, kernel);
    return status;
}
