/*
 * engine.c - runs the blocks of one side of a comparison
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "lab/bench/engine.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "src/measure.h"
#include "src/message.h"

/* A block lasts about this long; the calls before it that are not timed, that long. */
#define BLOCK_SECONDS 5e-3
#define WARMUP_SECONDS 2e-3

/* A replay lasts about this long, which makes its start and end negligible. A block is one untimed
 * replay, which restores clocks and context, and then a few timed ones. */
#define REPLAY_SECONDS 2e-3
#define REPLAY_CALLS_MAX 2000
#define REPLAYS_MAX 3

/* Single calls are timed for about this long. */
#define SINGLE_SECONDS 0.05
#define SINGLE_MIN 5
#define SINGLE_MAX 100

/* The offset of the workspace within its pages changes the time of a short call by a percent or so.
 * It may have this many offsets, this far apart. */
#define PLACES 256
#define PLACE_BYTES 256

/* The libheed of this program. */
static const lab_library own_heed = { .execute = heed_execute,
                                      .plan_workspace_size = heed_plan_workspace_size,
                                      .plan_destroy = heed_plan_destroy };

/* Bytes for the workspace at any offset. */
static size_t room_of(const lab_bench_engine *engine)
{
    size_t size = engine->library->plan_workspace_size(engine->plan);
    bool moves = heed_device_is_host(engine->tensors->context);
    return moves ? size + PLACES * PLACE_BYTES : size;
}

heed_status lab_bench_engine_start(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                   heed_plan *plan, const lab_library *library)
{
    *engine = (lab_bench_engine){ .tensors = tensors,
                                  .plan = plan,
                                  .library = library ? library : &own_heed,
                                  .copies = tensors->copies };
    return heed_device_allocate(tensors->context, room_of(engine), &engine->workspace);
}

void lab_bench_engine_stop(lab_bench_engine *engine)
{
    heed_replay_destroy(&engine->replay);
    if (engine->tensors && !engine->shared)
        heed_device_free(engine->tensors->context, engine->workspace);
    if (engine->library)
        engine->library->plan_destroy(engine->plan);
    memset(engine, 0, sizeof *engine);
}

static heed_status execute(const lab_bench_engine *engine, int64_t call, void *stream)
{
    heed_buffers buffers = lab_bench_tensors_buffers(engine->tensors, call % engine->copies);
    buffers.workspace = (char *)engine->workspace + engine->place;
    buffers.workspace_size = engine->library->plan_workspace_size(engine->plan);
    buffers.stream = stream;
    heed_status status = engine->library->execute(engine->plan, &buffers);
    if (status != HEED_OK && engine->library->message) /* passes it on */
        return heed_fail(status, "%s", engine->library->message());
    return status;
}

heed_status lab_bench_engine_call(void *data)
{
    lab_bench_engine *self = data;
    self->last = self->call++;
    if (heed_context_stopped(self->tensors->context))
        return HEED_ERR_SYSTEM;
    return execute(self, self->last, NULL);
}

static heed_status engine_calls(lab_bench_engine *engine, int64_t calls)
{
    heed_status status = HEED_OK;
    for (int64_t i = 0; i < calls && status == HEED_OK; i++)
        status = lab_bench_engine_call(engine);
    return status;
}

/* One call of a captured sequence. */
static heed_status captured_call(void *data, int index, void *stream)
{
    const lab_bench_engine *engine = data;
    heed_status status = engine->behind ? lab_behind_start(engine->behind, stream) : HEED_OK;
    return status == HEED_OK ? execute(engine, index, stream) : status;
}

heed_status lab_bench_engine_capture(lab_bench_engine *engine, int64_t calls, int64_t copies)
{
    heed_replay_destroy(&engine->replay);
    engine->copies = copies;
    return heed_replay_create(&engine->replay, engine->tensors->context, captured_call, engine,
                              (int)calls);
}

