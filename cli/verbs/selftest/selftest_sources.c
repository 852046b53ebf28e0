/*
 * selftest_sources.c - the suite's candidates in C, tried like sources of `heed evolve`
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/candidate.h"
#include "bench/process.h"
#include "selftest.h"
#include "trial/compile/folder.h"
#include "trial/sandbox.h"

/* As compiled by evolve. */
static const char *const c_options[] = { "-O3", "-march=native" };

/* The number of timed blocks, and of calls in each. Half of the calls are hard, so each kind occurs
 * 20 times: a kernel that survives a kind half of the time escapes once in a million. */
#define BLOCKS 40
#define CALLS 8
#define RUN_SECONDS 5

/* The bytes that the cheat read_past reads past a tensor. */
static const lab_knob knob = { "ID", 4 };

static void stop(lab_selftest_outcome *outcome, size_t judge, const char *why)
{
    if (!outcome->failed)
        snprintf(outcome->reason, sizeof outcome->reason, "%s", why);
    outcome->failed |= (uint32_t)1 << judge;
}

static void prove(lab_bench_process *process, const heed_problem *problem, const char *name,
                  lab_selftest_outcome *outcome)
{
    static lab_report report;
    lab_bench_candidate candidate = { .trial = process->trial, .name = name, .seconds = -1 };
    uint64_t seed;
    heed_status status = lab_bench_candidate_prove(&candidate, problem, 1, &report, &seed);
    if (status != HEED_OK)
        stop(outcome, 0, heed_message());
    for (size_t i = 0; status == HEED_OK && i < LAB_GATES; i++)
        if (report.verdicts[i].outcome == LAB_FAIL)
            stop(outcome, i, report.verdicts[i].reason);
}

/* Runs timed blocks of a candidate, whether or not it passed. */
static void time_blocks(lab_bench_process *process, const lab_bench_tensors *tensors,
                        lab_selftest_outcome *outcome)
{
    double seconds = 0;
    bool well = lab_bench_process_take(process, tensors) &&
                lab_bench_process_block(process, &seconds) == HEED_OK;
    if (well)
        lab_bench_process_size(process, 1, CALLS);
    for (int i = 0; i < BLOCKS && well; i++)
        well = lab_bench_process_block(process, &seconds) == HEED_OK;
    if (!well)
        stop(outcome, LAB_JUDGE_TIMED, process->outcome.text);
    lab_bench_process_leave(process);
}

static void try_open(lab_bench_process *process, const lab_candidate *candidate,
                     const lab_bench_tensors *tensors, lab_selftest_outcome *outcome)
{
    size_t workspace;
    if (!lab_trial_open(&process->trial, candidate, &process->limits, &process->outcome) ||
        !lab_trial_prepare(process->trial, &tensors->problem, &workspace, &process->outcome)) {
        stop(outcome, LAB_JUDGE_SANDBOX, process->outcome.text);
        return;
    }
    prove(process, &tensors->problem, candidate->name, outcome);
    time_blocks(process, tensors, outcome);
}

static void run(void *data, const lab_mutant *source, lab_selftest_outcome *outcome)
{
    const heed_options options = { .size = sizeof options, .device = "cpu", .threads = 1 };
    char *text = lab_mutant_source_whole(source->source);
    lab_bench_source problem = { .label = "" };
    lab_bench_tensors tensors;
    heed_context *context = NULL;
    (void)data;
    heed_status status = text ? heed_context_create(&context, &options) : HEED_ERR_NO_MEMORY;
    if (status == HEED_OK)
        status = heed_problem_parse(&problem.problem, source->spec);
    if (status == HEED_OK)
        status = lab_bench_tensors_create(&tensors, context, &problem, 7, 0);
    if (status == HEED_OK) {
        lab_bench_process process = { .limits = { .run_seconds = RUN_SECONDS,
                                                  .tensor_bytes = (size_t)16 << 20,
                                                  .interrupted = cli_interrupted } };
        const lab_candidate candidate = { .name = source->name,
                                          .language = LAB_LANGUAGE_C,
                                          .source = text,
                                          .source_size = strlen(text),
                                          .knobs = &knob,
                                          .knob_count = 1,
                                          .options = c_options,
                                          .option_count = sizeof c_options / sizeof *c_options };
        try_open(&process, &candidate, &tensors, outcome);
        lab_bench_process_close(&process);
        lab_bench_tensors_free(&tensors);
    } else {
        snprintf(outcome->reason, sizeof outcome->reason, "not tried: %s", heed_message());
    }
    heed_context_destroy(context);
    free(text);
}

const lab_selftest_sources *selftest_sources(void)
{
    static const lab_selftest_sources sources = { .run = run };
    const lab_protections protections = lab_protections_find();
    return lab_protections_suffice(&protections) ? &sources : NULL;
}

/* ---- A folder for what is compiled ---- */

#define TRIES 50
#define LOCK "/lock"

/* Makes a folder with a locked file; the system releases the lock once this process and its
 * children have ended. Another run may have removed the folder before it was locked. Writes -1 to
 * *@lock if there is none. */
static bool make_folder(char *folder, size_t size, int *lock)
{
    char path[LAB_FOLDER_SIZE];
    struct stat facts = { .st_nlink = 1 };
    do {
        *lock = -1;
        if (!lab_folder_make(folder, size, "selftest"))
            return false;
        snprintf(path, sizeof path, "%s" LOCK, folder);
        *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    } while (*lock >= 0 && flock(*lock, LOCK_EX) == 0 && fstat(*lock, &facts) == 0 &&
             facts.st_nlink == 0 && close(*lock) == 0);
    return true;
}

/* Removes the folders beside @folder that killed runs left: nobody holds their locks. */
static void remove_left(const char *folder)
{
    char pattern[LAB_FOLDER_SIZE];
    struct stat facts;
    glob_t found;
    snprintf(pattern, sizeof pattern, "%.*s/heed-selftest-??????" LOCK,
             (int)(strrchr(folder, '/') - folder), folder);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *path = found.gl_pathv[i];
        int lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        bool left = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
        *strrchr(path, '/') = '\0';
        if (left && lstat(path, &facts) == 0 && facts.st_uid == geteuid())
            lab_folder_remove(path);
        if (lock >= 0)
            close(lock);
    }
    globfree(&found);
}

/* A child that is killed while it compiles leaves a folder, so all such folders are in one. */
heed_status selftest_run(const lab_selftest_options *options, lab_selftest_result *result)
{
    const char *base = getenv("TMPDIR");
    char *before = base ? strdup(base) : NULL;
    char folder[LAB_FOLDER_SIZE - 24]; /* the candidates' folders are in it */
    int lock;
    bool made = make_folder(folder, sizeof folder, &lock);
    if (made) {
        setenv("TMPDIR", folder, 1);
        remove_left(folder);
    }
    heed_status status = lab_selftest_run(options, result);
    /* A compiler that is being killed may still write a file. */
    for (int i = 0; made && i < TRIES && access(folder, F_OK) == 0; i++) {
        const struct timespec nap = { .tv_nsec = i ? 20000000 : 0 };
        nanosleep(&nap, NULL);
        lab_folder_remove(folder);
    }
    if (made && before)
        setenv("TMPDIR", before, 1);
    else if (made)
        unsetenv("TMPDIR");
    if (lock >= 0)
        close(lock);
    free(before);
    return status;
}
