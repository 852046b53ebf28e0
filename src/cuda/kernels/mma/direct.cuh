/*
 * mma/direct.cuh - loads of the fragments of K and V: from tiles in shared memory, or in builds
 * without staging (ablation.h) from the tensors, 4 bytes at a time for K and an element for V
 */
#ifndef HEED_MMA_DIRECT_CUH
#define HEED_MMA_DIRECT_CUH

#include "half.cuh"
#include "mma/place.cuh"
#include "tile.cuh"

#if HEED_ABLATE == ABLATE_NO_STAGING

/* A tile of K or V in place. */
typedef struct tile_source {
    const u8 *rows; /* the first one */
    i64 stride;     /* in bytes */
    u32 valid;      /* rows that exist; the others are zeros */
    u32 lane;
    u32 key;      /* of the first row */
    u32 bad_smem; /* where keys are recorded whose values are not finite; 0: not checked */
} tile_source;

HEED_DEVICE u32 direct_element(tile_source from, u32 row, u32 column, const u32 dim)
{
    return row < from.valid && column < dim
               ? ptx_ld_global_u16(from.rows + row * from.stride + 2 * column)
               : 0u;
}

#if HEED_F32

HEED_DEVICE u32 direct_single(tile_source from, u32 row, u32 column, const u32 dim)
{
    if (row >= from.valid || column >= dim)
        return 0;
    return ptx_as_u32(ptx_ld_global_f32((const float *)(from.rows + row * from.stride) + column));
}

/* Loads 16 keys and 8 columns as ldmatrix would: 8 keys of 4 columns after another. */
HEED_DEVICE void load_k_fragments(u32 k[4], tile_source from, u32 nt, u32 kk)
{
    HEED_UNROLL
    for (u32 m = 0; m < 4; m++)
        k[m] = direct_single(from, nt * 16 + m / 2 * 8 + from.lane / 4,
                             kk * 8 + m % 2 * 4 + from.lane % 4, HEED_DIM_QK);
}

/* Two neighbours of 16 columns, of two keys of 8. */
HEED_DEVICE void load_values(heed_u32x2 *even, heed_u32x2 *odd, tile_source from, u32 key8,
                             u32 column16)
{
    u32 row = key8 * 8 + from.lane % 4 * 2;
    HEED_UNROLL
    for (u32 i = 0; i < 2; i++) {
        u32 column = column16 * 16 + from.lane / 4 * 2 + i;
        even->v[i] = direct_single(from, row, column, HEED_DIM_V);
        odd->v[i] = direct_single(from, row + 1, column, HEED_DIM_V);
    }
}

#else

/* Loads 16 keys and 16 columns as ldmatrix would: 8 keys of one matrix after another. */
HEED_DEVICE void load_k_fragments(u32 k[4], tile_source from, u32 nt, u32 kk)
{
    HEED_UNROLL
    for (u32 m = 0; m < 4; m++) {
        u32 row = nt * 16 + m / 2 * 8 + from.lane / 4;
        u32 column = kk * 16 + m % 2 * 8 + from.lane % 4 * 2;
        if (HEED_DIM_QK % 2 == 0)
            k[m] = row < from.valid && column < HEED_DIM_QK
                       ? ptx_as_u32(ptx_ld_global_f32(
                             (const float *)(from.rows + row * from.stride + 2 * column)))
                       : 0u;
        else
            k[m] = direct_element(from, row, column, HEED_DIM_QK) |
                   direct_element(from, row, column + 1, HEED_DIM_QK) << 16;
    }
}

/* As clean_v() for a tile in shared memory: zeroes a value that is not finite, and records its key
 * for its column. */
HEED_DEVICE u32 direct_clean(tile_source from, u32 x, u32 row, u32 column)
{
    u32 bad = from.bad_smem ? half_not_finite(x) : 0;
    if (bad & 0x8000u) {
        x &= 0xffff0000u;
        ptx_min_shared_u32(from.bad_smem + column * 4, from.key + row);
    }
    if (bad & 0x80000000u) {
        x &= 0x0000ffffu;
        ptx_min_shared_u32(from.bad_smem + column * 4, from.key + row + 1);
    }
    return x;
}

/* The same, transposed, with two keys in each word. */
HEED_DEVICE void load_v_fragments(u32 v[4], tile_source from, u32 kk, u32 dt)
{
    HEED_UNROLL
    for (u32 m = 0; m < 4; m++) {
        u32 row = kk * 16 + m % 2 * 8 + from.lane % 4 * 2;
        u32 column = dt * 16 + m / 2 * 8 + from.lane / 4;
        u32 x = direct_element(from, row, column, HEED_DIM_V) |
                direct_element(from, row + 1, column, HEED_DIM_V) << 16;
        v[m] = direct_clean(from, x, row, column);
    }
}

#endif

#else

/* The lane's address for ldmatrix in a tile of K or V. */
typedef u32 tile_source;

HEED_DEVICE void load_k_fragments(u32 k[4], tile_source from, u32 nt, u32 kk)
{
    ptx_ldmatrix_x4(k, tile_lane_at(from, HEED_TILE_KEYS, QK_PAD, nt, kk));
}

#if HEED_F32

/* Two neighbours of 16 columns, half a page, of two keys of 8. */
HEED_DEVICE void load_values(heed_u32x2 *even, heed_u32x2 *odd, tile_source from, u32 key8,
                             u32 column16)
{
    u32 at = (from ^ column16 % 2 * 64) + (column16 / 2 * HEED_TILE_KEYS + key8 * 8) * 128;
    *even = ptx_ld_shared_8(at);
    *odd = ptx_ld_shared_8((at ^ tile_turn(V_PAD, 1) * 16) + 128);
}

#else

HEED_DEVICE void load_v_fragments(u32 v[4], tile_source from, u32 kk, u32 dt)
{
    ptx_ldmatrix_x4_trans(v, tile_lane_at(from, HEED_TILE_KEYS, V_PAD, kk, dt));
}

#endif

#endif

/* A lane's offset in a tile of V, in bytes. */
HEED_DEVICE u32 value_lane(u32 lane)
{
    return HEED_F32 ? tile_lane(V_PAD, lane % 4 * 2, lane / 8) + lane / 4 % 2 * 8
                    : tile_lane(V_PAD, lane % 16, lane / 16);
}

#endif /* HEED_MMA_DIRECT_CUH */
