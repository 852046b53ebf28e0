/*
 * host.h - the process that runs a candidate, and talking with it under a deadline (wire.h)
 */
#ifndef LAB_HOST_H
#define LAB_HOST_H

#include "lab/trial/arena.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/process.h"

/* Whether the process @pid may go on; if not, @outcome says why. */
typedef bool (*lab_host_watch)(const void *data, pid_t pid, lab_trial_outcome *outcome);

typedef struct lab_host {
    lab_process process; /* pid 0: there is none */
    bool frozen;
    double cpu_seconds; /* of its CPU time that the last request took */
    int64_t cpu_ns;     /* all of it when it was frozen */
    lab_inlet words;    /* its stdout */
    lab_inlet complaints;
    char line[LAB_WIRE_LINE];
    char stderr_text[512];
    bool (*interrupted)(void);
    lab_host_watch watch; /* NULL: none; asked every 0.1 s while an answer is awaited ... */
    const void *watched;  /* ... with this */
} lab_host;

/* The parts of a host. */
typedef struct lab_host_command {
    const char *program; /* the path of the runner */
    const lab_code *code;
    const lab_arena *inputs;
    const lab_arena *outputs;
    const lab_limits *limits; /* filled */
    const lab_protections *protections;
    bool pinned; /* to @cpu */
    int cpu;
} lab_host_command;

/* lab_host_start() starts the runner of C candidates in a sandbox without files, network and more
 * memory than the limits say; lab_host_start_open() one of CUDA candidates, which runs no foreign
 * code on the CPU and needs what the driver needs. They do not wait for its first line. Return
 * false, with @outcome, if there can be no process. */
bool lab_host_start(lab_host *host, const lab_host_command *command, lab_trial_outcome *outcome);
bool lab_host_start_open(lab_host *host, const lab_host_command *command,
                         lab_trial_outcome *outcome);

/* lab_host_clear() makes @host one without a process; a caller that starts host->process by itself
 * begins with it. */
void lab_host_clear(lab_host *host, bool (*interrupted)(void));

/* lab_host_ask() sends @request, a word, or if that is NULL nothing, and waits up to @seconds for a
 * line, which it copies to @reply without its newline; then it freezes the process until the next
 * request. @outcome->seconds is the time from the request until nothing moves any more. Returns
 * false, with @outcome, if there is no line, or if the process used the CPU while it should have
 * stood still: it is then no more. */
bool lab_host_ask(lab_host *host, const char *request, double seconds, char reply[LAB_WIRE_LINE],
                  lab_trial_outcome *outcome);

/* lab_host_end() kills the process, if there is one. */
void lab_host_end(lab_host *host);

#endif /* LAB_HOST_H */
