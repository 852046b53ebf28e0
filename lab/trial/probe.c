/*
 * probe.c - is a CUDA device well? Asked by a fresh process (runner_cuda.c)
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lab/trial/compile/program.h"
#include "lab/trial/explain.h"
#include "lab/trial/host.h"
#include "lab/trial/trial.h"

/* Loading a driver and compiling a kernel. */
#define PROBE_SECONDS 60.0

/* Starts the process. Returns an errno value. */
static int start(lab_host *host, const char *program, const char *device)
{
    const char *const arguments[] = { program, "probe", device, NULL };
    const lab_process_command command = { .path = program,
                                          .arguments = arguments,
                                          .environment = (const char *const *)environ,
                                          .files = { -1, -1, -1 } };

    return lab_process_start(&host->process, &command);
}

bool lab_trial_probe(const lab_limits *limits, int *arch, lab_trial_outcome *outcome)
{
    static const lab_wire_orders none = { .count = 0 };
    const lab_limits full = lab_limits_fill(limits);
    char program[PATH_MAX], line[LAB_WIRE_LINE];
    lab_host host = { .frozen = false };

    *arch = 0;
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (!lab_program_find(LAB_RUNNER_CUDA, program, outcome))
        return false;
    lab_host_clear(&host, full.interrupted);
    int error = start(&host, program, full.device);
    if (error != 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "cannot start %.160s: %s", program,
                                     strerror(error));
    bool answered = lab_host_ask(&host, NULL, PROBE_SECONDS, line, outcome);
    lab_host_end(&host);
    if (!answered || sscanf(line, "healthy %d", arch) == 1)
        return answered;
    if (strncmp(line, "wrong ", 6) == 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_LOST, "a known answer came out wrong on %s",
                                     full.device);
    lab_explain(line, &none, 0, 0, outcome);
    if (outcome->verdict == LAB_TRIAL_COMPILE_ERROR) /* nothing of a candidate's was in it */
        outcome->verdict = LAB_TRIAL_SYSTEM;
    return false;
}
