/*
 * seat.c - a candidate in its process, at work on the tensors of a problem
 */
#include "seat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/measure.h"
#include "../src/message.h"
#include "tensor/random.h"

#define ROOM_AROUND 16384 /* bytes around each tensor of a set */

/* Tensors begin at one of so many places, each at a multiple of LINE bytes and at the first element
 * of a head vector, for what vectors have in common, as captured ones do. */
#define PLACES 256
#define LINE 64

/* Elements that the reference reads for the rows that are compared: a few rows. */
#define CHECK_WORK (INT64_C(1) << 14)

static bool fail_memory(cli_seat *seat)
{
    return lab_trial_outcome_set(&seat->outcome, LAB_TRIAL_SYSTEM, "no memory for its tensors");
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
static bool make_values(cli_seat *seat, const bench_tensors *tensors, lab_role role)
{
    lab_view view = lab_view_of(&seat->problem, role);
    size_t element = heed_type_size(view.type);
    int64_t known = view.batch * view.seq * view.heads * view.dim, extent = lab_view_extent(&view);
    known = known < tensors->period ? known : tensors->period;
    seat->step[role] = common_multiple(view.dim, LINE / (int64_t)element);
    size_t whole = (size_t)(extent + PLACES * seat->step[role]) * element, done = 0;
    char *values = aligned_alloc(LINE, (whole + LINE - 1) / LINE * LINE);
    seat->values[role] = values;
    for (size_t run; values && done < whole; done += run) {
        run = (size_t)known * element < whole - done ? (size_t)known * element : whole - done;
        memcpy(values + done, tensors->values[role], run);
    }
    return values || fail_memory(seat);
}

/* Is there room for one set? The process looks once more. */
static bool fits(cli_seat *seat)
{
    size_t limit = lab_limits_fill(&seat->limits).tensor_bytes;
    for (int role = 0; role < LAB_ROLES; role++) {
        lab_view view = lab_view_of(&seat->problem, (lab_role)role);
        if ((uint64_t)lab_view_extent(&view) > limit / heed_type_size(view.type))
            return lab_trial_outcome_set(&seat->outcome, LAB_TRIAL_UNSUPPORTED,
                                         "the tensors need more than the %zu bytes of a trial",
                                         limit);
    }
    return true;
}

static bool make_outputs(cli_seat *seat, size_t workspace)
{
    lab_view view = lab_view_of(&seat->problem, LAB_O);
    seat->o_size = (size_t)lab_view_extent(&view) * heed_type_size(view.type);
    seat->o = malloc(seat->o_size);
    seat->rest = malloc(seat->o_size);
    seat->workspace = workspace > 0 ? aligned_alloc(64, (workspace + 63) / 64 * 64) : NULL;
    return (seat->o && seat->rest && (seat->workspace || workspace == 0)) || fail_memory(seat);
}

bool cli_seat_take(cli_seat *seat, const bench_tensors *tensors)
{
    size_t workspace = 0;
    seat->calls = 1;
    seat->worst = 0;
    seat->seed = (uint64_t)heed_clock_ns();
    seat->problem = tensors->problem;
    if (!lab_trial_prepare(seat->trial, &seat->problem, &workspace, &seat->outcome) ||
        !fits(seat) || !make_outputs(seat, workspace))
        return false;
    for (int role = 0; role < LAB_ROLES - 1; role++)
        if (!make_values(seat, tensors, (lab_role)role))
            return false;
    const heed_buffers buffers = { .q = seat->values[LAB_Q],
                                   .k = seat->values[LAB_K],
                                   .v = seat->values[LAB_V],
                                   .o = seat->o,
                                   .workspace = seat->workspace,
                                   .workspace_size = workspace };
    for (int i = 0; i < LAB_WIRE_SETS; i++)
        seat->sets[i] = lab_set_of(&seat->problem, &buffers);
    return true;
}

void cli_seat_leave(cli_seat *seat)
{
    for (int role = 0; role < LAB_ROLES - 1; role++) {
        free(seat->values[role]);
        seat->values[role] = NULL;
    }
    free(seat->workspace);
    free(seat->o);
    free(seat->rest);
    seat->workspace = seat->o = seat->rest = NULL;
}

void cli_seat_close(cli_seat *seat)
{
    cli_seat_leave(seat);
    lab_trial_close(seat->trial);
    seat->trial = NULL;
}

void cli_seat_size(cli_seat *seat, double seconds, double block_seconds)
{
    size_t bytes = 1;
    for (int i = 0; i < LAB_SPANS; i++)
        bytes += seat->sets[0].span[i].room_size + ROOM_AROUND;
    double room = (double)lab_limits_fill(&seat->limits).tensor_bytes / 2 / (double)bytes;
    double calls = fmin(ceil(block_seconds / fmax(seconds, 1e-9)), fmin(room, LAB_WIRE_SETS));
    seat->calls = calls > 1 ? (int)calls : 1;
}

/* Where each tensor of a call begins, and where its output goes. */
static void lay_out(cli_seat *seat, int call, uint64_t seed, void *o)
{
    for (int role = 0; role < LAB_ROLES - 1; role++) {
        uint64_t number = (uint64_t)call * LAB_ROLES + (uint64_t)role;
        int64_t place = lab_random_below(seed, number, PLACES);
        size_t at = (size_t)(place * seat->step[role]) * heed_type_size(seat->problem.type);
        seat->sets[call].span[role].room = (char *)seat->values[role] + at;
    }
    seat->sets[call].span[LAB_O].room = o;
}

/* Is what a call left in seat->o right? */
static heed_status look_at(cli_seat *seat, int call, uint64_t seed)
{
    const lab_span *spans = seat->sets[call].span;
    const heed_buffers inputs = { .q = spans[LAB_Q].room,
                                  .k = spans[LAB_K].room,
                                  .v = spans[LAB_V].room };
    const lab_sampling rows = { .seed = seed, .work = CHECK_WORK, .threads = 1 };
    lab_expect *expect;
    heed_status status = lab_expect_create(&expect, &seat->problem, &inputs, &rows);
    if (status != HEED_OK)
        return status;
    double error = bench_error(&seat->problem, seat->o, expect);
    lab_expect_destroy(expect);
    seat->worst = fmax(seat->worst, error);
    if (error <= 1)
        return HEED_OK;
    lab_trial_outcome_set(&seat->outcome, LAB_TRIAL_OK,
                          "what it computed while it was timed is wrong: call %d of %d has %.3g "
                          "times the error allowed",
                          call + 1, seat->calls, error);
    return heed_fail(HEED_ERR_UNSUPPORTED, "%s", seat->outcome.text);
}

heed_status cli_seat_block(void *data, double *seconds)
{
    cli_seat *seat = data;
    uint64_t seed = lab_random_stream(seat->seed, seat->blocks++);
    int chosen = (int)lab_random_below(seed, UINT64_MAX, seat->calls);
    if (cli_interrupted())
        return HEED_ERR_SYSTEM;
    memset(seat->o, 0xff, seat->o_size); /* NaN: what is not written cannot be right */
    memset(seat->rest, 0xff, seat->o_size);
    for (int i = 0; i < seat->calls; i++)
        lay_out(seat, i, seed, i == chosen ? seat->o : seat->rest);
    if (!lab_trial_run(seat->trial, seat->sets, seat->calls, 0, &seat->outcome))
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s", seat->outcome.text);
    *seconds = seat->outcome.seconds / seat->calls;
    return look_at(seat, chosen, seed);
}
