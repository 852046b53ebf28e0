/*
 * ceiling_loops.h - the loops for lab_ceiling_flops() and lab_ceiling_exp(), one file per
 * instruction set
 *
 * Each round does the same number of independent multiply-adds, enough to hide their latency on
 * every x86-64 core so far. The factors are unknown to the compiler and keep all values near 1,
 * where no operation is slow.
 */
#ifndef LAB_CEILING_LOOPS_H
#define LAB_CEILING_LOOPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct lab_ceiling_loop {
    const char *name;
    double flops; /* operations per round */
    float (*run)(int64_t rounds,
                 const float factors[2]); /* use the result, or the loop is optimized away */
} lab_ceiling_loop;

/* Exponentials, for which a CPU has no unit: 2 to the fractional part, by a polynomial of degree 5,
 * times 2 to the integer part. The coefficients are those of the Taylor series; others would take
 * the same time. A loop iterates x = -2^x, which converges to -0.64. An operation is an
 * exponential. */
#define LAB_EXP_1 0.693147181f
#define LAB_EXP_2 0.240226507f
#define LAB_EXP_3 0.0555041087f
#define LAB_EXP_4 0.00961812911f
#define LAB_EXP_5 0.00133335581f

extern const lab_ceiling_loop lab_ceiling_exp_scalar;
extern const lab_ceiling_loop lab_ceiling_exp_avx2;
extern const lab_ceiling_loop lab_ceiling_exp_avx512;

/* lab_ceiling_read() reads @bytes bytes at @from, a multiple of 128, and returns a number that
 * depends on all of them. */
uint64_t lab_ceiling_read(const void *from, size_t bytes);

extern const lab_ceiling_loop lab_ceiling_f32_scalar;
extern const lab_ceiling_loop lab_ceiling_f32_avx2;
extern const lab_ceiling_loop lab_ceiling_f32_avx512;
extern const lab_ceiling_loop lab_ceiling_bf16_avx512bf16;
extern const lab_ceiling_loop lab_ceiling_bf16_amx;

#endif /* LAB_CEILING_LOOPS_H */
