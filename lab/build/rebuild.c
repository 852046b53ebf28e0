/*
 * rebuild.c - rebuilds kernels on the board from the code that they were measured with
 */
#include "rebuild.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/candidate.h"
#include "sources.h"
#include "src/device.h"
#include "src/message.h"
#include "trial/process.h"

/* Other machines' compilers may be slow, and the machine busy. */
#define COMPILE_SECONDS 300

static lab_limits limits_of(const lab_rebuild *it)
{
    const lab_bench *bench = it->bench;
    return (lab_limits){ .compile_seconds = COMPILE_SECONDS,
                         .device = *bench->device ? bench->device : NULL,
                         .arch = heed_device_arch(bench->context),
                         .unsafe = it->options.unsafe,
                         .remedy = it->options.unsafe_remedy,
                         .interrupted = bench->sink ? bench->sink->interrupted : NULL };
}

static bool fail(lab_rebuild *it, const char *why)
{
    snprintf(it->why, sizeof it->why, "%s", why);
    return false;
}

/* -------------------------------------------------------------------------- */
/* The original libheed                                                       */
/* -------------------------------------------------------------------------- */

/* A loaded library runs in this process: a board that others can write to must not choose it. */
static bool trusts_board(const lab_rebuild_options *options, char *why, size_t size)
{
    char path[LAB_RECORD_PATH_SIZE];
    struct stat info;
    lab_error error;
    if (options->trusts_board)
        return true;
    if (lab_record_path(options->board, path, &error) != HEED_OK || stat(path, &info) != 0)
        return false;
    if ((info.st_uid == geteuid() || info.st_uid == 0) && !(info.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    snprintf(why, size, "others can write to the board, and its code would run here%s%s",
             options->remedy ? ": see " : "", options->remedy ? options->remedy : "");
    return false;
}

static bool load_library(const lab_rebuild *it, lab_rebuild_library *library)
{
    lab_trial_outcome outcome;
    const lab_limits limits = limits_of(it);
    const lab_record_library *sources = library->sources;
    lab_library_file *files = calloc(sources->count + 1, sizeof *files);
    for (size_t i = 0; files && i < sources->count; i++)
        files[i] = (lab_library_file){ .path = sources->files[i].path,
                                       .text = sources->files[i].text };
    lab_say(it->bench->sink, LAB_MESSAGE, "rebuilding the original heed: build %s", library->build);
    bool done = files && lab_library_load(&library->heed, files, sources->count, &limits, &outcome);
    if (!done)
        snprintf(library->why, sizeof library->why, "the original heed cannot be rebuilt: %s",
                 files ? outcome.text : "not enough memory");
    free(files);
    return done;
}

/* Creates a context of the library with the options of ours. */
static bool open_library(const lab_rebuild *it, lab_rebuild_library *library)
{
    if (library->tried)
        return library->context;
    library->tried = true;
    if (!trusts_board(&it->options, library->why, sizeof library->why) ||
        !load_library(it, library))
        return false;
    const heed_context *ours = it->bench->context;
    const heed_options options = { .size = sizeof options,
                                   .device = "cpu",
                                   .threads = heed_context_threads(ours),
                                   .cpu = heed_context_cpu(ours) };
    if (library->heed.context_create(&library->context, &options) == HEED_OK)
        return true;
    snprintf(library->why, sizeof library->why, "the original heed cannot create a context: %.200s",
             library->heed.message());
    return false;
}

static heed_status library_plan(void *data, const heed_problem *problem, heed_plan **plan)
{
    const lab_rebuild *it = data;
    const lab_library *heed = &it->library->heed;
    heed_status status = heed->plan_create_named(plan, it->library->context, problem, it->name);
    return status == HEED_OK ? status : heed_fail(status, "%s", heed->message());
}

static bool rebuild_on_host(lab_rebuild *it)
{
    if (!open_library(it, it->library))
        return fail(it, it->library->why);
    it->maker = (lab_bench_maker){
        .data = it, .name = it->name, .plan = library_plan, .library = &it->library->heed
    };
    return true;
}

/* -------------------------------------------------------------------------- */
/* The original device code                                                   */
/* -------------------------------------------------------------------------- */

/* A user's source must pass the gates in a separate process, where it may hang or lose the device,
 * before it runs in this one. */
static bool pass_gates(lab_rebuild *it, const lab_candidate *candidate, const lab_limits *limits)
{
    static lab_report report;
    lab_trial_outcome outcome;
    lab_trial *trial;
    uint64_t seed;
    if (!lab_trial_open(&trial, candidate, limits, &outcome)) {
        lab_trial_close(trial);
        return fail(it, outcome.text);
    }
    lab_bench_candidate judged = { .trial = trial, .name = candidate->name, .seconds = -1 };
    heed_status status = lab_bench_candidate_prove(&judged, it->problem, it->bench->host_threads,
                                                   &report, &seed);
    lab_trial_close(trial);
    if (status != HEED_OK)
        return fail(it, heed_message());
    if (report.outcome == LAB_PASS)
        return true;
    it->wrong = judged.worst.verdict == LAB_TRIAL_OK && report.outcome == LAB_FAIL;
    for (size_t i = 0; i < LAB_GATES; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            return fail(it, report.verdicts[i].reason);
    return fail(it, judged.worst.text);
}

heed_status lab_rebuild_plan(heed_plan **plan, heed_context *context, const heed_problem *problem,
                             const char *name, const heed_launch_facts *launch,
                             const heed_cubin *code, char hash[LAB_RECORD_HASH_SIZE])
{
    heed_cubin cubin = { .data = code->data, .size = code->size, .ptx = code->ptx };
    lab_record_hash(cubin.data, cubin.size, hash);
    snprintf(cubin.key, sizeof cubin.key, "%s", hash);
    return heed_plan_create_foreign(plan, context, problem, name, launch, &cubin);
}

static heed_status code_plan(void *data, const heed_problem *problem, heed_plan **plan)
{
    lab_rebuild *it = data;
    const lab_code *made = &it->compiled;
    const heed_cubin code = { .data = made->data, .size = made->size, .ptx = made->ptx };
    return lab_rebuild_plan(plan, it->bench->context, problem, it->name, &it->launched.launch,
                            &code, it->hash);
}

static bool compile_code(lab_rebuild *it, const char *text)
{
    char runner[PATH_MAX];
    lab_trial_outcome outcome;
    const lab_limits limits = limits_of(it);
    const lab_candidate candidate = { .name = it->name,
                                      .language = LAB_LANGUAGE_CUDA,
                                      .source = text,
                                      .source_size = strlen(text),
                                      .knobs = it->launched.knobs,
                                      .knob_count = it->launched.knob_count,
                                      .launch = it->launched.launch,
                                      .problem = it->problem };
    if (it->code && !it->options.unproved && !pass_gates(it, &candidate, &limits))
        return false;
    if (!lab_program_find(LAB_RUNNER_CUDA, runner, &outcome) ||
        !lab_compile_cuda(&candidate, &limits, runner, limits.arch, &it->compiled, &outcome))
        return fail(it, outcome.text);
    it->maker = (lab_bench_maker){ .data = it, .name = it->name, .plan = code_plan };
    return true;
}

static bool rebuild_on_device(lab_rebuild *it)
{
    const char *bad;
    char why[LAB_REBUILD_WHY_SIZE];
    if (!it->launch)
        return fail(it, "the board does not have its launch parameters");
    if (!lab_launch_parse(&it->launched, it->launch, &bad)) {
        snprintf(why, sizeof why, "its launch parameters on the board are invalid: %.80s", bad);
        return fail(it, why);
    }
    char *text = lab_build_kernel(it->library->sources, it->problem, it->launched.source, it->code,
                                  why, sizeof why);
    bool done = text ? compile_code(it, text) : fail(it, why);
    free(text);
    return done;
}

/* -------------------------------------------------------------------------- */
/* Either                                                                     */
/* -------------------------------------------------------------------------- */

bool lab_rebuild_make(lab_rebuild *it)
{
    if (!it->library)
        return fail(it, "the board does not have its original sources");
    return heed_device_is_host(it->bench->context) ? rebuild_on_host(it) : rebuild_on_device(it);
}

void lab_rebuild_free(lab_rebuild *it)
{
    lab_code_free(&it->compiled);
}

void lab_rebuild_library_free(lab_rebuild_library *library)
{
    if (library->context)
        library->heed.context_destroy(library->context);
    lab_library_unload(&library->heed);
    lab_record_library_free(library->sources);
}
