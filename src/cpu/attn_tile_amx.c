/*
 * attn_tile_amx.c - the tile kernel in bfloat16 with the tile registers of AMX
 */
#include "simd_avx512.h"
#include "simd_rows.h"
#include "unit_bf16.h"

#ifndef TILE_CODE
#define TILE_CODE heed_tile_amx
#endif
#define TILE_AMX
#define MV 2
#define NR 16
#define MODIFIER heed_modifier_avx512
#define RATES                                                                \
    {                                                                        \
        .multiply_adds = 400e9, .exps = 6e9, .elements = 3e9, .row_step = 32 \
    }
#include "attn_tile_template.h"
