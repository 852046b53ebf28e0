/*
 * ceiling_cuda.h - the limits of a GPU, measured by microbenchmark kernels
 *
 * Arithmetic is a loop of independent operations on registers, or on shared memory for Hopper's
 * matrix products, on all multiprocessors; memory is read and copied. The result is the best of
 * several slices, since power limits and other load slow some down, and long kernels hit the power
 * limit before the ceiling.
 */
#ifndef LAB_CEILING_CUDA_H
#define LAB_CEILING_CUDA_H

#include <stdbool.h>

#include "heed.h"

typedef struct lab_ceiling_cuda {
    double matrix[HEED_TYPE_COUNT]; /* matrix products by heed_type, operations per second, two per
                                       multiply-add; float32 uses multiply-adds */
    double sustained[HEED_TYPE_COUNT]; /* the same after half a second at full power: the median of
                            the last slices */
    const char
        *loop[HEED_TYPE_COUNT]; /* the instruction that reached it, such as "wgmma.m64n256k16" */
    double fma;                 /* float32 multiply-adds per second */
    double exp;                 /* exponentials per second */
    double read;                /* bytes per second, from memory far larger than the cache */
    double copy;                /* read plus written bytes per second */
    double cache;               /* bytes per second read from the L2 */
    double launch;              /* seconds from one empty kernel to the next in a graph */
} lab_ceiling_cuda;

/* lab_ceiling_cuda_measure() measures the device of @context, which nothing else should use
 * meanwhile, in about four seconds; or eight if kernels must be compiled first. @interrupted, which
 * may be NULL, is called between measurements; true stops them. Returns HEED_OK;
 * HEED_ERR_UNSUPPORTED if @context is not on a CUDA device; HEED_ERR_SYSTEM if interrupted; or the
 * status of compilation, allocation or the device. */
heed_status lab_ceiling_cuda_measure(lab_ceiling_cuda *ceiling, heed_context *context,
                                     bool (*interrupted)(void));

/* lab_ceiling_cuda_text() returns the source of the @index-th kernel file, for inspection of its
 * machine code, and *@name, such as "ceiling_rates.cu"; NULL past the last one. */
const char *lab_ceiling_cuda_text(int index, const char **name);

#endif /* LAB_CEILING_CUDA_H */
