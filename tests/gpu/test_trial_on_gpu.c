/*
 * test_trial_on_gpu.c - CUDA candidates on a real GPU: built-in sources as if they were proposed,
 * and sources with one fault each, after which the device must still work
 *
 *     test_trial_on_gpu [FOLDER]     FOLDER: with tests/data/trial; that of the source tree if not
 * given
 *
 * This process does not use CUDA; its children do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/facts.h"
#include "cuda/sources.h"
#include "lab/bench/candidate.h"
#include "lab/verify/verify.h"
#include "measure.h"
#include "tally.h"

#define EXIT_SKIPPED 77

static lab_limits limits = { .run_seconds = 10,
                             .compile_seconds = 120,
                             .tensor_bytes = (size_t)64 << 20 };
static lab_report report;
static const char *folder = HEED_SOURCE_DIR "/tests/data/trial";
static tally counts;

static double seconds_since(int64_t start)
{
    return (double)(heed_clock_ns() - start) * 1e-9;
}

/* ---------------------------------------------------------------------------------------------- */
/* Honest ones                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

/* The source of @kernel as a candidate for @problem. */
static bool propose(const char *kernel, const heed_problem *problem, heed_cuda_facts *facts,
                    lab_knob *knobs, lab_candidate *candidate)
{
    heed_source source;

    if (heed_cuda_facts_find(kernel, problem, limits.arch, facts) != HEED_OK ||
        !heed_source_find(facts->source, &source))
        return false;
    for (int i = 0; i < facts->define_count; i++)
        knobs[i] = (lab_knob){ facts->defines[i].name, facts->defines[i].value };
    *candidate = (lab_candidate){ .name = facts->name,
                                  .language = LAB_LANGUAGE_CUDA,
                                  .source = source.text,
                                  .source_size = source.size,
                                  .knobs = knobs,
                                  .knob_count = (size_t)facts->define_count,
                                  .launch = facts->launch,
                                  .problem = problem };
    return true;
}

static void print_failures(void)
{
    for (size_t i = 0; i < LAB_GATES; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            printf("        %s: %s\n", lab_gate_at(i)->name, report.verdicts[i].reason);
}

/* The source of @kernel must pass the gates on @spec: all of them, or only the error gate if it
 * splits keys, since its number of splits is right for one length only. */
static void try_honest(const char *kernel, const char *spec)
{
    lab_verify_options options = lab_verify_standard();
    lab_knob knobs[HEED_DEFINES_MAX];
    lab_candidate proposed;
    heed_cuda_facts facts;
    heed_problem problem;
    int64_t start = heed_clock_ns();

    if (heed_problem_parse(&problem, spec) != HEED_OK ||
        !propose(kernel, &problem, &facts, knobs, &proposed)) {
        tally_skip(&counts, "%s on %s: %s", kernel, spec, heed_message());
        return;
    }
    lab_bench_candidate candidate = { .name = facts.name, .seconds = -1 };
    if (facts.launch.splits > 1)
        options.gates = 1u << lab_gate_index("error");
    options.unlocked = true;
    if (!lab_trial_open(&candidate.trial, &proposed, &limits, &candidate.outcome)) {
        tally_judge(&counts, false, "%s on %s: %s", facts.name, spec, candidate.outcome.text);
    } else {
        const lab_subject subject = lab_bench_candidate_subject(&candidate);
        heed_status status = lab_verify_problem(&problem, lab_inputs_find("normal"), &subject,
                                                &options, NULL, &report);
        bool well = status == HEED_OK && report.outcome == LAB_PASS;
        tally_judge(&counts, well, "%s on %s: %.1f s, %s", facts.name, spec, seconds_since(start),
                    well ? "passes the gates" : candidate.worst.text);
        if (!well)
            print_failures();
    }
    lab_trial_close(candidate.trial);
}

/* ---------------------------------------------------------------------------------------------- */
/* Evil ones                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

static char *read_source(const char *name, size_t *size)
{
    static char text[1 << 16];
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.cu", folder, name);
    FILE *file = fopen(path, "r");
    *size = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return text;
}

/* Runs a candidate on 64 elements with some memory around them. */
static void run_evil(const lab_candidate *candidate, lab_trial_outcome *outcome)
{
    static float values[64], room[64 + 32];
    const heed_buffers buffers = {
        .size = sizeof buffers, .q = values, .k = values, .v = values, .o = room
    };
    lab_trial *trial;
    size_t workspace;
    lab_set set = lab_set_of(candidate->problem, &buffers);

    set.span[LAB_O] = (lab_span){ .room = room,
                                  .room_size = sizeof room,
                                  .size = 64 * sizeof *room };
    if (lab_trial_open(&trial, candidate, &limits, outcome) &&
        lab_trial_prepare(trial, candidate->problem, &workspace, outcome))
        lab_trial_run(trial, &set, 1, 2, outcome);
    lab_trial_close(trial);
}

/* The candidate @name must get @verdict, and the device must work again soon after. */
static void try_evil(const char *name, lab_trial_verdict verdict)
{
    heed_problem problem;
    lab_trial_outcome outcome;
    size_t size;
    int arch;

    heed_problem_parse(&problem, "b1 h1 s8 d8 f32");
    const char *source = read_source(name, &size);
    const lab_candidate candidate = {
        .name = name,
        .language = LAB_LANGUAGE_CUDA,
        .source = source,
        .source_size = size,
        .launch = { .entry = "heed_attend", .threads = 128, .rows = 8, .splits = 1 },
        .problem = &problem
    };
    run_evil(&candidate, &outcome);
    bool right = outcome.verdict == verdict;
    tally_judge(&counts, right, "%s: %s: %s", name, lab_trial_verdict_name(outcome.verdict),
                outcome.text);
    int64_t start = heed_clock_ns();
    bool well = lab_trial_probe(&limits, &arch, &outcome);
    tally_judge(&counts, well, "    the device %s after %.1f s %s",
                well ? "is well" : "is not well", seconds_since(start), outcome.text);
}

int main(int count, char **arguments)
{
    static const char *const specs[] = { "b2 h4/2 s200 d64 f16", "b1 h2 s150 d64 f16 causal",
                                         "b1 h2 s100/300 d128 bf16 causal=br",
                                         "b1 h8/2 s1/8192 d128 f16", "b1 h2 s70 d64 f32" };
    static const char *const kernels[] = { "fwd_any_sm80_naive", "fwd_16bit_sm80_mma",
                                           "fwd_16bit_sm90_wgmma" };
    lab_trial_outcome outcome;

    const char *device = getenv("HEED_DEVICE");

    folder = count > 1 ? arguments[1] : folder;
    limits.device = device && strncmp(device, "cuda", 4) == 0 ? device : NULL;
    if (!lab_trial_probe(&limits, &limits.arch, &outcome)) {
        printf("skipped: %s\n", outcome.text);
        return EXIT_SKIPPED;
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (size_t j = 0; j < sizeof specs / sizeof *specs; j++)
            try_honest(kernels[i], specs[j]);
    try_evil("hang", LAB_TRIAL_HUNG);
    try_evil("null", LAB_TRIAL_LOST);
    try_evil("write_far", LAB_TRIAL_LOST);
    try_evil("write_input", LAB_TRIAL_ILLEGAL_ACCESS);
    try_evil("write_past", LAB_TRIAL_WROTE_OUTSIDE);
    return tally_end(&counts);
}
