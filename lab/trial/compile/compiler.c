/*
 * compiler.c - finds the C compiler, and runs it in a sandbox in which it can read only itself, the
 * system's headers and libraries, and one folder
 *
 * Its messages may quote files, and are shown to the author of the source.
 */
#include "lab/trial/compile/compile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/base/path.h"
#include "lab/trial/process.h"
#include "measure.h"

#define COMPILER_MEMORY ((size_t)4 << 30)
#define COMPILER_FILE ((size_t)64 << 20)
#define COMPILER_FILES 256
#define MORE_PROCESSES 64
#define ARGUMENTS_MAX 256

/* More than is kept, as paths are removed later. */
#define RAW_LOG_SIZE (4 * LAB_LOG_SIZE)

/* Folders of compilers and their files, including those of unusual distributions. */
static const char *const system_paths[] = { "/usr",       "/bin",      "/lib",
                                            "/lib32",     "/lib64",    "/etc/ld.so.cache",
                                            "/nix/store", "/gnu/store" };
#define SYSTEM_PATHS (sizeof system_paths / sizeof *system_paths)

/* Sibling folders in the prefix of a compiler installed elsewhere, and signs of such an
 * installation. */
static const char *const parts[] = { "bin", "include", "lib", "lib32", "lib64", "libexec" };
static const char *const marks[] = { "lib/gcc", "lib64/gcc", "libexec/gcc", "lib/clang",
                                     "lib64/clang" };

static bool is_systems(const char *path)
{
    for (size_t i = 0; i < SYSTEM_PATHS; i++) {
        size_t length = strlen(system_paths[i]);
        if (strncmp(path, system_paths[i], length) == 0 && path[length] == '/')
            return true;
    }
    return false;
}

static bool may_run(const char *path)
{
    char real[PATH_MAX];

    return path[0] == '/' && access(path, X_OK) == 0 && realpath(path, real) &&
           (is_systems(real) || lab_path_is_binary(real));
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
    return lab_path_find(getenv("PATH"), name, may_run, path, PATH_MAX);
}

bool lab_compiler_find(char path[PATH_MAX])
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *asked = getenv("HEED_CC");

    if (asked && asked[0] == '/')
        return snprintf(path, PATH_MAX, "%s", asked) < PATH_MAX && may_run(path);
    if (asked && asked[0])
        return find_in_path(asked, path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_in_path(names[i], path))
            return true;
    return false;
}

/* Removes the last @count components of @path. */
static void go_up(char *path, int count)
{
    for (int i = 0; i < count; i++) {
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    }
}

/* True if a compiler is installed in @prefix. */
static bool is_installation(const char *prefix)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (snprintf(path, sizeof path, "%s/%s", prefix, marks[i]) < (int)sizeof path &&
            access(path, F_OK) == 0)
            return true;
    return false;
}

size_t lab_compiler_paths(const char *path, char paths[LAB_COMPILER_PATHS][PATH_MAX])
{
    char prefix[PATH_MAX];
    size_t count = 0;

    for (; count < SYSTEM_PATHS; count++)
        snprintf(paths[count], PATH_MAX, "%s", system_paths[count]);
    if (!realpath(path, prefix) || is_systems(prefix))
        return count;
    snprintf(paths[count++], PATH_MAX, "%s", prefix);
    go_up(prefix, 2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && is_installation(prefix); i++)
        if (snprintf(paths[count], PATH_MAX, "%s/%s", prefix, parts[i]) < PATH_MAX)
            count++;
    return count;
}

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

static bool make_sandbox(const lab_compiler_task *task, lab_sandbox *sandbox)
{
    char paths[LAB_COMPILER_PATHS][PATH_MAX];
    lab_access access[LAB_COMPILER_PATHS + 2];
    size_t count = lab_compiler_paths(task->compiler, paths);

    for (size_t i = 0; i < count; i++)
        access[i] = (lab_access){ .path = paths[i] };
    access[count++] = (lab_access){ .path = task->folder, .write = true };
    access[count++] = (lab_access){ .path = "/dev/null", .write = true };
    *sandbox = (lab_sandbox){
        .protections = lab_protections_find(),
        .resources = { .memory = COMPILER_MEMORY,
                       .file_size = COMPILER_FILE,
                       .seconds = (unsigned)task->limits->compile_seconds + 1,
                       .processes = process_limit(),
                       .files = COMPILER_FILES },
        .filter = LAB_FILTER_COMPILER,
    };
    return lab_sandbox_create(sandbox, access, count);
}

/* Starts the compiler in its sandbox. */
static int start_compiler(const lab_compiler_task *task, lab_process *process)
{
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
    if (!make_sandbox(task, &sandbox))
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
static lab_trial_verdict listen_to(const lab_compiler_task *task, lab_process *process,
                                   char raw[RAW_LOG_SIZE])
{
    const lab_limits *limits = task->limits;
    lab_inlet words = { .text = raw, .size = RAW_LOG_SIZE };
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
static bool judge_end(const lab_compiler_task *task, int status, lab_trial_outcome *outcome)
{
    int length;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_HUNG, "was not compiled within %.3g s",
                                     task->limits->compile_seconds);
    const char *line = first_error(task->log, &length);
    if (length == 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "the compiler failed without a message");
    return lab_trial_outcome_set(outcome, LAB_TRIAL_COMPILE_ERROR, "%.*s", length, line);
}

static bool run(const lab_compiler_task *task, char raw[RAW_LOG_SIZE], lab_trial_outcome *outcome)
{
    lab_process process;
    int error = start_compiler(task, &process);

    if (error != 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "cannot start %.120s: %s",
                                     task->compiler, strerror(error));
    lab_trial_verdict verdict = listen_to(task, &process, raw);
    int status = lab_process_reap(process.pid);
    lab_process_close(&process);
    lab_log_strip(raw);
    lab_log_hide_files(raw);
    memcpy(task->log, raw, LAB_LOG_SIZE);
    if (verdict == LAB_TRIAL_HUNG)
        return lab_trial_outcome_set(outcome, verdict, "was not compiled within %.3g s",
                                     task->limits->compile_seconds);
    if (verdict != LAB_TRIAL_OK)
        return lab_trial_outcome_set(outcome, verdict, NULL);
    return judge_end(task, status, outcome);
}

bool lab_compiler_run(const lab_compiler_task *task, lab_trial_outcome *outcome)
{
    char *raw = calloc(1, RAW_LOG_SIZE);

    if (!raw)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory to compile it");
    bool done = run(task, raw, outcome);
    free(raw);
    return done;
}
