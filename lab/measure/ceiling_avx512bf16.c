/*
 * ceiling_avx512bf16.c - dot products of bfloat16 pairs, accumulated in float32, 512 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

typedef __m512 vector;
#define LANES 16
#define REGISTERS 24
#define PRODUCTS 2 /* a lane adds so many per instruction */
#define SPREAD _mm512_set1_ps

static inline vector dot(vector sum, vector scale, vector shift)
{
    return _mm512_dpbf16_ps(sum, _mm512_cvtne2ps_pbh(scale, scale),
                            _mm512_cvtne2ps_pbh(shift, shift));
}
#define STEP dot

#include "ceiling_template.h"

const lab_ceiling_loop lab_ceiling_bf16_avx512bf16 = {
    .name = "bf16 dot products, 512 bits",
    .flops = 2.0 * REGISTERS * LANES * PRODUCTS,
    .run = run,
};
