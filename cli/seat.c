/*
 * seat.c - a candidate in its process, at work on the tensors of a problem
 */
#include "seat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/message.h"

#define ROOM_AROUND 16384 /* bytes around each tensor of a set */

static size_t o_bytes(const bench_tensors *tensors)
{
    lab_view view = lab_view_of(&tensors->problem, LAB_O);
    return (size_t)lab_view_extent(&view) * heed_type_size(tensors->problem.type);
}

static bool fail_memory(cli_seat *seat)
{
    return lab_trial_outcome_set(&seat->outcome, LAB_TRIAL_SYSTEM, "no memory for its tensors");
}

/* The first copy of the tensors, in host memory. */
static bool find_buffers(cli_seat *seat, const bench_tensors *tensors, heed_buffers *buffers)
{
    *buffers = bench_tensors_buffers(tensors, 0);
    if (heed_device_is_host(tensors->context))
        return true;
    *buffers = bench_tensors_inputs(tensors);
    seat->o = malloc(o_bytes(tensors));
    if (!seat->o)
        return fail_memory(seat);
    memset(seat->o, 0xff, o_bytes(tensors));
    buffers->o = seat->o;
    return true;
}

bool cli_seat_take(cli_seat *seat, const bench_tensors *tensors)
{
    heed_buffers buffers;
    size_t size = 0;
    seat->calls = 1;
    if (!lab_trial_prepare(seat->trial, &tensors->problem, &size, &seat->outcome) ||
        !find_buffers(seat, tensors, &buffers))
        return false;
    seat->workspace = size > 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    if (size > 0 && !seat->workspace)
        return fail_memory(seat);
    buffers.workspace = seat->workspace;
    buffers.workspace_size = size;
    for (int i = 0; i < LAB_WIRE_SETS; i++)
        seat->sets[i] = lab_set_of(&tensors->problem, &buffers);
    return true;
}

void cli_seat_leave(cli_seat *seat)
{
    free(seat->workspace);
    free(seat->o);
    seat->workspace = seat->o = NULL;
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

heed_status cli_seat_block(void *data, double *seconds)
{
    cli_seat *seat = data;
    if (cli_interrupted())
        return HEED_ERR_SYSTEM;
    if (!lab_trial_run(seat->trial, seat->sets, seat->calls, 0, &seat->outcome))
        return heed_fail(HEED_ERR_UNSUPPORTED, "%s", seat->outcome.text);
    *seconds = seat->outcome.seconds / seat->calls;
    return HEED_OK;
}

heed_status cli_seat_poison(cli_seat *seat, const bench_tensors *tensors)
{
    if (!seat->o)
        return bench_tensors_poison(tensors);
    memset(seat->o, 0xff, o_bytes(tensors));
    return HEED_OK;
}

heed_status cli_seat_error(const cli_seat *seat, const bench_tensors *tensors,
                           const lab_expect *expect, double *error)
{
    if (!seat->o)
        return bench_tensors_error(tensors, 0, expect, error);
    *error = bench_error(&tensors->problem, seat->o, expect);
    return HEED_OK;
}
