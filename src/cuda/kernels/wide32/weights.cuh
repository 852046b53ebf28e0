/*
 * wide32/weights.cuh - the softmax of attn_wide32.cu: turns scores in shared memory into weights,
 * one row per warp
 */
#ifndef HEED_WIDE32_WEIGHTS_CUH
#define HEED_WIDE32_WEIGHTS_CUH

#include "plain.cuh"
#include "wide32/products.cuh"

/* Maximum number of 16-byte chunks of a row per lane. */
#define LANE_CHUNKS (HEED_TILE_KEYS / 4 / 32)

typedef struct row_chunks {
    heed_u32x4 of[LANE_CHUNKS];
} row_chunks;

HEED_DEVICE float sum_of_warp(float x)
{
    HEED_UNROLL
    for (int turn = 1; turn < 32; turn *= 2)
        x += ptx_shfl_xor(x, turn);
    return x;
}

HEED_DEVICE float max_of_warp(float x)
{
    HEED_UNROLL
    for (int turn = 1; turn < 32; turn *= 2)
        x = ptx_max(x, ptx_shfl_xor(x, turn));
    return x;
}

HEED_DEVICE u32 chunk_at(u32 row, u32 chunk)
{
    return ptx_shared_base() + WEIGHTS_AT + tile_at(BLOCK_ROWS, 2 * HEED_TILE_KEYS, row, chunk);
}

/* Loads the scores of a row, of @chunks chunks, and masks keys from @end on. Returns the largest
 * one. */
HEED_DEVICE float load_scores(const heed_cuda_args *args, row_chunks *x, u32 row, u32 chunks,
                              u32 end)
{
    float top = -ptx_infinity();
    HEED_UNROLL
    for (u32 i = 0; i < LANE_CHUNKS; i++) {
        u32 chunk = i * 32 + ptx_lane();
        heed_u32x4 none = { { 0, 0, 0, 0 } };
        x->of[i] = chunk < chunks ? ptx_ld_shared_16(chunk_at(row, chunk)) : none;
        HEED_UNROLL
        for (u32 n = 0; n < 4; n++) {
            float s = ptx_as_f32(args->negate ? x->of[i].v[n] ^ 0x80000000u : x->of[i].v[n]);
            s = chunk < chunks && key_of_place(4 * chunk + n) < end ? s : -ptx_infinity();
            x->of[i].v[n] = ptx_as_u32(s);
            top = ptx_max(top, s);
        }
    }
    return max_of_warp(top);
}

/* Stores the weights of the row in their place. @max: of its logits, base 2. Returns their sum. */
HEED_DEVICE float store_weights(const heed_cuda_args *args, row_chunks *x, u32 row, u32 chunks,
                                float max)
{
    float sum = 0.0f;
    HEED_UNROLL
    for (u32 i = 0; i < LANE_CHUNKS; i++) {
        u32 chunk = i * 32 + ptx_lane();
        HEED_UNROLL
        for (u32 n = 0; n < 4; n++) {
            float s = ptx_as_f32(x->of[i].v[n]);
            float weight = power_of_two(ptx_fms(s, args->scale, max));
            weight = s == -ptx_infinity() ? 0.0f : weight;
            sum += weight;
            x->of[i].v[n] = ptx_as_u32(weight);
        }
        if (chunk < chunks)
            ptx_st_shared_16(chunk_at(row, chunk), x->of[i]);
    }
    return sum_of_warp(sum);
}

/* Computes the weights of the warp's rows. */
HEED_DEVICE void make_weights(const heed_cuda_args *args, const place *at)
{
    const u32 own = BLOCK_ROWS / WARPS;
    u32 chunks = value_parts(at) * (PART_KEYS / 4);
    HEED_NO_UNROLL
    for (u32 row = at->warp * own; row < (at->warp + 1) * own; row++) {
        row_chunks x;
        u32 stats = ptx_shared_base() + row * 4;
        u32 end = batch_keys(args, at->batch, divide(at->row + row, args->group)).end;
        end = end > at->key ? end - at->key : 0;
        float max = load_scores(args, &x, row, chunks, end < at->keys ? end : at->keys) *
                    args->scale;
        float sum = store_weights(args, &x, row, chunks, max);
        if (at->lane == 0) {
            ptx_st_shared_f32(stats + MAX_AT, max);
            ptx_st_shared_f32(stats + SUM_AT, sum);
            ptx_st_shared_4(stats + KEPT_AT, is_given_up(sum, ptx_abs(max), FAR_MAX) ? 0 : 1);
        }
    }
}

#endif /* HEED_WIDE32_WEIGHTS_CUH */
