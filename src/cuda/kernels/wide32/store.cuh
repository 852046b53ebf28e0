/*
 * wide32/store.cuh - the epilogue of attn_wide32.cu: store O and LSE, or a part for heed_combine;
 * and recompute rows
 */
#ifndef HEED_WIDE32_STORE_CUH
#define HEED_WIDE32_STORE_CUH

#include "combine.cuh"
#include "wide32/weights.cuh"

/* The address of row @row of the block in O, or in the parts. */
HEED_DEVICE float *row_of_o(const heed_cuda_args *args, const place *at, u32 row)
{
    if (args->splits.value > 1)
        return args->partial +
               (part_offset(args, at->head, at->split) + at->row + row) * HEED_DIM_V;
    return (float *)args->o + row_offset(args, at->head, args->o_stride, at->row + row);
}

/* Stores the lane's columns of a row of a slice from the sums @o: 8 adjacent ones. Returns true if
 * one is not finite. */
HEED_DEVICE int store_row(float *to, const float o[4][4], const u32 h, float factor, u32 columns)
{
    float check = 0.0f;
    HEED_UNROLL
    for (u32 half = 0; half < 2; half++) {
        heed_u32x4 x;
        HEED_UNROLL
        for (u32 n = 0; n < 4; n++) {
            float value = factor == 0.0f ? 0.0f : o[n][2 * h + half] * factor;
            check = ptx_fma(value, 0.0f, check);
            x.v[n] = ptx_as_u32(value);
        }
        if (4 * half < columns)
            ptx_st_global_16(to + 4 * half, x);
    }
    return !(check == 0.0f);
}

/* Stores the warp's panel of @slice. Rows whose results are not finite are given up: the parts of
 * an infinity have different products, and it may belong to a key that the row does not see. */
HEED_DEVICE void store_slice(const heed_cuda_args *args, const place *at, const values *sum,
                             u32 slice)
{
    u32 column = slice * SLICE + at->warp * PANEL + at->lane % 4 * 8;
    HEED_UNROLL
    for (u32 i = 0; i < 2 * ROWS16; i++) {
        u32 row = i / 2 * 16 + i % 2 * 8 + at->lane / 4, stats = ptx_shared_base() + row * 4;
        if (at->row + row >= args->rows || column >= HEED_DIM_V)
            continue;
        float weights = ptx_ld_shared_f32(stats + SUM_AT);
        float factor = weights == 0.0f ? 0.0f : ptx_rcp(weights);
        if (store_row(row_of_o(args, at, row) + column, sum->o[i / 2], i % 2, factor,
                      HEED_DIM_V - column))
            ptx_min_shared_u32(stats + KEPT_AT, 0);
    }
}

/* Stores the LSE of the lane's row, if it has one, and recomputes the warp's rows that were given
 * up; for parts, the merge does that. */
HEED_DEVICE void finish_rows(const heed_cuda_args *args, const place *at)
{
    const u32 own = BLOCK_ROWS / WARPS;
    u32 first = at->row + at->warp * own, row = first + at->lane;
    u32 stats = ptx_shared_base() + (at->warp * own + at->lane % own) * 4;
    float sum = ptx_ld_shared_f32(stats + SUM_AT), max = ptx_ld_shared_f32(stats + MAX_AT);
    float lse = sum == 0.0f ? -ptx_infinity() : max + ptx_lg2(sum);
    u32 exists = at->lane < own && row < args->rows, kept = ptx_ld_shared_4(stats + KEPT_AT);
    if (args->splits.value > 1) {
        if (!kept && (sum != 0.0f || max >= FAR_MAX))
            lse = ptx_as_f32(0x7fffffffu);
        if (exists)
            ptx_st_global_f32(args->partial_lse + part_offset(args, at->head, at->split) + row,
                              lse);
        return;
    }
    if (exists && args->lse)
        ptx_st_global_f32(args->lse + lse_offset(args, at->head, row), lse * LN_2);
    u32 anew = warp_or(exists && !kept ? 1u << at->lane : 0);
    if (anew)
        remake_rows(args, at->head, first, 1, anew);
}

#endif /* HEED_WIDE32_STORE_CUH */
