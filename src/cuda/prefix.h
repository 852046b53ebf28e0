/*
 * prefix.h - the merge launch: macros, arguments and grid
 */
#ifndef HEED_CUDA_PREFIX_H
#define HEED_CUDA_PREFIX_H

#include "../prefix.h"
#include "jit.h"
#include "kernels/merge_args.cuh"

/* heed_cuda_merge_defines() writes the macros with which merge.cu is compiled for @type, and
 * returns their number. */
#define HEED_MERGE_DEFINES 2
int heed_cuda_merge_defines(heed_type type, heed_define defines[HEED_MERGE_DEFINES]);

/* heed_cuda_merge_fill() writes all arguments except the addresses, which heed_cuda_merge_place()
 * writes; @cu_q is NULL, or the cumulative lengths of @batch sequences, of @type.
 * HEED_ERR_UNSUPPORTED for more rows than can be counted. heed_cuda_merge_grid() returns the number
 * of blocks. */
heed_status heed_cuda_merge_fill(heed_cuda_merge_args *args, const heed_merge *merge);
void heed_cuda_merge_place(heed_cuda_merge_args *args, const heed_merged *at, const void *cu_q,
                           heed_data type, int64_t batch);
unsigned heed_cuda_merge_grid(const heed_cuda_merge_args *args);

/* heed_cuda_merge_wide() returns true if strides and the dim allow copies of 16 bytes at a time,
 * heed_cuda_merge_aligned() if addresses do. */
bool heed_cuda_merge_wide(const heed_merge *merge);
bool heed_cuda_merge_aligned(const heed_cuda_merge_args *args);

#endif /* HEED_CUDA_PREFIX_H */
