/*
 * simd_float.h - the operations of simd_*.h that are the same for vectors of all widths
 *
 * They include it after v_set() and v_fma(). Sums, differences and products are operators.
 */
#ifndef HEED_SIMD_FLOAT_H
#define HEED_SIMD_FLOAT_H

static inline vf v_zero(void)
{
    return (vf){ 0 };
}

/* 2^f for f from 0 to 1: a polynomial of degree 5, exact at 0 (minimax with that constraint, error
 * 8.3e-8). */
static inline vf v_exp2_fraction(vf f)
{
    vf p = v_set(0x1.e974fap-10f);
    p = v_fma(p, f, v_set(0x1.277856p-7f));
    p = v_fma(p, f, v_set(0x1.c91ce6p-5f));
    p = v_fma(p, f, v_set(0x1.ebdb56p-3f));
    p = v_fma(p, f, v_set(0x1.62e4bap-1f));
    return v_fma(p, f, v_set(1.0f));
}

#endif /* HEED_SIMD_FLOAT_H */
