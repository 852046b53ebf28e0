/*
 * compile.c - a candidate's source made into code, by a compiler that may not do anything else
 */
#include "lab/trial/compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/trial/process.h"
#include "measure.h"

#define LOOK_MS 100
#define COMPILER_MEMORY ((size_t)4 << 30)
#define COMPILER_FILE ((size_t)64 << 20)
#define COMPILER_FILES 256
#define MORE_PROCESSES 64

/* More than is kept, as paths are yet to be taken out. */
#define RAW_LOG_SIZE (4 * LAB_LOG_SIZE)

/* Where compilers and what they read are, in distributions that are out of the ordinary too. */
static const char *const system_folders[] = { "/usr",       "/bin",      "/lib",
                                              "/lib32",     "/lib64",    "/etc/ld.so.cache",
                                              "/nix/store", "/gnu/store" };
#define SYSTEM_FOLDERS (sizeof system_folders / sizeof *system_folders)

/* A compilation under way. */
typedef struct job {
    const lab_candidate *candidate;
    const lab_limits *limits;
    lab_code *code;
    lab_trial_outcome *outcome;
    char folder[64];       /* of this job alone */
    char prefix[PATH_MAX]; /* where the compiler is installed */
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
/* The folder                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

static bool write_file(const char *folder, const char *name, const char *text, size_t size)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    bool written = fwrite(text, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

static bool make_folder(job *it)
{
    const char *base = getenv("TMPDIR");
    const char *header = lab_candidate_header();

    if (!base || base[0] != '/' || strlen(base) > sizeof it->folder - 24)
        base = "/tmp";
    snprintf(it->folder, sizeof it->folder, "%s/heed-trial-XXXXXX", base);
    if (!mkdtemp(it->folder)) {
        it->folder[0] = '\0';
        return false;
    }
    return write_file(it->folder, "candidate.c", it->candidate->source,
                      it->candidate->source_size) &&
           write_file(it->folder, "heed_candidate.h", header, strlen(header));
}

static void remove_folder(const char *folder)
{
    DIR *directory = folder[0] ? opendir(folder) : NULL;
    const struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (folder[0])
        rmdir(folder);
}

/* Takes the compiler's result. */
static bool read_code(job *it)
{
    char path[sizeof it->folder + 16];
    struct stat status;

    snprintf(path, sizeof path, "%s/candidate.so", it->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        lab_close_fd(&fd);
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "the compiler made no file");
    }
    size_t size = (size_t)status.st_size;
    bool fits = size <= LAB_CODE_MAX;
    it->code->data = fits ? malloc(size) : NULL;
    bool read_all = it->code->data && read(fd, it->code->data, size) == (ssize_t)size;
    close(fd);
    if (!fits)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "its code has %zu bytes; it may have %zu", size, LAB_CODE_MAX);
    it->code->size = size;
    return read_all || lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot read its code");
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
    access[count++] = (lab_access){ .path = it->folder, .write = true };
    access[count++] = (lab_access){ .path = "/dev/null", .write = true };
    *sandbox = (lab_sandbox){
        .protections = lab_protections_find(),
        .resources = { .memory = COMPILER_MEMORY,
                       .file_size = COMPILER_FILE,
                       .seconds = (unsigned)it->limits->compile_seconds + 1,
                       .processes = process_limit(),
                       .files = COMPILER_FILES },
        .filter = LAB_FILTER_COMPILER,
    };
    return lab_sandbox_create(sandbox, access, count);
}

#define DEFINE_SIZE (LAB_KNOB_NAME_MAX + 32)
#define ARGUMENTS_MAX (LAB_KNOBS_MAX + LAB_OPTIONS_MAX + 16)

