/*
 * merge_args.cuh - the arguments of a merge launch, for host and device code
 *
 * A row is a vector of O, numbered by batch element, query and head, the head fastest. Strides are
 * in elements.
 */
#ifndef HEED_MERGE_ARGS_CUH
#define HEED_MERGE_ARGS_CUH

#include "args.cuh"

/* Rows of a block, one for each warp. */
#define HEED_MERGE_ROWS 4

typedef struct heed_cuda_merge_args {
    void *o;                          /* one of the two results, then the merged one */
    const void *part;                 /* the other one */
    const float *rest_lse, *part_lse; /* their LSEs, */
    float *lse;                       /* and the merged one, maybe at @rest_lse, or NULL */
    const int *end;                   /* for packed queries their number; else NULL */
    heed_cuda_strides o_stride, part_stride, lse_stride, part_lse_stride;
    heed_cuda_divisor seq; /* queries of a batch element, */
    heed_cuda_divisor heads;
    unsigned rows; /* below 2^31 */
    unsigned dim;
} heed_cuda_merge_args;

#endif /* HEED_MERGE_ARGS_CUH */
