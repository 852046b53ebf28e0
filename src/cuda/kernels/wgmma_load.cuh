/*
 * wgmma_load.cuh - the warpgroup that loads: one thread starts the copies of K, one those of Q and
 * V; two warps take values that are not finite out of tiles of V that a mask cuts through
 */
#ifndef HEED_WGMMA_LOAD_CUH
#define HEED_WGMMA_LOAD_CUH

#include "half.cuh"
#include "wgmma_place.cuh"

/* The threads that clean. */
#define CLEANERS 64

/* Loads a row group's Q when its buffer is free. */
HEED_DEVICE void load_q(const heed_cuda_mapped_args *m, const place *at, u32 row_group, u32 round)
{
    u32 buffer = q_buffer(round, row_group), barrier = group_barrier(Q_FULL, buffer);
    u32 row = divide(at->row + row_group * GROUP_ROWS, m->args.group);
    ptx_mbarrier_wait(group_barrier(Q_EMPTY, buffer), q_parity(round) ^ 1);
    ptx_mbarrier_arrive_expect(barrier, QK_PANELS * GROUP_ROWS * PANEL_ROW);
    HEED_UNROLL
    for (u32 panel = 0; panel < QK_PANELS; panel++)
        ptx_tensor_load(q_smem(buffer) + panel * GROUP_ROWS * PANEL_ROW, &m->q, barrier,
                        (i32)(panel * PANEL_COLUMNS), (i32)at->head_q, (i32)row, (i32)at->batch);
}

/* The first key of the block's tile @j. */
HEED_DEVICE u32 loaded_key(const place *at, u32 j)
{
    return tile_key(at, block_tile(at, j));
}

/* In builds without overlap: waits until the tile before that of @next, if there is one, has been
 * read. */
HEED_DEVICE void wait_before(u32 which, ring next, u32 j)
{
    if (ABLATED(ABLATE_NO_OVERLAP) && (j > 0 || next.stage > 0 || next.parity > 0)) {
        u32 wrapped = next.stage == 0;
        ptx_mbarrier_wait(stage_barrier(which, wrapped ? HEED_S - 1 : next.stage - 1),
                          next.parity ^ wrapped);
    }
}

/* Loads the block's tile @j of K or V, of @panels panels, when its stage is empty. */
HEED_DEVICE void load_tile(const heed_cuda_map *map, const place *at, u32 smem, u32 full, u32 empty,
                           u32 parity, u32 j, const u32 panels)
{
    u32 key = loaded_key(at, j);
    ptx_mbarrier_wait(empty, parity ^ 1);
    if (ABLATED(ABLATE_NO_LOADS) && j >= HEED_S) { /* what is in the stage stays */
        ptx_mbarrier_arrive(full);
        return;
    }
    ptx_mbarrier_arrive_expect(full, HEED_N * panels * PANEL_ROW);
    HEED_UNROLL
    for (u32 panel = 0; panel < panels; panel++)
        ptx_tensor_load(smem + panel * HEED_N * PANEL_ROW, map, full, (i32)(panel * PANEL_COLUMNS),
                        (i32)at->head_kv, (i32)key, (i32)at->batch);
}

/* All loads of K of an item. In the first round those of Q and of the first tile of V go ahead of
 * all but the tiles that the teams begin with. */
HEED_DEVICE void load_k(const heed_cuda_mapped_args *m, const place *at, ring *next, u32 round)
{
    HEED_NO_UNROLL
    for (u32 j = 0; j < block_count(at, at->tiles); j++) {
        if (round == 0 && j == HEED_K)
            ptx_mbarrier_wait(begun_barrier(), 0);
        wait_before(K_EMPTY, *next, j);
        load_tile(&m->k, at, k_tile(*next), stage_barrier(K_FULL, next->stage),
                  stage_barrier(K_EMPTY, next->stage), next->parity, j, QK_PANELS);
        ring_advance(next, 1);
    }
}

/* Those of Q and V. */
HEED_DEVICE void load_q_and_v(const heed_cuda_mapped_args *m, const place *at, ring *next,
                              u32 round)
{
    for (u32 r = 0; r < HEED_R; r++)
        load_q(m, at, r, round);
    HEED_NO_UNROLL
    for (u32 j = 0; j < block_count(at, at->tiles); j++) {
        wait_before(V_EMPTY, *next, j);
        load_tile(&m->v, at, v_tile(*next), stage_barrier(V_FULL, next->stage),
                  stage_barrier(V_EMPTY, next->stage), next->parity, j, V_PANELS);
        if (round == 0 && j == 0)
            ptx_mbarrier_arrive(begun_barrier());
        ring_advance(next, 1);
    }
}