heed_status lab_bench_engine_replay(lab_bench_engine *engine, int64_t warmup, int64_t runs,
                                    double *seconds)
{
    engine->last = engine->replay.calls - 1;
    if (heed_context_stopped(engine->tensors->context))
        return HEED_ERR_SYSTEM;
    return heed_replay_repeat(&engine->replay, (int)warmup, (int)runs, seconds);
}

/* Clocks and counters at one moment. */
typedef struct moment {
    int64_t clock_ns;
    int64_t cpu_ns; /* of this thread */
    long waits;     /* voluntary context switches */
} moment;

static moment now(void)
{
    struct timespec time = { .tv_sec = 0 };
    struct rusage usage = { .ru_nvcsw = 0 };
    moment it = { .clock_ns = heed_clock_ns() };
    getrusage(RUSAGE_THREAD, &usage);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    it.cpu_ns = time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
    it.waits = usage.ru_nvcsw;
    return it;
}

/* Nanoseconds since @start: CPU time, or by the clock if the thread had to wait. */
static int64_t passed(const lab_bench_engine *engine, const moment *start)
{
    if (!engine->by_cpu)
        return heed_clock_ns() - start->clock_ns;
    moment end = now();
    return end.waits == start->waits ? end.cpu_ns - start->cpu_ns : end.clock_ns - start->clock_ns;
}

/* Runs the block, with its untimed warm-up calls. */
static heed_status run_block(lab_bench_engine *engine, double *seconds)
{
    if (engine->replay.calls)
        return lab_bench_engine_replay(engine, engine->warmup, engine->calls, seconds);
    heed_status status = engine_calls(engine, engine->warmup);
    moment start = now();
    if (status == HEED_OK)
        status = engine_calls(engine, engine->calls);
    *seconds = (double)passed(engine, &start) * 1e-9 / (double)engine->calls;
    return status;
}

/* The last call of the next block. */
static int64_t last_call(const lab_bench_engine *engine)
{
    int64_t last = engine->replay.calls ? engine->replay.calls - 1
                                        : engine->call + engine->warmup + engine->calls - 1;
    return last % engine->copies;
}

heed_status lab_bench_engine_block(void *data, double *seconds)
{
    lab_bench_engine *self = data;
    double error = 0;
    if (self->rival)
        lab_rival_pause(self->rival);
    heed_status status = lab_bench_checker_touch(self->checker, last_call(self));
    if (status == HEED_OK)
        status = run_block(self, seconds);
    if (status == HEED_OK)
        status = lab_bench_checker_error(self->checker, &error);
    if (!(error <= self->worst))
        self->worst = error;
    return status;
}

/* Moves the workspace. A captured graph keeps its addresses. */
static heed_status move_workspace(void *data, uint64_t common, uint64_t own)
{
    lab_bench_engine *self = data;
    (void)common;
    if (heed_device_is_host(self->tensors->context))
        self->place = own % PLACES * PLACE_BYTES;
    return HEED_OK;
}

heed_status lab_bench_engine_estimate(lab_bench_engine *engine, bool replay, double *seconds)
{
    heed_status status = replay ? lab_bench_engine_capture(engine, 1, engine->tensors->copies)
                                : HEED_OK;
    engine->warmup = engine->calls = 1;
    return status == HEED_OK ? lab_bench_engine_block(engine, seconds) : status;
}

heed_status lab_bench_engine_ready(lab_bench_engine *engine, bool replay, double seconds)
{
    int64_t calls;
    engine->seconds = seconds;
    if (!replay) {
        lab_bench_block_size(seconds, &engine->warmup, &engine->calls);
        return HEED_OK;
    }
    lab_bench_replay_size(seconds, &calls, &engine->calls);
    engine->warmup = 1;
    return lab_bench_engine_capture(engine, calls, engine->tensors->copies);
}

