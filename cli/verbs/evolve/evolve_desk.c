/*
 * evolve_desk.c - a proposed source as a candidate: C for any problem, CUDA for one kind of them
 */
#include <stdlib.h>
#include <string.h>

#include "cli/verbs/inspect/inspect.h"
#include "evolve_sources.h"
#include "inspect/cubin.h"
#include "search/declare.h"
#include "src/cuda/gpu.h"

#define WARP 32

bool source_desk_open(source_desk *desk, const heed_problem *problem)
{
    lab_bench_worker *worker = &desk->worker;
    worker->name = desk->kernel->name;
    worker->source = desk->kernel->source;
    worker->language = desk->all->language;
    worker->limits = desk->all->limits;
    return lab_bench_worker_open(worker, problem);
}

void source_desk_close(source_desk *desk)
{
    lab_bench_process_close(&desk->worker.process);
}

/* ---- Facts of its code ---- */

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

/* The findings of `heed inspect` in it, by name. */
static void add_findings(const source_desk *desk, const heed_launch_facts *launch, source_clues *it)
{
    const lab_code *code = lab_trial_code(desk->worker.process.trial);
    const inspect_subject subject = { .name = desk->kernel->name,
                                      .data = code->data,
                                      .size = code->size,
                                      .log = code->log,
                                      .entry = launch->entry,
                                      .threads = launch->threads,
                                      .dynamic = launch->smem,
                                      .opts_in = true,
                                      .wants_tensor = desk->worker.home.type != HEED_F32,
                                      .declares_shared = launch->smem > 0 };
    it->clues.findings = it->found;
    it->clues.finding_count = inspect_clues(&subject, it->found);
}

bool source_desk_inspect(const source_desk *desk, source_clues *it)
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
        add_findings(desk, &declared.launch, it);
    }
    lab_cubin_free(&cubin);
    return found;
}

/* ---- On the board ---- */

bool source_launch_words(const evolve_sources *all, const source_kernel *kernel,
                         const heed_problem *problem, char words[LAB_LAUNCH_SIZE])
{
    lab_declared declared;
    lab_error error;
    return all->language == LAB_LANGUAGE_CUDA &&
           lab_declare_read(kernel->source, problem, &declared, &error) == HEED_OK &&
           lab_launch_print(&declared.launch, NULL, declared.knobs, LAB_DECLARED_KNOBS, words);
}
