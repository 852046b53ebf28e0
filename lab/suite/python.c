/*
 * python.c - parses untrusted text with Python in a sandbox
 */
#include "lab/suite/python.h"

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

#define MEMORY ((size_t)1 << 30)
#define FILES 64
#define SECONDS 20.0
#define ANSWER_SIZE ((size_t)4 << 20)
#define WORDS_SIZE 4096
#define TEXT_FD "3"
#define ACCESS_MAX 16

/* ---- Finding Python ---- */

/* True if the file is an ELF binary. A script would be run by another interpreter. */
static bool may_run(const char *path)
{
    return lab_path_is_program(path) && lab_path_is_binary(path);
}

static heed_status find_program(lab_python *python, lab_error *error)
{
    const char *asked = getenv("HEED_PYTHON");
    const char *name = asked && *asked ? asked : "python3";
    char *path = python->asked;
    bool found = strchr(name, '/')
                     ? snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && may_run(path)
                     : lab_path_find(getenv("PATH"), name, may_run, path, PATH_MAX);
    if (!found && !(asked && *asked)) {
        snprintf(path, PATH_MAX, "/usr/bin/python3");
        found = may_run(path);
    }
    found = found && realpath(path, python->program);
    if (!found)
        return lab_fail(error, HEED_ERR_SYSTEM,
                        "%s is not a Python interpreter that can run in a sandbox; "
                        "HEED_PYTHON names another",
                        name);
    snprintf(python->version, sizeof python->version, "%.31s", strrchr(python->program, '/') + 1);
    return HEED_OK;
}

/* For an interpreter that is not the system's: the folder lib next to its bin. */
static void find_library(lab_python *python)
{
    static const char *const system[] = { "/usr/", "/bin/", "/nix/store/", "/gnu/store/" };
    char prefix[PATH_MAX];
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (strncmp(python->program, system[i], strlen(system[i])) == 0)
            return;
    snprintf(prefix, sizeof prefix, "%s", python->program);
    for (int up = 0; up < 2 && strrchr(prefix, '/'); up++)
        *strrchr(prefix, '/') = '\0';
    if (snprintf(python->library, PATH_MAX, "%s/lib", prefix) >= PATH_MAX)
        python->library[0] = '\0';
}

static heed_status find_readers(lab_python *python, lab_error *error)
{
    static const char *const places[] = { "../suites", "../../suites", "../libexec/heed/suites" };
    char folder[PATH_MAX - 32], path[PATH_MAX];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!lab_beside(places[i], folder, sizeof folder))
            continue;
        snprintf(path, sizeof path, "%s/read_task.py", folder);
        if (access(path, R_OK) == 0 && realpath(folder, python->readers))
            return HEED_OK;
    }
    return lab_fail(error, HEED_ERR_SYSTEM, "read_task.py is not where heed is installed");
}

heed_status lab_python_find(lab_python *python, lab_error *error)
{
    *python = (lab_python){ .program = "" };
    heed_status status = find_program(python, error);
    if (status != HEED_OK)
        return status;
    find_library(python);
    return find_readers(python, error);
}

/* ---- Its process ---- */

