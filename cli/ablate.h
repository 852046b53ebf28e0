/*
 * ablate.h - what the files of `heed ablate` share
 *
 * a problem -> the kernel that is planned for it -> the builds and configs of it that are worse on
 * purpose, compiled on all cores -> each of them in turns with the kernel -> ranked effects; and
 * delays of known size, which say what such a measurement can see
 */
#ifndef CLI_ABLATE_H
#define CLI_ABLATE_H

#include "bench.h"
#include "inspect/ablate.h"
#include "src/cuda/facts.h"

/* One ablation of the kernel. */
typedef struct ablate_case {
    const lab_ablation *it;
    char kernel[HEED_NAME_SIZE]; /* and config that it is measured with */
    lab_bench_outcome outcome;
    char reason[LAB_PEER_REASON_SIZE]; /* unless LAB_BENCH_OK */
    double error;                      /* see lab_bench_error(); negative: not looked at */
    lab_duel duel;                     /* the kernel beside the ablation */
    lab_effect effect;
} ablate_case;

/* An ablation that there is none of for the kernel. */
typedef struct ablate_absent {
    const lab_ablation *it;
    const char *why;
} ablate_absent;

/* A delay of known size. */
typedef struct ablate_planted {
    double share; /* of the kernel's time that was planted */
    lab_duel duel;
} ablate_planted;

#define ABLATE_PLANTED 3

/* The delay that others are set by: long enough to be measured well in a moment. */
#define ABLATE_DELAY_TRIED 0.25

/* Pairs that every ablation is measured by at least: fewer say nothing in so large a family. */
#define ABLATE_PAIRS_MIN 20

/* One problem. */
typedef struct ablate_subject {
    heed_problem problem; /* normalized */
    char spec[HEED_SPEC_SIZE];
    char kernel[HEED_NAME_SIZE];
    double seconds;     /* median of a call of it */
    ablate_case *cases; /* NULL: not looked for */
    size_t count;
    ablate_absent *absent;
    size_t absent_count;
    double reach; /* share of a delay of its blocks that its time shows; 0: not measured */
    ablate_planted planted[ABLATE_PLANTED];
    size_t planted_count; /* that are measured */
} ablate_subject;

/* Threads that compile; see ablate_compile.c. */
typedef struct ablate_pool ablate_pool;

/* The whole run. */
typedef struct ablate_run {
    lab_bench bench;      /* context, cold, replay, seed, host_threads, seconds, margin, kernel */
    heed_context *single; /* of one thread; NULL where the device is no CPU, or has one alone */
    const char *only;     /* the ablations that are wanted, with commas between; NULL: all */
    bool planted;         /* delays are planted, too */
    int64_t deadline_ns;  /* of heed_clock_ns(): what would not be done by then, as long as the
                             longest one before took, is skipped; 0: none */
    ablate_pool *pool;    /* NULL: plans are compiled one after another, when they are needed */
    ablate_subject *subjects;
    size_t count; /* of those that are begun */
    cli_progress progress;
    size_t steps; /* of the progress */
} ablate_run;

/* ablate_compile.c: ablate_pool_start() starts @threads threads that compile for the device of
 * @context; NULL if there is no memory. ablate_pool_want() has the code of @facts compiled, the
 * first one that is wanted first, and ablate_pool_get() waits for it: what nobody works on yet is
 * compiled at once. The code is the pool's. Returns as heed_jit_build() does. ablate_pool_stop()
 * waits for those that are at work; NULL is ignored. */
ablate_pool *ablate_pool_start(heed_context *context, int threads);
void ablate_pool_want(ablate_pool *pool, const heed_cuda_facts *facts);
heed_status ablate_pool_get(ablate_pool *pool, const heed_cuda_facts *facts,
                            const heed_cubin **cubin);
void ablate_pool_stop(ablate_pool *pool);

/* ablate_cases.c: ablate_find_cases() lists the ablations that the kernel of @subject can be built
 * with, those of run->only or all, and why there are no others. ablate_want_cases() has what they
 * and the first delays need compiled, if there is a pool, and ablate_want_delay() one delay.
 * ablate_plan() makes the plan of an ablation; ablate_plan_delayed() that of the kernel whose
 * blocks take longer by @share of their time, and with @share 0 of the same build without that.
 * Return as heed_plan_create_named() does. */
heed_status ablate_find_cases(const ablate_run *run, ablate_subject *subject);
void ablate_want_cases(const ablate_run *run, const ablate_subject *subject);
void ablate_want_delay(const ablate_run *run, const ablate_subject *subject, double share);
heed_status ablate_plan(const ablate_run *run, const ablate_subject *subject,
                        const ablate_case *what, heed_plan **plan);
heed_status ablate_plan_intact(const ablate_run *run, const ablate_subject *subject,
                               heed_plan **plan);
heed_status ablate_plan_delayed(const ablate_run *run, const ablate_subject *subject, double share,
                                heed_plan **plan);

/* ablate_measure.c: ablate_prepare() plans the problem of @subject, for the kernel of run->bench or
 * for the one that is planned, and finds its ablations. ablate_try() does so if that was not done,
 * and all the rest. A failure of an ablation is an outcome of it; an error that ends everything is
 * the status, with heed_message(). ablate_measure() prints that. After Ctrl-C, which both of them
 * say in their way, what was measured is there. */
heed_status ablate_prepare(ablate_run *run, ablate_subject *subject);
heed_status ablate_try(ablate_run *run, ablate_subject *subject);
cli_exit ablate_measure(ablate_run *run, ablate_subject *subject);
void ablate_subject_free(ablate_subject *subject);

/* ablate_report.c */
cli_exit ablate_print(const ablate_run *run);
cli_exit ablate_print_json(const ablate_run *run);

#endif /* CLI_ABLATE_H */
