/*
 * ceiling_avx2.c - float32 multiply-adds, 256 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

/* With two registers for the factors these fill the 16 that there are, short of two. */
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
