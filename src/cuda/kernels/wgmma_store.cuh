/*
 * wgmma_store.cuh - from a warpgroup's sums to the results: key groups merged, rows normalized, O
 * and LSE stored
 *
 * Where key groups share rows, each leaves its sums in shared memory and merges some of the
 * columns: units of 16, every HEED_K-th.
 */
#ifndef HEED_WGMMA_STORE_CUH
#define HEED_WGMMA_STORE_CUH

#include "wgmma_tile.cuh"

#define V16 (V_COLUMNS / 16)
#define UNITS ((V16 + HEED_K - 1) / HEED_K)

/* The words that a thread leaves. */
#define LEFT_MAX (V8 * 4)
#define LEFT_SUM (V8 * 4 + 2)
#define LEFT_WORDS (V8 * 4 + 4)

/* Unit @i of a key group, of V16 in all, */
HEED_DEVICE u32 unit_of(const place *at, u32 i)
{
    return HEED_K == 1 ? i : at->key_group * UNITS + i;
}

/* if there is one. */
HEED_DEVICE int is_unit(u32 unit)
{
    return V16 % HEED_K == 0 || unit < V16;
}

/* Where in shared memory a thread of the row group leaves a word, as one of @key_group. */
HEED_DEVICE u32 left_at(const place *at, u32 key_group, u32 word)
{
    u32 thread = at->row_group * GROUP_THREADS + at->warp * 32 + at->lane;
    return ptx_shared_base() +
           ((key_group * LEFT_WORDS + word) * HEED_R * GROUP_THREADS + thread) * 4;
}

HEED_DEVICE void leave_sums(const place *at, const state *st)
{
    HEED_UNROLL
    for (u32 i = 0; i < V8 * 4; i++)
        ptx_st_shared_f32(left_at(at, at->key_group, i), st->o[0][i / 4][i % 4]);
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        ptx_st_shared_f32(left_at(at, at->key_group, LEFT_MAX + h), st->max[0][h]);
        ptx_st_shared_f32(left_at(at, at->key_group, LEFT_SUM + h), st->sum[0][h]);
    }
}

/* The maxima and sums of all key groups become one; @weights are what theirs count. */
HEED_DEVICE void merge_rows(const place *at, state *st, float weights[HEED_K][2])
{
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        float top = NO_MAX, sum = 0.0f;
        HEED_UNROLL
        for (u32 k = 0; k < HEED_K; k++) {
            weights[k][h] = ptx_ld_shared_f32(left_at(at, k, LEFT_MAX + h));
            top = ptx_max(top, weights[k][h]);
        }
        HEED_UNROLL
        for (u32 k = 0; k < HEED_K; k++) {
            weights[k][h] = ptx_ex2(weights[k][h] - top);
            sum += weights[k][h] * ptx_ld_shared_f32(left_at(at, k, LEFT_SUM + h));
        }
        st->max[0][h] = top;
        st->sum[0][h] = sum;
    }
}

/* Merges the sums of all key groups in the units of this one, which become the first in @st. */
HEED_DEVICE void merge_sums(const place *at, state *st)
{
    float weights[HEED_K][2];
    merge_rows(at, st, weights);
    HEED_UNROLL
    for (u32 i = 0; i < UNITS * 8; i++) {
        u32 unit = unit_of(at, i / 8);
        float o = 0.0f;
        HEED_UNROLL
        for (u32 k = 0; k < HEED_K; k++)
            if (is_unit(unit))
                o += weights[k][i / 2 % 2] * ptx_ld_shared_f32(left_at(at, k, unit * 8 + i % 8));
        st->o[0][i / 4][i % 4] = o;
    }
}

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
    for (u32 i = 0; i < UNITS * 8; i++) {
        float o = st->o[0][i / 4][i % 4] * factor[i / 2 % 2];
        st->o[0][i / 4][i % 4] = st->sum[0][i / 2 % 2] == 0.0f ? 0.0f : o;
    }
}

