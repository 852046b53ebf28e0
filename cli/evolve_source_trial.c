/*
 * evolve_source_trial.c - one source: compiled, through the gates, timed, and against the champion
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "candidate.h"
#include "evolve_sources.h"
#include "report/format.h"
#include "verify/verify.h"

#define SAMPLES_MIN 3
#define SAMPLE_NS INT64_C(20000000) /* for the first times of a problem, about */
#define BLOCK_SECONDS 2e-3
#define VERIFY_WORK (INT64_C(1) << 20)

static const char *const compiler_options[] = { "-O3", "-march=native" };

lab_candidate source_candidate(const source_kernel *kernel)
{
    return (lab_candidate){ .name = kernel->name,
                            .language = LAB_LANGUAGE_C,
                            .source = kernel->source,
                            .source_size = strlen(kernel->source),
                            .options = compiler_options,
                            .option_count = 2 };
}

lab_record_trial source_trial(const evolve_sources *all, const source_kernel *kernel, size_t shape,
                              int attempt, const char **parents)
{
    const evolve_run *run = all->run;
    parents[0] = kernel->parent;
    return (lab_record_trial){ .run = run->run,
                               .candidate = { .kernel = kernel->name,
                                              .language = "c",
                                              .source = kernel->source,
                                              .proposer = all->proposer_name,
                                              .seed = run->seed,
                                              .thought = *kernel->thought ? kernel->thought : NULL,
                                              .parents = parents,
                                              .parent_count = *kernel->parent != '\0' },
                               .problem = &run->sweep.problems.items[shape],
                               .attempt = attempt,
                               .device = run->place.device,
                               .environment = run->place.environment,
                               .selftest = run->selftest,
                               .seed = run->seed };
}

/* -------------------------------------------------------------------------- */
/* A candidate at work on a problem                                           */
/* -------------------------------------------------------------------------- */

typedef struct worker {
    lab_trial *trial;
    lab_set sets[LAB_WIRE_SETS]; /* all of the same tensors: the process copies them apart */
    void *workspace;
    int calls; /* of a block */
    lab_trial_outcome outcome;
} worker;

static void worker_stop(worker *it)
{
    free(it->workspace);
    it->workspace = NULL;
}

static bool worker_ready(worker *it, const sweep_shape *shape)
{
    heed_buffers buffers = bench_tensors_buffers(&shape->tensors, 0);
    size_t size = 0;
    if (!lab_trial_prepare(it->trial, &shape->tensors.problem, &size, &it->outcome))
        return false;
    it->workspace = size > 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    if (size > 0 && !it->workspace)
        return lab_trial_outcome_set(&it->outcome, LAB_TRIAL_SYSTEM, "no memory");
    buffers.workspace = it->workspace;
    buffers.workspace_size = size;
    it->sets[0] = lab_set_of(&shape->tensors.problem, &buffers);
    for (int i = 1; i < LAB_WIRE_SETS; i++)
        it->sets[i] = it->sets[0];
    it->calls = 1;
    return true;
}

/* How many calls make a block that the clock can tell, and that memory has room for. */
static void worker_size(worker *it, double seconds, const lab_limits *limits)
{
    size_t bytes = 1;
    for (int i = 0; i < LAB_SPANS; i++)
        bytes += it->sets[0].span[i].room_size + 16384;
    double room = (double)lab_limits_fill(limits).tensor_bytes / 2 / (double)bytes;
    double calls = fmin(ceil(BLOCK_SECONDS / fmax(seconds, 1e-9)), fmin(room, LAB_WIRE_SETS));
    it->calls = calls > 1 ? (int)calls : 1;
}

