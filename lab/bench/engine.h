/*
 * engine.h - a side of a comparison: a plan of heed's at work
 */
#ifndef LAB_BENCH_ENGINE_H
#define LAB_BENCH_ENGINE_H

#include "lab/bench/checker.h"
#include "lab/measure/behind.h"
#include "lab/measure/duel.h"
#include "lab/trial/peer/rival.h"
#include "src/device.h"

/* A call that takes longer than this needs no warm-up: the other side's lines in the caches are
 * soon replaced. */
#define LAB_BENCH_WARMUP_CALL_MAX 20e-3

/* The libheed that made a plan, where it is not this program's own. */
typedef struct lab_bench_heed {
    void *data;
    heed_status (*execute)(void *data, const heed_plan *plan, const heed_buffers *buffers);
    size_t (*workspace_size)(void *data, const heed_plan *plan);
    void (*plan_destroy)(void *data, heed_plan *plan);
} lab_bench_heed;

/* A plan at work. */
typedef struct lab_bench_engine {
    const lab_bench_tensors *tensors;
    heed_plan *plan;
    const lab_bench_heed *heed; /* that made it */
    void *workspace;
    bool shared;        /* the workspace is the other side's */
    double seconds;     /* of a call, by which blocks were sized */
    bool by_cpu;        /* blocks are timed by the CPU that the thread had, not by the clock */
    size_t place;       /* bytes from there on that are not used */
    int64_t copies;     /* of the tensors that calls rotate through, all of them or the first */
    int64_t call;       /* number of the next one, which says what copy it works on */
    int64_t last;       /* of the one before */
    heed_replay replay; /* zeroed: blocks are made of calls */
    const lab_behind *behind;   /* before each call of a replay; NULL: nothing is */
    int64_t warmup;             /* calls or replays before a block that are not timed */
    int64_t calls;              /* of a block; or replays */
    lab_rival *rival;           /* that must be still meanwhile; NULL: none */
    lab_bench_checker *checker; /* of what the blocks compute; NULL: it is not looked at */
    double worst;               /* the largest error that it found */
} lab_bench_engine;

/* lab_bench_engine_start() takes over @plan and allocates its workspace. Returns as
 * heed_device_allocate() does. To be stopped in either case. */
heed_status lab_bench_engine_start(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                   heed_plan *plan);
/* lab_bench_engine_start_of() does so with a plan of @heed, which must outlive it; NULL: our own.
 */
heed_status lab_bench_engine_start_of(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                      heed_plan *plan, const lab_bench_heed *heed);
void lab_bench_engine_stop(lab_bench_engine *engine);

/* lab_bench_engine_call() is one call, as heed_sample() takes it; lab_bench_engine_block() a block
 * and lab_bench_engine_renew() another place for the workspace, as a lab_side takes them. @data is
 * the engine. Once stopped the first two fail with HEED_ERR_SYSTEM. */
heed_status lab_bench_engine_call(void *data);
heed_status lab_bench_engine_block(void *data, double *seconds);
heed_status lab_bench_engine_renew(void *data, uint64_t common, uint64_t own);

/* lab_bench_engine_capture() makes the blocks of replays of @calls calls, which rotate through the
 * first
 * @copies of the tensors. lab_bench_engine_replay() is heed_replay_repeat() of that. */
heed_status lab_bench_engine_capture(lab_bench_engine *engine, int64_t calls, int64_t copies);
heed_status lab_bench_engine_replay(lab_bench_engine *engine, int64_t warmup, int64_t runs,
                                    double *seconds);

/* lab_bench_engine_estimate() writes the seconds of a call, once what is new has been paid for, to
 * *@seconds: of a replay of one call if @replay. */
heed_status lab_bench_engine_estimate(lab_bench_engine *engine, bool replay, double *seconds);

/* lab_bench_engine_ready() sizes the blocks for calls that take @seconds, and captures what is to
 * be replayed if @replay. */
heed_status lab_bench_engine_ready(lab_bench_engine *engine, bool replay, double seconds);

/* lab_bench_engine_begin() starts it with @plan and does both; the seconds go to *@seconds. */
heed_status lab_bench_engine_begin(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                   heed_plan *plan, const lab_bench_heed *heed, bool replay,
                                   double *seconds);

/* lab_bench_engine_side() returns it as a side of a duel. */
lab_side lab_bench_engine_side(lab_bench_engine *engine);

/* lab_bench_engine_level() makes two engines that are ready the sides of a duel: nothing but what
 * they compute is to differ. Blocks of both have as many calls, sized by the mean of what calls
 * take of either; on a CPU both work in the workspace of @a, which must outlive @b; and with one
 * thread both are timed by the CPU that it had, which does not tell how many others wanted it,
 * unless it waited for something by itself. Returns as heed_device_allocate() and
 * lab_bench_engine_ready() do. */
heed_status lab_bench_engine_level(lab_bench_engine *a, lab_bench_engine *b);

/* lab_bench_engine_round() returns the seconds that a block takes with its warm-up. */
double lab_bench_engine_round(const lab_bench_engine *engine, double seconds);

/* lab_bench_engine_error() is lab_bench_tensors_error() of the last call. */
heed_status lab_bench_engine_error(const lab_bench_engine *engine, const lab_expect *expect,
                                   double *error);

/* lab_bench_engine_check() makes one more call when blocks are over, and writes its error to
 * *@error, or that of a block if it was larger. */
heed_status lab_bench_engine_check(lab_bench_engine *engine, const lab_expect *expect,
                                   double *error);

/* lab_bench_block_size() chooses the calls of a block, and before it, if one takes @seconds.
 * lab_bench_replay_size() chooses the calls of a replay and the replays of a block. */
void lab_bench_block_size(double seconds, int64_t *warmup, int64_t *calls);
void lab_bench_replay_size(double seconds, int64_t *calls, int64_t *replays);

/* How many calls to time singly if one takes @seconds. */
int64_t lab_bench_single_count(double seconds);

/* Work of the float64 reference: elements read. */
#define LAB_BENCH_EXPECT_WORK (INT64_C(1) << 23)

#endif /* LAB_BENCH_ENGINE_H */
