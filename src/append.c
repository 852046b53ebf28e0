/*
 * append.c - new keys and values: the problem left after appending, and the append step of a plan
 */
#include "append.h"

#include <stdlib.h>

#include "prefix.h"
#include "problem/problem.h"

heed_problem heed_append_rest(const heed_problem *problem)
{
    heed_problem rest = *problem;
    if (problem->append == 0)
        return rest;
    if (problem->rotary > 0)
        rest.q = (heed_strides){ 0, 0, 0 };
    rest.append = rest.append_packed = rest.rotary = rest.interleaved = 0;
    rest.k_new = rest.v_new = (heed_strides){ 0, 0, 0 };
    rest.rotary_cos = rest.rotary_sin = (heed_operand){ .type = HEED_DATA_NONE };
    heed_problem_normalize_own(&rest);
    return rest;
}

/* Size of the kernel's workspace, rounded up to the alignment if more follows. */
static size_t rest_workspace(const heed_plan *plan)
{
    const size_t unit = HEED_ALIGNMENT;
    return (heed_prefix_workspace(plan) + unit - 1) / unit * unit;
}

size_t heed_append_workspace(const heed_plan *plan)
{
    if (!plan->append || plan->append->queries == 0)
        return heed_prefix_workspace(plan);
    return rest_workspace(plan) + plan->append->queries;
}

heed_status heed_append_create(heed_plan *plan, const heed_problem *asked)
{
    plan->problem = *asked;
    if (asked->append == 0)
        return HEED_OK;
    plan->append = calloc(1, sizeof *plan->append);
    if (!plan->append)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    plan->append->problem = *asked;
    plan->problem = heed_append_rest(asked);
    if (asked->rotary > 0) {
        const heed_tensor q = heed_problem_tensor(&plan->problem, HEED_ROLE_Q);
        plan->append->queries = (size_t)heed_tensor_extent(&q) * heed_type_size(asked->type);
    }
    return plan->context->cuda ? heed_append_prepare_cuda(plan) : HEED_OK;
}

void heed_append_destroy(heed_plan *plan)
{
    if (!plan->append)
        return;
    if (plan->context->cuda)
        heed_append_release_cuda(plan);
    free(plan->append);
    plan->append = NULL;
}

heed_status heed_append_run(const heed_plan *plan, const heed_buffers *buffers, heed_buffers *rest)
{
    void *queries = NULL;
    if (plan->append->queries > 0)
        queries = (char *)buffers->workspace + rest_workspace(plan);
    if (rest != buffers)
        *rest = *buffers;
    heed_status status = HEED_OK;
    if (plan->context->cuda)
        status = heed_append_on_cuda(plan, buffers, queries);
    else
        heed_append_on_cpu(plan, buffers, queries);
    if (queries)
        rest->q = queries;
    return status;
}
