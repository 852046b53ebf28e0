/*
 * listen.c - listening to a program that was started
 */
#include "listen.h"

#include <poll.h>

#include "../src/measure.h"

/* Ctrl-C and deadlines are looked at so often. */
#define TICK_MS 100

bool cli_listen(lab_process *process, lab_inlet *output, lab_inlet *errors, int64_t deadline)
{
    while ((process->out >= 0 || process->err >= 0) && !cli_interrupted()) {
        struct pollfd fds[] = { { .fd = process->out, .events = POLLIN },
                                { .fd = process->err, .events = POLLIN } };
        if (heed_clock_ns() >= deadline)
            return false;
        if (poll(fds, 2, TICK_MS) <= 0)
            continue;
        if (fds[0].revents)
            lab_inlet_read(output, &process->out);
        if (fds[1].revents)
            lab_inlet_read(errors, &process->err);
    }
    return !cli_interrupted() && lab_process_await(process->pid, deadline);
}