static bool make_sandbox(const lab_python *python, lab_sandbox *sandbox)
{
    const char *const paths[] = {
        "/usr",          "/bin",          "/lib",         "/lib64",
        "/nix/store",    "/gnu/store",    "/dev/null",    "/etc/ld.so.cache",
        python->program, python->library, python->readers
    };
    lab_access access[ACCESS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (*paths[i])
            access[count++] = (lab_access){ .path = paths[i] };
    *sandbox = (lab_sandbox){
        .protections = lab_protections_find(),
        .resources = { .memory = MEMORY,
                       .file_size = ANSWER_SIZE,
                       .seconds = (unsigned)SECONDS + 1,
                       .files = FILES },
        .filter = LAB_FILTER_COMPILER,
    };
    return lab_sandbox_create(sandbox, access, count);
}

/* Starts the reader with the text as descriptor 3. Returns an errno value. */
static int start(const lab_python *python, const char *way, int text, lab_process *process)
{
    char script[2 * PATH_MAX];
    lab_sandbox sandbox;
    snprintf(script, sizeof script, "%s/read_task.py", python->readers);
    const char *const arguments[] = {
        python->program, "-I", "-S", "-B", script, way, TEXT_FD, NULL
    };
    const char *const environment[] = { "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", NULL };
    if (!make_sandbox(python, &sandbox))
        return errno;
    const lab_process_command command = { .path = python->program,
                                          .arguments = arguments,
                                          .environment = environment,
                                          .folder = "/",
                                          .sandbox = &sandbox,
                                          .files = { text, -1, -1 } };
    int error = lab_process_start(process, &command);
    lab_sandbox_destroy(&sandbox);
    return error;
}

/* The output of a reader. */
typedef struct answer {
    char text[ANSWER_SIZE];
    char words[WORDS_SIZE];
} answer;

/* The last line of its error output. */
static const char *last_line(char *words)
{
    size_t length = strlen(words);
    while (length > 0 && words[length - 1] == '\n')
        words[--length] = '\0';
    const char *line = strrchr(words, '\n');
    return line ? line + 1 : words;
}

/* The error for a reader that ended without a reply. */
static heed_status fail_end(int status, char *words, lab_error *error)
{
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return lab_fail(error, HEED_ERR_INVALID, "it was not read within %.3g s", SECONDS);
    if (WIFSIGNALED(status))
        return lab_fail(error, HEED_ERR_INVALID, "its reader was ended by signal %d",
                        WTERMSIG(status));
    if (strstr(words, "MemoryError"))
        return lab_fail(error, HEED_ERR_INVALID, "its reader needs more than %zu MiB",
                        MEMORY >> 20);
    return lab_fail(error, HEED_ERR_INVALID, "its reader ended with %d: %.200s",
                    WEXITSTATUS(status), last_line(words));
}

static json_t *parse(const char *text, int ended, char *words, heed_status *status,
                     lab_error *error)
{
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0 && json_is_object(json))
        return json;
    json_decref(json);
    *status = fail_end(ended, words, error);
    return NULL;
}

static json_t *read_with(const lab_python *python, const char *way, int text,
                         bool (*interrupted)(void), answer *said, heed_status *status,
                         lab_error *error)
{
    lab_inlet output = { .text = said->text, .size = sizeof said->text };
    lab_inlet words = { .text = said->words, .size = sizeof said->words };
    lab_process process;
    int failed = start(python, way, text, &process);
    if (failed != 0) {
        *status = lab_fail(error, HEED_ERR_SYSTEM, "cannot start %s: %s", python->program,
                           strerror(failed));
        return NULL;
    }
    int64_t deadline = heed_clock_ns() + (int64_t)(SECONDS * 1e9);
    bool heard = lab_process_listen(&process, &output, &words, deadline, interrupted);
    int ended = lab_process_reap(process.pid);
    lab_process_close(&process);
    if (!heard && interrupted && interrupted()) {
        *status = lab_fail(error, HEED_ERR_SYSTEM, "interrupted");
        return NULL;
    }
    return parse(said->text, ended, said->words, status, error);
}

json_t *lab_python_read(const lab_python *python, const char *way, const char *text, size_t size,
                        bool (*interrupted)(void), heed_status *status, lab_error *error)
{
    answer *said = calloc(1, sizeof *said);
    int file = said ? lab_share("heed-task", text, size) : -1;
    json_t *json = NULL;
    *status = HEED_OK;
    if (file < 0 || lseek(file, 0, SEEK_SET) != 0)
        *status = lab_fail(error, HEED_ERR_NO_MEMORY, "no memory to read it");
    else
        json = read_with(python, way, file, interrupted, said, status, error);
    lab_close_fd(&file);
    free(said);
    return json;
}
