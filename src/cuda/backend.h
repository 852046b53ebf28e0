/*
 * backend.h - what the CUDA kernels share on the host: one execution as a few launches
 */
#ifndef HEED_CUDA_BACKEND_H
#define HEED_CUDA_BACKEND_H

#include "device.h"
#include "facts.h"
#include "kernels/args.cuh"

extern const heed_algorithm heed_algorithm_cuda_naive;
extern const heed_algorithm heed_algorithm_cuda_mma;
extern const heed_algorithm heed_algorithm_cuda_wgmma;

/* How a config cuts a problem up. */
typedef struct heed_cuda_cut {
    int64_t rows;   /* of a block */
    int64_t splits; /* blocks that share the keys of the same rows */
    bool aligned;   /* it reads and writes 16 bytes at a time: addresses must be multiples of 16 */
    bool window;    /* K and V should stay in the L2 */
    int64_t mapped; /* it takes heed_cuda_mapped_args (maps.h), with boxes of so many keys; 0: no */
    int map_columns; /* if mapped: columns of the boxes, as in heed_cuda_facts */
    bool in_turn;    /* there are no more blocks than multiprocessors: each takes several in turn */
    bool paired;     /* two blocks, a cluster, do what else one does */
    int resident;    /* if mapped: blocks that a multiprocessor has room for */
    heed_config fallback; /* if aligned: the config that takes over where addresses are not ... */
    const heed_kernel *fallback_kernel; /* ... of this kernel, or if NULL of the same */
} heed_cuda_cut;

/* The backend's view of a kernel; the code of a CUDA kernel points to one. */
typedef struct heed_cuda_code {
    heed_cuda_cut (*cut)(const heed_problem *problem, const heed_config *config);
} heed_cuda_code;

extern const heed_cuda_code heed_cuda_naive_code;
extern const heed_cuda_code heed_cuda_mma_code;
extern const heed_cuda_code heed_cuda_wgmma_code;

/* The functions of heed_algorithm that all CUDA kernels share. */
size_t heed_cuda_workspace(const heed_kernel *kernel, const heed_problem *problem,
                           const heed_machine *machine, const heed_config *config);
heed_status heed_cuda_prepare(heed_plan *plan);
void heed_cuda_release_plan(heed_plan *plan);
heed_status heed_cuda_execute(const heed_plan *plan, const heed_buffers *buffers);

/* heed_cuda_launch_of() is heed_device_launch_of(). */
heed_device_launch heed_cuda_launch_of(const heed_plan *plan);

/* heed_cuda_fits() says whether the counts that kernels keep in 32 bits fit, with blocks of @rows
 * rows; if not, *why says which does not. */
bool heed_cuda_fits(const heed_problem *problem, int64_t rows, int64_t splits, const char **why);

/* heed_cuda_divide_by() returns what divides numbers below 2^31 by @value, 1 or more. */
heed_cuda_divisor heed_cuda_divide_by(unsigned value);

/* heed_cuda_fill_args() writes all of @args but the addresses. Needs heed_cuda_fits(). */
void heed_cuda_fill_args(heed_cuda_args *args, const heed_problem *problem, const heed_gpu *gpu,
                         const heed_cuda_cut *cut);

#endif /* HEED_CUDA_BACKEND_H */
