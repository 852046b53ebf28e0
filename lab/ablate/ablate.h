/*
 * ablate.h - a kernel beside deliberately degraded builds of it
 *
 * subject (a problem and its kernel) -> its ablations and delays of known size -> a duel of each
 * with the kernel -> effects
 */
#ifndef LAB_ABLATE_RUN_H
#define LAB_ABLATE_RUN_H

#include "lab/base/sink.h"
#include "lab/bench/bench.h"
#include "lab/inspect/ablate.h"
#include "src/cuda/facts.h"

/* One ablation of the kernel. */
typedef struct lab_ablate_case {
    const lab_ablation *it;
    char kernel[HEED_NAME_SIZE]; /* with config */
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE]; /* unless LAB_BENCH_OK */
    double error;                      /* see lab_bench_error(); negative: not checked */
    lab_duel duel;                     /* the kernel against the ablation */
    lab_effect effect;
} lab_ablate_case;

/* An ablation that does not apply to the kernel, and why. */
typedef struct lab_ablate_absent {
    const lab_ablation *it;
    const char *why;
} lab_ablate_absent;

/* A delay of known size. */
typedef struct lab_ablate_planted {
    double share; /* the delay, as a share of the kernel's time */
    lab_duel duel;
} lab_ablate_planted;

#define LAB_ABLATE_PLANTED 3

/* The first delay, from which the lengths of the others follow: long enough to measure quickly. */
#define LAB_ABLATE_DELAY_TRIED 0.25

/* Minimum of pairs for each ablation: fewer prove nothing in so large a family. */
#define LAB_ABLATE_PAIRS_MIN 20

/* One problem. */
typedef struct lab_ablate_subject {
    heed_problem problem; /* normalized */
    char spec[HEED_SPEC_SIZE];
    char kernel[HEED_NAME_SIZE];
    double seconds;         /* median of a call */
    lab_ablate_case *cases; /* NULL: not looked for */
    size_t count;
    lab_ablate_absent *absent;
    size_t absent_count;
    double reach; /* share of a delay of its blocks that shows in its time; 0: not measured */
    lab_ablate_planted planted[LAB_ABLATE_PLANTED];
    size_t planted_count; /* measured ones */
} lab_ablate_subject;

/* Threads that compile ahead of use. */
typedef struct lab_ablate_pool lab_ablate_pool;

/* The whole run. */
typedef struct lab_ablate_run {
    lab_bench bench;      /* context, cold, replay, seed, host_threads, seconds, margin, kernel */
    heed_context *single; /* with one thread; NULL: no CPU, or a single thread anyway */
    const char *only;     /* names of ablations to run, comma-separated; NULL: all */
    bool planted;         /* plant delays, too */
    int64_t deadline_ns; /* by heed_clock_ns(): an ablation is skipped if it would end later, should
                            it take as long as the longest one so far; 0: no deadline */
    lab_ablate_pool *pool; /* NULL: plans are compiled one after another, when they are needed */
    lab_ablate_subject *subjects;
    size_t count; /* subjects begun */
    lab_progress progress;
    size_t steps; /* steps of progress done */
} lab_ablate_run;

/* lab_ablate_pool_start() starts @threads threads that compile for the device of @context; NULL if
 * there is no memory. lab_ablate_pool_want() queues the code of @facts, first come, first served.
 * lab_ablate_pool_get() waits for it, or compiles it at once if no thread has begun. The pool owns
 * the code. Returns as heed_jit_build() does. lab_ablate_pool_stop() waits for threads at work;
 * NULL is ignored. */
lab_ablate_pool *lab_ablate_pool_start(heed_context *context, int threads);
void lab_ablate_pool_want(lab_ablate_pool *pool, const heed_cuda_facts *facts);
heed_status lab_ablate_pool_get(lab_ablate_pool *pool, const heed_cuda_facts *facts,
                                const heed_cubin **cubin);
void lab_ablate_pool_stop(lab_ablate_pool *pool);

/* lab_ablate_find_cases() lists the ablations that apply to the kernel of @subject, all or those in
 * run->only, and why the others do not. If there is a pool, lab_ablate_want_cases() queues the code
 * that they and the first delays need, and lab_ablate_want_delay() that of one delay.
 * lab_ablate_plan() makes the plan of an ablation, or of the kernel itself if @what is NULL, and
 * lab_ablate_plan_delayed() that of the kernel with blocks that take longer by @share of their
 * time; with @share 0 it plans the same build without a delay. Return as heed_plan_create_named()
 * does. */
heed_status lab_ablate_find_cases(const lab_ablate_run *run, lab_ablate_subject *subject);
void lab_ablate_want_cases(const lab_ablate_run *run, const lab_ablate_subject *subject);
void lab_ablate_want_delay(const lab_ablate_run *run, const lab_ablate_subject *subject,
                           double share);
heed_status lab_ablate_plan(const lab_ablate_run *run, const lab_ablate_subject *subject,
                            const lab_ablate_case *what, heed_plan **plan);
heed_status lab_ablate_plan_delayed(const lab_ablate_run *run, const lab_ablate_subject *subject,
                                    double share, heed_plan **plan);

/* lab_ablate_prepare() plans the problem of @subject, with the kernel of run->bench or else the
 * planner's choice, and finds its ablations. lab_ablate_try() does the same if needed, then
 * measures. A failed ablation is an outcome of its case; the status is for errors that end the run,
 * with heed_message(). After a stop, the results so far remain. */
heed_status lab_ablate_prepare(lab_ablate_run *run, lab_ablate_subject *subject);
heed_status lab_ablate_try(lab_ablate_run *run, lab_ablate_subject *subject);
void lab_ablate_subject_free(lab_ablate_subject *subject);

#endif /* LAB_ABLATE_RUN_H */
