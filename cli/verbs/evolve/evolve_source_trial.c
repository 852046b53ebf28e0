/*
 * evolve_source_trial.c - one source: compiled, through the gates, and timed
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evolve_sources.h"
#include "src/measure.h"
#include "trial/sandbox.h"

#define SAMPLES_MIN 3
#define SAMPLE_NS INT64_C(20000000) /* for the first times of a problem, about */

lab_record_trial source_trial(const evolve_sources *all, const source_kernel *kernel, size_t shape,
                              int attempt, source_words *words)
{
    const evolve_run *run = all->run;
    words->parents[0] = kernel->parent;
    static const lab_record_fact unsafe = { .name = "unsafe_candidates", .number = 1 };
    const lab_protections protections = lab_protections_find();
    bool held = all->language == LAB_LANGUAGE_CUDA || lab_protections_suffice(&protections);
    bool launched = source_launch_words(all, kernel, &run->sweep.shapes[shape].source.problem,
                                        words->launch);
    lab_record_trial trial = lab_sweep_trial(&run->sweep, NULL, shape, attempt);
    trial.candidate = (lab_record_candidate){ .kernel = kernel->name,
                                              .language = lab_language_name(all->language),
                                              .source = kernel->source,
                                              .proposer = all->proposer_name,
                                              .seed = run->seed,
                                              .thought = *kernel->thought ? kernel->thought : NULL,
                                              .parents = words->parents,
                                              .parent_count = *kernel->parent != '\0' };
    trial.launch = launched ? words->launch : NULL;
    trial.facts = &unsafe;
    trial.fact_count = !held && all->limits.unsafe;
    return trial;
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

/* The answer of each gate, for the board; gates with nothing to say of the problem are left out. */
static void take_gates(source_gates *gates, const lab_report *report, uint64_t seed)
{
    gates->count = 0;
    for (size_t i = 0; i < LAB_GATES; i++) {
        const lab_verdict *verdict = &report->verdicts[i];
        char *detail = gates->details[gates->count];
        if (verdict->outcome == LAB_SKIP)
            continue;
        snprintf(detail, sizeof gates->details[0], "%.199s", verdict->reason);
        gates->items[gates->count++] = (lab_record_gate){ .name = lab_gate_at(i)->name,
                                                          .passed = verdict->outcome == LAB_PASS,
                                                          .detail = *detail ? detail : NULL,
                                                          .seed = seed };
    }
}

heed_status source_pass_gates(source_desk *desk, source_kernel *kernel, size_t shape)
{
    evolve_sources *all = desk->all;
    lab_bench_candidate candidate = lab_bench_worker_candidate(&desk->worker);
    static lab_report report;
    uint64_t seed;
    heed_status status = lab_bench_candidate_prove(&candidate,
                                                   &all->run->sweep.shapes[shape].source.problem,
                                                   all->run->sweep.threads, &report, &seed);
    if (status == HEED_OK)
        take_gates(&desk->gates, &report, seed);
    if (status == HEED_OK && report.outcome == LAB_PASS)
        desk->gates.items[desk->gates.count++] = (lab_record_gate){ .name = "verify",
                                                                    .passed = true,
                                                                    .seed = seed };
    if (status != HEED_OK || report.outcome == LAB_PASS)
        return status;
    kernel->verdict = report.outcome == LAB_SKIP ? LAB_RECORD_UNFIT : LAB_RECORD_WRONG;
    for (size_t i = 0; i < LAB_GATES && !kernel->log; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            source_set_log(kernel, report.verdicts[i].reason);
    if (candidate.worst.verdict != LAB_TRIAL_OK)
        take_outcome(kernel, &candidate.worst);
    if (kernel->verdict == LAB_RECORD_UNFIT && !kernel->log)
        source_set_log(kernel, report.verdicts[0].reason);
    return HEED_OK;
}

/* Each kind of what is hard comes up in some of so many calls. */
#define HARD_CALLS 24

/* Have all those blocks that are needed been timed? */
static bool is_timed(const source_desk *desk, int64_t end)
{
    return desk->sample_count >= SAMPLES_MIN && heed_clock_ns() >= end &&
           desk->worker.process.hardened >= HARD_CALLS;
}

/* The least of some blocks, which also look whether what was computed is right. */
static heed_status time_it(source_desk *desk, source_kernel *kernel, size_t number)
{
    lab_bench_process *process = &desk->worker.process;
    double least = INFINITY, seconds = 0;
    int64_t end = heed_clock_ns() + SAMPLE_NS;
    desk->sample_count = 0;
    process->hardened = 0;
    for (int i = 0; i < SOURCE_SAMPLES_MAX && !is_timed(desk, end); i++) {
        heed_status status = lab_bench_process_block(process, &seconds);
        if (status == HEED_ERR_NO_MEMORY)
            return status;
        if (status != HEED_OK) {
            take_outcome(kernel, &process->outcome);
            if (process->worst > 1)
                kernel->verdict = LAB_RECORD_WRONG;
            return cli_interrupted() ? HEED_ERR_SYSTEM : HEED_OK;
        }
        least = fmin(least, seconds);
        desk->samples[desk->sample_count++] = seconds;
        if (i == 0)
            lab_bench_process_size(process, seconds, LAB_BENCH_PROCESS_SECONDS);
    }
    kernel->seconds[number] = least;
    return HEED_OK;
}

/* The product of a compiler, as the board has it. */
lab_record_artifact source_artifact(const source_desk *desk, const source_kernel *kernel,
                                    char hash[LAB_RECORD_HASH_SIZE])
{
    const lab_code *code = desk->worker.process.trial ? lab_trial_code(desk->worker.process.trial)
                                                      : NULL;
    const int64_t *facts = kernel->point_facts.value;
    if (!code || !code->data)
        return (lab_record_artifact){ .sha256 = NULL };
    lab_record_hash(code->data, code->size, hash);
    return (lab_record_artifact){ .sha256 = hash,
                                  .form = desk->all->language == LAB_LANGUAGE_C ? "so"
                                          : code->ptx                           ? "ptx"
                                                                                : "cubin",
                                  .bytes = (int64_t)code->size,
                                  .registers = facts[LAB_FACT_REGISTERS],
                                  .spill_bytes = facts[LAB_FACT_SPILLS],
                                  .shared_bytes = facts[LAB_FACT_SMEM] };
}

static heed_status add_answer(source_desk *desk, source_kernel *kernel, size_t shape)
{
    source_words words;
    char reason[400], binds[200], hash[LAB_RECORD_HASH_SIZE];
    lab_record_fact facts[2];
    lab_error why;
    lab_record_trial trial = source_trial(desk->all, kernel, shape, 0, &words);
    if (trial.fact_count == 1)
        facts[0] = trial.facts[0];
    if (kernel->findings) {
        lab_clue_explain(kernel->findings, binds, sizeof binds);
        facts[trial.fact_count++] = (lab_record_fact){ .name = "binds", .text = binds };
    }
    trial.facts = facts;
    snprintf(reason, sizeof reason, "%s", kernel->log ? kernel->log : "");
    trial.artifact = source_artifact(desk, kernel, hash);
    trial.verdict = kernel->verdict;
    trial.reason = *reason ? reason : NULL;
    trial.gates = desk->gates.items;
    trial.gate_count = desk->gates.count;
    /* Nobody chose the first source by its times: it was there before them. */
    trial.confirmed = kernel->verdict == LAB_RECORD_OK && kernel == desk->all->kernels;
    const lab_record_samples samples = { .kind = desk->all->run->sweep.options.cold
                                                     ? LAB_RECORD_COLD
                                                     : LAB_RECORD_HOT,
                                         .seconds = desk->samples,
                                         .count = desk->sample_count };
    if (kernel->verdict == LAB_RECORD_OK) {
        const lab_summary summary = lab_stats_summary_of(desk->samples, desk->sample_count);
        trial.timing = samples.kind;
        trial.seconds = summary.p50;
        trial.p90 = summary.p90;
        trial.samples = &samples;
        trial.sample_count = 1;
    }
    /* An impossible time has lost, whatever the output was. */
    if (!lab_record_plausible(desk->all->run->session.record, &trial, &why)) {
        kernel->verdict = trial.verdict = LAB_RECORD_IMPOSSIBLE;
        source_set_log(kernel, why.text);
        trial.reason = why.text;
        trial.confirmed = false;
    }
    trial.started = desk->started;
    kernel->known[shape] = true;
    return evolve_add(desk->all->run, &trial, NULL);
}

/* The attempt of a kernel that is found out after it was timed: no contest has as many. */
#define FAULT_ATTEMPT 100

heed_status source_add_fault(const evolve_sources *all, const source_kernel *kernel, size_t shape,
                             const lab_bench_process *process)
{
    source_words words;
    lab_record_verdict verdict = lab_record_verdict_find(
        lab_trial_verdict_name(process->outcome.verdict));
    if (process->worst > 1)
        verdict = LAB_RECORD_WRONG;
    else if (process->outcome.verdict == LAB_TRIAL_OK || cli_interrupted() ||
             verdict >= LAB_RECORD_VERDICTS)
        return HEED_OK;
    lab_record_trial trial = source_trial(all, kernel, shape, FAULT_ATTEMPT, &words);
    trial.verdict = verdict;
    trial.reason = process->outcome.text;
    return evolve_add(all->run, &trial, NULL);
}

/* The facts of the code for this kind of problem, and what binds it. */
static void inspect(source_desk *desk, source_kernel *kernel)
{
    source_clues it;
    if (!source_desk_inspect(desk, &it))
        return;
    kernel->inspected = true;
    lab_point_facts_worsen(&kernel->point_facts, &it.clues.point_facts);
    if (desk->all->run->bred.course.mode != LAB_INSIGHT_NONE)
        kernel->findings |= lab_clues_findings(&it.clues);
}

/* A device that was left ill would make all that follows look so. */
static heed_status probe(source_desk *desk, const source_kernel *kernel)
{
    lab_trial_outcome outcome;
    int arch;
    if (desk->all->language == LAB_LANGUAGE_C || kernel->verdict == LAB_RECORD_OK ||
        kernel->verdict == LAB_RECORD_COMPILE || kernel->verdict == LAB_RECORD_REFUSED ||
        kernel->verdict == LAB_RECORD_UNFIT || kernel->verdict == LAB_RECORD_WRONG ||
        lab_trial_probe(&desk->all->limits, &arch, &outcome))
        return HEED_OK;
    snprintf(desk->all->run->trouble.text, sizeof desk->all->run->trouble.text,
             "the device is not well after %.60s: %.150s", kernel->name, outcome.text);
    return HEED_ERR_LOST;
}

static heed_status judge_open(source_desk *desk, source_kernel *kernel, size_t number)
{
    lab_sweep_shape *shape = &desk->all->run->sweep.shapes[number];
    inspect(desk, kernel);
    heed_status status = lab_sweep_open_shape(&desk->all->run->sweep, shape);
    if (status == HEED_OK)
        status = source_pass_gates(desk, kernel, number);
    if (status != HEED_OK || kernel->verdict != LAB_RECORD_OK)
        return status;
    /* The gates asked for other kinds of problems too. */
    if (source_desk_open(desk, &shape->tensors.problem) &&
        lab_bench_process_take(&desk->worker.process, &shape->tensors))
        status = time_it(desk, kernel, number);
    else
        take_outcome(kernel, &desk->worker.process.outcome);
    lab_bench_process_leave(&desk->worker.process);
    return status;
}

static heed_status judge_shape(source_desk *desk, source_kernel *kernel, size_t shape)
{
    heed_status status = HEED_OK;
    desk->gates.count = desk->sample_count = 0;
    lab_record_now(desk->started);
    if (source_desk_open(desk, &desk->all->run->sweep.shapes[shape].source.problem)) {
        status = judge_open(desk, kernel, shape);
    } else {
        if (*desk->worker.log)
            source_set_log(kernel, desk->worker.log);
        take_outcome(kernel, &desk->worker.process.outcome);
    }
    if (cli_interrupted())
        return HEED_ERR_SYSTEM;
    if (status == HEED_OK)
        status = add_answer(desk, kernel, shape);
    return status == HEED_OK ? probe(desk, kernel) : status;
}

heed_status source_judge(evolve_sources *all, source_kernel *kernel)
{
    size_t count = all->run->sweep.problems.count;
    heed_status status = HEED_OK;
    source_desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    desk->all = all;
    desk->kernel = kernel;
    for (size_t i = 0; i < count && kernel->verdict == LAB_RECORD_OK && status == HEED_OK; i++)
        if (!kernel->known[i])
            status = judge_shape(desk, kernel, i);
    source_desk_close(desk);
    free(desk);
    source_score(all, kernel);
    return status;
}
