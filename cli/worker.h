/*
 * worker.h - a source as a side of a pair, or as a subject of verification: it runs in a sandbox,
 * in a process of its own
 */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include "candidate.h"
#include "pair.h"
#include "record/record.h"
#include "seat.h"
#include "trial/log.h"

typedef struct cli_worker {
    const char *name;
    const char *source;
    lab_language language;
    lab_limits limits; /* zeroed: the usual ones */
    cli_seat seat;
    heed_problem home; /* that the trial is of the kind of: a CUDA source is compiled for one */
    char log[LAB_LOG_SIZE]; /* of a compiler that refused it */
} cli_worker;

/* cli_worker_open() makes sure that worker->seat.trial is open and for @problem, normalized. Name,
 * source, language and limits are set. False: see worker->seat.outcome. cli_seat_close() ends it.
 */
bool cli_worker_open(cli_worker *worker, const heed_problem *problem);

/* cli_worker_candidate() returns @worker as the gates take it; it must outlive that. */
cli_candidate cli_worker_candidate(cli_worker *worker);

/* cli_worker_guest() returns @worker, of which name, source and limits are set, as a guest of a
 * pair. A failure of its functions is explained by worker->seat.outcome, and heed_message(). */
cli_guest cli_worker_guest(cli_worker *worker);

/* cli_worker_fault() returns what the source itself is to blame for, of what came of it last: that
 * it was wrong, broke a rule, or did not do what it had done before. LAB_RECORD_OK: nothing, or
 * what may be the system's fault, such as that it does not compile here. */
lab_record_verdict cli_worker_fault(const cli_worker *worker);

/* cli_worker_overhead() returns the share of a block, whose calls take @seconds each, that may be
 * what it takes to ask the process: so much too slow may it seem. */
double cli_worker_overhead(const cli_worker *worker, double seconds);

#endif /* CLI_WORKER_H */