/* A block, as a lab_side takes it. */
static heed_status worker_block(void *data, double *seconds)
{
    worker *it = data;
    if (cli_interrupted() || !lab_trial_run(it->trial, it->sets, it->calls, 0, &it->outcome))
        return HEED_ERR_SYSTEM;
    *seconds = it->outcome.seconds / it->calls;
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* First times                                                                */
/* -------------------------------------------------------------------------- */

static void take_outcome(source_kernel *kernel, const lab_trial_outcome *outcome)
{
    lab_record_verdict verdict = lab_record_verdict_find(lab_trial_verdict_name(outcome->verdict));
    kernel->verdict = verdict < LAB_RECORD_VERDICTS ? verdict : LAB_RECORD_FAILED;
    if (!kernel->log)
        source_set_log(kernel, outcome->text);
}

/* All gates on one problem. False, with verdict and log, if one does not let it pass. */
static heed_status pass_gates(evolve_sources *all, source_kernel *kernel, lab_trial *trial,
                              size_t shape, uint64_t seed)
{
    cli_candidate candidate = { .trial = trial, .name = kernel->name, .seconds = -1 };
    const lab_subject subject = cli_candidate_subject(&candidate);
    lab_verify_options options = lab_verify_standard();
    static lab_report report;
    options.work = options.property_work = VERIFY_WORK;
    options.threads = all->run->sweep.threads;
    options.seed = seed;
    heed_status status = lab_verify_problem(&all->run->sweep.shapes[shape].source.problem,
                                            lab_inputs_find("normal"), &subject, &options, NULL,
                                            &report);
    if (status != HEED_OK || report.outcome == LAB_PASS)
        return status;
    kernel->verdict = report.outcome == LAB_SKIP ? LAB_RECORD_UNFIT : LAB_RECORD_WRONG;
    for (size_t i = 0; i < LAB_GATES && !kernel->log; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            source_set_log(kernel, report.verdicts[i].reason);
    if (candidate.worst.verdict != LAB_TRIAL_OK)
        take_outcome(kernel, &candidate.worst);
    return HEED_OK;
}

/* The least of some blocks, and whether what they computed is right. */
static heed_status time_it(evolve_sources *all, source_kernel *kernel, worker *it, size_t number)
{
    sweep_shape *shape = &all->run->sweep.shapes[number];
    double least = INFINITY, seconds = 0, error = 0;
    int64_t end = heed_clock_ns() + SAMPLE_NS;
    heed_status status = bench_tensors_poison(&shape->tensors);
    for (int i = 0; status == HEED_OK && (i < SAMPLES_MIN || heed_clock_ns() < end); i++) {
        if (worker_block(it, &seconds) != HEED_OK) {
            take_outcome(kernel, &it->outcome);
            return cli_interrupted() ? HEED_ERR_SYSTEM : HEED_OK;
        }
        least = fmin(least, seconds);
        if (i == 0)
            worker_size(it, seconds, &all->limits);
    }
    if (status == HEED_OK)
        status = bench_tensors_error(&shape->tensors, 0, shape->expect, &error);
    if (status != HEED_OK)
        return status;
    if (error > 1) {
        kernel->verdict = LAB_RECORD_WRONG;
        source_set_log(kernel, "what it computed while it was timed is wrong");
    }
    kernel->seconds[number] = least;
    return HEED_OK;
}

static heed_status add_answer(evolve_sources *all, source_kernel *kernel, size_t shape)
{
    const char *parents[1];
    char reason[400];
    lab_record_trial trial = source_trial(all, kernel, shape, 0, parents);
    snprintf(reason, sizeof reason, "%s", kernel->log ? kernel->log : "");
    trial.verdict = kernel->verdict;
    trial.reason = *reason ? reason : NULL;
    trial.seconds = kernel->verdict == LAB_RECORD_OK ? kernel->seconds[shape] : 0;
    kernel->known[shape] = true;
    return evolve_add(all->run, &trial, NULL);
}

static heed_status judge_shape(evolve_sources *all, source_kernel *kernel, lab_trial *trial,
                               size_t shape)
{
    worker it = { .trial = trial };
    heed_status status = sweep_open_shape(&all->run->sweep, &all->run->sweep.shapes[shape]);
    if (status == HEED_OK)
        status = pass_gates(all, kernel, trial, shape, 1);
    if (status == HEED_OK && kernel->verdict == LAB_RECORD_OK) {
        if (worker_ready(&it, &all->run->sweep.shapes[shape]))
            status = time_it(all, kernel, &it, shape);
        else
            take_outcome(kernel, &it.outcome);
        worker_stop(&it);
    }
    if (cli_interrupted())
        return HEED_ERR_SYSTEM;
    return status == HEED_OK ? add_answer(all, kernel, shape) : status;
}

/* Why it did not compile, in the compiler's words. */
static void take_log(evolve_sources *all, source_kernel *kernel)
{
    const lab_candidate candidate = source_candidate(kernel);
    lab_trial_outcome outcome;
    lab_code code;
    lab_compile_c(&candidate, &all->limits, &code, &outcome);
    source_set_log(kernel, code.log);
    lab_code_free(&code);
}

heed_status source_judge(evolve_sources *all, source_kernel *kernel)
{
    const lab_candidate candidate = source_candidate(kernel);
    size_t count = all->run->sweep.problems.count, shape = 0;
    heed_status status = HEED_OK;
    lab_trial_outcome outcome;
    lab_trial *trial = NULL;
    while (shape < count && kernel->known[shape])
        shape++;
    if (shape == count || kernel->verdict != LAB_RECORD_OK) {
        source_score(all, kernel);
        return HEED_OK;
    }
    if (!lab_trial_open(&trial, &candidate, &all->limits, &outcome)) {
        if (cli_interrupted())
            return HEED_ERR_SYSTEM;
        if (outcome.verdict == LAB_TRIAL_COMPILE_ERROR)
            take_log(all, kernel);
        take_outcome(kernel, &outcome);
        status = add_answer(all, kernel, shape);
    }
    for (; shape < count && kernel->verdict == LAB_RECORD_OK && status == HEED_OK; shape++)
        status = judge_shape(all, kernel, trial, shape);
    lab_trial_close(trial);
    source_score(all, kernel);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Against the champion                                                       */
/* -------------------------------------------------------------------------- */

typedef struct source_meeting {
    evolve_sources *all;
    size_t challenger, champion;
    worker a, b;
    const char *parents[1];
} source_meeting;

static heed_status start(source_meeting *it, worker *side, size_t kernel, size_t shape)
{
    if (worker_ready(side, &it->all->run->sweep.shapes[shape])) {
        worker_size(side, it->all->kernels[kernel].seconds[shape], &it->all->limits);
        return HEED_OK;
    }
    return HEED_ERR_SYSTEM;
}

static void part(void *data, size_t index)
{
    source_meeting *it = data;
    (void)index;
    worker_stop(&it->a);
    worker_stop(&it->b);
}

static heed_status meet(void *data, size_t index, lab_side *a, lab_side *b)
{
    source_meeting *it = data;
    heed_status status = sweep_open_shape(&it->all->run->sweep, &it->all->run->sweep.shapes[index]);
    if (status == HEED_OK)
        status = start(it, &it->a, it->challenger, index);
    if (status == HEED_OK)
        status = start(it, &it->b, it->champion, index);
    if (status != HEED_OK)
        part(it, index);
    *a = (lab_side){ .fn = worker_block, .data = &it->a };
    *b = (lab_side){ .fn = worker_block, .data = &it->b };
    return status;
}

static lab_record_trial trial_of(void *data, size_t shape, int attempt)
{
    source_meeting *it = data;
    return source_trial(it->all, &it->all->kernels[it->challenger], shape, attempt, it->parents);
}

/* Once more through the gates, with other values: the first time it was one of many. */
static heed_status gates_again(void *data, bool *yes)
{
    source_meeting *it = data;
    source_kernel again = it->all->kernels[it->challenger];
    heed_status status = HEED_OK;
    again.log = NULL;
    for (size_t i = 0; i < it->all->run->sweep.problems.count && status == HEED_OK; i++)
        status = pass_gates(it->all, &again, it->a.trial, i, 2 + it->challenger);
    free(again.log);
    *yes = again.verdict == LAB_RECORD_OK;
    return status;
}

static bool open_trial(evolve_sources *all, size_t kernel, worker *side)
{
    const lab_candidate candidate = source_candidate(&all->kernels[kernel]);
    return lab_trial_open(&side->trial, &candidate, &all->limits, &side->outcome);
}

heed_status source_contest(evolve_sources *all, size_t challenger, bool *yes)
{
    source_meeting it = { .all = all, .challenger = challenger, .champion = all->champion };
    const evolve_contest contest = { .run = all->run,
                                     .challenger = all->kernels[challenger].name,
                                     .champion = all->kernels[all->champion].name,
                                     .number = (int64_t)challenger,
                                     .family = { .count = all->run->sweep.problems.count,
                                                 .meet = meet,
                                                 .part = part,
                                                 .data = &it },
                                     .trial = trial_of,
                                     .gates = gates_again };
    heed_status status = HEED_ERR_SYSTEM;
    *yes = false;
    if (open_trial(all, challenger, &it.a) && open_trial(all, all->champion, &it.b))
        status = evolve_contest_run(&contest, yes);
    lab_trial_close(it.a.trial);
    lab_trial_close(it.b.trial);
    if (status == HEED_OK || cli_interrupted())
        return status;
    /* A challenger that breaks in the middle has lost; what breaks the laboratory shows again. */
    *yes = false;
    const char *words = *it.a.outcome.text ? it.a.outcome.text : it.b.outcome.text;
    cli_warning("%s: the contest was broken off: %s", contest.challenger, words);
    all->run->trouble.text[0] = '\0';
    return HEED_OK;
}
