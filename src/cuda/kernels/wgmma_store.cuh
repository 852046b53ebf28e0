/*
 * wgmma_store.cuh - from the sums of a warpgroup with rows of its own to the results: rows
 * normalized, O and LSE stored
 */
#ifndef HEED_WGMMA_STORE_CUH
#define HEED_WGMMA_STORE_CUH

#include "wgmma_tile.cuh"

/* Divides by the sums. A row that saw no key, or none with a weight, becomes zero. */
HEED_DEVICE void normalize(state *st)
{
    float factor[2];
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        float sum = st->sum[0][h];
        sum += ptx_shfl_xor(sum, 1);
        sum += ptx_shfl_xor(sum, 2);
        st->sum[0][h] = sum;
        factor[h] = ptx_rcp(sum);
    }
    HEED_UNROLL
    for (u32 i = 0; i < V8 * 4; i++)
        st->o[0][i / 4][i % 4] *= factor[i / 2 % 2];
    if (!ptx_vote_any(st->sum[0][0] == 0.0f || st->sum[0][1] == 0.0f))
        return;
    HEED_UNROLL
    for (u32 i = 0; i < V8 * 4; i++)
        if (st->sum[0][i / 2 % 2] == 0.0f)
            st->o[0][i / 4][i % 4] = 0.0f;
}

/* Makes NaN what depends on a value of V that was taken out. */
HEED_DEVICE void spoil(const heed_cuda_args *args, const place *at, state *st)
{
    u32 limit[2];
    if (at->masked == 0 || ptx_ld_shared_4(bad_key(BAD_AT, BAD_COLUMNS)) == NO_KEY)
        return; /* nothing was */
    HEED_UNROLL
    for (int h = 0; h < 2; h++) /* a row without any weight is zero, whatever its values are */
        limit[h] = st->sum[0][h] == 0.0f ? 0 : row_limit(args, at, 0, h);
    HEED_UNROLL
    for (u32 i = 0; i < V8 * 2; i++) {
        u32 column = i / 2 * 8 + at->lane % 4 * 2 + i % 2;
        u32 bad = ptx_ld_shared_4(bad_key(BAD_AT, column));
        HEED_UNROLL
        for (int h = 0; h < 2; h++)
            if (bad < limit[h])
                st->o[0][i / 2][2 * h + i % 2] = ptx_as_f32(0x7fffffffu);
    }
}

/* The logarithm of a row's sum, to base 2. */
HEED_DEVICE float row_lse(const state *st, int h)
{
    float sum = st->sum[0][h];
    return sum == 0.0f ? -ptx_infinity() : st->max[0][h] + ptx_lg2(sum);
}

HEED_DEVICE void store_lse(const heed_cuda_args *args, const place *at, const state *st)
{
    if (!args->lse || at->lane % 4 != 0)
        return;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        u32 row = at->row + at->warp * 16 + h * 8 + at->lane / 4;
        if (row < args->rows)
            ptx_st_global_f32(args->lse + lse_offset(args, at->head, row), row_lse(st, h) * LN_2);
    }
}

/* Leaves the warp's 16 rows of O in shared memory at @smem, in panels. */
HEED_DEVICE void stage_o(const place *at, const state *st, u32 smem)
{
    u32 row = at->warp * 16 + at->lane % 16;
    HEED_UNROLL
    for (u32 i = 0; i < V8 / 2; i++) {
        u32 chunk = i * 2 + at->lane / 16, r[4];
        HEED_UNROLL
        for (u32 j = 0; j < 4; j++)
            r[j] = half_pack(st->o[0][2 * i + j / 2][j % 2 * 2],
                             st->o[0][2 * i + j / 2][j % 2 * 2 + 1]);
        ptx_stmatrix_x4(smem + (chunk / PANEL_CHUNKS * GROUP_ROWS + row) * PANEL_ROW +
                            (chunk % PANEL_CHUNKS ^ PANEL_TURN(row)) * 16,
                        r);
    }
}

/* The warp's rows that are to be made anew, a bit for each. */
HEED_DEVICE u32 given_up(const state *st)
{
    u32 bits = 0;
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++)
        bits |= is_given_up(st->sum[0][h]) ? 1u << (h * 8 + ptx_lane() / 4) : 0u;
    return ptx_vote_any(bits) ? warp_or(bits) : 0;
}

/* Makes them, in place of what was staged at @smem. */
HEED_DEVICE void restage_rows(const heed_cuda_args *args, const place *at, u32 bits, u32 smem)
{
    HEED_NO_UNROLL
    for (u32 i = 0; i < 16; i++) {
        u32 row = at->warp * 16 + i;
        plain_row anew;
        if (!(bits >> i & 1) || at->row + row >= args->rows)
            continue;
        plain_attend(args, &anew, at->head, at->row + row, at->batch, at->head_kv);
        plain_store_lse(args, &anew, at->head, at->row + row);
        HEED_UNROLL
        for (u32 c = 0; c < PLAIN_COLUMNS; c++) {
            u32 column = plain_column(c), chunk = column / 8;
            if (column < HEED_DIM_V)
                ptx_st_shared_u16(smem +
                                      (chunk / PANEL_CHUNKS * GROUP_ROWS + row) * PANEL_ROW +
                                      (chunk % PANEL_CHUNKS ^ PANEL_TURN(row)) * 16 + column % 8 * 2,
                                  half_of(anew.o[c]));
        }
    }
}

/* Starts to copy the row group's rows from shared memory at @smem. */
HEED_DEVICE void copy_rows(const heed_cuda_mapped_args *m, const place *at, u32 smem)
{
    u32 row = divide(at->row, m->args.group);
    ptx_fence_async();
    warpgroup_barrier(at);
    if (at->warp > 0 || at->lane > 0)
        return;
    HEED_UNROLL
    for (u32 panel = 0; panel < V_PANELS; panel++)
        ptx_tensor_store(&m->o, smem + panel * GROUP_ROWS * PANEL_ROW, (i32)(panel * PANEL_COLUMNS),
                         (i32)at->head_q, (i32)row, (i32)at->batch);
    ptx_bulk_commit();
}

/* Stores O by way of Q's shared memory at @smem, copied as boxes, which goes on meanwhile. */
HEED_DEVICE void store_o(const heed_cuda_mapped_args *m, const place *at, const state *st, u32 smem)
{
    u32 bits = given_up(st);
    warpgroup_barrier(at); /* all warps have read Q */
    stage_o(at, st, smem);
    if (bits) {
        ptx_griddepcontrol_wait(); /* others have, but this warp is to read tensors itself */
        ptx_warp_barrier();
        restage_rows(&m->args, at, bits, smem);
    }
    copy_rows(m, at, smem);
}

/* Waits until O has left the shared memory of @buffer, which then is free for another Q. */
HEED_DEVICE void release_o(const place *at, u32 buffer)
{
    if (TEAMS > 1 || at->warp > 0 || at->lane > 0)
        return;
    ptx_bulk_wait_read();
    ptx_mbarrier_arrive(group_barrier(Q_EMPTY, buffer));
}

#endif /* HEED_WGMMA_STORE_CUH */
