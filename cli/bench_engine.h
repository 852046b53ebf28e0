/*
 * bench_engine.h - the two sides of a comparison: a plan of heed's, and a rival
 */
#ifndef CLI_BENCH_ENGINE_H
#define CLI_BENCH_ENGINE_H

#include "bench.h"

/* A call that takes longer than this needs no warm-up: what the other side left in the caches is
 * soon replaced. */
#define BENCH_WARMUP_CALL_MAX 20e-3

/* A plan at work. */
typedef struct bench_engine {
    const bench_tensors *tensors;
    heed_plan *plan;
    void *workspace;
    int64_t call;     /* number of the next one, which says what copy it works on */
    int64_t warmup;   /* calls before a block that are not timed */
    int64_t calls;    /* of a block */
    lab_rival *rival; /* that must be still meanwhile; NULL: none */
} bench_engine;

/* bench_engine_start() takes over @plan and allocates its workspace: HEED_OK or HEED_ERR_NO_MEMORY.
 * To be stopped in either case. */
heed_status bench_engine_start(bench_engine *engine, const bench_tensors *tensors, heed_plan *plan);
void bench_engine_stop(bench_engine *engine);

/* bench_engine_call() is one call, as heed_sample() takes it; bench_engine_block() a block, as
 * lab_interleave() takes it. @data is the engine. After Ctrl-C they fail with HEED_ERR_SYSTEM. */
heed_status bench_engine_call(void *data);
heed_status bench_engine_block(void *data, double *seconds);

/* bench_engine_error() is bench_error() of the last call. */
double bench_engine_error(const bench_engine *engine, const lab_expect *expect);

/* bench_block_size() chooses the calls of a block, and before it, if one takes @seconds. */
void bench_block_size(double seconds, int64_t *warmup, int64_t *calls);

/* A rival at work. */
typedef struct bench_guest {
    lab_rival *rival;
    int64_t warmup;
    int64_t calls;
    double expected;   /* seconds per call */
    lab_answer answer; /* of the last block */
} bench_guest;

/* bench_guest_block() is a block, as lab_interleave() takes it. @data is the guest. */
heed_status bench_guest_block(void *data, double *seconds);

/* bench_match.c: plays a match on the problem and tensors of @heed, whose call takes @heed_seconds.
 * What goes wrong with the opponent is an outcome of @match; HEED_ERR_NO_MEMORY, and
 * HEED_ERR_SYSTEM after Ctrl-C, are the only failures. */
heed_status bench_meet_rival(bench_run *bench, bench_match *match, bench_rival *entry,
                             bench_engine *heed, double heed_seconds, const lab_expect *expect);
heed_status bench_meet_kernel(bench_run *bench, bench_match *match, bench_engine *heed,
                              double heed_seconds, const lab_expect *expect);

#endif /* CLI_BENCH_ENGINE_H */
