/*
 * progress.c - a line on stderr that shows how far a long verb is, and how long it will take
 *
 * On a terminal it is drawn over again and again, and gone in the end. In a log, which nobody wants
 * full of it, there is a line now and then.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/measure.h"
#include "cli.h"

#define REDRAW_NS 100000000
#define LOG_NS INT64_C(30000000000)
#define LINE_SIZE                                                                   \
    79 /* narrower than the narrowest terminal in use, so that the line never wraps \
        */

cli_progress cli_progress_start(const char *title, size_t total)
{
    const char *term = getenv("TERM");
    bool shown = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    int64_t now = heed_clock_ns();
    return (cli_progress){ .title = title,
                           .total = total,
                           .shown = shown,
                           .start_ns = now,
                           .last_ns = shown ? now - REDRAW_NS : now };
}

/* "1:05" or "2:03:09". */
static void print_duration(char *text, size_t size, int64_t seconds)
{
    if (seconds < 3600)
        snprintf(text, size, "%d:%02d", (int)(seconds / 60), (int)(seconds % 60));
    else
        snprintf(text, size, "%d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
                 (int)(seconds % 60));
}

void cli_progress_step(cli_progress *progress, size_t done, const char *what)
{
    int64_t now = heed_clock_ns();
    if (now - progress->last_ns < (progress->shown ? REDRAW_NS : LOG_NS))
        return;

    char left[32] = "", duration[24];
    if (done > 0 && done <= progress->total) {
        double elapsed = (double)(now - progress->start_ns) * 1e-9;
        double rest = elapsed * (double)(progress->total - done) / (double)done;
        print_duration(duration, sizeof duration, (int64_t)(rest + 0.5));
        snprintf(left, sizeof left, ", %s left", duration);
    }
    char line[LINE_SIZE + 1];
    snprintf(line, sizeof line, "%s: %zu of %zu%s%s%s", progress->title, done, progress->total,
             left, what ? "  " : "", what ? what : "");
    fprintf(stderr, progress->shown ? "\r\033[K%s" : "%s\n", line);
    fflush(stderr);
    progress->last_ns = now;
    progress->dirty = progress->shown;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->dirty) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->dirty = false;
}
