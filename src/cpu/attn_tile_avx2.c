/*
 * attn_tile_avx2.c - the tile kernel in float32 with AVX2 and FMA
 */
#include "simd_avx2.h"
#include "simd_rows.h"
#include "unit_f32.h"

#ifndef TILE_CODE
#define TILE_CODE heed_tile_avx2
#endif
#define MV 2
#define NR 4
#define MODIFIER heed_modifier_avx2
#define RATES                                                               \
    {                                                                       \
        .multiply_adds = 50e9, .exps = 3e9, .elements = 4e9, .row_step = 16 \
    }
#include "attn_tile_template.h"