/* Puts zeros in place of what is not finite in two elements of V, and keeps the least key of such a
 * column, and of all. */
HEED_DEVICE void clean_pair(u32 smem, u32 column, u32 key)
{
    u32 x = ptx_ld_shared_4(smem), bad = half_not_finite(x);
    if (!bad)
        return;
    if (bad & 0x8000u) {
        x &= 0xffff0000u;
        ptx_min_shared_u32(bad_key(BAD_AT, column), key);
    }
    if (bad & 0x80000000u) {
        x &= 0xffffu;
        ptx_min_shared_u32(bad_key(BAD_AT, column + 1), key);
    }
    ptx_min_shared_u32(bad_key(BAD_AT, BAD_COLUMNS), key);
    ptx_st_shared_4(smem, x);
}

/* Cleans a chunk of 8 columns of a row: number @i of the tile. */
HEED_DEVICE void clean_chunk(u32 smem, u32 key, u32 i)
{
    u32 row = i / PANEL_CHUNKS % HEED_N, chunk = (i ^ row / (128 / PANEL_ROW)) % PANEL_CHUNKS;
    u32 column = i / PANEL_CHUNKS / HEED_N * PANEL_COLUMNS + chunk * 8;
    HEED_NO_UNROLL
    for (u32 pair = 0; pair < 4; pair++)
        clean_pair(smem + i * 16 + pair * 4, column + pair * 2, key + row);
}

HEED_DEVICE u32 chunk_not_finite(const heed_u32x4 *x)
{
    return half_not_finite(x->v[0]) | half_not_finite(x->v[1]) | half_not_finite(x->v[2]) |
           half_not_finite(x->v[3]);
}

/* Looks at two chunks at a time, side by side. */
HEED_DEVICE void clean_tile(u32 smem, u32 key, u32 thread)
{
    HEED_NO_UNROLL
    for (u32 i = thread; i < V_PANELS * HEED_N * PANEL_CHUNKS; i += 2 * CLEANERS) {
        heed_u32x4 first = ptx_ld_shared_16(smem + i * 16);
        heed_u32x4 second = ptx_ld_shared_16(smem + (i + CLEANERS) * 16);
        u32 bad_first = chunk_not_finite(&first), bad_second = chunk_not_finite(&second);
        if ((bad_first | bad_second) == 0)
            continue;
        clean_chunk(smem, key, i);
        clean_chunk(smem, key, i + CLEANERS);
    }
    ptx_fence_async();
}

/* Cleans the item's tiles that need it. @all is the place of the item's first tile among all of the
 * block's, @next that among those that need cleaning. */
HEED_DEVICE void clean_item(const place *at, ring all, ring *next, u32 thread)
{
    HEED_NO_UNROLL
    for (u32 j = 0; j < block_count(at, at->masked); j++) {
        ptx_mbarrier_wait(stage_barrier(V_FULL, all.stage), all.parity);
        clean_tile(v_tile(all), loaded_key(at, j), thread);
        ptx_mbarrier_arrive(stage_barrier(V_CLEAN, next->stage));
        ring_advance(&all, 1);
        ring_advance(next, 1);
    }
}

/* There are no bad keys yet. */
HEED_DEVICE void clear_bad(u32 thread)
{
    for (u32 i = thread; i < BAD_KEYS; i += CLEANERS)
        ptx_st_shared_4(bad_key(BAD_AT, i), NO_KEY);
}

/* Tells the other block of the pair the first bad keys. */
HEED_DEVICE void send_bad(u32 thread, u32 rank)
{
    u32 other = 1 - rank, barrier = ptx_mapa(left_barrier(), other);
    ptx_barrier_named(LOADERS_BARRIER, CLEANERS);
    ptx_cluster_wait();
    for (u32 i = thread * 2; i < BAD_KEYS; i += CLEANERS * 2) {
        heed_u32x2 keys = ptx_ld_shared_8(bad_key(BAD_AT, i));
        ptx_st_async_8(ptx_mapa(bad_key(OTHER_BAD_AT, i), other), keys, barrier);
    }
}

