/*
 * pair/store.cuh - the epilogue of two warpgroups that have the same rows, each with half the
 * columns of a slice of V: normalize rows, and store O and LSE, or a part for heed_combine
 *
 * The including file has constants: SLICES slices of 2 * HALF_COLUMNS columns, which a block stores
 * one by one, and O_AT, from which on a warp stages O_PANELS panels of its rows at a time.
 */
#ifndef HEED_PAIR_STORE_CUH
#define HEED_PAIR_STORE_CUH

#include "combine.cuh"
#include "pair/place.cuh"
#include "panels.cuh"
#include "softmax.cuh"
#include "tile.cuh"

/* Adds up the weights of both warpgroups' tiles. A sum that is NaN for one is for both. */
HEED_DEVICE void share_sums(const place *at, state *st)
{
    heed_u32x2 own;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        st->sum[0][h] += ptx_shfl_xor(st->sum[0][h], 1);
        st->sum[0][h] += ptx_shfl_xor(st->sum[0][h], 2);
        own.v[h] = ptx_as_u32(st->sum[0][h]);
    }
    ptx_st_shared_8(left_at(at, SUM_AT, at->half), own);
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* and all have read Q */
    heed_u32x2 other = ptx_ld_shared_8(left_at(at, SUM_AT, 1 - at->half));
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        st->sum[0][h] += ptx_as_f32(other.v[h]);
}

/* Divides by the sums. A row that saw no key, or none with a weight, becomes zero. */
HEED_DEVICE void normalize(state *st)
{
    float factor[2];
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        factor[h] = ptx_rcp(st->sum[0][h]);
    HEED_UNROLL
    for (int i = 0; i < V8 * 4; i++) {
        float o = st->o[0][i / 4][i % 4] * factor[i / 2 % 2];
        st->o[0][i / 4][i % 4] = st->sum[0][i / 2 % 2] == 0.0f ? 0.0f : o;
    }
}

/* The logarithm of a row's sum, to base 2. */
HEED_DEVICE float row_lse(const state *st, int h)
{
    float sum = st->sum[0][h];
    return sum == 0.0f ? -ptx_infinity() : st->max[0][h] + ptx_lg2(sum);
}

/* The warpgroup's first column of a slice. */
HEED_DEVICE u32 first_column(const place *at, u32 slice)
{
    return (slice * 2 + at->half) * HALF_COLUMNS;
}

HEED_DEVICE void store_partial(const heed_cuda_args *args, const place *at, const state *st,
                               u32 slice)
{
    i64 base = part_offset(args, at->head, at->split);
    u32 first = first_column(at, slice) + at->lane % 4 * 2;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        u32 row = row_of(at, 0, h);
        if (row >= args->rows)
            continue;
        float *o = args->partial + (base + row) * HEED_DIM_V + first;
        if (slice == SLICES - 1 && at->half == 0 && at->lane % 4 == 0)
            ptx_st_global_f32(args->partial_lse + base + row,
                              lse_of_part(st->max[0][h], st->sum[0][h]));
        HEED_UNROLL
        for (u32 i = 0; i < V8; i++) {
            const float *pair = &st->o[0][i][2 * h];
            heed_u32x2 x = { { ptx_as_u32(pair[0]), ptx_as_u32(pair[1]) } };
            if (first + i * 8 < HEED_DIM_V)
                ptx_st_global_8(o + i * 8, x);
        }
    }
}

HEED_DEVICE void store_lse(const heed_cuda_args *args, const place *at, const state *st)
{
    if (!args->lse || at->half > 0 || at->lane % 4 > 0)
        return;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        u32 row = row_of(at, 0, h);
        if (row < args->rows)
            ptx_st_global_f32(args->lse + lse_offset(args, at->head, row), row_lse(st, h) * LN_2);
    }
}

