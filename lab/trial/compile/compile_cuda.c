/*
 * compile_cuda.c - compiles a CUDA candidate's source with NVRTC, in a sandboxed process
 * (runner_cuda.c)
 */
#define _GNU_SOURCE /* memfd_create() */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/trial/compile/compile.h"
#include "lab/trial/host.h"
#include "lab/trial/process.h"
#include "measure.h"

#define DEFINE_SIZE (LAB_KNOB_NAME_MAX + 32)
#define ARGUMENTS_MAX (LAB_KNOBS_MAX + 8)
#define RAW_LOG_SIZE (4 * LAB_LOG_SIZE)

/* The request and the reply, each a file in memory. */
typedef struct files {
    int source, code, log;
} files;

static bool open_files(files *f, const lab_candidate *candidate)
{
    f->source = lab_share("heed-source", candidate->source, candidate->source_size);
    f->code = lab_share("heed-code", NULL, 0);
    f->log = lab_share("heed-log", NULL, 0);
    return f->source >= 0 && f->code >= 0 && f->log >= 0;
}

static void close_files(files *f)
{
    lab_close_fd(&f->source);
    lab_close_fd(&f->code);
    lab_close_fd(&f->log);
}

/* Starts the compilation. */
static bool start(lab_host *host, const lab_candidate *candidate, const lab_limits *limits,
                  const char *runner, int arch, const files *f, lab_trial_outcome *outcome)
{
    char defines[LAB_KNOBS_MAX][DEFINE_SIZE], target[16], registers[16];
    const char *arguments[ARGUMENTS_MAX] = { LAB_RUNNER_CUDA, "compile", target, registers };
    size_t count = 4;

    snprintf(target, sizeof target, "%d", arch);
    snprintf(registers, sizeof registers, "%d", candidate->launch.registers);
    for (size_t i = 0; i < candidate->knob_count; i++) {
        snprintf(defines[i], DEFINE_SIZE, "%s=%lld", candidate->knobs[i].name,
                 candidate->knobs[i].value);
        arguments[count++] = defines[i];
    }
    const lab_process_command command = { .path = runner,
                                          .arguments = arguments,
                                          .environment = (const char *const *)environ,
                                          .files = { f->source, f->code, f->log } };
    return lab_host_start(host, &command, limits->interrupted, outcome);
}

/* The content of @fd, at most @most bytes and a null byte; NULL if empty. */
static char *read_back(int fd, size_t most, size_t *size)
{
    struct stat status;

    *size = 0;
    if (fstat(fd, &status) != 0 || status.st_size <= 0 || (uint64_t)status.st_size > most)
        return NULL;
    char *data = calloc((size_t)status.st_size + 1, 1);
    if (data && pread(fd, data, (size_t)status.st_size, 0) != status.st_size) {
        free(data);
        return NULL;
    }
    *size = (size_t)status.st_size;
    return data;
}

static void take_log(int fd, lab_code *code)
{
    size_t size;
    char *log = read_back(fd, RAW_LOG_SIZE, &size);

    if (!log)
        return;
    lab_log_strip(log);
    snprintf(code->log, sizeof code->log, "%s", log);
    free(log);
}

/* Handles the reply @line of the process. */
static bool take_code(const char *line, const files *f, lab_code *code, lab_trial_outcome *outcome)
{
    static const lab_wire_orders none = { .count = 0 };
    int ptx;

    take_log(f->log, code);
    if (sscanf(line, "compiled %d", &ptx) != 1) {
        lab_explain(line, &none, 0, 0, outcome);
        return false;
    }
    code->ptx = ptx;
    code->data = (unsigned char *)read_back(f->code, LAB_CODE_MAX, &code->size);
    if (!code->data)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_COMPILE_ERROR,
                                     "the compiler made no code, or more than %zu bytes",
                                     LAB_CODE_MAX);
    return true;
}

static bool compile(lab_host *host, const lab_candidate *candidate, const lab_limits *limits,
                    const char *runner, int arch, const files *f, lab_code *code,
                    lab_trial_outcome *outcome)
{
    char line[LAB_WIRE_LINE];

    if (!start(host, candidate, limits, runner, arch, f, outcome))
        return false;
    bool answered = lab_host_ask(host, NULL, limits->compile_seconds, line, outcome);
    lab_host_end(host);
    return answered && take_code(line, f, code, outcome);
}

bool lab_compile_cuda(const lab_candidate *candidate, const lab_limits *limits, const char *runner,
                      int arch, lab_code *code, lab_trial_outcome *outcome)
{
    const lab_limits full = lab_limits_fill(limits);
    int64_t begin = heed_clock_ns();
    lab_host host = { .frozen = false };
    files f = { -1, -1, -1 };
    bool done = false;

    memset(code, 0, sizeof *code);
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    snprintf(code->compiler, sizeof code->compiler, "NVRTC");
    if (!lab_candidate_check(candidate, outcome))
        return false;
    if (open_files(&f, candidate))
        done = compile(&host, candidate, &full, runner, arch, &f, code, outcome);
    else
        lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory can be shared: %s",
                              strerror(errno));
    close_files(&f);
    outcome->seconds = (double)(heed_clock_ns() - begin) * 1e-9;
    return done;
}
