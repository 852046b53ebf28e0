/*
 * wgmma/store.cuh - the epilogue of a row group with separate rows: normalize O, store O and LSE
 */
#ifndef HEED_WGMMA_STORE_CUH
#define HEED_WGMMA_STORE_CUH

#include "wgmma/products.cuh"

/* Divides by the sums. Rows without any weight are recomputed; a part without any is zero. */
HEED_DEVICE void normalize(state *st)
{
    float factor[2];
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        float sum = st->sum[0][h];
        sum += ptx_shfl_xor(sum, 1);
        sum += ptx_shfl_xor(sum, 2);
        st->sum[0][h] = sum;
        factor[h] = HEED_SPLIT && sum == 0.0f ? 0.0f : ptx_rcp(sum);
    }
    HEED_UNROLL
    for (u32 i = 0; i < V8 * 4; i++)
        st->o[0][i / 4][i % 4] *= factor[i / 2 % 2];
}

/* Rows that see no key have no weight, and need not be recomputed. Returns the rows of @own that
 * must be. */
HEED_DEVICE u32 clear_unseen(const lane_rows *rows, state *st, u32 own)
{
#if KNOWS_UNSEEN
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        u32 seen = (u32)rows->seen[h];
        seen |= ptx_shfl_idx_u32(seen, (int)(ptx_lane() ^ 1));
        seen |= ptx_shfl_idx_u32(seen, (int)(ptx_lane() ^ 2));
        own &= seen ? ~0u : ~(1u << h);
        st->sum[0][h] = seen ? st->sum[0][h] : 0.0f;
        HEED_UNROLL
        for (u32 i = 0; i < V8 * 2; i++) {
            float *o = &st->o[0][i / 2][h * 2 + i % 2];
            *o = seen ? *o : 0.0f;
        }
    }
#else
    (void)rows;
    (void)st;
#endif
    return own;
}

/* Adds the rows' sinks. */
HEED_DEVICE void add_sinks(const heed_cuda_args *args, const place *at, state *st)
{
#if HEED_SINKS
    float factor[2];
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        factor[h] = add_sink(args, at->head, row_of(at, 0, h), &st->max[0][h], &st->sum[0][h]);
    HEED_UNROLL
    for (u32 i = 0; i < V8 * 4; i++)
        st->o[0][i / 4][i % 4] *= factor[i / 2 % 2];
#else
    (void)args;
    (void)at;
    (void)st;
#endif
}

/* Stages the warp's 16 rows of O in shared memory at @smem, in panels. */
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

/* Which of the lane's two rows must be recomputed, a bit for each; of a part, only those that may
 * see a bad key. */
HEED_DEVICE u32 given_up(const heed_cuda_args *args, const place *at, const state *st)
{
    u32 bad = HEED_MASKED && CLEANED(at) > 0 ? bad_key(BAD_AT) : NO_KEY, own = 0;
    HEED_UNROLL
    for (u32 h = 0; h < 2 && !HEED_SPLIT; h++)
        own |= is_given_up(st->sum[0][h], st->max[0][h], FAR_MAX) ? 1u << h : 0u;
    if (!HEED_MASKED || bad == NO_KEY)
        return own;
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++)
        own |= bad < row_keys(args, at, 0, (int)h).end ? 1u << h : 0u;
    return own;
}

