/*
 * evolve_desk.c - a proposed source as a candidate: C for any problem, CUDA for one kind of them
 */
#include <stdlib.h>
#include <string.h>

#include "evolve_sources.h"
#include "inspect.h"
#include "inspect/cubin.h"
#include "search/declare.h"
#include "src/cuda/gpu.h"

#define WARP 32

static const char *const c_options[] = { "-O3", "-march=native" };

/* ---- The candidate ---- */

static lab_candidate candidate_of(const source_desk *desk, lab_declared *declared)
{
    const source_kernel *kernel = desk->kernel;
    lab_candidate candidate = { .name = kernel->name,
                                .language = desk->all->language,
                                .source = kernel->source,
                                .source_size = strlen(kernel->source) };
    if (candidate.language == LAB_LANGUAGE_C) {
        candidate.options = c_options;
        candidate.option_count = sizeof c_options / sizeof *c_options;
        return candidate;
    }
    candidate.knobs = declared->knobs;
    candidate.knob_count = LAB_DECLARED_KNOBS;
    candidate.launch = declared->launch;
    return candidate;
}

/* Is the trial that is open one for @problem? */
static bool serves(const source_desk *desk, const heed_problem *problem)
{
    return desk->seat.trial &&
           (desk->all->language == LAB_LANGUAGE_C || lab_declare_same_kind(&desk->home, problem));
}

bool source_desk_open(source_desk *desk, const heed_problem *problem)
{
    lab_declared declared;
    lab_error error;
    cli_seat *seat = &desk->seat;
    if (serves(desk, problem))
        return true;
    cli_seat_close(seat);
    desk->home = *problem;
    seat->limits = desk->all->limits;
    if (desk->all->language == LAB_LANGUAGE_CUDA &&
        lab_declare_read(desk->kernel->source, problem, &declared, &error) != HEED_OK)
        return lab_trial_outcome_set(&seat->outcome, LAB_TRIAL_REFUSED, "%s", error.text);
    const lab_candidate candidate = candidate_of(desk, &declared);
    if (lab_trial_open(&seat->trial, &candidate, &seat->limits, &seat->outcome))
        return true;
    if (seat->trial && seat->outcome.verdict == LAB_TRIAL_COMPILE_ERROR)
        snprintf(desk->log, sizeof desk->log, "%s", lab_trial_code(seat->trial)->log);
    cli_seat_close(seat);
    return false;
}

void source_desk_close(source_desk *desk)
{
    cli_seat_close(&desk->seat);
}

/* ---- What its code says ---- */

/* Residency on the architecture that it was compiled for. */
static void add_residency(lab_clues *clues, const lab_launch *launch, int arch)
{
    heed_gpu gpu;
    lab_prospect *facts = &clues->prospect;
    if (!heed_gpu_arch(&gpu, arch))
        return;
    int blocks = heed_gpu_resident(&gpu, launch->threads, (int)facts->value[LAB_FACT_REGISTERS],
                                   facts->value[LAB_FACT_SMEM], NULL);
    facts->value[LAB_FACT_BLOCKS] = blocks;
    facts->value[LAB_FACT_WARPS] = blocks * ((launch->threads + WARP - 1) / WARP);
    clues->warps_max = gpu.threads / WARP;
    clues->smem_max = gpu.smem;
}

/* What the rules of `heed inspect` find in it, by name. */
static void add_findings(const source_desk *desk, const lab_launch *launch, source_clues *it)
{
    const lab_code *code = lab_trial_code(desk->seat.trial);
    const inspect_subject subject = { .name = desk->kernel->name,
                                      .data = code->data,
                                      .size = code->size,
                                      .log = code->log,
                                      .entry = launch->entry,
                                      .threads = launch->threads,
                                      .dynamic = launch->smem,
                                      .opts_in = true,
                                      .wants_tensor = desk->home.type != HEED_F32,
                                      .declares_shared = launch->smem > 0 };
    it->clues.findings = it->found;
    it->clues.finding_count = inspect_clues(&subject, it->found);
}

bool source_desk_inspect(const source_desk *desk, source_clues *it)
{
    lab_clues *clues = &it->clues;
    const lab_code *code = desk->seat.trial ? lab_trial_code(desk->seat.trial) : NULL;
    lab_declared declared;
    lab_cubin cubin;
    lab_error error;
    bool found = false;
    *clues = lab_clues_unknown();
    if (!code || code->ptx || desk->all->language != LAB_LANGUAGE_CUDA ||
        lab_declare_read(desk->kernel->source, &desk->home, &declared, &error) != HEED_OK ||
        lab_cubin_read(&cubin, code->data, code->size, desk->kernel->name, &error) != HEED_OK)
        return false;
    lab_cubin_spills(&cubin, code->log);
    for (size_t i = 0; i < cubin.count && !found; i++) {
        const lab_cubin_kernel *one = &cubin.kernels[i];
        if (strcmp(one->name, declared.entry) != 0)
            continue;
        found = true;
        clues->prospect.value[LAB_FACT_REGISTERS] = one->registers;
        clues->prospect.value[LAB_FACT_SMEM] = one->smem + declared.launch.smem;
        if (one->spill_stores >= 0 && one->spill_loads >= 0)
            clues->prospect.value[LAB_FACT_SPILLS] = one->spill_stores + one->spill_loads;
        add_residency(clues, &declared.launch, desk->all->run->sweep.arch);
        add_findings(desk, &declared.launch, it);
    }
    lab_cubin_free(&cubin);
    return found;
}

/* ---- As a subject of verification ---- */

static bool reopen(cli_candidate *candidate, const heed_problem *problem)
{
    source_desk *desk = candidate->data;
    bool well = source_desk_open(desk, problem);
    candidate->trial = desk->seat.trial;
    if (!well)
        candidate->outcome = desk->seat.outcome;
    return well;
}

cli_candidate source_desk_candidate(source_desk *desk)
{
    return (cli_candidate){ .trial = desk->seat.trial,
                            .name = desk->kernel->name,
                            .seconds = -1,
                            .open = reopen,
                            .data = desk };
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
