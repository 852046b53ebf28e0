/*
 * prefix.c - shared key prefix: the steps of a plan
 */
#include "prefix.h"

#include <stdlib.h>

#include "later.h"
#include "problem/problem.h"

/* ---- Plans ---- */

/* Dense strides of [batch, heads, seq] numbers. */
static heed_strides lse_strides(int64_t seq, int64_t heads)
{
    return (heed_strides){ .batch = heads * seq, .seq = 1, .head = seq };
}

/* Strides of a result of the prefix part, which are @s, in terms of batch elements and queries of
 * @problem. */
static heed_strides scattered(const heed_problem *problem, heed_strides s)
{
    const heed_prefix_orders order = heed_prefix_order(problem);
    if (order == HEED_PREFIX_BEHIND)
        s.batch = problem->seq_q * s.seq;
    if (order == HEED_PREFIX_BESIDE)
        s = (heed_strides){ s.seq, problem->batch * s.seq, s.head };
    return s;
}

static heed_merge merge_of(const heed_problem *problem, const heed_problem *part)
{
    const heed_tensor o = heed_problem_tensor(problem, HEED_ROLE_O);
    return (heed_merge){ .type = problem->type,
                         .batch = o.batch,
                         .seq = o.seq,
                         .heads = o.heads,
                         .dim = o.dim,
                         .o = o.strides,
                         .part = scattered(problem, part->o),
                         .lse = lse_strides(o.seq, o.heads),
                         .part_lse = scattered(problem, lse_strides(part->seq_q, o.heads)) };
}

static size_t in_units(size_t size)
{
    const size_t unit = HEED_ALIGNMENT;
    return (size + unit - 1) / unit * unit;
}

heed_status heed_prefix_create(heed_plan *plan)
{
    if (plan->problem.prefix == 0)
        return HEED_OK;
    heed_prefix *made = plan->prefix = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    made->problem = plan->problem;
    plan->problem = heed_prefix_rest(&made->problem);
    if (plan->problem.lengths.type != HEED_DATA_NONE)
        plan->ahead = made->problem.prefix;
    return HEED_OK;
}

heed_status heed_prefix_plan(heed_plan *plan, heed_effort effort)
{
    heed_prefix *made = plan->prefix;
    if (!made)
        return HEED_OK;
    const heed_problem part = heed_prefix_part(&made->problem);
    heed_status status = heed_plan_create(&made->plan, plan->context, &part, effort);
    if (status != HEED_OK)
        return status;
    made->merge = merge_of(&made->problem, &made->plan->problem);
    const size_t rows = (size_t)(made->merge.batch * made->merge.seq * made->merge.heads);
    made->part = in_units(rows * (size_t)made->merge.dim * heed_type_size(part.type));
    made->lse = in_units(rows * sizeof(float));
    return plan->context->cuda ? heed_prefix_prepare_cuda(plan) : HEED_OK;
}

void heed_prefix_destroy(heed_plan *plan)
{
    if (!plan->prefix)
        return;
    if (plan->context->cuda)
        heed_prefix_release_cuda(plan);
    heed_plan_destroy(plan->prefix->plan);
    free(plan->prefix);
    plan->prefix = NULL;
}

/* Bytes for either kernel: one ends before the other begins. */
static size_t kernel_workspace(const heed_plan *plan)
{
    const size_t prefix = plan->prefix->plan->workspace_size;
    return in_units(plan->workspace_size > prefix ? plan->workspace_size : prefix);
}

size_t heed_prefix_workspace(const heed_plan *plan)
{
    if (!plan->prefix)
        return plan->workspace_size;
    return kernel_workspace(plan) + plan->prefix->part + 2 * plan->prefix->lse;
}

/* ---- Executions ---- */

static const void *shifted(const void *data, int64_t bytes)
{
    return (const char *)data + bytes;
}

/* Moves the buffers to the keys after the prefix. */
static void skip_keys(heed_buffers *rest, const heed_problem *problem)
{
    const int64_t bytes = problem->prefix * (int64_t)heed_type_size(problem->type);
    if (problem->page > 0) {
        rest->table = (const int32_t *)rest->table + problem->prefix / problem->page;
        return;
    }
    rest->k = shifted(rest->k, bytes * problem->k.seq);
    rest->v = shifted(rest->v, bytes * problem->v.seq);
}

heed_status heed_prefix_run(const heed_plan *plan, const heed_buffers *buffers)
{
    const heed_prefix *prefix = plan->prefix;
    char *part = (char *)buffers->workspace + kernel_workspace(plan);
    float *part_lse = (float *)(void *)(part + prefix->part);
    heed_buffers first = *buffers, rest = *buffers;
    first.o = part;
    first.lse = part_lse;
    if (!rest.lse)
        rest.lse = (float *)(void *)(part + prefix->part + prefix->lse);
    skip_keys(&rest, &prefix->problem);
    heed_status status = HEED_OK;
    if (plan->context->cuda)
        status = heed_prefix_check_cuda(plan, buffers);
    if (status == HEED_OK)
        status = heed_later_execute(prefix->plan, &first);
    if (status == HEED_OK)
        status = heed_later_execute(plan, &rest);
    if (status != HEED_OK)
        return status;
    const heed_merged at = { .o = buffers->o,
                             .part = part,
                             .rest_lse = rest.lse,
                             .part_lse = part_lse,
                             .lse = buffers->lse };
    if (plan->context->cuda)
        return heed_prefix_on_cuda(plan, buffers, &at);
    heed_prefix_on_cpu(plan, buffers, &at);
    return HEED_OK;
}
