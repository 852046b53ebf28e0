/*
 * prefix.h - keys that all batch elements have in common, read once
 *
 * A plan whose problem has a prefix has three steps more than attention of what is left of it,
 * which is plan->problem: attention of all queries over the prefix ahead of it, by a plan of its
 * own, and the merge of both results behind. Planning, measuring and wisdom see two problems
 * without a prefix.
 */
#ifndef HEED_PREFIX_H
#define HEED_PREFIX_H

#include "internal.h"

/* The rows of O, [batch, seq, heads] vectors of dim elements, and how far they are apart in O, in
 * the prefix's part of it, and in the LSEs of both. */
typedef struct heed_merge {
    heed_type type;
    int64_t batch, seq, heads, dim;
    heed_strides o, part;
    heed_strides lse, part_lse;
} heed_merge;

/* Where the results are. */
typedef struct heed_merged {
    void *o; /* of the rest, and then of all */
    const void *part;
    const float *rest_lse, *part_lse;
    float *lse; /* of all, maybe at rest_lse; NULL: not wanted */
} heed_merged;

/* plan->prefix */
struct heed_prefix {
    heed_problem problem; /* as it was asked for, but for new keys, normalized */
    heed_plan *plan;      /* attention over the prefix */
    heed_merge merge;
    size_t part, lse; /* bytes of the prefix's part of O, and of each LSE, in the workspace */
    void *code;       /* of a CUDA device: cuda/prefix.c */
};

/* heed_prefix_create() makes the problem of @plan, which lacks new keys, what is left of it, and
 * heed_prefix_plan() plans the prefix. Nothing happens where there is none. */
heed_status heed_prefix_create(heed_plan *plan);
heed_status heed_prefix_plan(heed_plan *plan, heed_effort effort);
void heed_prefix_destroy(heed_plan *plan);

/* heed_prefix_workspace() returns the bytes of workspace of these steps, or of the kernel where
 * there is no prefix. */
size_t heed_prefix_workspace(const heed_plan *plan);

/* heed_prefix_run() does, or starts, all of them. */
heed_status heed_prefix_run(const heed_plan *plan, const heed_buffers *buffers);

/* cpu/prefix.c, cuda/prefix.c: the merge on either backend. Rows of packed queries behind the last
 * sequence are left out. On a CUDA device pointers are checked before anything is started. */
void heed_prefix_on_cpu(const heed_plan *plan, const heed_buffers *buffers, const heed_merged *at);
heed_status heed_prefix_prepare_cuda(heed_plan *plan);
void heed_prefix_release_cuda(heed_plan *plan);
heed_status heed_prefix_check_cuda(const heed_plan *plan, const heed_buffers *buffers);
heed_status heed_prefix_on_cuda(const heed_plan *plan, const heed_buffers *buffers,
                                const heed_merged *at);

#endif /* HEED_PREFIX_H */
