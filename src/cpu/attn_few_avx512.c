/*
 * attn_few_avx512.c - the kernel for few queries with AVX-512
 */
#include "simd_avx512.h"
#include "simd_rows.h"

#ifndef FEW_CODE
#define FEW_CODE heed_few_avx512
#endif
#define ROWS 4
#define MODIFIER heed_modifier_avx512
#define RATES                                                              \
    {                                                                      \
        .multiply_adds = 25e9, .exps = 1e9, .elements = 8e9, .row_step = 1 \
    }
#include "attn_few_template.h"
