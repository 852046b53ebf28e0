/*
 * host.h - the process that runs a candidate, and requests to it with deadlines (wire.h)
 */
#ifndef LAB_HOST_H
#define LAB_HOST_H

#include "lab/trial/arena.h"
#include "lab/trial/compile/compile.h"
#include "lab/trial/process.h"

/* Returns true if the process @pid may continue; if not, @outcome has the reason. */
typedef bool (*lab_host_watch)(const void *data, pid_t pid, lab_trial_outcome *outcome);

typedef struct lab_host {
    lab_process process; /* pid 0: none */
    bool frozen;
    double cpu_seconds; /* its CPU time in the last request */
    int64_t cpu_ns;     /* its total CPU time when it was frozen */
    lab_inlet words;    /* its stdout */
    lab_inlet complaints;
    char line[LAB_WIRE_LINE];
    char stderr_text[512];
    bool (*interrupted)(void);
    lab_host_watch watch; /* NULL: none; called every 0.1 s while waiting for a reply ... */
    const void *watched;  /* ... with this */
} lab_host;

/* lab_host_start() starts the process, and does not wait for its first line. Returns false, with
 * @outcome, if it cannot be started. lab_host_clear() initializes @host without a process; for
 * callers that start host->process themselves. */
bool lab_host_start(lab_host *host, const lab_process_command *command, bool (*interrupted)(void),
                    lab_trial_outcome *outcome);
void lab_host_clear(lab_host *host, bool (*interrupted)(void));

/* lab_host_ask() sends @request, a word, or nothing if NULL, and waits up to @seconds for a line,
 * which it copies to @reply without its newline; then it freezes the process until the next
 * request. @outcome->seconds is the time from the request until the process is frozen. Returns
 * false, with @outcome and the process killed, if there is no line, or if the process ran while it
 * should have been stopped. */
bool lab_host_ask(lab_host *host, const char *request, double seconds, char reply[LAB_WIRE_LINE],
                  lab_trial_outcome *outcome);

/* lab_host_end() kills the process, if any. */
void lab_host_end(lab_host *host);

/* lab_explain() sets the verdict for @line, an unexpected reply, using @orders and the addresses of
 * the arenas in the process. Returns false.
 */
bool lab_explain(const char *line, const lab_wire_orders *orders, uint64_t inputs, uint64_t outputs,
                 lab_trial_outcome *outcome);

#endif /* LAB_HOST_H */
