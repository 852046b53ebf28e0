/*
 * ceiling_avx2.c - float32 multiply-adds and exponentials, 256 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

/* With two registers for the factors these use 14 of the 16 registers. */
enum {
    REGISTERS = 12,
    LANES = 8
};

static float run(int64_t rounds, const float factors[2])
{
    __m256 sums[REGISTERS];
    __m256 scale = _mm256_set1_ps(factors[0]);
    __m256 shift = _mm256_set1_ps(factors[1]);
    float lanes[LANES];

    for (int i = 0; i < REGISTERS; i++)
        sums[i] = _mm256_set1_ps((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 12
        for (int i = 0; i < REGISTERS; i++)
            sums[i] = _mm256_fmadd_ps(sums[i], scale, shift);
    }
    for (int i = 1; i < REGISTERS; i++)
        sums[0] = _mm256_add_ps(sums[0], sums[i]);
    _mm256_storeu_ps(lanes, sums[0]);
    return lanes[0];
}

const lab_ceiling_loop lab_ceiling_f32_avx2 = {
    .name = "f32 FMA, 256 bits",
    .flops = 2.0 * REGISTERS * LANES,
    .run = run,
};

enum {
    CHAINS = 6
};

static __m256 minus_exp2(__m256 t)
{
    __m256 n = _mm256_floor_ps(t);
    __m256 f = _mm256_sub_ps(t, n);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(-LAB_EXP_5), f, _mm256_set1_ps(-LAB_EXP_4));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(-LAB_EXP_3));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(-LAB_EXP_2));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(-LAB_EXP_1));
    p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(-1.0f));
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
}

static float run_exp(int64_t rounds, const float factors[2])
{
    __m256 x[CHAINS];
    float lanes[LANES];

    for (int i = 0; i < CHAINS; i++)
        x[i] = _mm256_set1_ps(-factors[0] * (float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 6
        for (int i = 0; i < CHAINS; i++)
            x[i] = minus_exp2(x[i]);
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] = _mm256_add_ps(x[0], x[i]);
    _mm256_storeu_ps(lanes, x[0]);
    return lanes[0];
}

const lab_ceiling_loop lab_ceiling_exp_avx2 = {
    .name = "exp2 of degree 5, 256 bits",
    .flops = (double)CHAINS * LANES,
    .run = run_exp,
};
