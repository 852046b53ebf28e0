/*
 * process.c - a candidate in a process, timed on the tensors of a problem
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "lab/bench/process.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/operands.h"
#include "src/message.h"

#define ROOM_AROUND 16384 /* bytes around each tensor of a call */

/* A call's values begin at one of this many offsets, each a multiple of LINE bytes and the first
 * element of a head vector, which keeps structure that captured vectors share. */
#define PLACES 256
#define LINE 64

/* Maximum of elements that the reference reads for the compared rows of a block; minimum of rows,
 * besides one of each call. */
#define CHECK_WORK (INT64_C(1) << 18)
#define CHECK_ROWS 16

static bool fail_memory(lab_bench_process *process)
{
    return lab_trial_outcome_set(&process->outcome, LAB_TRIAL_SYSTEM, "no memory for its tensors");
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y != 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Fills memory with the values of a tensor, over and over. */
static bool make_values(lab_bench_process *process, const lab_bench_tensors *tensors, lab_role role)
{
    lab_view view = lab_view_of(&process->problem, role);
    size_t element = heed_type_size(view.type);
    int64_t known = view.batch * view.seq * view.heads * view.dim, extent = lab_view_extent(&view);
    known = known < tensors->period ? known : tensors->period;
    process->step[role] = common_multiple(view.dim, LINE / (int64_t)element);
    size_t whole = (size_t)(extent + PLACES * process->step[role]) * element, done = 0;
    char *values = aligned_alloc(LINE, (whole + LINE - 1) / LINE * LINE);
    process->values[role] = values;
    for (size_t run; values && done < whole; done += run) {
        run = (size_t)known * element < whole - done ? (size_t)known * element : whole - done;
        memcpy(values + done, tensors->values[role], run);
    }
    return values || fail_memory(process);
}

/* Marks the elements from the first to the last of O that are written: not the gaps. */
static bool make_written(lab_bench_process *process)
{
    lab_view view = lab_view_of(&process->problem, LAB_O);
    process->written = calloc((size_t)lab_view_extent(&view), 1);
    for (int64_t n = 0; process->written && n < lab_view_vectors(&view); n++)
        memset(process->written + lab_view_vector(&view, n), 1, (size_t)view.dim);
    return process->written || fail_memory(process);
}

/* Returns true if there is room for one call. The trial checks again. */
static bool take_sizes(lab_bench_process *process, size_t workspace)
{
    size_t limit = lab_limits_fill(&process->limits).tensor_bytes;
    for (int role = 0; role < LAB_ROLES; role++) {
        lab_view view = lab_view_of(&process->problem, (lab_role)role);
        if (view.element && (uint64_t)lab_view_extent(&view) > limit / view.element)
            return lab_trial_outcome_set(&process->outcome, LAB_TRIAL_UNSUPPORTED,
                                         "the tensors need more than the %zu bytes of a trial",
                                         limit);
        process->calls.size[role] = lab_view_bytes(&view);
    }
    process->calls.size[LAB_WORKSPACE] = workspace;
    return true;
}

/* One call in HARD_ONE_IN has a hard value, or one in HARD_ONE_IN_FEW if a block has fewer than
 * HARD_BLOCK calls. It may cost a kernel a little time, for a second maximum say, but hardly shows.
 */
#define HARD_ONE_IN 4
#define HARD_BLOCK 16
#define HARD_ONE_IN_FEW 2

/* Indices of random draws for tensors are below this, those for calls above. */
#define LOTS_OF_CALLS ((uint64_t)LAB_WIRE_SETS * LAB_ROLES)

static void harden(lab_bench_process *process, int call)
{
    uint64_t lot = lab_random_stream(process->lot, LOTS_OF_CALLS + (uint64_t)call);
    int64_t one_in = process->calls.count < HARD_BLOCK ? HARD_ONE_IN_FEW : HARD_ONE_IN;
    heed_buffers operands = { .size = sizeof operands };
    for (int role = LAB_TABLE; role <= LAB_CU_K; role++)
        lab_buffers_set(&operands, (lab_role)role, process->tensors->host[role]);
    process->hard[call] = (lab_bench_hard){ .what = NULL };
    if (lab_random_below(lot, 0, one_in) == 0)
        process->hard[call] = lab_bench_hard_put(&process->problem, process->laid, &operands,
                                                 (uint64_t)process->hardened++,
                                                 lab_random_stream(lot, 1));
}

/* Fills an operand of a call: numbers get fresh low digits, a mask is redrawn. Starts and other
 * arrays stay the same: they determine the work of a call, and heed's plan is timed on the same
 * ones. */
static void fill_operand(lab_bench_process *process, const lab_view *view, lab_role role,
                         uint64_t lot, void *to)
{
    const void *from = process->tensors->host[role];
    const heed_type type = lab_data_type(view->kind);
    if (lab_data_of(type) == view->kind) {
        lab_fresh_copy(&process->fresh, type, from, to, lab_view_extent(view));
        return;
    }
    memcpy(to, from, lab_view_bytes(view));
    if (role == LAB_SHOWN)
        lab_operand_fill_usual(&process->problem, role, to, lot);
}

/* Fills a tensor of a call; V is the last one before the operands. */
static void fill(void *data, int call, int role, void *to)
{
    lab_bench_process *process = data;
    lab_view view = lab_view_of(&process->problem, (lab_role)role);
    uint64_t number = (uint64_t)call * LAB_ROLES + (uint64_t)role;
    if (role >= LAB_VECTORS) {
        fill_operand(process, &view, (lab_role)role, lab_random_stream(process->lot, number), to);
        return;
    }
    int64_t place = lab_random_below(process->lot, number, PLACES) * process->step[role];
    const char *from = (const char *)process->values[role] +
                       (size_t)place * heed_type_size(view.type);
    lab_fresh_copy(&process->fresh, view.type, from, to, lab_view_extent(&view));
    process->laid[role] = to;
    if (role == LAB_V)
        harden(process, call);
}

bool lab_bench_process_open(lab_bench_process *process, const char *name, const char *source)
{
    static const char *const options[] = { "-O3", "-march=native" };
    const lab_candidate candidate = { .name = name,
                                      .language = LAB_LANGUAGE_C,
                                      .source = source,
                                      .source_size = strlen(source),
                                      .options = options,
                                      .option_count = 2 };
    return lab_trial_open(&process->trial, &candidate, &process->limits, &process->outcome);
}

bool lab_bench_process_take(lab_bench_process *process, const lab_bench_tensors *tensors)
{
    size_t workspace = 0;
    process->worst = 0;
    process->problem = tensors->problem;
    process->tensors = tensors;
    process->calls = (lab_calls){ .count = 1, .fill = fill, .data = process };
    if (!lab_trial_prepare(process->trial, &process->problem, &workspace, &process->outcome) ||
        !take_sizes(process, workspace) || !make_written(process))
        return false;
    for (int role = 0; role < LAB_VECTORS; role++)
        if (!make_values(process, tensors, (lab_role)role))
            return false;
    return true;
}

void lab_bench_process_leave(lab_bench_process *process)
{
    for (int role = 0; role < LAB_VECTORS; role++) {
        free(process->values[role]);
        process->values[role] = NULL;
    }
    free(process->written);
    process->written = NULL;
}

void lab_bench_process_close(lab_bench_process *process)
{
    lab_bench_process_leave(process);
    lab_trial_close(process->trial);
    process->trial = NULL;
}

void lab_bench_process_size(lab_bench_process *process, double seconds, double block_seconds)
{
    size_t bytes = 1;
    for (int i = 0; i < LAB_BLOCKS; i++)
        bytes += process->calls.size[i] + ROOM_AROUND;
    double room = (double)lab_limits_fill(&process->limits).tensor_bytes / 2 / (double)bytes;
    double calls = fmin(ceil(block_seconds / fmax(seconds, 1e-9)), fmin(room, LAB_WIRE_SETS));
    process->calls.count = calls > 1 ? (int)calls : 1;
}

static heed_status find_wrong(lab_bench_process *process, int call, double error, const char *why)
{
    const char *hard = process->hard[call].what;
    process->worst = fmax(process->worst, error);
    lab_trial_outcome_set(&process->outcome, LAB_TRIAL_OK,
                          "its result while it was timed is wrong: call %d of %d %s%s%s%s",
                          call + 1, process->calls.count, why, hard ? " (there was " : "",
                          hard ? hard : "", hard ? ")" : "");
    return heed_fail(HEED_ERR_UNSUPPORTED, "%s", process->outcome.text);
}

/* Elements of O, of @size bytes each, that were to be written but are still poisoned, or the
 * reverse. It is fast where @size is a constant. */
static inline __attribute__((always_inline)) int64_t count_sized(const char *o, size_t size,
                                                                 const unsigned char *written,
                                                                 int64_t count)
{
    const uint32_t poison = UINT32_MAX >> (8 * (sizeof poison - size));
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = 0;
        memcpy(&bits, o + (size_t)i * size, size);
        wrong += (bits == poison) == written[i];
    }
    return wrong;
}

