/*
 * mla_store.cuh - the epilogue of attn_mla.cu: rows are normalized, O and LSE stored, or left as a
 * part that heed_combine merges
 */
#ifndef HEED_MLA_STORE_CUH
#define HEED_MLA_STORE_CUH

#include "combine.cuh"
#include "mla_walk.cuh"

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

HEED_DEVICE void store_partial(const heed_cuda_args *args, const place *at, const state *st)
{
    i64 base = part_offset(args, at->head, at->split);
    u32 first = at->half * HALF_COLUMNS + at->lane % 4 * 2;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        u32 row = row_of(at, 0, h);
        if (row >= args->rows)
            continue;
        float *o = args->partial + (base + row) * HEED_DIM_V + first;
        if (at->half == 0 && at->lane % 4 == 0)
            ptx_st_global_f32(args->partial_lse + base + row, row_lse(st, h));
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

/* Leaves the warp's half rows of O where Q was. */
HEED_DEVICE void stage_o(const place *at, const state *st)
{
    u32 row = at->warp * 16 + at->lane % 16;
    HEED_UNROLL
    for (u32 i = 0; i < V8 / 2; i++) {
        u32 chunk = at->half * V8 + i * 2 + at->lane / 16, r[4];
        HEED_UNROLL
        for (u32 j = 0; j < 4; j++)
            r[j] = half_pack(st->o[0][2 * i + j / 2][j % 2 * 2],
                             st->o[0][2 * i + j / 2][j % 2 * 2 + 1]);
        ptx_stmatrix_x4(ptx_shared_base() + tile_at(GROUP_ROWS, PANELS * PANEL_COLUMNS, row, chunk),
                        r);
    }
    ptx_warp_barrier();
}

/* Stores them, a lane 16 bytes of a row. */
HEED_DEVICE void store_o(const heed_cuda_args *args, const place *at, const state *st)
{
    u32 chunk = at->half * V8 + at->lane;
    stage_o(at, st);
    if (chunk * 8 >= HEED_DIM_V)
        return;
    HEED_NO_UNROLL
    for (u32 row = at->warp * 16; row < at->warp * 16 + 16 && at->row + row < args->rows; row++) {
        u32 smem = ptx_shared_base() + tile_at(GROUP_ROWS, PANELS * PANEL_COLUMNS, row, chunk);
        u8 *to = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, at->row + row);
        ptx_st_global_16(to + 16 * chunk, ptx_ld_shared_16(smem));
    }
}

/* Makes those of the warp's rows anew that @own says of each lane, after they have been stored. */
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

HEED_DEVICE void store(const heed_cuda_args *args, const place *at, state *st)
{
    u32 own = 0;
    if (HEED_MASKED) /* a value that is not finite, of a key that the row does not see */
        mark_not_finite(st);
    share_sums(at, st);
    normalize(st);
    if (args->splits.value > 1) {
        store_partial(args, at, st);
        return;
    }
    store_lse(args, at, st);
    store_o(args, at, st);
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++)
        own |= is_given_up(st->sum[0][h], st->max[0][h], FAR_MAX) ? 1u << h : 0u;
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* all of a row is stored */
    if (at->half == 0 && ptx_vote_any(own))
        remake_own(args, own);
}

#endif /* HEED_MLA_STORE_CUH */