/* Starts the compiler in its sandbox. */
static int start_compiler(const job *it, lab_process *process)
{
    char defines[LAB_KNOBS_MAX][DEFINE_SIZE];
    char path_variable[PATH_MAX + 64], temporary[sizeof it->folder + 8];
    const char *arguments[ARGUMENTS_MAX];
    const char *const environment[] = { path_variable, temporary, "LC_ALL=C", "CCACHE_DISABLE=1",
                                        NULL };
    const lab_candidate *candidate = it->candidate;
    lab_sandbox sandbox;
    size_t count = 0;

    arguments[count++] = it->code->compiler;
    for (size_t i = 0; i < candidate->option_count; i++)
        arguments[count++] = candidate->options[i];
    for (size_t i = 0; i < candidate->knob_count; i++) {
        snprintf(defines[i], DEFINE_SIZE, "-D%s=%lld", candidate->knobs[i].name,
                 candidate->knobs[i].value);
        arguments[count++] = defines[i];
    }
    static const char *const rest[] = { "-shared",      "-fPIC",       "-w",  "-I.", "-o",
                                        "candidate.so", "candidate.c", "-lm", NULL };
    memcpy(&arguments[count], rest, sizeof rest);
    int folder_length = (int)(strrchr(it->code->compiler, '/') - it->code->compiler);
    snprintf(path_variable, sizeof path_variable, "PATH=%.*s:/usr/local/bin:/usr/bin:/bin",
             folder_length, it->code->compiler);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", it->folder);
    if (!make_sandbox(it, &sandbox))
        return errno;
    const lab_process_command command = { .path = it->code->compiler,
                                          .arguments = arguments,
                                          .environment = environment,
                                          .folder = it->folder,
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
    int64_t deadline = heed_clock_ns() + (int64_t)(it->limits->compile_seconds * 1e9);

    while (process->out >= 0 || process->err >= 0) {
        struct pollfd fds[2] = { { .fd = process->err, .events = POLLIN },
                                 { .fd = process->out, .events = POLLIN } };
        if (heed_clock_ns() > deadline)
            return LAB_TRIAL_HUNG;
        if (it->limits->interrupted && it->limits->interrupted())
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
                                     it->limits->compile_seconds);
    const char *line = first_error(it->code->log, &length);
    if (length == 0)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "the compiler failed and did not say why");
    return lab_trial_outcome_set(it->outcome, LAB_TRIAL_COMPILE_ERROR, "%.*s", length, line);
}

/* Runs the compiler and takes what it made. */
static bool run_compiler(job *it)
{
    lab_process process;
    int error = start_compiler(it, &process);

    if (error != 0)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot start %.120s: %s",
                                     it->code->compiler, strerror(error));
    lab_trial_verdict verdict = listen_to(it, &process);
    int status = lab_process_reap(process.pid);
    lab_process_close(&process);
    lab_log_strip(it->raw);
    memcpy(it->code->log, it->raw, LAB_LOG_SIZE);
    if (verdict == LAB_TRIAL_HUNG)
        return lab_trial_outcome_set(it->outcome, verdict, "was not compiled within %.3g s",
                                     it->limits->compile_seconds);
    if (verdict != LAB_TRIAL_OK)
        return lab_trial_outcome_set(it->outcome, verdict, NULL);
    return judge_end(it, status) && read_code(it);
}

static bool compile(job *it)
{
    if (!lab_compiler_find(it->code->compiler))
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM,
                                     "there is no C compiler: none of cc, gcc, clang is in PATH");
    find_prefix(it->code->compiler, it->prefix);
    if (!make_folder(it))
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot make a folder: %s",
                                     strerror(errno));
    return run_compiler(it);
}

bool lab_compile_c(const lab_candidate *candidate, const lab_limits *limits, lab_code *code,
                   lab_trial_outcome *outcome)
{
    const lab_limits full = lab_limits_fill(limits);
    int64_t start = heed_clock_ns();
    job *it = calloc(1, sizeof *it);

    memset(code, 0, sizeof *code);
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (!it)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory to compile it");
    it->candidate = candidate;
    it->limits = &full;
    it->code = code;
    it->outcome = outcome;
    bool done = lab_candidate_check(candidate, outcome) && compile(it);
    remove_folder(it->folder);
    free(it);
    outcome->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    return done;
}

void lab_code_free(lab_code *code)
{
    free(code->data);
    code->data = NULL;
    code->size = 0;
}
