/*
 * progress.c - a progress line on stderr with the remaining time, and signals that end a run
 *
 * On a terminal the line is redrawn in place, and erased at the end. In a log a line is printed now
 * and then.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "report/format.h"
#include "src/measure.h"

#define REDRAW_NS 100000000
#define LOG_NS INT64_C(10000000000)

/* Narrower than the narrowest terminal in use, so that the line never wraps. */
#define LINE_SIZE 79

/* A terminal shows progress at once, a log after a while. */
static void look_at_stderr(lab_progress *progress)
{
    const char *term = getenv("TERM");
    progress->shown = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    progress->last_ns = progress->start_ns - (progress->shown ? REDRAW_NS : 0);
}

/* "3 of 9, 1:05 left", "3 of 9", "0:12 of 1:00", or "3" if the total is unknown. */
static void print_amount(const lab_progress *progress, size_t done, int64_t now, char *text,
                         size_t size)
{
    char left[48] = "", one[LAB_FORMAT_SIZE], all[LAB_FORMAT_SIZE];
    if (progress->timed) {
        snprintf(text, size, "%s of %s", lab_format_duration((double)done, one),
                 lab_format_duration((double)progress->total, all));
        return;
    }
    if (done > progress->total || progress->total == 0) {
        snprintf(text, size, "%zu", done);
        return;
    }
    if (done > 0 && !progress->uneven) {
        double elapsed = (double)(now - progress->start_ns) * 1e-9;
        double rest = elapsed * (double)(progress->total - done) / (double)done;
        snprintf(left, sizeof left, ", %s left", lab_format_duration(rest, one));
    }
    snprintf(text, size, "%zu of %zu%s", done, progress->total, left);
}

void cli_progress_show(lab_progress *progress, size_t done, const char *what)
{
    int64_t now = heed_clock_ns();
    if (progress->last_ns == 0)
        look_at_stderr(progress);
    if (!progress->title || now - progress->last_ns < (progress->shown ? REDRAW_NS : LOG_NS))
        return;

    char amount[96], line[LINE_SIZE + 1];
    print_amount(progress, done, now, amount, sizeof amount);
    snprintf(line, sizeof line, "%s: %s%s%s", progress->title, amount, what ? "  " : "",
             what ? what : "");
    fprintf(stderr, progress->shown ? "\r\033[K%s" : "%s\n", line);
    fflush(stderr);
    progress->last_ns = now;
    progress->dirty = progress->shown;
}

void cli_progress_clear(lab_progress *progress)
{
    if (progress->dirty) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->dirty = false;
}

/* -------------------------------------------------------------------------- */
/* Ctrl-C, SIGTERM and SIGHUP as a flag                                       */
/* -------------------------------------------------------------------------- */

/* Global, as a signal handler has no other access to state. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* A file over its size limit then fails in write(), which is reported, and does not kill the
 * process. The signal is not ignored, as child processes would inherit that. */
static void on_file_limit(int signal_number)
{
    (void)signal_number;
}

void cli_interrupt_catch(void)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)SA_RESETHAND; /* a second one kills, in case the first is not handled */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* not by nohup */
        sigaction(SIGHUP, &action, NULL);
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_file_limit;
    sigaction(SIGXFSZ, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}