heed_status lab_bench_engine_begin(lab_bench_engine *engine, const lab_bench_tensors *tensors,
                                   heed_plan *plan, const lab_library *library, bool replay,
                                   double *seconds)
{
    heed_status status = lab_bench_engine_start(engine, tensors, plan, library);
    for (int i = 0; i < 2 && status == HEED_OK; i++) /* the first call pays one-time costs */
        status = lab_bench_engine_estimate(engine, replay, seconds);
    return status == HEED_OK ? lab_bench_engine_ready(engine, replay, *seconds) : status;
}

lab_side lab_bench_engine_side(lab_bench_engine *engine)
{
    return (lab_side){ lab_bench_engine_block, move_workspace, engine };
}

/* Gives @b the workspace of @a, if it is large enough for both. */
static heed_status share_workspace(lab_bench_engine *a, lab_bench_engine *b)
{
    heed_context *context = a->tensors->context;
    heed_status status = HEED_OK;
    if (b->shared)
        return HEED_OK;
    if (room_of(b) > room_of(a)) {
        heed_device_free(context, a->workspace);
        a->workspace = NULL;
        status = heed_device_allocate(context, room_of(b), &a->workspace);
    }
    heed_device_free(context, b->workspace);
    b->workspace = a->workspace;
    b->shared = true;
    return status;
}

heed_status lab_bench_engine_level(lab_bench_engine *a, lab_bench_engine *b)
{
    heed_context *context = a->tensors->context;
    bool replay = a->replay.calls > 0;
    double seconds = sqrt(a->seconds * b->seconds);
    heed_status status = HEED_OK;
    if (heed_device_is_host(context) && !replay)
        status = share_workspace(a, b);
    if (status == HEED_OK)
        status = lab_bench_engine_ready(a, replay, seconds);
    if (status == HEED_OK)
        status = lab_bench_engine_ready(b, replay, seconds);
    a->by_cpu = b->by_cpu = heed_device_is_host(context) && heed_context_threads(context) == 1;
    return status;
}

double lab_bench_engine_round(const lab_bench_engine *engine, double seconds)
{
    int64_t each = engine->replay.calls ? engine->replay.calls : 1;
    return seconds * (double)((engine->warmup + engine->calls) * each);
}

heed_status lab_bench_engine_error(const lab_bench_engine *engine, const lab_expect *expect,
                                   double *error)
{
    return lab_bench_tensors_error(engine->tensors, engine->last % engine->copies, expect, error);
}

heed_status lab_bench_engine_check(lab_bench_engine *engine, const lab_expect *expect,
                                   double *error)
{
    *error = 0;
    heed_status status = lab_bench_checker_restore(engine->checker);
    if (status == HEED_OK)
        status = lab_bench_tensors_poison(engine->tensors);
    if (status == HEED_OK)
        status = lab_bench_engine_call(engine);
    if (status == HEED_OK)
        status = lab_bench_engine_error(engine, expect, error);
    if (!(engine->worst <= *error))
        *error = engine->worst;
    return status;
}

void lab_bench_block_size(double seconds, int64_t *warmup, int64_t *calls)
{
    *calls = seconds < BLOCK_SECONDS ? (int64_t)ceil(BLOCK_SECONDS / seconds) : 1;
    *warmup = seconds < LAB_BENCH_WARMUP_CALL_MAX ? (int64_t)ceil(WARMUP_SECONDS / seconds) : 0;
}

/* @whole / @part, limited to 1 to @most. */
static int64_t how_many(double whole, double part, int64_t most)
{
    double count = ceil(whole / part);
    return count >= (double)most ? most : count > 1 ? (int64_t)count : 1;
}

void lab_bench_replay_size(double seconds, int64_t *calls, int64_t *replays)
{
    *calls = how_many(REPLAY_SECONDS, seconds, REPLAY_CALLS_MAX);
    *replays = how_many(BLOCK_SECONDS, seconds * (double)*calls, REPLAYS_MAX);
}

int64_t lab_bench_single_count(double seconds)
{
    int64_t count = how_many(SINGLE_SECONDS, seconds, SINGLE_MAX);
    return count < SINGLE_MIN ? SINGLE_MIN : count;
}
