/*
 * ceiling_avx512.c - float32 multiply-adds and exponentials, 512 bits wide
 */
#include <immintrin.h>

#include "ceiling_loops.h"

typedef __m512 vector;
#define LANES 16
#define REGISTERS 24
#define CHAINS 12
#define SPREAD _mm512_set1_ps
#define STEP _mm512_fmadd_ps

static inline vector fraction(vector t)
{
    return _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline vector scale_by(vector p, vector t)
{
    return _mm512_scalef_ps(p, t);
}

#include "ceiling_template.h"

const lab_ceiling_loop lab_ceiling_f32_avx512 = {
    .name = "f32 FMA, 512 bits",
    .flops = 2.0 * REGISTERS * LANES,
    .run = run,
};

const lab_ceiling_loop lab_ceiling_exp_avx512 = {
    .name = "exp2 of degree 5, 512 bits",
    .flops = (double)CHAINS * LANES,
    .run = run_exp,
};
