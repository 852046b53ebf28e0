/*
 * ceiling_avx512.c - float32 multiply-adds and exponentials, 512 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

enum {
    REGISTERS = 24,
    LANES = 16
};

static float run(int64_t rounds, const float factors[2])
{
    __m512 sums[REGISTERS];
    __m512 scale = _mm512_set1_ps(factors[0]);
    __m512 shift = _mm512_set1_ps(factors[1]);

    for (int i = 0; i < REGISTERS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < REGISTERS; i++)
            sums[i] = _mm512_fmadd_ps(sums[i], scale, shift);
    }
    for (int i = 1; i < REGISTERS; i++)
        sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_reduce_add_ps(sums[0]);
}

const lab_ceiling_loop lab_ceiling_f32_avx512 = {
    .name = "f32 FMA, 512 bits",
    .flops = 2.0 * REGISTERS * LANES,
    .run = run,
};

enum {
    CHAINS = 12
};

static __m512 minus_exp2(__m512 t)
{
    __m512 f = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(-LAB_EXP_5), f, _mm512_set1_ps(-LAB_EXP_4));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-LAB_EXP_3));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-LAB_EXP_2));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-LAB_EXP_1));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(-1.0f));
    return _mm512_scalef_ps(p, t);
}

static float run_exp(int64_t rounds, const float factors[2])
{
    __m512 x[CHAINS];

    for (int i = 0; i < CHAINS; i++)
        x[i] = _mm512_set1_ps(-factors[0] * (float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            x[i] = minus_exp2(x[i]);
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] = _mm512_add_ps(x[0], x[i]);
    return _mm512_reduce_add_ps(x[0]);
}

const lab_ceiling_loop lab_ceiling_exp_avx512 = {
    .name = "exp2 of degree 5, 512 bits",
    .flops = (double)CHAINS * LANES,
    .run = run_exp,
};
