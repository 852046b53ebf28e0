/*
 * worker.h - a source as a side of a pair, or as a subject of verification: it runs in a sandbox,
 * in a process of its own
 */
#ifndef LAB_BENCH_WORKER_H
#define LAB_BENCH_WORKER_H

#include "lab/bench/candidate.h"
#include "lab/bench/pair.h"
#include "lab/bench/process.h"
#include "lab/record/trial.h"
#include "lab/trial/log.h"

typedef struct lab_bench_worker {
    const char *name;
    const char *source;
    lab_language language;
    lab_limits limits; /* zeroed: the usual ones */
    bool beside;       /* it meets another worker: else it goes by the clock */
    bool forgiven;     /* its times are without what it may take to ask it, so that nobody who seems
                          faster owes it to that */
    lab_bench_process process;
    heed_problem home; /* that the trial is of the kind of: a CUDA source is compiled for one */
    char log[LAB_LOG_SIZE]; /* of a compiler that refused it */
} lab_bench_worker;

/* lab_bench_worker_open() makes sure that worker->process.trial is open and for @problem,
 * normalized. Name, source, language and limits are set. False: see worker->process.outcome.
 * lab_bench_process_close() ends it.
 */
bool lab_bench_worker_open(lab_bench_worker *worker, const heed_problem *problem);

/* lab_bench_worker_candidate() returns @worker as the gates take it; it must outlive that. */
lab_bench_candidate lab_bench_worker_candidate(lab_bench_worker *worker);

/* lab_bench_worker_contender() returns @worker, of which name, source and limits are set, as a
 * contender of a pair. A failure of its functions is explained by worker->process.outcome, and
 * heed_message().
 */
lab_bench_contender lab_bench_worker_contender(lab_bench_worker *worker);

/* lab_bench_worker_fault() returns what the source itself is to blame for, of what came of it last:
 * that it was wrong, broke a rule, or did not do what it had done before. LAB_RECORD_OK: nothing,
 * or what may be the system's fault, such as that it does not compile here. */
lab_record_verdict lab_bench_worker_fault(const lab_bench_worker *worker);

/* lab_bench_worker_overhead() returns the share of a block, whose calls take @seconds each, that
 * may be what it takes to ask the process: so much too slow may it seem. */
double lab_bench_worker_overhead(const lab_bench_worker *worker, double seconds);

#endif /* LAB_BENCH_WORKER_H */
