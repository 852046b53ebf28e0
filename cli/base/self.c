/*
 * self.c - runs heed in a child process
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "src/measure.h"

#define POLL_NS 5000000L

/* Time for the child to end its children after it was asked to stop. */
#define GRACE_NS INT64_C(500000000)

/* Waits until @child has ended, or until @until; 0: forever. False if it still runs; otherwise
 * *@code is its exit code, or -1 if it was killed. */
static bool wait_for(pid_t child, int64_t until, int *code)
{
    const struct timespec nap = { .tv_nsec = POLL_NS };
    int status = 0;
    *code = -1;
    for (;;) {
        pid_t ended = waitpid(child, &status, until > 0 ? WNOHANG : 0);
        if (ended == child && WIFEXITED(status))
            *code = WEXITSTATUS(status);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (until > 0 && heed_clock_ns() >= until)
            return false;
        if (until > 0)
            nanosleep(&nap, NULL);
    }
}

/* Ends a child that has used up its time: first like Ctrl-C. */
static void stop(pid_t child)
{
    int code;
    kill(child, SIGINT);
    if (wait_for(child, heed_clock_ns() + GRACE_NS, &code))
        return;
    kill(child, SIGKILL);
    wait_for(child, 0, &code);
}

int cli_run_self(char *const arguments[], int64_t deadline_ns)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int code = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        (deadline_ns == 0 ||
         posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) == 0) &&
        posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ) == 0) {
        if (!wait_for(child, deadline_ns, &code)) {
            stop(child);
            code = CLI_TIMEOUT;
        }
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Adds the given options among those that choose the machine of a kernel. */
static size_t add_place(const heed_options *machine, char threads[16], const char **words)
{
    size_t count = 0;
    words[count++] = "--device";
    words[count++] = machine->device;
    if (machine->cpu) {
        words[count++] = "--cpu";
        words[count++] = machine->cpu;
    }
    if (machine->threads > 0) {
        snprintf(threads, 16, "%d", machine->threads);
        words[count++] = "--threads";
        words[count++] = threads;
    }
    return count;
}

int cli_verify_self(const heed_options *machine, const char *kernel, const char *const *specs,
                    size_t count, int64_t deadline_ns)
{
    static const char *const first[] = { "heed", "verify", "--once", "--proof", "--kernel" };
    const size_t firsts = sizeof first / sizeof *first;
    char threads[16];
    const char **words = calloc(firsts + 8 + count, sizeof *words);
    if (!words)
        return -1;
    memcpy(words, first, sizeof first);
    size_t used = firsts;
    words[used++] = kernel;
    used += add_place(machine, threads, words + used);
    memcpy(words + used, specs, count * sizeof *specs);
    int code = cli_run_self((char *const *)(const void *)words, deadline_ns);
    free(words);
    return code;
}

static lab_proven prove(void *data, const char *kernel, const char *const *specs, size_t count,
                        int64_t until_ns, char why[LAB_PROVER_WHY])
{
    int code = cli_verify_self(data, kernel, specs, count, until_ns);
    if (code == CLI_TIMEOUT)
        snprintf(why, LAB_PROVER_WHY, "was not verified: time ran out");
    else if (code == CLI_VERIFY_FAILED || code == CLI_FINDING)
        snprintf(why, LAB_PROVER_WHY, "does not pass 'heed verify'");
    else
        snprintf(why, LAB_PROVER_WHY, "could not be verified: 'heed verify' returned %d", code);
    return code == CLI_OK                                     ? LAB_PROVEN
           : code == CLI_TIMEOUT                              ? LAB_UNPROVEN
           : code == CLI_VERIFY_FAILED || code == CLI_FINDING ? LAB_REFUTED
                                                              : LAB_UNTOLD;
}

lab_prover cli_prover(heed_options *machine)
{
    return (lab_prover){ .data = machine, .prove = prove };
}
