/*
 * ceiling_cuda.h - the limits of a GPU, measured by kernels that do nothing else
 *
 * A loop of independent operations out of registers, or out of shared memory for Hopper's matrices,
 * on all multiprocessors; memory is read and copied. The best of several slices counts: a slice
 * that power or a neighbour slowed down shows no ceiling, and power binds long kernels before the
 * ceiling does.
 */
#ifndef LAB_CEILING_CUDA_H
#define LAB_CEILING_CUDA_H

#include <stdbool.h>

#include "heed.h"

typedef struct lab_ceiling_cuda {
    double matrix[HEED_TYPE_COUNT]; /* products of matrices by heed_type, operations per second, two
                         to a multiply-add; float32 is what multiply-adds reach */
    double sustained[HEED_TYPE_COUNT]; /* the same after half a second at full power: the median of
                            the last slices */
    const char
        *loop[HEED_TYPE_COUNT]; /* the instruction that reached it, such as "wgmma.m64n256k16" */
    double fma;                 /* float32 multiply-adds per second */
    double exp;                 /* exponentials per second */
    double read;                /* bytes per second, of memory far larger than the cache */
    double copy;                /* read and written ones together */
    double cache;               /* of the L2: bytes read per second */
    double launch;              /* seconds from one empty kernel to the next in a graph */
} lab_ceiling_cuda;

/* lab_ceiling_cuda_measure() measures the device of @context, which nothing else should use
 * meanwhile, in about four seconds; with kernels to compile for the first time, eight.
 * @interrupted, which may be NULL, is asked between two measurements whether to stop. Returns
 * HEED_OK; HEED_ERR_UNSUPPORTED for a context that is no CUDA device's; HEED_ERR_SYSTEM if
 * interrupted; or what compiling, memory or the device returned. */
heed_status lab_ceiling_cuda_measure(lab_ceiling_cuda *ceiling, heed_context *context,
                                     bool (*interrupted)(void));

/* lab_ceiling_cuda_text() returns the source of the @index-th kernel file, for those who look at
 * its machine code, and *@name, such as "ceiling_rates.cu"; NULL past the last one. */
const char *lab_ceiling_cuda_text(int index, const char **name);

#endif /* LAB_CEILING_CUDA_H */
