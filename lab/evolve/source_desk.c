/*
 * source_desk.c - a proposed source as a candidate, in C for any problem or in CUDA for one kind:
 * its machine code, its gates, and its trials on the board
 *
 * Only a source that passed the gates is run under ncu, outside the sandbox, from machine code that
 * was compiled inside it.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/evolve/sources.h"
#include "lab/insight/code.h"
#include "lab/search/declare.h"
#include "lab/trial/sandbox.h"

lab_desk *lab_desk_new(lab_sources *all, size_t number, size_t beside)
{
    lab_desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return NULL;
    desk->all = all;
    desk->kernel = &all->kernels[number];
    desk->beside = &all->kernels[beside];
    desk->worker = (lab_bench_worker){ .name = desk->kernel->name,
                                       .source = desk->kernel->source,
                                       .language = all->language,
                                       .limits = all->limits };
    return desk;
}

void lab_desk_free(lab_desk *desk)
{
    if (desk)
        lab_bench_process_close(&desk->worker.process);
    free(desk);
}

/* ---- Its code ---- */

/* Findings from the facts and from inspection of the code. */
static unsigned findings_of(const lab_desk *desk, const lab_declared *declared,
                            const lab_point_facts *facts)
{
    const lab_sources *all = desk->all;
    const lab_code *code = lab_trial_code(desk->worker.process.trial);
    const heed_launch_facts *launch = &declared->launch;
    const lab_code_subject subject = { .name = desk->kernel->name,
                                       .data = code->data,
                                       .size = code->size,
                                       .log = code->log,
                                       .entry = launch->entry,
                                       .threads = launch->threads,
                                       .dynamic = launch->smem,
                                       .opts_in = true,
                                       .wants_tensor = desk->worker.home.type != HEED_F32,
                                       .declares_shared = launch->smem > 0 };
    lab_clue found[LAB_CODE_FINDINGS_MAX];
    lab_clues clues = lab_sweep_clues(facts, all->run->sweep.arch);
    clues.findings = found;
    clues.finding_count = lab_code_clues(&subject, all->run->sweep.sink, found);
    return lab_clues_findings(&clues);
}

void lab_desk_inspect(const lab_desk *desk, lab_sources_kernel *kernel)
{
    const lab_trial *trial = desk->worker.process.trial;
    const lab_code *code = trial ? lab_trial_code(trial) : NULL;
    lab_point_facts facts = lab_point_facts_unknown();
    lab_declared declared;
    lab_cubin cubin;
    lab_error error;
    size_t i = 0;
    if (!code || code->ptx || desk->all->language != LAB_LANGUAGE_CUDA ||
        lab_declare_read(kernel->source, &desk->worker.home, &declared, &error) != HEED_OK ||
        lab_cubin_read(&cubin, code->data, code->size, kernel->name, &error) != HEED_OK)
        return;
    lab_cubin_spills(&cubin, code->log);
    while (i < cubin.count && strcmp(cubin.kernels[i].name, declared.entry) != 0)
        i++;
    if (i < cubin.count) {
        lab_sweep_add_code(&facts, &cubin.kernels[i], &declared.launch, desk->all->run->sweep.arch);
        lab_point_facts_worsen(&kernel->point_facts, &facts);
        kernel->inspected = true;
        if (desk->all->course.mode != LAB_INSIGHT_NONE)
            kernel->findings |= findings_of(desk, &declared, &facts);
    }
    lab_cubin_free(&cubin);
}

/* ---- Its run under ncu ---- */

static heed_status ask_hardware(lab_sources *all, const lab_desk *desk)
{
    lab_evolve *run = all->run;
    const lab_sources_kernel *kernel = desk->kernel;
    lab_desk_words words;
    lab_record_trial trial = lab_desk_trial(all, kernel, 0, LAB_INSIGHT_ATTEMPT, &words);
    const lab_code *code = all->language == LAB_LANGUAGE_CUDA && desk->worker.process.trial
                               ? lab_trial_code(desk->worker.process.trial)
                               : NULL;
    const heed_cubin cubin = { .data = code ? code->data : NULL,
                               .size = code ? code->size : 0,
                               .ptx = code && code->ptx };
    lab_insight_question question = { .sink = run->sweep.sink,
                                      .device = run->device,
                                      .context = run->sweep.context,
                                      .problem = &run->sweep.shapes[0].source.problem,
                                      .kernel = kernel->name,
                                      .code = code ? &cubin : NULL,
                                      .launch = trial.launch,
                                      .foreign = true,
                                      .seconds = kernel->seconds[0],
                                      .cold = run->sweep.cold,
                                      .threads = run->sweep.threads,
                                      .seed = run->session.seed };
    if (all->language != LAB_LANGUAGE_CUDA) /* the board need not record why it is not known */
        return lab_insight_take(&question, &all->insight);
    return lab_insight_follow(&all->course, &question, run->session.record, &trial, &all->insight,
                              &run->sweep.trouble);
}

