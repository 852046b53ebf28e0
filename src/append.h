/*
 * append.h - new keys and values, which are written to K and V before a plan's kernel runs
 *
 * A plan whose problem appends has two steps. The first one writes the new vectors into the cache
 * and, where there is a rotary embedding, rotated queries into the workspace. The second one is
 * attention, by any kernel, for a problem without new keys: plan->problem. Planning, measuring and
 * wisdom only see that problem.
 */
#ifndef HEED_APPEND_H
#define HEED_APPEND_H

#include "internal.h"

/* plan->append */
struct heed_append {
    heed_problem problem; /* as requested, normalized */
    size_t queries;       /* bytes of rotated queries, which follow the kernel's workspace */
    void *code;           /* for a CUDA device: cuda/append.c */
};

/* heed_append_rest() returns the problem that remains of @problem, normalized, once its new keys
 * are in place. It is normalized too, and its queries are dense where they were rotated. */
heed_problem heed_append_rest(const heed_problem *problem);

/* heed_append_create() adds the append step to @plan, whose problem is @asked, and sets its problem
 * to heed_append_rest(). It does nothing if @asked does not append. */
heed_status heed_append_create(heed_plan *plan, const heed_problem *asked);
void heed_append_destroy(heed_plan *plan);

/* heed_append_workspace() returns the bytes of workspace of both steps. */
size_t heed_append_workspace(const heed_plan *plan);

/* heed_append_run() runs, or starts, the first step, and writes the buffers of the second one to
 * @rest. */
heed_status heed_append_run(const heed_plan *plan, const heed_buffers *buffers, heed_buffers *rest);

/* cpu/append.c, cuda/append.c: the step on either backend. Rotated queries are written to @queries;
 * NULL: no rotation. */
void heed_append_on_cpu(const heed_plan *plan, const heed_buffers *buffers, void *queries);
heed_status heed_append_prepare_cuda(heed_plan *plan);
void heed_append_release_cuda(heed_plan *plan);
heed_status heed_append_on_cuda(const heed_plan *plan, const heed_buffers *buffers, void *queries);

#endif /* HEED_APPEND_H */
