/*
 * host.c - the process that runs a candidate, and requests to it with deadlines
 */
#include "lab/trial/host.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define LOOK_MS 100
#define EXIT_NS INT64_C(1000000000)

/* More than this on a candidate's stderr counts as a flood. */
#define COMPLAINTS_MAX ((size_t)64 << 10)

/* ---------------------------------------------------------------------------------------------- */
/* Start                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

void lab_host_clear(lab_host *host, bool (*interrupted)(void))
{
    lab_host_end(host);
    memset(host, 0, sizeof *host);
    host->words = (lab_inlet){ .text = host->line, .size = sizeof host->line };
    host->complaints = (lab_inlet){ .text = host->stderr_text, .size = sizeof host->stderr_text };
    host->interrupted = interrupted;
}

bool lab_host_start(lab_host *host, const lab_process_command *command, bool (*interrupted)(void),
                    lab_trial_outcome *outcome)
{
    lab_host_clear(host, interrupted);
    int error = lab_process_start(&host->process, command);
    if (error == 0)
        return true;
    return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "cannot start %.160s: %s",
                                 command->path, strerror(error));
}

void lab_host_end(lab_host *host)
{
    if (host->process.pid > 0) {
        lab_process_reap(host->process.pid);
        lab_process_close(&host->process);
    }
    host->process.pid = 0;
}

/* ---------------------------------------------------------------------------------------------- */
/* End of the process                                                                             */
/* ---------------------------------------------------------------------------------------------- */

/* Kills the process and ends the trial. */
static bool give_up(lab_host *host, lab_trial_outcome *outcome, lab_trial_verdict verdict,
                    const char *text)
{
    lab_host_end(host);
    return lab_trial_outcome_set(outcome, verdict, text ? "%s" : NULL, text);
}

/* Explains the end of a process that ended without a reply. */
static bool explain_end(lab_host *host, lab_trial_outcome *outcome)
{
    bool ended = lab_process_await(host->process.pid, heed_clock_ns() + EXIT_NS);
    int status = lab_process_reap(host->process.pid);
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    lab_process_close(&host->process);
    host->process.pid = 0;
    if (!ended)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_EXITED, "closed its output and went on");
    if (number == SIGKILL)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_OUT_OF_MEMORY,
                                     "was killed by the system, which may have run out of memory");
    if (number == SIGSYS)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_FORBIDDEN, NULL);
    if (number != 0)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_CRASHED, "was ended by signal %d (%s)%s%s",
                                     number, strsignal(number), host->stderr_text[0] ? ": " : "",
                                     host->stderr_text);
    return lab_trial_outcome_set(outcome, LAB_TRIAL_EXITED,
                                 "ended its process with status %d before it was done",
                                 WEXITSTATUS(status));
}

/* ---------------------------------------------------------------------------------------------- */
/* Requests and replies                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/* Reads available output. Returns false if that ends the process. */
static bool hear(lab_host *host, const struct pollfd fds[2], lab_trial_outcome *outcome)
{
    if (fds[1].revents)
        lab_inlet_read(&host->complaints, &host->process.err);
    if (host->complaints.arrived > COMPLAINTS_MAX)
        return give_up(host, outcome, LAB_TRIAL_FLOODED, "wrote more than 64 KiB of complaints");
    if (fds[0].revents)
        lab_inlet_read(&host->words, &host->process.out);
    bool whole = memchr(host->words.text, '\n', host->words.length);
    if (!whole && host->words.arrived >= LAB_WIRE_LINE)
        return give_up(host, outcome, LAB_TRIAL_FLOODED,
                       "wrote more than 255 bytes without ending the line");
    if (!whole && host->process.out < 0)
        return explain_end(host, outcome);
    return true;
}

/* Calls the watch function, if the last call was long enough ago. */
static bool keep_watch(lab_host *host, int64_t *looked, lab_trial_outcome *outcome)
{
    if (!host->watch || heed_clock_ns() - *looked < LOOK_MS * INT64_C(1000000))
        return true;
    bool fine = host->watch(host->watched, host->process.pid, outcome);
    *looked = heed_clock_ns();
    if (!fine)
        lab_host_end(host);
    return fine;
}

