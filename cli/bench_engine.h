/*
 * bench_engine.h - the two sides of a comparison: a plan of heed's, and a rival
 */
#ifndef CLI_BENCH_ENGINE_H
#define CLI_BENCH_ENGINE_H

#include "bench.h"
#include "bench_checker.h"

/* A call that takes longer than this needs no warm-up: what the other side left in the caches is
 * soon replaced. */
#define BENCH_WARMUP_CALL_MAX 20e-3

/* The libheed that made a plan, where it is not this program's own. */
typedef struct bench_heed {
    void *data;
    heed_status (*execute)(void *data, const heed_plan *plan, const heed_buffers *buffers);
    size_t (*workspace_size)(void *data, const heed_plan *plan);
    void (*plan_destroy)(void *data, heed_plan *plan);
} bench_heed;

/* A plan at work. */
typedef struct bench_engine {
    const bench_tensors *tensors;
    heed_plan *plan;
    const bench_heed *heed; /* that made it */
    void *workspace;
    bool shared;            /* the workspace is the other side's */
    double seconds;         /* of a call, by which blocks were sized */
    bool by_cpu;            /* blocks are timed by the CPU that the thread had, not by the clock */
    size_t place;           /* bytes from there on that are not used */
    int64_t copies;         /* of the tensors that calls rotate through, all of them or the first */
    int64_t call;           /* number of the next one, which says what copy it works on */
    int64_t last;           /* of the one before */
    heed_replay replay;     /* zeroed: blocks are made of calls */
    int64_t warmup;         /* calls or replays before a block that are not timed */
    int64_t calls;          /* of a block; or replays */
    lab_rival *rival;       /* that must be still meanwhile; NULL: none */
    bench_checker *checker; /* of what the blocks compute; NULL: it is not looked at */
    double worst;           /* the largest error that it found */
} bench_engine;

/* bench_engine_start() takes over @plan and allocates its workspace. Returns as
 * heed_device_allocate() does. To be stopped in either case. */
heed_status bench_engine_start(bench_engine *engine, const bench_tensors *tensors, heed_plan *plan);
/* bench_engine_start_of() does so with a plan of @heed, which must outlive it; NULL: our own. */
heed_status bench_engine_start_of(bench_engine *engine, const bench_tensors *tensors,
                                  heed_plan *plan, const bench_heed *heed);
void bench_engine_stop(bench_engine *engine);

/* bench_engine_call() is one call, as heed_sample() takes it; bench_engine_block() a block and
 * bench_engine_renew() another place for the workspace, as a lab_side takes them. @data is the
 * engine. After Ctrl-C the first two fail with HEED_ERR_SYSTEM. */
heed_status bench_engine_call(void *data);
heed_status bench_engine_block(void *data, double *seconds);
heed_status bench_engine_renew(void *data, uint64_t common, uint64_t own);

/* bench_engine_capture() makes the blocks of replays of @calls calls, which rotate through the
 * first
 * @copies of the tensors. bench_engine_replay() is heed_replay_repeat() of that. */
heed_status bench_engine_capture(bench_engine *engine, int64_t calls, int64_t copies);
heed_status bench_engine_replay(bench_engine *engine, int64_t warmup, int64_t runs,
                                double *seconds);

/* bench_engine_estimate() writes the seconds of a call, once what is new has been paid for, to
 * *@seconds: of a replay of one call if @replay. */
heed_status bench_engine_estimate(bench_engine *engine, bool replay, double *seconds);

/* bench_engine_ready() sizes the blocks for calls that take @seconds, and captures what is to be
 * replayed if @replay. */
heed_status bench_engine_ready(bench_engine *engine, bool replay, double seconds);

/* bench_engine_level() makes two engines that are ready the sides of a duel: nothing but what they
 * compute is to differ. Blocks of both have as many calls, sized by the mean of what calls take of
 * either; on a CPU both work in the workspace of @a, which must outlive @b; and with one thread
 * both are timed by the CPU that it had, which does not tell how many others wanted it, unless it
 * waited for something by itself. Returns as heed_device_allocate() and bench_engine_ready() do. */
