/*
 * ceiling_avx2.c - float32 multiply-adds and exponentials, 256 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

typedef __m256 vector;
#define LANES 8
#define REGISTERS 12 /* with two for the factors these use 14 of the 16 registers */
#define CHAINS 6
#define SPREAD _mm256_set1_ps
#define STEP _mm256_fmadd_ps

static inline vector fraction(vector t)
{
    return t - _mm256_floor_ps(t);
}

static inline vector scale_by(vector p, vector t)
{
    __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(_mm256_floor_ps(t)), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
}

#include "ceiling_template.h"

const lab_ceiling_loop lab_ceiling_f32_avx2 = {
    .name = "f32 FMA, 256 bits",
    .flops = 2.0 * REGISTERS * LANES,
    .run = run,
};

const lab_ceiling_loop lab_ceiling_exp_avx2 = {
    .name = "exp2 of degree 5, 256 bits",
    .flops = (double)CHAINS * LANES,
    .run = run_exp,
};
