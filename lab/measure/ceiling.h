/*
 * ceiling.h - the measured limits of this machine's CPU: multiply-adds and exponentials per second,
 * and the bandwidth of memory and caches
 *
 * The rate comes from a loop of independent multiply-adds on registers, written for each CPU level,
 * so no matrix product can exceed it; real ones reach 85 to 95 % of it. The result is the best of
 * many short slices, since other load slows some down.
 */
#ifndef LAB_CEILING_H
#define LAB_CEILING_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

typedef struct lab_ceiling {
    double flops;     /* floating-point operations per second, two per multiply-add, all threads
                         together */
    int threads;      /* number of concurrent threads */
    const char *loop; /* the instructions that reached it, such as "f32 FMA, 512 bits" */
} lab_ceiling;

/* More threads than the CPUs that the process may use would inflate the figure: use no more.
 *
 * lab_ceiling_flops() measures the rate for problems of @type with @threads threads and the CPU
 * features @cpu, named as heed_context_cpu() does. bf16 uses the dot-product instruction if the CPU
 * has it and it is faster; otherwise bf16, and always f16, are limited by float32 arithmetic. Takes
 * 50 to 100 ms. Returns HEED_OK; HEED_ERR_INVALID for an unknown @cpu or @threads below 1;
 * HEED_ERR_NO_MEMORY; HEED_ERR_SYSTEM if a thread cannot be started. */
heed_status lab_ceiling_flops(lab_ceiling *ceiling, heed_type type, int threads, const char *cpu);

/* lab_ceiling_copy() measures how fast @threads threads copy memory far larger than the caches, and
 * writes bytes per second, read plus written, to *@bandwidth. Takes about 100 ms and 128 MiB.
 * Returns as lab_ceiling_flops() does. */
heed_status lab_ceiling_copy(double *bandwidth, int threads);

/* lab_ceiling_exp() measures exponentials per second of @threads threads with the CPU features
 * @cpu: a CPU has no unit for them, so it uses a polynomial of degree 5 like heed's kernels, and
 * ->flops counts exponentials. Takes about 50 ms. Returns as lab_ceiling_flops(). */
heed_status lab_ceiling_exp(lab_ceiling *ceiling, int threads, const char *cpu);

/* lab_ceiling_stream() measures how fast @threads threads together read @bytes of memory
 * repeatedly, each its part; choose far more than the caches hold, or less. Takes about 100 ms.
 * Returns as lab_ceiling_flops() does; HEED_ERR_INVALID for less than 128 bytes per thread. */
heed_status lab_ceiling_stream(double *bandwidth, int threads, size_t bytes);

#endif /* LAB_CEILING_H */