static int64_t count_wrong(const void *o, size_t size, const unsigned char *written, int64_t count)
{
    return size == sizeof(uint32_t)   ? count_sized(o, sizeof(uint32_t), written, count)
           : size == sizeof(uint16_t) ? count_sized(o, sizeof(uint16_t), written, count)
                                      : count_sized(o, size, written, count);
}

/* Checks that all of O was written, and no gap. */
static heed_status look_over(lab_bench_process *process, int call)
{
    lab_view view = lab_view_of(&process->problem, LAB_O);
    const void *o = process->calls.made[call].o;
    int64_t count = lab_view_extent(&view);
    int64_t wrong = count_wrong(o, heed_type_size(view.type), process->written, count);
    char why[96];
    if (wrong <=
        (process->hard[call].what ? process->hard[call].odd : 0)) /* NaN may look like poison */
        return HEED_OK;
    snprintf(why, sizeof why, "left %lld element%s of O unwritten, or wrote between its rows",
             (long long)wrong, lab_plural(wrong));
    return find_wrong(process, call, INFINITY, why);
}

/* Checks rows of a call. */
static heed_status look_at(lab_bench_process *process, int call, uint64_t lot)
{
    const heed_buffers *made = &process->calls.made[call];
    const int count = process->calls.count;
    const lab_sampling rows = { .seed = lot,
                                .work = CHECK_WORK / count,
                                .threads = 1,
                                .least = (CHECK_ROWS + count - 1) / count,
                                .also = process->hard[call].what ? process->hard[call].row + 1
                                                                 : 0 };
    lab_expect *expect;
    char why[64];
    heed_status status = lab_expect_create(&expect, &process->problem, made, &rows);
    if (status != HEED_OK)
        return status;
    double error = lab_bench_error(&process->problem, made->o, expect);
    lab_expect_destroy(expect);
    process->worst = fmax(process->worst, error);
    if (error <= 1)
        return HEED_OK;
    snprintf(why, sizeof why, "has %.3g times the error allowed", error);
    return find_wrong(process, call, error, why);
}