/* Recomputes the warp's rows given by @own of each lane, and replaces the staged ones. */
HEED_RARE void restage_rows(const heed_cuda_mapped_args *m, u32 round, u32 own)
{
    const heed_cuda_args *args = &m->args;
    u32 bits = warp_or(((own & 1) | own >> 1 << 8) << ptx_lane() / 4);
    place where, *at = &where;
    at->warp = ptx_thread() / 32 % 4;
    at->row_group = ptx_thread() / GROUP_THREADS;
    find_place(m, at, item_number(round));
    u32 smem = q_smem(q_buffer(round, at->row_group));
    ptx_griddepcontrol_wait(); /* others have waited, but now this warp reads tensors itself */
    ptx_warp_barrier();
    HEED_NO_UNROLL
    for (u32 i = 0; i < 16; i++) {
        u32 row = at->warp * 16 + i;
        plain_row anew;
        if (!(bits >> i & 1) || at->row + row >= rows_of(args, at))
            continue;
        plain_attend(args, &anew, at->head, at->row + row, at->batch, at->head_kv);
        plain_store_lse(args, &anew, at->head, at->row + row);
        HEED_UNROLL
        for (u32 c = 0; c < PLAIN_COLUMNS; c++) {
            u32 column = plain_column(c), chunk = column / 8;
            if (column < HEED_DIM_V)
                ptx_st_shared_u16(smem + (chunk / PANEL_CHUNKS * GROUP_ROWS + row) * PANEL_ROW +
                                      (chunk % PANEL_CHUNKS ^ PANEL_TURN(row)) * 16 +
                                      column % 8 * 2,
                                  half_of(anew.o[c]));
        }
    }
}

/* Copies the row group's rows that belong to the sequence, 16 bytes at a time: the rows after them
 * in O belong to another one. */
HEED_DEVICE void copy_last_rows(const heed_cuda_args *args, const place *at, u32 smem)
{
    const u32 chunks = (HEED_DIM_V + 7) / 8;
    warpgroup_barrier(at);
    HEED_NO_UNROLL
    for (u32 i = at->warp * 32 + at->lane; i < GROUP_ROWS * chunks; i += GROUP_THREADS) {
        u32 row = i / chunks, chunk = i % chunks;
        if (at->row + row >= rows_of(args, at))
            break;
        u8 *to = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, at->row + row);
        ptx_st_global_16(to + chunk * 16,
                         ptx_ld_shared_16(smem +
                                          (chunk / PANEL_CHUNKS * GROUP_ROWS + row) * PANEL_ROW +
                                          (chunk % PANEL_CHUNKS ^ PANEL_TURN(row)) * 16));
    }
    ptx_fence_async(); /* the next Q is copied there */
    warpgroup_barrier(at);
}

/* Starts to copy the row group's rows from shared memory at @smem. */
HEED_DEVICE void copy_rows(const heed_cuda_mapped_args *m, const place *at, u32 smem)
{
    u32 row = divide(at->row, m->args.group), batch = at->batch;
#if HEED_PACKED_Q
    if (at->row + GROUP_ROWS > at->rows) {
        copy_last_rows(&m->args, at, smem);
        return;
    }
    row += at->first_query;
    batch = 0;
#endif
    ptx_fence_async();
    warpgroup_barrier(at);
    if (at->warp > 0 || at->lane > 0)
        return;
    HEED_UNROLL
    for (u32 panel = 0; panel < V_PANELS; panel++)
        ptx_tensor_store(&m->o, smem + panel * GROUP_ROWS * PANEL_ROW, (i32)(panel * PANEL_COLUMNS),
                         (i32)at->head_q, (i32)row, (i32)batch);
    ptx_bulk_commit();
}

/* Stores O of round @round through Q's shared memory at @smem, with asynchronous copies of boxes.
 * @own are the lane's rows to recompute. */
HEED_DEVICE void store_o(const heed_cuda_mapped_args *m, const place *at, const state *st,
                         u32 round, u32 own, u32 smem)
{
    warpgroup_barrier(at); /* all warps have read Q */
    stage_o(at, st, smem);
    if (ptx_vote_any(own))
        restage_rows(m, round, own);
    copy_rows(m, at, smem);
}

/* Stores the LSEs, except those of recomputed rows, which are already stored. */
HEED_DEVICE void store_lse(const heed_cuda_args *args, const place *at, const state *st, u32 own)
{
    if (!args->lse || at->lane % 4 != 0)
        return;
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        u32 row = at->row + at->warp * 16 + h * 8 + at->lane / 4;
        if (row < rows_of(args, at) && !(own >> h & 1))
            ptx_st_global_f32(args->lse + lse_offset(args, at->head, row),
                              (st->max[0][h] + ptx_lg2(st->sum[0][h])) * LN_2);
    }
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