heed_status bench_engine_level(bench_engine *a, bench_engine *b);

/* bench_engine_round() returns the seconds that a block takes with its warm-up. */
double bench_engine_round(const bench_engine *engine, double seconds);

/* bench_engine_error() is bench_tensors_error() of the last call. */
heed_status bench_engine_error(const bench_engine *engine, const lab_expect *expect, double *error);

/* bench_engine_check() makes one more call when blocks are over, and writes its error to *@error,
 * or that of a block if it was larger. */
heed_status bench_engine_check(bench_engine *engine, const lab_expect *expect, double *error);

/* bench_block_size() chooses the calls of a block, and before it, if one takes @seconds.
 * bench_replay_size() chooses the calls of a replay and the replays of a block. */
void bench_block_size(double seconds, int64_t *warmup, int64_t *calls);
void bench_replay_size(double seconds, int64_t *calls, int64_t *replays);

/* How many calls to time singly if one takes @seconds. */
int64_t bench_single_count(double seconds);

/* A rival at work. */
typedef struct bench_guest {
    lab_rival *rival;
    int64_t replay; /* calls of one; 0: blocks are made of calls */
    int64_t warmup; /* calls, or replays */
    int64_t calls;
    double expected;   /* seconds per call */
    lab_answer answer; /* of the last block */
} bench_guest;

/* bench_guest_block() is a block, as a lab_side takes it. @data is the guest. */
heed_status bench_guest_block(void *data, double *seconds);

/* bench_guest_round() returns the seconds that a block is expected to take with its warm-up. */
double bench_guest_round(const bench_guest *guest);

/* Work of the float64 reference: elements read. */
#define BENCH_EXPECT_WORK (INT64_C(1) << 23)

/* bench_measure.c: bench_plan() makes the plan that was asked for. bench_rotation_bytes() returns
 * how much memory copies of the tensors must take so that a rotation leaves every cache: twice the
 * last level; 0: one copy is enough. */
heed_status bench_plan(const bench_run *bench, const heed_problem *problem, heed_plan **plan);
int64_t bench_rotation_bytes(const bench_run *bench);

/* bench_device.c: samples heed alone by replays, hot and cold ones, and single calls, and leaves
 * @engine ready for matches. */
heed_status bench_sample_replays(bench_run *bench, bench_row *row, bench_engine *engine,
                                 const lab_expect *expect);

/* bench_device.c: the least seconds that a call of the problem can take on the device, by its data
 * sheet; 0: not known. */
double bench_device_floor(const bench_run *bench, const bench_row *row);

/* bench_measure.c: how long heed alone is timed. */
int64_t bench_alone_ns(const bench_run *bench);

/* bench_match.c: plays a match on the problem and tensors of @heed, whose call takes @heed_seconds.
 * A failure of the opponent is an outcome of @match; HEED_ERR_NO_MEMORY, and
 * HEED_ERR_SYSTEM after Ctrl-C, are the only failures. */
heed_status bench_meet_rival(bench_run *bench, bench_match *match, bench_rival *entry,
                             bench_engine *heed, double heed_seconds, const lab_expect *expect);
heed_status bench_meet_kernel(bench_run *bench, bench_match *match, bench_engine *heed,
                              double heed_seconds, const lab_expect *expect);

/* bench_meet_own() does so with bench->own, after it was proved. */
heed_status bench_meet_own(const bench_run *bench, bench_match *match, bench_engine *heed,
                           double heed_seconds);

/* bench_match_interleave() interleaves blocks of heed and of @other, of which a pair takes @round
 * seconds, and judges. */
heed_status bench_match_interleave(const bench_run *bench, bench_match *match, bench_engine *heed,
                                   const lab_side *other, double round);

#endif /* CLI_BENCH_ENGINE_H */
