/*
 * contexts.c - contexts of the CPU for tests, and executions on them
 */
#include "contexts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

heed_context *host_context_of(int threads, const char *cpu)
{
    heed_context *context;
    const heed_options options = {
        .size = sizeof options, .device = "cpu", .threads = threads, .cpu = cpu
    };
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s", heed_message());
    return context;
}

heed_context *host_context(int threads)
{
    return host_context_of(threads, NULL);
}

heed_plan *host_plan(heed_context *context, const heed_problem *problem)
{
    heed_plan *plan;
    if (heed_plan_create(&plan, context, problem, HEED_ESTIMATE) != HEED_OK)
        fail_msg("%s", heed_message());
    return plan;
}

heed_status host_try(const heed_plan *plan, heed_buffers buffers)
{
    const size_t size = heed_plan_workspace_size(plan);
    buffers.size = sizeof buffers;
    buffers.workspace_size = size;
    buffers.workspace = aligned_alloc(HEED_ALIGNMENT, (size / HEED_ALIGNMENT + 1) * HEED_ALIGNMENT);
    assert_non_null(buffers.workspace);
    const heed_status status = heed_execute(plan, &buffers);
    free(buffers.workspace);
    return status;
}

void host_execute(const heed_plan *plan, heed_buffers buffers)
{
    if (host_try(plan, buffers) != HEED_OK)
        fail_msg("%s: %s", heed_plan_name(plan), heed_message());
}

bool host_compute(heed_context *context, const heed_problem *problem, const char *kernel,
                  heed_buffers buffers)
{
    heed_plan *plan;
    const heed_status status = heed_plan_create_named(&plan, context, problem, kernel);
    if (status == HEED_ERR_UNSUPPORTED)
        return false;
    if (status != HEED_OK)
        fail_msg("%s: %s", kernel, heed_message());
    host_execute(plan, buffers);
    heed_plan_destroy(plan);
    return true;
}