heed_status lab_sources_measure(lab_sources *all)
{
    lab_sweep *sweep = &all->run->sweep;
    if (all->course.mode != LAB_INSIGHT_MEASURED || !all->has_champion ||
        all->measured == all->champion + 1)
        return HEED_OK;
    lab_desk *desk = lab_desk_new(all, all->champion, all->champion);
    if (!desk)
        return HEED_ERR_NO_MEMORY;
    lab_progress_step(&all->run->progress, all->count > 0 ? all->count - 1 : 0,
                      "measuring what binds the best");
    if (all->language == LAB_LANGUAGE_CUDA)
        lab_bench_worker_open(&desk->worker, &sweep->shapes[0].source.problem);
    heed_status status = ask_hardware(all, desk);
    lab_desk_free(desk);
    if (status != HEED_OK)
        return status;
    all->kernels[all->champion].findings |= lab_insight_findings(&all->insight);
    all->measured = all->champion + 1;
    return HEED_OK;
}

/* ---- Gates ---- */

void lab_desk_take_outcome(lab_sources_kernel *kernel, const lab_trial_outcome *outcome)
{
    lab_record_verdict verdict = lab_record_verdict_find(lab_trial_verdict_name(outcome->verdict));
    kernel->verdict = verdict < LAB_RECORD_VERDICTS ? verdict : LAB_RECORD_FAILED;
    if (!kernel->log)
        lab_sources_set_log(kernel, outcome->text);
}

/* The verdict of each gate, for the board; gates that do not apply to the problem are left out. */
static void take_gates(lab_desk_gates *gates, const lab_report *report, uint64_t seed)
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

heed_status lab_desk_pass_gates(lab_desk *desk, lab_sources_kernel *kernel, size_t shape)
{
    lab_sources *all = desk->all;
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
            lab_sources_set_log(kernel, report.verdicts[i].reason);
    if (candidate.worst.verdict != LAB_TRIAL_OK)
        lab_desk_take_outcome(kernel, &candidate.worst);
    if (kernel->verdict == LAB_RECORD_UNFIT && !kernel->log)
        lab_sources_set_log(kernel, report.verdicts[0].reason);
    return HEED_OK;
}

/* ---- On the board ---- */

static bool launch_words(const lab_sources *all, const lab_sources_kernel *kernel,
                         const heed_problem *problem, char words[LAB_LAUNCH_SIZE])
{
    lab_declared declared;
    lab_error error;
    return all->language == LAB_LANGUAGE_CUDA &&
           lab_declare_read(kernel->source, problem, &declared, &error) == HEED_OK &&
           lab_launch_print(&declared.launch, NULL, declared.knobs, LAB_DECLARED_KNOBS, words);
}

lab_record_trial lab_desk_trial(const lab_sources *all, const lab_sources_kernel *kernel,
                                size_t shape, int attempt, lab_desk_words *words)
{
    const lab_evolve *run = all->run;
    words->parents[0] = kernel->parent;
    static const lab_record_fact unsafe = { .name = "unsafe_candidates", .number = 1 };
    const lab_protections protections = lab_protections_find();
    bool held = all->language == LAB_LANGUAGE_CUDA || lab_protections_suffice(&protections);
    bool launched = launch_words(all, kernel, &run->sweep.shapes[shape].source.problem,
                                 words->launch);
    lab_record_trial trial = lab_sweep_trial(&run->sweep, NULL, shape, attempt);
    trial.candidate = (lab_record_candidate){ .kernel = kernel->name,
                                              .language = lab_language_name(all->language),
                                              .source = kernel->source,
                                              .proposer = all->proposer_name,
                                              .seed = run->session.seed,
                                              .thought = *kernel->thought ? kernel->thought : NULL,
                                              .parents = words->parents,
                                              .parent_count = *kernel->parent != '\0' };
    trial.launch = launched ? words->launch : NULL;
    trial.facts = &unsafe;
    trial.fact_count = !held && all->limits.unsafe;
    return trial;
}

/* The output of a compiler, in the form for the board. */
lab_record_artifact lab_desk_artifact(const lab_desk *desk, const lab_sources_kernel *kernel,
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

/* The attempt number for a fault found after timing: higher than that of any contest. */
#define FAULT_ATTEMPT 100

heed_status lab_desk_add_fault(lab_desk *desk, size_t shape)
{
    const lab_bench_process *process = &desk->worker.process;
    lab_record_verdict verdict = lab_record_verdict_find(
        lab_trial_verdict_name(process->outcome.verdict));
    if (process->worst > 1)
        verdict = LAB_RECORD_WRONG;
    else if (process->outcome.verdict == LAB_TRIAL_OK ||
             lab_interrupted(desk->all->run->sweep.sink) || verdict >= LAB_RECORD_VERDICTS)
        return HEED_OK;
    lab_record_trial trial = lab_desk_trial(desk->all, desk->kernel, shape, FAULT_ATTEMPT,
                                            &desk->words);
    trial.verdict = verdict;
    trial.reason = process->outcome.text;
    return lab_sweep_add(&desk->all->run->sweep, &trial, NULL);
}
