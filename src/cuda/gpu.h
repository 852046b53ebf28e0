/*
 * gpu.h - a GPU as data: everything that planning may depend on besides the problem
 *
 * Filled from the driver for a device that is present, or from machines.def for one that is not, so
 * planning works for any machine.
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
    int64_t smem_block;    /* maximum of a block, with opt-in */
    int64_t smem_reserved; /* reserved by the system per block */
    int64_t l2;            /* bytes */
    int64_t l2_window;     /* bytes of L2 that an access policy may set aside; 0: none */
    int64_t memory;        /* bytes */
    double clock;          /* maximum of the multiprocessors, Hz */
    double bandwidth;      /* of memory, bytes per second, by the data sheet */
    double matrix;         /* dense float16 products of matrices, summed in float32: operations per
                              second, by the data sheet */
    int driver;            /* CUDA version of the driver, 1000 * major + 10 * minor; 0: none */
    const heed_costs *costs; /* for the cost models */
};

/* True if a launch can begin before the preceding one has ended (programmatic dependent launch). */
static inline bool heed_gpu_overlaps(const heed_gpu *gpu)
{
    return gpu->arch >= 90;
}

/* heed_gpu_arch() fills @gpu with the best known device of an architecture, such as 89, so a kernel
 * can be planned and compiled without a device. Returns false for an architecture that is not in
 * the table. */
bool heed_gpu_arch(heed_gpu *gpu, int arch);

/* heed_gpu_limits() only sets the fields of @gpu that all devices of an architecture have in
 * common, and therefore supports more architectures; the others become 0. Returns false for an
 * unknown one. */
bool heed_gpu_limits(heed_gpu *gpu, int arch);

/* heed_gpu_at() fills @gpu with the @index-th device of machines.def; false past the last one.
 * *@brief, if @brief is not NULL, is set to its short name, such as "L4". heed_gpu_find() does the
 * same for the one called @name, its short name or the driver's, ignoring case, blanks and dashes;
 * returns false if there is none. */
bool heed_gpu_at(heed_gpu *gpu, size_t index, const char **brief);
bool heed_gpu_find(heed_gpu *gpu, const char *name);

/* heed_gpu_get_rates() returns the peak rates of a multiprocessor of architecture @arch per clock;
 * zeros where unknown. */
typedef struct heed_gpu_rates {
    double fma;    /* float32 multiply-adds */
    double exp;    /* base 2, of the special function unit */
    double matrix; /* operations on 16-bit matrices, with any accumulator type */
} heed_gpu_rates;
heed_gpu_rates heed_gpu_get_rates(int arch);

/* heed_gpu_roofline() returns the lower bound, in seconds, of an execution of @problem, which is
 * normalized: the larger of the time of its products at the matrix rate and of its data at the
 * memory bandwidth. Data that stay in a cache between executions can beat the latter. */
double heed_gpu_roofline(const heed_gpu *gpu, const heed_problem *problem);

/* heed_gpu_memory_seconds() estimates the time to read and write all data of @problem, normalized,
 * once, with @in_flight bytes of loads in flight on the whole device, and heed_gpu_beside() the
 * time to compute and to load concurrently, given the time of each. */
double heed_gpu_memory_seconds(const heed_gpu *gpu, const heed_problem *problem, double in_flight);
double heed_gpu_beside(const heed_gpu *gpu, double computing, double loading);

/* heed_gpu_resident() returns the occupancy: the number of blocks of @threads threads, @registers
 * registers per thread and @smem bytes of shared memory that fit on a multiprocessor. *@limit, if
 * @limit is not NULL, is set to the limiting resource: "registers", "shared memory", "threads" or
 * "blocks". */
int heed_gpu_resident(const heed_gpu *gpu, int threads, int registers, int64_t smem,
                      const char **limit);

#endif /* HEED_CUDA_GPU_H */