/* Fetches the block's share of its head's tiles of K or V into the L2: all @blocks of the head's
 * rows are about to read them, and each fetches others. */
HEED_DEVICE void fetch_tiles(const heed_cuda_map *map, const place *at, u32 blocks,
                             const u32 panels)
{
    HEED_NO_UNROLL
    for (u32 i = at->row / BLOCK_ROWS; i < at->tiles; i += blocks) {
        HEED_UNROLL
        for (u32 panel = 0; panel < panels; panel++)
            ptx_tensor_prefetch(map, (i32)(panel * PANEL_COLUMNS), (i32)at->head_kv,
                                (i32)(i * HEED_N), (i32)at->batch);
    }
}

/* Fetches a row group's Q. */
HEED_DEVICE void fetch_q(const heed_cuda_mapped_args *m, const place *at, u32 row_group)
{
    u32 row = divide(at->row + row_group * GROUP_ROWS, m->args.group);
    HEED_UNROLL
    for (u32 panel = 0; panel < QK_PANELS; panel++)
        ptx_tensor_prefetch(&m->q, (i32)(panel * PANEL_COLUMNS), (i32)at->head_q, (i32)row,
                            (i32)at->batch);
}

/* Fetches what the block's first item reads while the launch ahead of this one may still write it:
 * writes go by way of the L2, too. Of a pair one block fetches K, the other one V. */
HEED_DEVICE void fetch_ahead(const heed_cuda_mapped_args *m, const place *at, const int of_k)
{
    if (!m->ahead)
        return;
    for (u32 r = 0; r < HEED_R && !of_k; r++)
        fetch_q(m, at, r);
    if (of_k && (PAIR == 1 || at->rank == 0))
        fetch_tiles(&m->k, at, m->args.blocks, QK_PANELS);
    if (!of_k && (PAIR == 1 || at->rank == 1))
        fetch_tiles(&m->v, at, m->args.blocks, V_PANELS);
}

/* Do the next launch's blocks begin before this one has loaded its tiles? Where there is room for
 * two, those of unequal lengths are else put on multiprocessors whose short ones have ended, two on
 * one. */
#define EARLY (HEED_CAUSAL && RESIDENT > 1)

/* What one of the threads that load does: @of_k, or else Q and V. It looks for its first item
 * before it waits for what runs ahead of this launch. */
HEED_DEVICE void load_items(const heed_cuda_mapped_args *m, const int of_k)
{
    place at;
    ring next = { 0, 0 };
    at.rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    at.row_group = 0;
    for (u32 round = 0, number; (number = item_number(round)) < item_count(&m->args); round++) {
        find_place(m, &at, number);
        if (round == 0) {
            fetch_ahead(m, &at, of_k);
            ptx_griddepcontrol_wait();
            if (EARLY)
                ptx_griddepcontrol_launch();
        }
        if (of_k)
            load_k(m, &at, &next, round);
        else
            load_q_and_v(m, &at, &next, round);
    }
    if (!EARLY)
        ptx_griddepcontrol_launch();
}

HEED_DEVICE void clean_items(const heed_cuda_mapped_args *m, u32 thread)
{
    place at;
    ring all = { 0, 0 }, next = { 0, 0 };
    at.rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    at.row_group = 0;
    for (u32 round = 0, number; (number = item_number(round)) < item_count(&m->args); round++) {
        find_place(m, &at, number);
        if (round > 0) { /* the block has begun without bad keys */
            ptx_mbarrier_wait(done_barrier(), round % 2 ^ 1);
            clear_bad(thread);
            ptx_barrier_named(LOADERS_BARRIER, CLEANERS);
        }
        clean_item(&at, all, &next, thread);
        for (u32 j = 0; j < block_count(&at, at.tiles); j++)
            ring_advance(&all, 1);
    }
    if (PAIR > 1)
        send_bad(thread, at.rank);
}

HEED_DEVICE void load(const heed_cuda_mapped_args *m)
{
    u32 thread = ptx_thread() - CONSUMER_THREADS;
    if (thread == 0)
        load_items(m, 1);
    else if (thread == 32)
        load_items(m, 0);
    else if (HEED_CAUSAL && thread >= 64)
        clean_items(m, thread - 64);
}

#endif /* HEED_WGMMA_LOAD_CUH */
