/*
 * attn_tile_avx512.c - the tile kernel in float32 with AVX-512
 */
#include "simd_avx512.h"
#include "simd_rows.h"
#include "unit_f32.h"

#ifndef TILE_CODE
#define TILE_CODE heed_tile_avx512
#endif
#define MV 2
#define NR 8
#define MODIFIER heed_modifier_avx512
#define RATES                                                               \
    {                                                                       \
        .multiply_adds = 55e9, .exps = 6e9, .elements = 4e9, .row_step = 32 \
    }
#include "attn_tile_template.h"
