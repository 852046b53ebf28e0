/*
 * ceiling_avx512bf16.c - dot products of bfloat16 pairs, accumulated in float32, 512 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

/* A lane adds two products per instruction. */
enum {
    REGISTERS = 24,
    LANES = 16,
    PRODUCTS = 2
};

static float run(int64_t rounds, const float factors[2])
{
    __m512 sums[REGISTERS];
    __m512 scale = _mm512_set1_ps(factors[0]);
    __m512 shift = _mm512_set1_ps(factors[1]);
    __m512bh left = _mm512_cvtne2ps_pbh(scale, scale);
    __m512bh right = _mm512_cvtne2ps_pbh(shift, shift);

    for (int i = 0; i < REGISTERS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 24
        for (int i = 0; i < REGISTERS; i++)
            sums[i] = _mm512_dpbf16_ps(sums[i], left, right);
    }
    for (int i = 1; i < REGISTERS; i++)
        sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_reduce_add_ps(sums[0]);
}

const lab_ceiling_loop lab_ceiling_bf16_avx512bf16 = {
    .name = "bf16 dot products, 512 bits",
    .flops = 2.0 * REGISTERS * LANES * PRODUCTS,
    .run = run,
};
