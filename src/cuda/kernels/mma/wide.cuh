/*
 * mma/wide.cuh - warps that share rows, for head dims whose sums do not fit one warp: each has a
 * slice of the columns of V
 *
 * HEED_VALUE_WARPS warps work on the same rows. If a tile has 16 or more keys for each of them,
 * each computes the scores of its own part of the keys; they exchange the maxima of rows, then the
 * weights, through shared memory, with two barriers per step. Otherwise there are SCORE_PARTS
 * parts, and several warps compute each redundantly; with one part nothing is exchanged.
 *
 * Nothing here has any effect if HEED_VALUE_WARPS is 1. The functions of mma/store.cuh similar to
 * store_slice() and store_partial_slice() are kept separate, because even a term that is zero would
 * change the compiler's instruction order there.
 */
#ifndef HEED_MMA_WIDE_CUH
#define HEED_MMA_WIDE_CUH

#include "mma/store.cuh"

/* True if keys beyond a length are treated as nonexistent. Otherwise their values are cleaned. */
#define KNOWS_LENGTH (HEED_PAGED || HEED_PACKED_K || (REMAKES && HEED_LENGTHS))

/* The following are macros of a walk (mma/pipeline.cuh), not functions, which would change the code
 * where a term is zero. The number of keys of the batch element that exist. */
#if KNOWS_LENGTH && !HEED_PAGED
#define KEY_COUNT(walk) ((walk)->length)
#else
#define KEY_COUNT(walk) ((walk)->args->seq_k)
#endif

/* The first key of tile @j whose scores the warp computes; the offset of its part of K in a stage;
 * and that of its slice of V. */
#if HEED_VALUE_WARPS > 1
#define PART_FIRST(walk, j) (tile_key(&(walk)->at, j) + part_key(&(walk)->at))
#define PART_AT(walk) (part_key(&(walk)->at) * 128)
#define SLICE_AT(walk) slice_at(&(walk)->at, HEED_TILE_KEYS)
#else
#define PART_FIRST(walk, j) tile_key(&(walk)->at, j)
#define PART_AT(walk) 0
#define SLICE_AT(walk) 0
#endif

/* Waits for the warps that have the same rows. */
HEED_DEVICE void slices_barrier(const place *at)
{
    if (HEED_VALUE_WARPS > 1)
        ptx_barrier_named(1 + (int)at->warp, 32 * HEED_VALUE_WARPS);
}

/* Bytes from the first column of a tile of @rows rows to those of the warp's slice. */
HEED_DEVICE u32 slice_at(const place *at, const u32 rows)
{
    return HEED_VALUE_WARPS == 1 ? 0 : slice_of(at) * V_PAGES * rows * 128;
}

/* The address of the value that warp @slice stores for the lane's first row. */
HEED_DEVICE u32 shared_row(const place *at, u32 shared, u32 slice)
{
    return shared + (slice * HEED_BLOCK_ROWS + at->warp * WARP_ROWS + at->lane / 4) * 4;
}

/* Turns @top, the maxima of the warp's part, into those of all parts. */
HEED_DEVICE void share_tops(const place *at, u32 shared, float top[ROWS16][2])
{
    if (SCORE_PARTS == 1)
        return;
    if (at->lane % 4 == 0 && slice_of(at) < SCORE_PARTS) {
        HEED_UNROLL
        for (int i = 0; i < 2 * ROWS16; i++)
            ptx_st_shared_f32(shared_row(at, shared, slice_of(at)) + i * 32, top[i / 2][i % 2]);
    }
    slices_barrier(at);
    HEED_UNROLL
    for (u32 part = 0; part < SCORE_PARTS; part++) {
        HEED_UNROLL
        for (int i = 0; i < 2 * ROWS16; i++)
            top[i / 2][i % 2] = ptx_max(top[i / 2][i % 2],
                                        ptx_ld_shared_f32(shared_row(at, shared, part) + i * 32));
    }
}

