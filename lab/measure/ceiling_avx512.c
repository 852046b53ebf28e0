/*
 * ceiling_avx512.c - float32 multiply-adds, 512 bits wide
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
