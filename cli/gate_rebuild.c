/*
 * gate_rebuild.c - champions made of the code of their day, where that is not today's
 *
 * On a CPU the sources of the libheed that made the champion become a library again, host code and
 * all, which is loaded beside this one (lab/trial/library.h). On a GPU its device source is
 * compiled with the headers of its day and launched by today's host code as it was then, if kernels
 * are still launched with the same arguments.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/device.h"
#include "../src/message.h"
#include "bench/candidate.h"
#include "code.h"
#include "gate.h"
#include "library.h"
#include "trial/library.h"
#include "trial/program.h"

/* Compilers of others may be slow, and the machine busy. */
#define COMPILE_SECONDS 300

static bool has_flag(const cli_args *args, const char *name)
{
    return cli_args_has(args, name) && cli_args_flag(args, name);
}

gate_options gate_options_read(const cli_args *args)
{
    return (gate_options){ .board = cli_args_text(args, "board"),
                           .trusts_board = has_flag(args, "trust-board"),
                           .unsafe = has_flag(args, "unsafe-candidates"),
                           .unproved = has_flag(args, "no-verify") };
}

static lab_limits limits_of(const gate_run *gate)
{
    return (lab_limits){ .compile_seconds = COMPILE_SECONDS,
                         .device = *gate->bench.device ? gate->bench.device : NULL,
                         .arch = heed_device_arch(gate->bench.context),
                         .unsafe = gate->options.unsafe,
                         .interrupted = cli_interrupted };
}

static bool fail(gate_shape *shape, const char *why)
{
    snprintf(shape->lost, sizeof shape->lost, "%s", why);
    return false;
}

/* -------------------------------------------------------------------------- */
/* A libheed of that day                                                      */
/* -------------------------------------------------------------------------- */

/* A library that is loaded runs in this process: a board that others can write to must not decide
 * which. */