/* raise_max() by the scores of all parts. */
HEED_DEVICE void raise_shared_max(const place *at, u32 shared, state *st, float s[ROWS16][KEYS8][4],
                                  const tile_bases *bases, float scale)
{
    float top[ROWS16][2], old[ROWS16][2];
    find_tops(s, bases, scale, top);
    share_tops(at, shared, top);
    if (raise_tops(st, top, scale, old))
        scale_sums(st, old);
}

/* The address of the lane's weights of 16 rows and 16 keys. */
HEED_DEVICE u32 shared_weights(const place *at, u32 weights_smem, u32 mt, u32 kk)
{
    return weights_smem + (((at->warp * ROWS16 + mt) * TILE16 * WORDS + kk) * 32 + at->lane) * 16;
}

/* Stores the weights of the warp's part for the others, and waits for theirs. */
HEED_DEVICE void share_weights(const place *at, u32 weights_smem, const weights *own)
{
    if (SCORE_PARTS == 1)
        return;
    HEED_UNROLL
    for (u32 i = 0; i < ROWS16 * KEY_STEPS && slice_of(at) < SCORE_PARTS; i++) {
        const u32 mt = i / KEY_STEPS, kk = i % KEY_STEPS;
        heed_u32x4 x;
        HEED_UNROLL
        for (int n = 0; n < 4; n++)
            x.v[n] = own->p[mt][kk][n];
        ptx_st_shared_16(shared_weights(at, weights_smem, mt, slice_of(at) * KEY_STEPS + kk), x);
    }
    slices_barrier(at);
}

#if SCORE_PARTS > 1 && HEED_F32

/* multiply_v() with the weights of all parts. */
HEED_DEVICE void multiply_slice(const place *at, u32 weights_smem, state *st, tile_source from)
{
    u32 p[ROWS16][TILE8][4];
    HEED_UNROLL
    for (u32 i = 0; i < ROWS16 * TILE8; i++) {
        heed_u32x4 x = ptx_ld_shared_16(shared_weights(at, weights_smem, i / TILE8, i % TILE8));
        HEED_UNROLL
        for (int n = 0; n < 4; n++)
            p[i / TILE8][i % TILE8][n] = x.v[n];
    }
    multiply_tile(st, p, from);
}

#elif SCORE_PARTS > 1

/* multiply_v() with the weights of all parts. */
HEED_DEVICE void multiply_slice(const place *at, u32 weights_smem, state *st, tile_source from)
{
    HEED_UNROLL
    for (u32 kk = 0; kk < TILE16; kk++) {
        heed_u32x4 p[ROWS16];
        HEED_UNROLL
        for (u32 mt = 0; mt < ROWS16; mt++)
            p[mt] = ptx_ld_shared_16(shared_weights(at, weights_smem, mt, kk));
        HEED_UNROLL
        for (int dt = 0; dt < V8 / 2; dt++) {
            u32 v[4];
            load_v_fragments(v, from, kk, dt);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++) {
                half_mma(st->o[mt][2 * dt], p[mt].v, v);
                half_mma(st->o[mt][2 * dt + 1], p[mt].v, v + 2);
            }
        }
    }
}

#endif

/* Adds up the sums of all parts, for each row in the first of its four lanes. If any warp's sum is
 * NaN, it is NaN for all. */
HEED_DEVICE void share_sums(const place *at, u32 shared, state *st)
{
    float sum[2 * ROWS16];
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++) {
        sum[i] = st->sum[i / 2][i % 2];
        sum[i] += ptx_shfl_xor(sum[i], 1);
        sum[i] += ptx_shfl_xor(sum[i], 2);
    }
    slices_barrier(at); /* maxima have been read */
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16 && at->lane % 4 == 0; i++)
        ptx_st_shared_f32(shared_row(at, shared, slice_of(at)) + i * 32, sum[i]);
    slices_barrier(at);
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++) {
        float all = 0.0f;
        HEED_UNROLL
        for (u32 slice = 0; slice < HEED_VALUE_WARPS; slice++) {
            float other = ptx_ld_shared_f32(shared_row(at, shared, slice) + i * 32);
            all = slice < SCORE_PARTS ? all + other : ptx_fma(other, 0.0f, all);
        }
        st->sum[i / 2][i % 2] = at->lane % 4 == 0 ? all : 0.0f;
    }
}