static heed_status fail_random(void)
{
    return heed_fail(HEED_ERR_SYSTEM, "the system has no random numbers");
}

/* The rows are drawn while the process is stopped, and are unpredictable. */
static heed_status look(lab_bench_process *process)
{
    uint64_t lot;
    heed_status status = lab_random_secret(&lot, 1) ? HEED_OK : fail_random();
    for (int i = 0; i < process->calls.count && status == HEED_OK; i++)
        status = look_over(process, i);
    for (int i = 0; i < process->calls.count && status == HEED_OK; i++)
        status = look_at(process, i, lab_random_stream(lot, (uint64_t)i));
    return status;
}

heed_status lab_bench_process_block(void *data, double *seconds)
{
    lab_bench_process *process = data;
    if (lab_limits_interrupted(&process->limits))
        return HEED_ERR_SYSTEM;
    process->blocks++;
    if (!lab_fresh_begin(&process->fresh) || !lab_random_secret(&process->lot, 1))
        return fail_random();
    if (!lab_trial_time(process->trial, &process->calls, &process->outcome))
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s", process->outcome.text);
    bool by_clock = process->by_clock || !(process->outcome.own_seconds > 0);
    *seconds = (by_clock ? process->outcome.seconds : process->outcome.own_seconds) /
               process->calls.count;
    return look(process);
}

/* A random one of the CPUs that this process may use; -1 if not known. */
static int draw_cpu(uint64_t random)
{
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0)
        return -1;
    int64_t left = lab_random_below(random, 0, CPU_COUNT(&all));
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &all) || left-- > 0)
        cpu++;
    return cpu;
}

heed_status lab_bench_process_renew(void *data, uint64_t common, uint64_t own)
{
    lab_bench_process *process = data;
    double seconds;
    (void)own; /* the system randomizes addresses for each process */
    if (lab_trial_on_device(process->trial) && process->renewed)
        return HEED_OK;
    process->renewed = true;
    if (!lab_trial_renew(process->trial, process->by_clock ? -1 : draw_cpu(common),
                         &process->outcome))
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s", process->outcome.text);
    return lab_bench_process_block(process, &seconds);
}

lab_side lab_bench_process_side(lab_bench_process *process)
{
    process->renewed = false;
    return (lab_side){ .fn = lab_bench_process_block,
                       .renew = lab_bench_process_renew,
                       .data = process };
}
