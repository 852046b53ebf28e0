/*
 * attn_few_avx2.c - the kernel for few queries with AVX2 and FMA
 */
#include "simd_avx2.h"
#include "simd_rows.h"

#ifndef FEW_CODE
#define FEW_CODE heed_few_avx2
#endif
#define ROWS 2
#define MODIFIER heed_modifier_avx2
#define RATES                                                              \
    {                                                                      \
        .multiply_adds = 20e9, .exps = 1e9, .elements = 8e9, .row_step = 1 \
    }
#include "attn_few_template.h"
