/*
 * worker.h - a C source as a side of a pair: it runs in a sandbox, in a process of its own
 */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include "pair.h"
#include "seat.h"

typedef struct cli_worker {
    const char *name;
    const char *source;
    lab_limits limits; /* zeroed: the usual ones */
    cli_seat seat;
} cli_worker;

/* cli_worker_guest() returns @worker, of which name, source and limits are set, as a guest of a
 * pair. A failure of its functions is explained by worker->seat.outcome, and heed_message(). */
cli_guest cli_worker_guest(cli_worker *worker);

/* cli_worker_overhead() returns the share of a block, whose calls take @seconds each, that may be
 * what it takes to ask the process: so much too slow may it seem. */
double cli_worker_overhead(const cli_worker *worker, double seconds);

#endif /* CLI_WORKER_H */
