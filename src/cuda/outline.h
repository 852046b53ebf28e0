/*
 * outline.h - a kernel launch without addresses, strides and device
 *
 * Shared by plans and by solutions for other suites, which launch heed's kernels without heed.
 */
#ifndef HEED_CUDA_OUTLINE_H
#define HEED_CUDA_OUTLINE_H

#include "gpu.h"
#include "kernels/maps.cuh"
#include "launch.h"

typedef struct heed_cuda_outline {
    heed_cuda_args args; /* without addresses */
    unsigned grid;       /* blocks */
    /* For mapped kernels (maps.cuh): */
    heed_cuda_divisor share;
    unsigned ahead;
    int heads; /* in a box of q and o, which has 64 rows; boxes of k and v have one */
} heed_cuda_outline;

/* heed_cuda_outline_of() fills @outline for @problem, normalized, whose counts must fit into 32
 * bits (heed_cuda_fits() in backend.h), and @launch on @gpu. */
void heed_cuda_outline_of(heed_cuda_outline *outline, const heed_problem *problem,
                          const heed_gpu *gpu, const heed_launch_facts *launch);

#endif /* HEED_CUDA_OUTLINE_H */