/* Stages O_PANELS panels of the warp's rows of O at @smem, from panel @first of its columns on. */
HEED_DEVICE void stage_o(const place *at, const state *st, u32 smem, const u32 first)
{
    HEED_UNROLL
    for (u32 i = 0; i < 4 * O_PANELS; i++) {
        const u32 column = first * 8 + 2 * i; /* in units of 8 */
        u32 r[4];
        HEED_UNROLL
        for (u32 j = 0; j < 4; j++)
            r[j] = half_pack(st->o[0][column + j / 2][j % 2 * 2],
                             st->o[0][column + j / 2][j % 2 * 2 + 1]);
        ptx_stmatrix_x4(smem + tile_at(16, O_PANELS * 64, at->lane % 16, 2 * i + at->lane / 16), r);
    }
    ptx_warp_barrier();
}

/* Stores them, 16 bytes of a row per lane. */
HEED_DEVICE void store_o(const heed_cuda_args *args, const place *at, const state *st, u32 slice)
{
    const u32 lanes = 8 * O_PANELS; /* lanes per row */
    u32 smem = ptx_shared_base() + O_AT + (at->half * 4 + at->warp) * (16 * lanes * 16);
    HEED_UNROLL
    for (u32 first = 0; first < V8 / 8; first += O_PANELS) {
        u32 chunk = first_column(at, slice) / 8 + first * 8 + at->lane % lanes;
        if (first > 0)
            ptx_warp_barrier(); /* the previous content has been read */
        stage_o(at, st, smem, first);
        HEED_NO_UNROLL
        for (u32 i = at->lane / lanes; i < 16; i += 32 / lanes) {
            u32 row = at->row + at->warp * 16 + i;
            if (row >= args->rows || chunk * 8 >= HEED_DIM_V)
                break;
            u8 *to = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, row);
            ptx_st_global_16(to + 16 * chunk, ptx_ld_shared_16(smem + tile_at(16, O_PANELS * 64, i,
                                                                              at->lane % lanes)));
        }
    }
}

/* Recomputes the warp's rows given by @own of each lane, after they have been stored. */
HEED_RARE void remake_own(const heed_cuda_args *args, u32 own)
{
    place at;
    u32 anew = 0;
    find_place(args, &at);
    u32 first = at.row + ptx_thread() / 32 * 16;
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++)
        if (first + h * 8 + ptx_lane() / 4 < args->rows)
            anew |= (own >> h & 1) << (h * 8 + ptx_lane() / 4);
    remake_rows(args, at.head, first, 1, warp_or(anew));
}

/* Rows that are NaN in one slice are NaN in later ones: @bad, zeros before the first one. */
HEED_DEVICE void mark_bad(state *st, float bad[2])
{
    HEED_UNROLL
    for (int h = 0; h < 2 && HEED_MASKED && SLICES > 1; h++) {
        st->sum[0][h] += bad[h];
        bad[h] = st->sum[0][h] * 0.0f;
    }
}

/* Stores slice @slice; with the last one the sums of all weights are available. */
HEED_DEVICE void store(const heed_cuda_args *args, const place *at, state *st, u32 slice,
                       float bad[2])
{
    u32 own = 0;
    if (HEED_MASKED) /* a non-finite value of a key that the row does not see */
        mark_not_finite(st);
    share_sums(at, st);
    mark_bad(st, bad);
    normalize(st);
    if (args->splits.value > 1) {
        store_partial(args, at, st, slice);
        if (SLICES > 1)
            ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* all have read the sums */
        return;
    }
    if (slice == SLICES - 1)
        store_lse(args, at, st);
    store_o(args, at, st, slice);
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++)
        own |= is_given_up(st->sum[0][h], st->max[0][h], FAR_MAX) ? 1u << h : 0u;
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* whole rows are stored */
    if (slice == SLICES - 1 && at->half == 0 && ptx_vote_any(own))
        remake_own(args, own);
}

#endif /* HEED_PAIR_STORE_CUH */
