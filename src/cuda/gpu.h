/*
 * gpu.h - a GPU as data: all that planning may depend on beside the problem
 *
 * Filled from the driver for a device that is there, or from machines.def for one that is not, so
 * that a plan can be thought through for any machine.
 */
#ifndef HEED_CUDA_GPU_H
#define HEED_CUDA_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "../internal.h"
#include "costs.h"

struct heed_gpu {
    char name[64];
    int arch;              /* compute capability, 10 * major + minor */
    int multiprocessors;   /* of the whole device */
    int registers;         /* per multiprocessor, 32 bits each */
    int threads;           /* resident per multiprocessor */
    int blocks;            /* resident per multiprocessor */
    int64_t smem;          /* shared memory of a multiprocessor, bytes */
    int64_t smem_block;    /* that a block may opt in to */
    int64_t smem_reserved; /* that the system takes per block */
    int64_t l2;            /* bytes */
    int64_t l2_window;     /* bytes of L2 that an access policy may set aside; 0: none */
    int64_t memory;        /* bytes */
    double clock;          /* of the multiprocessors at their fastest, Hz */
    double bandwidth;      /* of memory, bytes per second, by the data sheet */
    double matrix;         /* dense float16 products of matrices, summed in float32: operations per
                              second, by the data sheet */
    int driver;            /* CUDA version of the driver, 1000 * major + 10 * minor; 0: none */
    const heed_costs *costs; /* for the cost models, beside all that */
};

/* Can a launch begin before the one ahead of it has ended? (Programmatic dependent launch.) */
static inline bool heed_gpu_overlaps(const heed_gpu *gpu)
{
    return gpu->arch >= 90;
}

/* heed_gpu_arch() fills @gpu with the limits of an architecture, such as 89, of the best known
 * device that has it, so that a kernel can be planned and compiled without one. Returns false for
 * an architecture that is not in the table. */
bool heed_gpu_arch(heed_gpu *gpu, int arch);

/* heed_gpu_limits() fills @gpu with no more than what all devices of an architecture have in
 * common, and so knows more of them; all else becomes 0. Returns false for one that it does not
 * know. */
bool heed_gpu_limits(heed_gpu *gpu, int arch);

/* heed_gpu_at() fills @gpu with the @index-th device of machines.def; false past the last one.
 * *@brief, if not NULL, becomes its short name, such as "L4". heed_gpu_find() does so with the one
 * called @name, by its short name or the driver's, whatever the case, blanks and dashes of its
 * letters; false: it is not there. */
bool heed_gpu_at(heed_gpu *gpu, size_t index, const char **brief);
bool heed_gpu_find(heed_gpu *gpu, const char *name);

/* heed_gpu_get_rates() returns what a multiprocessor of architecture @arch does in a clock at most;
 * zeros where that is not known. */
typedef struct heed_gpu_rates {
    double fma;    /* float32 multiply-adds */
    double exp;    /* base 2, of the special function unit */
    double matrix; /* operations on 16-bit matrices, whatever they are summed in */
} heed_gpu_rates;
heed_gpu_rates heed_gpu_get_rates(int arch);

/* heed_gpu_roofline() returns the seconds that no execution of @problem, which is normalized, can
 * go below: those of its products at the matrix rate, or of its data at the bandwidth, whichever
 * are more. Data that stay in a cache between executions can beat the latter. */
double heed_gpu_roofline(const heed_gpu *gpu, const heed_problem *problem);

/* heed_gpu_memory_seconds() returns what it takes to read and write all data of @problem,
 * normalized, once, with so many bytes of loads @in_flight on the whole device, and
 * heed_gpu_beside() what it takes to compute for so long and to load for so long at the same time.
 * Both are estimates. */
double heed_gpu_memory_seconds(const heed_gpu *gpu, const heed_problem *problem, double in_flight);
double heed_gpu_beside(const heed_gpu *gpu, double computing, double loading);

/* heed_gpu_resident() returns how many blocks of @threads threads, @registers registers a thread
 * and @smem bytes of shared memory a multiprocessor holds; 0: none. *@limit, if not NULL, names
 * what limits them: "registers", "shared memory", "threads" or "blocks". */
int heed_gpu_resident(const heed_gpu *gpu, int threads, int registers, int64_t smem,
                      const char **limit);

#endif /* HEED_CUDA_GPU_H */
