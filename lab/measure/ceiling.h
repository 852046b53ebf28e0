/*
 * ceiling.h - the measured limits of this machine's CPU: multiply-adds and exponentials per second,
 * and the bandwidth of memory and caches
 *
 * The rate comes from a loop of independent multiply-adds that touches registers alone, written for
 * each CPU level, so it is the rate that no matrix product can pass; real ones reach 85 to 95 % of
 * it. The best of many short slices counts: a slice that a neighbour slowed down shows no ceiling.
 */
#ifndef LAB_CEILING_H
#define LAB_CEILING_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

typedef struct lab_ceiling {
    double flops;     /* floating-point operations per second, two to a multiply-add, all threads
                         together */
    int threads;      /* that ran at once */
    const char *loop; /* the instructions that reached it, such as "f32 FMA, 512 bits" */
} lab_ceiling;

/* Threads beyond the CPUs that the process may use add to the figure what they cannot do: ask for
 * no more than there are.
 *
 * lab_ceiling_flops() measures the rate for problems of @type with @threads threads and the CPU
 * features @cpu, named as heed_context_cpu() does. bf16 uses the dot-product instruction where the
 * features have it and it is faster; f16, and bf16 elsewhere, are bound by float32 arithmetic.
 * Takes about 50 ms, or twice that. Returns HEED_OK; HEED_ERR_INVALID for an unknown @cpu or
 * @threads below 1; HEED_ERR_NO_MEMORY; HEED_ERR_SYSTEM if a thread cannot be started. */
heed_status lab_ceiling_flops(lab_ceiling *ceiling, heed_type type, int threads, const char *cpu);

/* lab_ceiling_copy() measures how fast @threads threads copy memory far larger than the caches, and
 * writes bytes per second, read and written ones together, to @bandwidth. Takes about 100 ms and
 * 128 MiB. Returns as lab_ceiling_flops() does. */
heed_status lab_ceiling_copy(double *bandwidth, int threads);

/* lab_ceiling_exp() measures exponentials per second of @threads threads with the CPU features
 * @cpu: a CPU has no unit for them, so this is by a polynomial of degree 5, as heed's own kernels
 * do it, and ->flops counts exponentials. Takes about 50 ms. Returns as lab_ceiling_flops(). */
heed_status lab_ceiling_exp(lab_ceiling *ceiling, int threads, const char *cpu);

/* lab_ceiling_stream() measures how fast @threads threads read @bytes of memory together, a part
 * each, again and again: far more than the caches hold, or less. Takes about 100 ms. Returns as
 * lab_ceiling_flops() does; HEED_ERR_INVALID if there are less than 128 bytes for a thread. */
heed_status lab_ceiling_stream(double *bandwidth, int threads, size_t bytes);

#endif /* LAB_CEILING_H */