static bool trusts_board(const gate_run *gate, char *why, size_t size)
{
    char path[LAB_RECORD_PATH_SIZE];
    struct stat info;
    lab_error error;
    if (gate->options.trusts_board)
        return true;
    if (lab_record_path(gate->options.board, path, &error) != HEED_OK || stat(path, &info) != 0)
        return false;
    if ((info.st_uid == geteuid() || info.st_uid == 0) && !(info.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    snprintf(why, size,
             "others can write to the board, and what it says would run here: see --trust-board");
    return false;
}

static bool load_library(const gate_run *gate, gate_library *library)
{
    lab_trial_outcome outcome;
    const lab_limits limits = limits_of(gate);
    const lab_record_library *sources = library->sources;
    lab_library_file *files = calloc(sources->count + 1, sizeof *files);
    for (size_t i = 0; files && i < sources->count; i++)
        files[i] = (lab_library_file){ .path = sources->files[i].path,
                                       .text = sources->files[i].text };
    cli_message("rebuilding heed as it was: build %s", library->build);
    bool done = files && lab_library_load(&library->heed, files, sources->count, &limits, &outcome);
    if (!done)
        snprintf(library->why, sizeof library->why, "heed as it was cannot be rebuilt: %s",
                 files ? outcome.text : "not enough memory");
    free(files);
    return done;
}

/* A context like ours, of the library. */
static bool open_library(const gate_run *gate, gate_library *library)
{
    if (library->tried)
        return library->context;
    library->tried = true;
    if (!trusts_board(gate, library->why, sizeof library->why) || !load_library(gate, library))
        return false;
    const heed_context *ours = gate->bench.context;
    const heed_options options = { .device = "cpu",
                                   .threads = heed_context_threads(ours),
                                   .cpu = heed_context_cpu(ours) };
    if (library->heed.context_create(&library->context, &options) == HEED_OK)
        return true;
    snprintf(library->why, sizeof library->why, "heed as it was cannot begin: %.200s",
             library->heed.message());
    return false;
}

/* A failure of the library's is told by its own message. */
static heed_status pass_on(const gate_library *library, heed_status status)
{
    return status == HEED_OK ? status : heed_fail(status, "%s", library->heed.message());
}

static heed_status library_plan(void *data, const heed_problem *problem, heed_plan **plan)
{
    gate_rebuilt *it = data;
    return pass_on(it->library, it->library->heed.plan_create_named(plan, it->library->context,
                                                                    problem, it->shape->champion));
}

static heed_status library_execute(void *data, const heed_plan *plan, const heed_buffers *buffers)
{
    const gate_rebuilt *it = data;
    heed_status status = it->library->heed.execute(plan, buffers);
    return status == HEED_OK ? status : pass_on(it->library, status);
}

static size_t library_workspace(void *data, const heed_plan *plan)
{
    const gate_rebuilt *it = data;
    return it->library->heed.plan_workspace_size(plan);
}

static void library_destroy(void *data, heed_plan *plan)
{
    const gate_rebuilt *it = data;
    it->library->heed.plan_destroy(plan);
}

static bool rebuild_on_host(gate_rebuilt *it)
{
    if (!open_library(it->gate, it->library))
        return fail(it->shape, it->library->why);
    it->heed = (lab_bench_heed){ .data = it,
                                 .execute = library_execute,
                                 .workspace_size = library_workspace,
                                 .plan_destroy = library_destroy };
    it->maker = (lab_bench_maker){
        .data = it, .name = it->shape->champion, .plan = library_plan, .heed = &it->heed
    };
    return true;
}

/* -------------------------------------------------------------------------- */
/* Device code of that day                                                    */
/* -------------------------------------------------------------------------- */

/* A user's source goes through the gates in a process of its own before it runs in this one:
 * there it may hang, or lose the device. */
static bool pass_gates(gate_rebuilt *it, const lab_candidate *candidate, const lab_limits *limits)
{
    static lab_report report;
    lab_trial_outcome outcome;
    lab_trial *trial;
    uint64_t seed;
    if (!lab_trial_open(&trial, candidate, limits, &outcome)) {
        lab_trial_close(trial);
        return fail(it->shape, outcome.text);
    }
    lab_bench_candidate judged = { .trial = trial, .name = candidate->name, .seconds = -1 };
    heed_status status = lab_bench_candidate_prove(&judged, &it->shape->source.problem,
                                                   it->gate->bench.host_threads, &report, &seed);
    lab_trial_close(trial);
    if (status != HEED_OK)
        return fail(it->shape, heed_message());
    if (report.outcome == LAB_PASS)
        return true;
    it->wrong = judged.worst.verdict == LAB_TRIAL_OK && report.outcome == LAB_FAIL;
    for (size_t i = 0; i < LAB_GATES; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            return fail(it->shape, report.verdicts[i].reason);
    return fail(it->shape, judged.worst.text);
}

static heed_status code_plan(void *data, const heed_problem *problem, heed_plan **plan)
{
    gate_rebuilt *it = data;
    const heed_cubin code = { .data = it->code.data, .size = it->code.size, .ptx = it->code.ptx };
    return cli_plan_code(plan, it->gate->bench.context, problem, it->shape->champion,
                         &it->launched.launch, &code, it->hash);
}

static bool compile_code(gate_rebuilt *it, const char *text)
{
    char runner[PATH_MAX];
    lab_trial_outcome outcome;
    const lab_limits limits = limits_of(it->gate);
    const lab_candidate candidate = { .name = it->shape->champion,
                                      .language = LAB_LANGUAGE_CUDA,
                                      .source = text,
                                      .source_size = strlen(text),
                                      .knobs = it->launched.knobs,
                                      .knob_count = it->launched.knob_count,
                                      .launch = it->launched.launch,
                                      .problem = &it->shape->source.problem };
    if (it->shape->code && !it->gate->options.unproved && !pass_gates(it, &candidate, &limits))
        return false;
    if (!lab_program_find(LAB_RUNNER_CUDA, runner, &outcome) ||
        !lab_compile_cuda(&candidate, &limits, runner, limits.arch, &it->code, &outcome))
        return fail(it->shape, outcome.text);
    it->maker = (lab_bench_maker){ .data = it, .name = it->shape->champion, .plan = code_plan };
    return true;
}

static bool rebuild_on_device(gate_rebuilt *it)
{
    const char *bad;
    char why[GATE_WHY_SIZE];
    if (!it->shape->launch)
        return fail(it->shape, "the board does not say how its code is launched");
    if (!lab_launch_parse(&it->launched, it->shape->launch, &bad)) {
        snprintf(why, sizeof why, "how its code is launched is not understood: %.80s", bad);
        return fail(it->shape, why);
    }
    char *text = cli_library_kernel(it->library->sources, it->launched.source, it->shape->code, why,
                                    sizeof why);
    bool done = text ? compile_code(it, text) : fail(it->shape, why);
    free(text);
    return done;
}

/* -------------------------------------------------------------------------- */
/* Either                                                                     */
/* -------------------------------------------------------------------------- */

bool gate_rebuild(gate_rebuilt *it, gate_run *gate, gate_shape *shape)
{
    memset(it, 0, sizeof *it);
    it->gate = gate;
    it->shape = shape;
    it->library = shape->library ? &gate->libraries[shape->library - 1] : NULL;
    if (!it->library)
        return fail(shape, "the board has no sources of its day");
    return heed_device_is_host(gate->bench.context) ? rebuild_on_host(it) : rebuild_on_device(it);
}

void gate_rebuild_end(gate_rebuilt *it)
{
    lab_code_free(&it->code);
}

void gate_library_free(gate_library *library)
{
    if (library->context)
        library->heed.context_destroy(library->context);
    lab_library_unload(&library->heed);
    lab_record_library_free(library->sources);
}
