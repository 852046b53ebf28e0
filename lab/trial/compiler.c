/*
 * compiler.c - the C compiler, in a sandbox in which it can read nothing but itself, the system's
 * headers and libraries, and one folder
 */
#include "lab/trial/compiler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/trial/compile.h"
#include "lab/trial/process.h"
#include "measure.h"

#define LOOK_MS 100
#define COMPILER_MEMORY ((size_t)4 << 30)
#define COMPILER_FILE ((size_t)64 << 20)
#define COMPILER_FILES 256
#define MORE_PROCESSES 64
#define ARGUMENTS_MAX 256

/* More than is kept, as paths are yet to be taken out. */
#define RAW_LOG_SIZE (4 * LAB_LOG_SIZE)

/* Where compilers and what they read are, in distributions that are out of the ordinary too. */
static const char *const system_folders[] = { "/usr",       "/bin",      "/lib",
                                              "/lib32",     "/lib64",    "/etc/ld.so.cache",
                                              "/nix/store", "/gnu/store" };
#define SYSTEM_FOLDERS (sizeof system_folders / sizeof *system_folders)

/* The compiler at work. */
typedef struct job {
    const lab_compiler_task *task;
    lab_trial_outcome *outcome;
    char prefix[PATH_MAX]; /* where it is installed */
    char raw[RAW_LOG_SIZE];
} job;

/* ---------------------------------------------------------------------------------------------- */
/* The compiler                                                                                   */
/* ---------------------------------------------------------------------------------------------- */

/* Is there a program @name in the folder that @folder begins with, up to a colon? */
static bool is_program(const char *folder, const char *name, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%.*s/%s", (int)strcspn(folder, ":"), folder, name);

    return length > 0 && length < PATH_MAX && path[0] == '/' && access(path, X_OK) == 0;
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
    const char *folder = getenv("PATH");

    while (folder && *folder) {
        if (is_program(folder, name, path))
            return true;
        folder += strcspn(folder, ":");
        folder += *folder == ':';
    }
    return false;
}

bool lab_compiler_find(char path[PATH_MAX])
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *asked = getenv("HEED_CC");

    if (asked && asked[0] == '/')
        return snprintf(path, PATH_MAX, "%s", asked) < PATH_MAX && access(path, X_OK) == 0;
    if (asked && asked[0])
        return find_in_path(asked, path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_in_path(names[i], path))
            return true;
    return false;
}

/* The folder above that of the program @path, once links are followed: /opt/gcc for
 * /opt/gcc/bin/gcc. */
static void find_prefix(const char *path, char prefix[PATH_MAX])
{
    char *real = realpath(path, NULL);

    snprintf(prefix, PATH_MAX, "%s", real ? real : path);
    free(real);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');
        if (slash)
            *slash = '\0';
    }
}

/* ---------------------------------------------------------------------------------------------- */
/* The process                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

/* A limit on processes counts all of the user's, so it is so many more than there are now. */
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
    lab_access access[SYSTEM_FOLDERS + 3];
    size_t count = 0;

    for (size_t i = 0; i < SYSTEM_FOLDERS; i++)
        access[count++] = (lab_access){ .path = system_folders[i] };
    if (strrchr(it->prefix, '/') && strrchr(it->prefix, '/')[1])
        access[count++] = (lab_access){ .path = it->prefix };
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

/* Reads what the compiler says until it has ended. Returns LAB_TRIAL_OK, whatever it said, or why
 * it was not waited for any longer. */
static lab_trial_verdict listen_to(job *it, lab_process *process)
{
    lab_inlet words = { .text = it->raw, .size = sizeof it->raw };
    int64_t deadline = heed_clock_ns() + (int64_t)(it->task->limits->compile_seconds * 1e9);

    while (process->out >= 0 || process->err >= 0) {
        struct pollfd fds[2] = { { .fd = process->err, .events = POLLIN },
                                 { .fd = process->out, .events = POLLIN } };
        if (heed_clock_ns() > deadline)
            return LAB_TRIAL_HUNG;
        if (it->task->limits->interrupted && it->task->limits->interrupted())
            return LAB_TRIAL_INTERRUPTED;
        if (poll(fds, 2, LOOK_MS) <= 0)
            continue;
        if (fds[0].revents)
            lab_inlet_read(&words, &process->err);
        if (fds[1].revents)
            lab_inlet_read(&words, &process->out);
    }
    return lab_process_await(process->pid, deadline) ? LAB_TRIAL_OK : LAB_TRIAL_HUNG;
}

/* The first line of @log that speaks of an error, or the first of all. */
static const char *first_error(const char *log, int *length)
{
    const char *line = strstr(log, "rror:"); /* the assembler's is in capitals */

    while (line && line > log && line[-1] != '\n')
        line--;
    line = line ? line : log;
    *length = (int)strcspn(line, "\n");
    return line;
}

/* What the end of the compiler, with the wait status @status, means. */
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
                                     "the compiler failed and did not say why");
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
    find_prefix(task->compiler, it->prefix);
    bool done = run(it);
    free(it);
    return done;
}
