/*
 * graph.c - an execution as a CUDA graph
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda/driver/device.h"
#include "device.h"
#include "internal.h"
#include "message.h"
#include "sized.h"

struct heed_graph {
    heed_replay replay;
    const heed_plan *plan; /* these two are used for the capture, and to check launches */
    heed_buffers buffers;
};

static heed_status execute(void *data, int index, void *stream)
{
    heed_graph *graph = data;
    (void)index;
    graph->buffers.stream = stream;
    return heed_execute(graph->plan, &graph->buffers);
}

static heed_status check(const heed_plan *plan, const heed_buffers *buffers)
{
    if (!plan)
        return heed_fail(HEED_ERR_INVALID, "plan is NULL; make one with heed_plan_create()");
    if (!buffers)
        return heed_fail(HEED_ERR_INVALID, "buffers is NULL; it must point to heed_buffers");
    if (!plan->context->cuda)
        return heed_fail(HEED_ERR_INVALID,
                         "plan is for %s, which has no CUDA graphs; call heed_execute()",
                         plan->context->machine.device);
    return heed_context_check(plan->context);
}

/* The graph gets the chosen kernel, or the stand-in if that cannot be made, and then the caller's
 * message stays. */
static void wait_for_kernel(const heed_plan *plan)
{
    char before[HEED_MESSAGE_SIZE];
    snprintf(before, sizeof before, "%s", heed_message());
    if (heed_plan_wait(plan) != HEED_OK)
        heed_note("%s", before);
}

heed_status heed_graph_create(heed_graph **graph, const heed_plan *plan,
                              const heed_buffers *buffers)
{
    if (!graph)
        return heed_fail(HEED_ERR_INVALID, "graph is NULL; it must point to a heed_graph *");
    *graph = NULL;
    heed_status status = check(plan, buffers);
    if (status != HEED_OK)
        return status;
    heed_graph *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a graph");
    made->plan = plan;
    status = heed_sized_read(&heed_sized_buffers, &made->buffers, buffers);
    if (status == HEED_OK) {
        wait_for_kernel(plan);
        status = heed_replay_create(&made->replay, plan->context, execute, made, 1);
    }
    if (status == HEED_OK)
        *graph = made;
    else
        free(made);
    return status;
}

/* Checks the lengths and tables that heed_execute() checks where no stream is captured. Several
 * threads may launch a graph at once, so it is not modified. */
static heed_status check_launch(const heed_graph *graph, void *stream)
{
    heed_buffers buffers = graph->buffers;
    buffers.stream = stream;
    return graph->plan->operands ? heed_check_execution(graph->plan, &buffers) : HEED_OK;
}

heed_status heed_graph_launch(heed_graph *graph, void *stream)
{
    if (!graph)
        return heed_fail(HEED_ERR_INVALID, "graph is NULL; make one with heed_graph_create()");
    heed_context *context = graph->replay.context;
    heed_status status = heed_context_check(context);
    if (status == HEED_OK && context->check)
        status = check_launch(graph, stream);
    return status == HEED_OK ? heed_cuda_replay_start(&graph->replay, context->cuda, stream)
                             : status;
}

void heed_graph_destroy(heed_graph *graph)
{
    if (!graph)
        return;
    heed_replay_destroy(&graph->replay);
    free(graph);
}
