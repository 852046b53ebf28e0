/*
 * compiler.c - runs the C compiler in a sandbox in which it can read only itself, the system's
 * headers and libraries, and one folder
 */
#include "lab/trial/compile/compiler.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/trial/compile/compile.h"
#include "lab/trial/process.h"
#include "measure.h"

#define COMPILER_MEMORY ((size_t)4 << 30)
#define COMPILER_FILE ((size_t)64 << 20)
#define COMPILER_FILES 256
#define MORE_PROCESSES 64
#define ARGUMENTS_MAX 256

/* More than is kept, as paths are removed later. */
#define RAW_LOG_SIZE (4 * LAB_LOG_SIZE)

/* A run of the compiler. */
typedef struct job {
    const lab_compiler_task *task;
    lab_trial_outcome *outcome;
    char raw[RAW_LOG_SIZE];
} job;

/* ---------------------------------------------------------------------------------------------- */
/* The process                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

/* The limit on processes applies to all of the user's, so it is this number above the current
 * count. */
static unsigned process_limit(void)
{
    unsigned running, all = 0;
    FILE *file = fopen("/proc/loadavg", "re");

    if (file && fscanf(file, "%*f %*f %*f %u/%u", &running, &all) != 2)
        all = 0;
    if (file)
        fclose(file);
    return all > 0 ? all + MORE_PROCESSES : 0;
}

static bool make_sandbox(const job *it, lab_sandbox *sandbox)
{
    char paths[LAB_COMPILER_PATHS][PATH_MAX];
    lab_access access[LAB_COMPILER_PATHS + 2];
    size_t count = lab_compiler_paths(it->task->compiler, paths);

    for (size_t i = 0; i < count; i++)
        access[i] = (lab_access){ .path = paths[i] };
    access[count++] = (lab_access){ .path = it->task->folder, .write = true };
    access[count++] = (lab_access){ .path = "/dev/null", .write = true };
    *sandbox = (lab_sandbox){
        .protections = lab_protections_find(),
        .resources = { .memory = COMPILER_MEMORY,
                       .file_size = COMPILER_FILE,
                       .seconds = (unsigned)it->task->limits->compile_seconds + 1,
                       .processes = process_limit(),
                       .files = COMPILER_FILES },
        .filter = LAB_FILTER_COMPILER,
    };
    return lab_sandbox_create(sandbox, access, count);
}

/* Starts the compiler in its sandbox. */
static int start_compiler(const job *it, lab_process *process)
{
    const lab_compiler_task *task = it->task;
    char path_variable[PATH_MAX + 64], temporary[PATH_MAX + 8];
    const char *arguments[ARGUMENTS_MAX + 2] = { task->compiler };
    const char *const environment[] = { path_variable, temporary, "LC_ALL=C", "CCACHE_DISABLE=1",
                                        NULL };
    lab_sandbox sandbox;

    if (task->argument_count > ARGUMENTS_MAX)
        return E2BIG;
    memcpy(&arguments[1], task->arguments, task->argument_count * sizeof *arguments);
    int folder_length = (int)(strrchr(task->compiler, '/') - task->compiler);
    snprintf(path_variable, sizeof path_variable, "PATH=%.*s:/usr/local/bin:/usr/bin:/bin",
             folder_length, task->compiler);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", task->folder);
    if (!make_sandbox(it, &sandbox))
        return errno;
    const lab_process_command command = { .path = task->compiler,
                                          .arguments = arguments,
                                          .environment = environment,
                                          .folder = task->folder,
                                          .sandbox = &sandbox,
                                          .files = { -1, -1, -1 } };
    int error = lab_process_start(process, &command);
    lab_sandbox_destroy(&sandbox);
    return error;
}

/* Reads the compiler's output until it ends. Returns LAB_TRIAL_OK, whatever the output, or the
 * reason to stop waiting. */
static lab_trial_verdict listen_to(job *it, lab_process *process)
{
    const lab_limits *limits = it->task->limits;
    lab_inlet words = { .text = it->raw, .size = sizeof it->raw };
    int64_t deadline = heed_clock_ns() + (int64_t)(limits->compile_seconds * 1e9);

    if (lab_process_listen(process, &words, &words, deadline, limits->interrupted))
        return LAB_TRIAL_OK;
    return lab_limits_interrupted(limits) ? LAB_TRIAL_INTERRUPTED : LAB_TRIAL_HUNG;
}

/* The first line of @log with an error, or else the first line. */
static const char *first_error(const char *log, int *length)
{
    const char *line = strstr(log, "rror:"); /* the assembler capitalizes it */

    while (line && line > log && line[-1] != '\n')
        line--;
    line = line ? line : log;
    *length = (int)strcspn(line, "\n");
    return line;
}

/* Judges the end of the compiler by the wait status @status. */
static bool judge_end(const job *it, int status)
{
    int length;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_HUNG, "was not compiled within %.3g s",
                                     it->task->limits->compile_seconds);
    const char *line = first_error(it->task->log, &length);
    if (length == 0)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "the compiler failed without a message");
    return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR, "%.*s", length, line);
}

static bool run(job *it)
{
    lab_process process;
    int error = start_compiler(it, &process);

    if (error != 0)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot start %.120s: %s",
                                     it->task->compiler, strerror(error));
    lab_trial_verdict verdict = listen_to(it, &process);
    int status = lab_process_reap(process.pid);
    lab_process_close(&process);
    lab_log_strip(it->raw);
    lab_log_hide_files(it->raw);
    memcpy(it->task->log, it->raw, LAB_LOG_SIZE);
    if (verdict == LAB_TRIAL_HUNG)
        return lab_trial_outcome_set(it->outcome, verdict, "was not compiled within %.3g s",
                                     it->task->limits->compile_seconds);
    if (verdict != LAB_TRIAL_OK)
        return lab_trial_outcome_set(it->outcome, verdict, NULL);
    return judge_end(it, status);
}

bool lab_compiler_run(const lab_compiler_task *task, lab_trial_outcome *outcome)
{
    job *it = calloc(1, sizeof *it);

    if (!it)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory to compile it");
    it->task = task;
    it->outcome = outcome;
    bool done = run(it);
    free(it);
    return done;
}