/* Waits for a line. */
static bool await_line(lab_host *host, int64_t deadline, lab_trial_outcome *outcome)
{
    int64_t looked = heed_clock_ns();

    while (!memchr(host->words.text, '\n', host->words.length)) {
        struct pollfd fds[2] = { { .fd = host->process.out, .events = POLLIN },
                                 { .fd = host->process.err, .events = POLLIN } };
        int64_t left_ms = (deadline - heed_clock_ns()) / 1000000;
        if (left_ms < 0)
            return give_up(host, outcome, LAB_TRIAL_HUNG, NULL);
        if (host->interrupted && host->interrupted())
            return give_up(host, outcome, LAB_TRIAL_INTERRUPTED, NULL);
        if (!keep_watch(host, &looked, outcome))
            return false;
        if (poll(fds, 2, left_ms < LOOK_MS ? (int)left_ms + 1 : LOOK_MS) > 0 &&
            !hear(host, fds, outcome))
            return false;
    }
    return true;
}

/* Takes the line, which must be the only output. */
static bool take_line(lab_host *host, char reply[LAB_WIRE_LINE], lab_trial_outcome *outcome)
{
    size_t length = (size_t)((char *)memchr(host->words.text, '\n', host->words.length) -
                             host->words.text);

    if (host->words.arrived != length + 1)
        return give_up(host, outcome, LAB_TRIAL_GARBAGE, "printed more than it was asked for");
    memcpy(reply, host->words.text, length);
    reply[length] = '\0';
    host->words.length = host->words.arrived = 0;
    return true;
}

/* Handles bytes on stdout without a request. */
static bool refuse_unasked(lab_host *host, lab_trial_outcome *outcome)
{
    struct pollfd out = { .fd = host->process.out, .events = POLLIN };

    if (poll(&out, 1, 0) > 0)
        lab_inlet_read(&host->words, &host->process.out);
    if (host->words.arrived > 0)
        return give_up(host, outcome, LAB_TRIAL_GARBAGE, "spoke before it was asked");
    return host->process.out >= 0 || explain_end(host, outcome);
}

/* Sends the request. If the process has ended, waiting for its reply reports that. */
static void send_request(const lab_host *host, const char *request)
{
    char line[LAB_WIRE_LINE];
    int length = snprintf(line, sizeof line, "%s\n", request);
    ssize_t put = send(host->process.in, line, (size_t)length, MSG_NOSIGNAL);

    (void)put;
}

/* CPU time of the process so far, in all threads; 0 if no longer known. */
static int64_t cpu_time(const lab_host *host)
{
    struct timespec time;
    clockid_t clock;

    if (clock_getcpuclockid(host->process.pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Checks that only this program resumed the process. Its CPU time does not show that: on a busy
 * machine a stopped process may be charged some milliseconds later for its last steps. */
static bool stood_still(lab_host *host, lab_trial_outcome *outcome)
{
    if (!host->frozen || lab_process_stood_still(host->process.pid))
        return true;
    return give_up(host, outcome, LAB_TRIAL_FORBIDDEN, "computed while it was stopped");
}

bool lab_host_ask(lab_host *host, const char *request, double seconds, char reply[LAB_WIRE_LINE],
                  lab_trial_outcome *outcome)
{
    if (request && (!refuse_unasked(host, outcome) || !stood_still(host, outcome)))
        return false;
    if (request)
        send_request(host, request);
    int64_t start = heed_clock_ns();
    if (host->frozen)
        lab_process_thaw(host->process.pid);
    host->frozen = false;
    if (!await_line(host, start + (int64_t)(seconds * 1e9), outcome))
        return false;
    host->frozen = lab_process_freeze(host->process.pid);
    outcome->seconds = (double)(heed_clock_ns() - start) * 1e-9;
    int64_t before = host->cpu_ns;
    host->cpu_ns = cpu_time(host);
    host->cpu_seconds = (double)(host->cpu_ns - before) * 1e-9;
    return take_line(host, reply, outcome);
}
