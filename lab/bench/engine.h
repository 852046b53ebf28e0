/*
 * engine.h - one side of a comparison: a plan with its tensors, workspace and block size
 */
#ifndef LAB_BENCH_ENGINE_H
#define LAB_BENCH_ENGINE_H

#include "lab/bench/checker.h"
#include "lab/measure/behind.h"
#include "lab/measure/duel.h"
#include "lab/trial/compile/library.h"
#include "lab/trial/peer/rival.h"
#include "src/device.h"

/* A call that takes longer than this needs no warm-up: it soon replaces the other side's cache
 * lines. */
#define LAB_BENCH_WARMUP_CALL_MAX 20e-3

/* A plan and the state of its timing. */
typedef struct lab_bench_engine {
    const lab_bench_tensors *tensors;
    heed_plan *plan;
    const lab_library *library; /* that made it */
    void *workspace;
    bool shared;        /* the workspace is the other side's */
    double seconds;     /* of a call, used to size blocks */
    bool by_cpu;        /* blocks are timed by the thread's CPU time, not by the clock */
    size_t place;       /* unused bytes before the workspace */
    int64_t copies;     /* of the tensors that calls rotate through, all of them or the first */
    int64_t call;       /* number of the next call, which selects its copy */
    int64_t last;       /* of the previous one */
    heed_replay replay; /* zeroed: blocks are made of calls */
    const lab_behind *behind;   /* runs before each call of a replay; NULL: nothing */
    int64_t warmup;             /* calls or replays before a block that are not timed */
    int64_t calls;              /* of a block; or replays */
    lab_rival *rival;           /* that must stay idle meanwhile; NULL: none */
    lab_bench_checker *checker; /* of the blocks' results; NULL: not checked */
    double worst;               /* the largest error that it found */
} lab_bench_engine;

/* lab_bench_engine_start() takes ownership of @plan, which @library made, and allocates its
 * workspace; NULL: this program's libheed. Returns as heed_device_allocate() does. Stop the engine
 * in either case. */
heed_status lab_bench_engine_start(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                   heed_plan *plan, const lab_library *library);
void lab_bench_engine_stop(lab_bench_engine *engine);

/* lab_bench_engine_call() makes one call, as a callback of heed_sample(). lab_bench_engine_block()
 * runs a block, as a callback of a lab_side. @data is the engine. Once stopped both fail with
 * HEED_ERR_SYSTEM. */
heed_status lab_bench_engine_call(void *data);
heed_status lab_bench_engine_block(void *data, double *seconds);

/* lab_bench_engine_capture() makes blocks of replays of @calls calls, which rotate through the
 * first @copies of the tensors. lab_bench_engine_replay() is heed_replay_repeat() of that. */
heed_status lab_bench_engine_capture(lab_bench_engine *engine, int64_t calls, int64_t copies);
heed_status lab_bench_engine_replay(lab_bench_engine *engine, int64_t warmup, int64_t runs,
                                    double *seconds);

/* lab_bench_engine_estimate() writes the seconds of a call after warm-up to *@seconds: of a replay
 * of one call if @replay. */
heed_status lab_bench_engine_estimate(lab_bench_engine *engine, bool replay, double *seconds);

/* lab_bench_engine_ready() sizes the blocks for calls that take @seconds, and captures them for
 * replay if @replay. */
heed_status lab_bench_engine_ready(lab_bench_engine *engine, bool replay, double seconds);

/* lab_bench_engine_begin() does all three with @plan; the seconds go to *@seconds. */
heed_status lab_bench_engine_begin(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                   heed_plan *plan, const lab_library *library, bool replay,
                                   double *seconds);

/* lab_bench_engine_side() returns @engine as a side of a duel. */
lab_side lab_bench_engine_side(lab_bench_engine *engine);

/* lab_bench_engine_level() prepares two ready engines for a duel, in which only their computation
 * may differ. Blocks of both have the same number of calls, sized by the mean time of a call of
 * both; on a CPU both use the workspace of @a, which must outlive @b; and with one thread both are
 * timed by CPU time, which does not depend on other load, unless the thread had to wait. Returns as
 * heed_device_allocate() and lab_bench_engine_ready() do. */
heed_status lab_bench_engine_level(lab_bench_engine *a, lab_bench_engine *b);

/* lab_bench_engine_round() returns the seconds of a block with its warm-up. */
double lab_bench_engine_round(const lab_bench_engine *engine, double seconds);

/* lab_bench_engine_error() is lab_bench_tensors_error() of the last call. */
heed_status lab_bench_engine_error(const lab_bench_engine *engine, const lab_expect *expect,
                                   double *error);

/* lab_bench_engine_check() makes one more call after the blocks, and writes its error, or a larger
 * one of a block, to *@error. */
heed_status lab_bench_engine_check(lab_bench_engine *engine, const lab_expect *expect,
                                   double *error);

/* lab_bench_block_size() chooses the calls of a block and of its warm-up for calls of @seconds.
 * lab_bench_replay_size() chooses the calls of a replay and the replays of a block. */
void lab_bench_block_size(double seconds, int64_t *warmup, int64_t *calls);
void lab_bench_replay_size(double seconds, int64_t *calls, int64_t *replays);

/* Number of single calls to time if one takes @seconds. */
int64_t lab_bench_single_count(double seconds);

/* Maximum work of the float64 reference, in elements read. */
#define LAB_BENCH_EXPECT_WORK (INT64_C(1) << 23)

#endif /* LAB_BENCH_ENGINE_H */
