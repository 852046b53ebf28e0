/*
 * worker.h - a source as a side of a pair, or as a subject of verification: it runs in a sandboxed
 * process
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
    bool beside;       /* its opponent is another worker: else it is timed by the clock */
    bool forgiven;     /* its times exclude the communication overhead, so an opponent cannot win by
                          that alone */
    lab_bench_process process;
    heed_problem home; /* a problem of the trial's kind: a CUDA source is compiled for one kind */
    char log[LAB_LOG_SIZE]; /* of a compiler that refused it */
} lab_bench_worker;

/* lab_bench_worker_open() makes sure that worker->process.trial is open and suits @problem,
 * normalized. Set name, source, language and limits first. False: see worker->process.outcome.
 * lab_bench_process_close() ends it.
 */
bool lab_bench_worker_open(lab_bench_worker *worker, const heed_problem *problem);

/* lab_bench_worker_candidate() returns @worker as a candidate for the gates; @worker must outlive
 * it. */
lab_bench_candidate lab_bench_worker_candidate(lab_bench_worker *worker);

/* lab_bench_worker_contender() returns @worker, of which name, source and limits are set, as a
 * contender of a pair. If its functions fail, see worker->process.outcome and heed_message().
 */
lab_bench_contender lab_bench_worker_contender(lab_bench_worker *worker);

/* lab_bench_worker_fault() returns the fault of the source in its last run: a wrong result, a
 * broken rule, or a failure at something that worked before. LAB_RECORD_OK: no fault, or one that
 * may be the system's, such as a failed compilation. */
lab_record_verdict lab_bench_worker_fault(const lab_bench_worker *worker);

/* lab_bench_worker_overhead() returns the share of a block, whose calls take @seconds each, that
 * may be communication overhead: it may seem slower by that share. */
double lab_bench_worker_overhead(const lab_bench_worker *worker, double seconds);

#endif /* LAB_BENCH_WORKER_H */
