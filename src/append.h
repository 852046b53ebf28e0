/*
 * append.h - new keys and values, which go into K and V ahead of the kernel of a plan
 *
 * A plan whose problem appends has two steps. The first one writes the new vectors into the cache
 * and, where there is a rotary embedding, rotated queries into the workspace. The second one is
 * attention, by any kernel, of a problem without new keys: plan->problem. Planning, measuring and
 * wisdom see that one alone.
 */
#ifndef HEED_APPEND_H
#define HEED_APPEND_H

#include "internal.h"

/* plan->append */
struct heed_append {
    heed_problem problem; /* as it was asked for, normalized */
    size_t queries;       /* bytes of rotated queries, which lie behind the kernel's workspace */
    void *code;           /* of a CUDA device: cuda/append.c */
};

/* heed_append_rest() returns what is left of @problem, normalized, once its new keys are in place:
 * a problem in normal form too, whose queries are dense where they have been rotated. */
heed_problem heed_append_rest(const heed_problem *problem);

/* heed_append_create() gives @plan, whose problem is @asked, its first step, and makes its problem
 * what is left of it. Nothing happens where @asked does not append. */
heed_status heed_append_create(heed_plan *plan, const heed_problem *asked);
void heed_append_destroy(heed_plan *plan);

/* heed_append_workspace() returns the bytes of workspace of both steps. */
size_t heed_append_workspace(const heed_plan *plan);

/* heed_append_run() does, or starts, the first step, and writes to @rest the buffers of the second
 * one. */
heed_status heed_append_run(const heed_plan *plan, const heed_buffers *buffers, heed_buffers *rest);

/* cpu/append.c, cuda/append.c: the step on either backend. @queries is where rotated ones go; NULL:
 * none are. */
void heed_append_on_cpu(const heed_plan *plan, const heed_buffers *buffers, void *queries);
heed_status heed_append_prepare_cuda(heed_plan *plan);
void heed_append_release_cuda(heed_plan *plan);
heed_status heed_append_on_cuda(const heed_plan *plan, const heed_buffers *buffers, void *queries);

#endif /* HEED_APPEND_H */
