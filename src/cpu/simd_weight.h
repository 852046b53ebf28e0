/*
 * simd_weight.h - the exponential of the softmax, with the vectors of simd_*.h
 *
 * Include it after one of them.
 */
#ifndef HEED_SIMD_WEIGHT_H
#define HEED_SIMD_WEIGHT_H

#include "cpu.h"

/* 2^x, except with two values of @ablation, a constant. */
static inline __attribute__((always_inline)) vf power_of_two(vf x, int ablation)
{
    if (ablation == ABLATE_NO_EXP)
        return x;
    if (ablation == ABLATE_MISPREDICTED && heed_cpu_lowest_bit(&x)) {
        __asm__ volatile(""); /* otherwise the branches would be merged */
        return v_mul(v_set(2), v_exp2(v_sub(x, v_set(1))));
    }
    return v_exp2(x);
}

#endif /* HEED_SIMD_WEIGHT_H */