#if HEED_VALUE_WARPS > 1

/* store_partial() for the columns of the warp's slice. */
HEED_DEVICE void store_partial_slice(const heed_cuda_args *args, const place *at, const state *st)
{
    i64 base = part_base(args, at);
    u32 t = at->lane % 4, first = at->slice * V8 * 8 + t * LANE_COLUMNS;
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++) {
        u32 row = row_of(at, i / 2, i % 2);
        if (row >= rows_of(args, at))
            continue;
        float *o = args->partial + (base + row) * HEED_DIM_V;
        if (t == 0 && at->slice == 0)
            ptx_st_global_f32(args->partial_lse + base + row,
                              lse_of_part(st->max[i / 2][i % 2], st->sum[i / 2][i % 2]));
        HEED_UNROLL
        for (int n = 0; n < 2 * V8; n++) {
            u32 column = first + FRAGMENT_COLUMN(n / 2) + n % 2 * PAIR_COLUMNS;
            if (column < HEED_DIM_V)
                ptx_st_global_f32(o + column, st->o[i / 2][n / 2][i % 2 * 2 + n % 2]);
        }
    }
}

/* store_o() for these columns, at addresses that are multiples of 16. */
HEED_DEVICE void store_slice(const heed_cuda_args *args, const place *at, const state *st, u32 smem)
{
    const u32 page = tile_page(V_PAD), step = 32 / page;
    u32 first = at->warp * WARP_ROWS, column = at->lane % page;
    smem += slice_at(at, HEED_BLOCK_ROWS);
    stage_o(at, st, smem);
    HEED_NO_UNROLL
    for (u32 row = first + at->lane / page; row < first + WARP_ROWS; row += step) {
        if (at->row + row >= rows_of(args, at))
            break;
        u8 *o = (u8 *)args->o +
                ELEMENT_BYTES * row_offset(args, at->head, args->o_stride, at->row + row) +
                128 * at->slice * V_PAGES;
        HEED_UNROLL
        for (u32 chunk = column; chunk < 8 * V_PAGES + column; chunk += page) {
            u32 bytes = tile_chunk_bytes(V_HALVES, 8 * at->slice * V_PAGES + chunk);
            heed_u32x4 x = ptx_ld_shared_16(smem + tile_at(HEED_BLOCK_ROWS, V_PAD, row, chunk));
            if (bytes == 16)
                ptx_st_global_16(o + 16 * chunk, x);
            else
                store_elements(o + 16 * chunk, x, bytes);
        }
    }
}

/* store() of attn_mma.cu, for warps that share their rows. */
HEED_DEVICE void store_shared(const heed_cuda_args *args, const place *at, state *st, u32 q_smem,
                              u32 shared)
{
    if (HEED_HIDES || HEED_MASKED || HEED_F32)
        mark_not_finite(st);
    share_sums(at, shared, st);
    normalize(st);
    if (splits_of(args, at) > 1) {
        store_partial_slice(args, at, st);
        return;
    }
    u32 own = given_up(st); /* based on its own sum, before a sink is added */
    add_sinks(args, at, st);
    if (at->slice == 0)
        store_lse(args, at, st);
    store_slice(args, at, st, q_smem);
    if (!ptx_vote_any(own))
        return;
    slices_barrier(at); /* whole rows are stored */
    if (at->slice == 0)
        remake_own(args, own, at->batch);
}

#endif

#endif /* HEED_MMA_WIDE_CUH */
