/*
 * ablate.h - a kernel beside deliberately degraded builds of it
 *
 * subject (a problem and its kernel) -> ablations that it can be built with, delays of known size
 * -> a duel of each with the kernel -> effects
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
    char kernel[HEED_NAME_SIZE]; /* and config that it is measured with */
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE]; /* unless LAB_BENCH_OK */
    double error;                      /* see lab_bench_error(); negative: not looked at */
    lab_duel duel;                     /* the kernel beside the ablation */
    lab_effect effect;
} lab_ablate_case;

/* An ablation that the kernel cannot have. */
typedef struct lab_ablate_absent {
    const lab_ablation *it;
    const char *why;
} lab_ablate_absent;

/* A delay of known size. */
typedef struct lab_ablate_planted {
    double share; /* of the kernel's time that was planted */
    lab_duel duel;
} lab_ablate_planted;

#define LAB_ABLATE_PLANTED 3

/* The delay that others are set by: long enough to be measured well in a moment. */
#define LAB_ABLATE_DELAY_TRIED 0.25

/* Pairs that every ablation is measured by at least: fewer say nothing in so large a family. */
#define LAB_ABLATE_PAIRS_MIN 20

/* One problem. */
typedef struct lab_ablate_subject {
    heed_problem problem; /* normalized */
    char spec[HEED_SPEC_SIZE];
    char kernel[HEED_NAME_SIZE];
    double seconds;         /* median of a call of it */
    lab_ablate_case *cases; /* NULL: not looked for */
    size_t count;
    lab_ablate_absent *absent;
    size_t absent_count;
    double reach; /* share of a delay of its blocks that its time shows; 0: not measured */
    lab_ablate_planted planted[LAB_ABLATE_PLANTED];
    size_t planted_count; /* that are measured */
} lab_ablate_subject;

/* Threads that compile. */
typedef struct lab_ablate_pool lab_ablate_pool;

/* The whole run. */
typedef struct lab_ablate_run {
    lab_bench bench;       /* context, cold, replay, seed, host_threads, seconds, margin, kernel */
    heed_context *single;  /* of one thread; NULL where the device is no CPU, or has one alone */
    const char *only;      /* the ablations that are wanted, with commas between; NULL: all */
    bool planted;          /* delays are planted, too */
    int64_t deadline_ns;   /* of heed_clock_ns(): an ablation that would end later, if it takes as
                              long as the longest one before, is skipped; 0: none */
    lab_ablate_pool *pool; /* NULL: plans are compiled one after another, when they are needed */
    lab_ablate_subject *subjects;
    size_t count; /* of those that are begun */
    lab_progress progress;
    size_t steps; /* of the progress */
} lab_ablate_run;

/* lab_ablate_pool_start() starts @threads threads that compile for the device of
 * @context; NULL if there is no memory. lab_ablate_pool_want() has the code of @facts compiled, the
 * first one that is wanted first, and lab_ablate_pool_get() waits for it: code that no thread has
 * begun is compiled at once. The code is the pool's. Returns as heed_jit_build() does.
 * lab_ablate_pool_stop() waits for those that are at work; NULL is ignored. */
lab_ablate_pool *lab_ablate_pool_start(heed_context *context, int threads);
void lab_ablate_pool_want(lab_ablate_pool *pool, const heed_cuda_facts *facts);
heed_status lab_ablate_pool_get(lab_ablate_pool *pool, const heed_cuda_facts *facts,
                                const heed_cubin **cubin);
void lab_ablate_pool_stop(lab_ablate_pool *pool);

/* lab_ablate_find_cases() lists the ablations that the kernel of @subject can be built
 * with, those of run->only or all, and why there are no others. lab_ablate_want_cases() has what
 * they and the first delays need compiled, if there is a pool, and lab_ablate_want_delay() one
 * delay. lab_ablate_plan() makes the plan of an ablation; lab_ablate_plan_delayed() that of the
 * kernel whose blocks take longer by @share of their time, and with @share 0 of the same build
 * without that. Return as heed_plan_create_named() does. */
heed_status lab_ablate_find_cases(const lab_ablate_run *run, lab_ablate_subject *subject);
void lab_ablate_want_cases(const lab_ablate_run *run, const lab_ablate_subject *subject);
void lab_ablate_want_delay(const lab_ablate_run *run, const lab_ablate_subject *subject,
                           double share);
heed_status lab_ablate_plan(const lab_ablate_run *run, const lab_ablate_subject *subject,
                            const lab_ablate_case *what, heed_plan **plan);
heed_status lab_ablate_plan_intact(const lab_ablate_run *run, const lab_ablate_subject *subject,
                                   heed_plan **plan);
heed_status lab_ablate_plan_delayed(const lab_ablate_run *run, const lab_ablate_subject *subject,
                                    double share, heed_plan **plan);

/* lab_ablate_prepare() plans the problem of @subject, for the kernel of run->bench or
 * for the one that is planned, and finds its ablations. lab_ablate_try() does so if that was not
 * done, and all the rest. A failure of an ablation is an outcome of it; an error that ends
 * everything is the status, with heed_message(). Once stopped what was measured is there. */
heed_status lab_ablate_prepare(lab_ablate_run *run, lab_ablate_subject *subject);
heed_status lab_ablate_try(lab_ablate_run *run, lab_ablate_subject *subject);
void lab_ablate_subject_free(lab_ablate_subject *subject);

#endif /* LAB_ABLATE_RUN_H */
