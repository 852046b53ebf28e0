/*
 * append.h - the append launch: macros, arguments and grid
 */
#ifndef HEED_CUDA_APPEND_H
#define HEED_CUDA_APPEND_H

#include "jit.h"
#include "kernels/append_args.cuh"

/* heed_cuda_append_defines() writes the macros with which append.cu is compiled for @problem,
 * normalized, and returns their number. */
#define HEED_APPEND_DEFINES 5
int heed_cuda_append_defines(const heed_problem *problem, heed_define defines[HEED_APPEND_DEFINES]);

/* heed_cuda_append_fill() writes all arguments except the addresses, which heed_cuda_append_place()
 * writes; rotated queries go to @queries, or NULL. HEED_ERR_UNSUPPORTED for more vectors than can
 * be counted. heed_cuda_append_grid() returns the number of blocks. */
heed_status heed_cuda_append_fill(heed_cuda_append_args *args, const heed_problem *problem);
void heed_cuda_append_place(heed_cuda_append_args *args, const heed_problem *problem,
                            const heed_buffers *buffers, void *queries);
unsigned heed_cuda_append_grid(const heed_cuda_append_args *args);

/* heed_cuda_append_wide() returns true if strides and dims allow copies of 16 bytes at a time,
 * heed_cuda_append_aligned() if addresses do. */
bool heed_cuda_append_wide(const heed_problem *problem);
bool heed_cuda_append_aligned(const heed_cuda_append_args *args);

#endif /* HEED_CUDA_APPEND_H */