/* Makes NaN what depends on a value of V that was taken out. */
HEED_DEVICE void spoil(const heed_cuda_args *args, const place *at, state *st)
{
    u32 limit[2];
    HEED_UNROLL
    for (int h = 0; h < 2; h++) /* a row without any weight is zero, whatever its values are */
        limit[h] = st->sum[0][h] == 0.0f ? 0 : row_limit(args, at, 0, h);
    HEED_UNROLL
    for (u32 i = 0; i < UNITS * 4; i++) {
        u32 unit = unit_of(at, i / 4),
            column = unit * 16 + i / 2 % 2 * 8 + at->lane % 4 * 2 + i % 2;
        if (!is_unit(unit))
            continue;
        u32 bad = ptx_ld_shared_4(ptx_shared_base() + BAD_AT + column * 4);
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
    if (!args->lse || at->key_group > 0 || at->lane % 4 != 0)
        return;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        u32 row = at->row + at->warp * 16 + h * 8 + at->lane / 4;
        if (row < args->rows)
            ptx_st_global_f32(args->lse + lse_offset(args, at->head, row), row_lse(st, h) * LN_2);
    }
}

/* Leaves the warp's 16 rows of O in shared memory at @smem, in panels of 64 columns. */
HEED_DEVICE void stage_o(const place *at, const state *st, u32 smem)
{
    u32 row = at->warp * 16 + at->lane % 16;
    HEED_UNROLL
    for (u32 i = 0; i < UNITS; i++) {
        u32 chunk = unit_of(at, i) * 2 + at->lane / 16, r[4];
        HEED_UNROLL
        for (u32 j = 0; j < 4; j++)
            r[j] = half_pack(st->o[0][2 * i + j / 2][j % 2 * 2],
                             st->o[0][2 * i + j / 2][j % 2 * 2 + 1]);
        if (is_unit(unit_of(at, i)))
            ptx_stmatrix_x4(
                smem + (chunk / 8 * GROUP_ROWS + row) * PANEL_ROW + (chunk % 8 ^ row % 8) * 16, r);
    }
}

/* Waits for all that share the rows. */
HEED_DEVICE void rows_barrier(const place *at)
{
    if (HEED_K == 1)
        warpgroup_barrier(at);
    else
        ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
}

/* Stores the warp's columns of its rows from shared memory at @smem, 16 bytes at a time. */
HEED_DEVICE void store_columns(const heed_cuda_args *args, const place *at, u32 smem)
{
    u32 first = unit_of(at, 0) * 2; /* chunks of 8 columns */
    ptx_warp_barrier();
    HEED_UNROLL
    for (u32 i = 0; i < UNITS; i++) {
        u32 index = i * 32 + at->lane, chunk = first + index % (2 * UNITS);
        u32 row = at->warp * 16 + index / (2 * UNITS);
        if (chunk * 8 >= HEED_DIM_V || at->row + row >= args->rows)
            continue;
        heed_u32x4 x = ptx_ld_shared_16(smem + (chunk / 8 * GROUP_ROWS + row) * PANEL_ROW +
                                        (chunk % 8 ^ row % 8) * 16);
        u8 *o = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, at->row + row);
        ptx_st_global_16(o + chunk * 16, x);
    }
}

/* Starts to copy the row group's rows from shared memory at @smem. */
HEED_DEVICE void copy_rows(const heed_cuda_mapped_args *m, const place *at, u32 smem)
{
    u32 row = divide(at->row, m->args.group);
    ptx_fence_async();
    rows_barrier(at);
    if (at->warp > 0 || at->lane > 0)
        return;
    HEED_UNROLL
    for (u32 panel = 0; panel < V_PANELS; panel++)
        ptx_tensor_store(&m->o, smem + panel * GROUP_ROWS * PANEL_ROW, (i32)(panel * PANEL_COLUMNS),
                         (i32)at->head_q, (i32)row, (i32)at->batch);
    ptx_bulk_commit();
}

/* Stores O by way of Q's shared memory at @smem. Whole rows are copied as boxes, which goes on
 * meanwhile; where key groups share them, storing them at once is over sooner. */
HEED_DEVICE void store_o(const heed_cuda_mapped_args *m, const place *at, const state *st, u32 smem)
{
    if (HEED_K == 1)
        rows_barrier(at); /* all warps have read Q */
    stage_o(at, st, smem);
    if (HEED_K == 1)
        copy_rows(m, at, smem);
    else
        store_columns(&m->args, at, smem);
}

/* Waits until O has left the shared memory of @buffer, which then is free for another Q. */
HEED_DEVICE void release_o(const place *at, u32 buffer)
{
    if (HEED_K > 1 || at->warp > 0 || at->lane > 0)
        return;
    ptx_bulk_wait_read();
    ptx_mbarrier_arrive(group_barrier(Q_EMPTY, buffer));
}

#endif /* HEED_WGMMA_STORE_CUH */
