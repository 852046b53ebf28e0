/*
 * prefix.h - shared key prefix, which all batch elements read once
 *
 * A plan whose problem has a prefix has three steps: attention of all queries over the prefix, by a
 * separate plan; attention over the remaining keys, which is plan->problem; and the merge of both
 * results. Planning, measuring and wisdom see two problems without a prefix.
 */
#ifndef HEED_PREFIX_H
#define HEED_PREFIX_H

#include "internal.h"

/* The rows of O, [batch, seq, heads] vectors of dim elements, and their strides in O, in the
 * prefix's part of it, and in both LSEs. */
typedef struct heed_merge {
    heed_type type;
    int64_t batch, seq, heads, dim;
    heed_strides o, part;
    heed_strides lse, part_lse;
} heed_merge;

/* Addresses of the results. */
typedef struct heed_merged {
    void *o; /* of the remaining keys, then of all */
    const void *part;
    const float *rest_lse, *part_lse;
    float *lse; /* of all keys, maybe at rest_lse; NULL: not wanted */
} heed_merged;

/* plan->prefix */
struct heed_prefix {
    heed_problem problem; /* as requested, except new keys; normalized */
    heed_plan *plan;      /* attention over the prefix */
    heed_merge merge;
    size_t part, lse; /* bytes of the prefix's part of O, and of each LSE, in the workspace */
    void *code;       /* for a CUDA device: cuda/prefix.c */
};

/* heed_prefix_create() removes the prefix from the problem of @plan, which has no new keys any
 * more, and heed_prefix_plan() plans the prefix. They do nothing if there is none. */
heed_status heed_prefix_create(heed_plan *plan);
heed_status heed_prefix_plan(heed_plan *plan, heed_effort effort);
void heed_prefix_destroy(heed_plan *plan);

/* heed_prefix_workspace() returns the bytes of workspace of these steps, or of the kernel if there
 * is no prefix. */
size_t heed_prefix_workspace(const heed_plan *plan);

/* heed_prefix_run() runs, or starts, all steps. */
heed_status heed_prefix_run(const heed_plan *plan, const heed_buffers *buffers);

/* cpu/prefix.c, cuda/prefix.c: the merge on either backend. Rows of packed queries after the last
 * sequence are skipped. On a CUDA device pointers are checked before anything is started. */
void heed_prefix_on_cpu(const heed_plan *plan, const heed_buffers *buffers, const heed_merged *at);
heed_status heed_prefix_prepare_cuda(heed_plan *plan);
void heed_prefix_release_cuda(heed_plan *plan);
heed_status heed_prefix_check_cuda(const heed_plan *plan, const heed_buffers *buffers);
heed_status heed_prefix_on_cuda(const heed_plan *plan, const heed_buffers *buffers,
                                const heed_merged *at);

#endif /* HEED_PREFIX_H */
