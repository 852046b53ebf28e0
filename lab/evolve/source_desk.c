/*
 * source_desk.c - a proposed source as a candidate: C for any problem, CUDA for one kind of them;
 * its machine code, its gates, and its trials on the board
 *
 * Only who passed the gates is run beside ncu, outside of the sandbox: as machine code, which was
 * compiled inside of it.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/evolve/sources.h"
#include "lab/inspect/cubin.h"
#include "lab/search/declare.h"
#include "lab/trial/sandbox.h"
#include "src/cuda/gpu.h"

#define WARP 32

lab_desk *lab_desk_new(lab_sources *all, size_t number, size_t beside)
{
    lab_desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return NULL;
    desk->all = all;
    desk->kernel = &all->kernels[number];
    desk->beside = &all->kernels[beside];
    return desk;
}

bool lab_desk_open(lab_desk *desk, const heed_problem *problem)
{
    lab_bench_worker *worker = &desk->worker;
    worker->name = desk->kernel->name;
    worker->source = desk->kernel->source;
    worker->language = desk->all->language;
    worker->limits = desk->all->limits;
    return lab_bench_worker_open(worker, problem);
}

void lab_desk_free(lab_desk *desk)
{
    if (desk)
        lab_bench_process_close(&desk->worker.process);
    free(desk);
}

/* ---- Its code ---- */

typedef struct desk_clues {
    lab_clues clues;
    lab_clue found[LAB_CODE_FINDINGS_MAX];
} desk_clues;

/* Residency on the architecture that it was compiled for. */
static void add_residency(lab_clues *clues, const heed_launch_facts *launch, int arch)
{
    heed_gpu gpu;
    lab_point_facts *facts = &clues->point_facts;
    if (!heed_gpu_arch(&gpu, arch))
        return;
    int blocks = heed_gpu_resident(&gpu, launch->threads, (int)facts->value[LAB_FACT_REGISTERS],
                                   facts->value[LAB_FACT_SMEM], NULL);
    facts->value[LAB_FACT_BLOCKS] = blocks;
    facts->value[LAB_FACT_WARPS] = blocks * ((launch->threads + WARP - 1) / WARP);
    clues->warps_max = gpu.threads / WARP;
    clues->smem_max = gpu.smem;
}

/* The findings of inspection in it, by name. */
static void add_findings(const lab_desk *desk, const lab_declared *declared, desk_clues *it)
{
    const lab_sources_code code = { .name = desk->kernel->name,
                                    .code = lab_trial_code(desk->worker.process.trial),
                                    .launch = &declared->launch,
                                    .wants_tensor = desk->worker.home.type != HEED_F32 };
    it->clues.findings = it->found;
    it->clues.finding_count = desk->all->inspect ? desk->all->inspect(&code, it->found) : 0;
}

static bool inspect_code(const lab_desk *desk, desk_clues *it)
{
    lab_clues *clues = &it->clues;
    const lab_code *code = desk->worker.process.trial ? lab_trial_code(desk->worker.process.trial)
                                                      : NULL;
    lab_declared declared;
    lab_cubin cubin;
    lab_error error;
    bool found = false;
    *clues = lab_clues_unknown();
    if (!code || code->ptx || desk->all->language != LAB_LANGUAGE_CUDA ||
        lab_declare_read(desk->kernel->source, &desk->worker.home, &declared, &error) != HEED_OK ||
        lab_cubin_read(&cubin, code->data, code->size, desk->kernel->name, &error) != HEED_OK)
        return false;
    lab_cubin_spills(&cubin, code->log);
    for (size_t i = 0; i < cubin.count && !found; i++) {
        const lab_cubin_kernel *one = &cubin.kernels[i];
        if (strcmp(one->name, declared.entry) != 0)
            continue;
        found = true;
        clues->point_facts.value[LAB_FACT_REGISTERS] = one->registers;
        clues->point_facts.value[LAB_FACT_SMEM] = one->smem + declared.launch.smem;
        if (one->spill_stores >= 0 && one->spill_loads >= 0)
            clues->point_facts.value[LAB_FACT_SPILLS] = one->spill_stores + one->spill_loads;
        add_residency(clues, &declared.launch, desk->all->run->sweep.arch);
        add_findings(desk, &declared, it);
    }
    lab_cubin_free(&cubin);
    return found;
}

void lab_desk_inspect(const lab_desk *desk, lab_sources_kernel *kernel)
{
    desk_clues it;
    if (!inspect_code(desk, &it))
        return;
    kernel->inspected = true;
    lab_point_facts_worsen(&kernel->point_facts, &it.clues.point_facts);
    if (desk->all->course.mode != LAB_INSIGHT_NONE)
        kernel->findings |= lab_clues_findings(&it.clues);
}

/* ---- Its run, beside ncu ---- */

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
    if (all->language != LAB_LANGUAGE_CUDA) /* why it cannot be known is no news for the board */
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
        lab_desk_open(desk, &sweep->shapes[0].source.problem);
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

/* The answer of each gate, for the board; gates with nothing to say of the problem are left out. */
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

/* The product of a compiler, as the board has it. */
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

/* The attempt of a kernel that is found out after it was timed: no contest has as many. */
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
