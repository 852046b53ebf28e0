/*
 * wgmma/load.cuh - the producer warpgroup: one thread starts the copies of K, one those of Q and V,
 * or with pages one warp each, with a lane for each page of a tile; two warps remove non-finite
 * values from tiles of V on the edge of a mask
 */
#ifndef HEED_WGMMA_LOAD_CUH
#define HEED_WGMMA_LOAD_CUH

#include "half.cuh"
#include "wgmma/place.cuh"

/* The threads that clean. */
#define CLEANERS 64

/* True if the lane starts copies. */
HEED_DEVICE int is_loader(void)
{
    return HEED_PAGED || ptx_lane() == 0;
}

/* True if it also starts those of Q, and arrives at barriers for the other lanes. */
HEED_DEVICE int is_speaker(void)
{
    return !HEED_PAGED || ptx_lane() == 0;
}

/* Starts copying a row group's Q to its buffer; @barrier expects the bytes. */
HEED_DEVICE void copy_q(const heed_cuda_mapped_args *m, const place *at, u32 row_group, u32 buffer,
                        u32 barrier)
{
    u32 row = divide(at->row + row_group * GROUP_ROWS, m->args.group), batch = at->batch;
#if HEED_PACKED_Q
    row += at->first_query;
    batch = 0;
#endif
    HEED_UNROLL
    for (u32 panel = 0; panel < QK_PANELS; panel++)
        ptx_tensor_load(q_smem(buffer) + panel * GROUP_ROWS * PANEL_ROW, &m->q, barrier,
                        (i32)(panel * PANEL_COLUMNS), (i32)at->head_q, (i32)row, (i32)batch);
}

/* Loads a row group's Q to its buffer, which is free. */
HEED_DEVICE void load_q(const heed_cuda_mapped_args *m, const place *at, u32 row_group, u32 buffer)
{
    u32 full = group_barrier(Q_FULL, buffer);
    if (!is_speaker())
        return;
    ptx_mbarrier_arrive_expect(full, Q_BYTES);
    copy_q(m, at, row_group, buffer, full);
}

/* Loads the Q of all row groups, each when its buffer is free. */
HEED_DEVICE void load_rows(const heed_cuda_mapped_args *m, const place *at, u32 round)
{
    for (u32 r = 0; r < HEED_ROW_GROUPS; r++) {
        u32 buffer = q_buffer(round, r);
        ptx_mbarrier_wait(group_barrier(Q_EMPTY, buffer), q_parity(round) ^ 1);
        load_q(m, at, r, buffer);
    }
}

/* The first key of the block's tile @j. */
HEED_DEVICE u32 loaded_key(const place *at, u32 j)
{
    return tile_key(at, block_tile(at, j));
}

/* The tiles that a thread loads: those of K, or of V. */
typedef struct tiles {
    const heed_cuda_map *map;
#if HEED_PAGED
    const heed_cuda_args *args;
#endif
#if HEED_BIAS_TILES
    const heed_cuda_mapped_args *m;
#endif
    u32 full, empty; /* stage barriers */
    u32 at;          /* offset in a stage */
    u32 panels;
    u32 bytes;
} tiles;

HEED_DEVICE tiles tiles_of(const heed_cuda_mapped_args *m, const int of_k)
{
    tiles t;
    t.map = of_k ? &m->k : &m->v;
#if HEED_PAGED
    t.args = &m->args;
#endif
#if HEED_BIAS_TILES
    t.m = m;
#endif
    t.full = of_k ? K_FULL : V_FULL;
    t.empty = of_k ? K_EMPTY : V_EMPTY;
    t.at = of_k ? 0 : K_BYTES;
    t.panels = of_k ? QK_PANELS : V_PANELS;
    t.bytes = of_k ? K_BYTES + BIAS_BYTES : V_BYTES;
    return t;
}

/* The lane's part of a tile: its position in K or V, and its first row @row in the tile. */
typedef struct part {
    u32 row;
    u32 key, batch;
} part;

#if HEED_PAGED

/* Rows of a box. */
HEED_DEVICE u32 box_rows(const tiles *t)
{
    u32 page = t->args->changes.page.value;
    return page < HEED_TILE_KEYS ? page : HEED_TILE_KEYS;
}

/* The lane's part of the block's tile @j; beyond the length it is in no page, and zeros are
 * copied. */
HEED_DEVICE part find_part(const tiles *t, const place *at, u32 j)
{
    const heed_cuda_changes *changes = &t->args->changes;
    part own;
    own.row = ptx_lane() * box_rows(t);
    u32 key = loaded_key(at, j) + own.row, page = divide(key, changes->page);
    own.key = key - page * changes->page.value;
    own.batch = changes->pages;
    if (own.row < HEED_TILE_KEYS && key < at->length)
        own.batch = ptx_ld_ahead_4(changes->table + at->batch * changes->table_stride + page);
    return own;
}

#else

HEED_DEVICE part find_part(const tiles *t, const place *at, u32 j)
{
    part own;
    (void)t;
    own.row = 0;
    own.key = loaded_key(at, j);
    own.batch = at->batch;
#if HEED_PACKED_K
    own.key += at->first_key;
    own.batch = 0;
#endif
    return own;
}

#endif

/* Starts copying the lane's part of a tile to the stage; @barrier expects the bytes. */
HEED_DEVICE void copy_part(const tiles *t, const place *at, ring stage, part own, u32 barrier)
{
    u32 smem = k_tile(stage) + t->at + own.row * PANEL_ROW;
    if (HEED_PAGED && own.row >= HEED_TILE_KEYS)
        return;
    HEED_UNROLL
    for (u32 panel = 0; panel < t->panels; panel++)
        ptx_tensor_load(smem + panel * HEED_TILE_KEYS * PANEL_ROW, t->map, barrier,
                        (i32)(panel * PANEL_COLUMNS), (i32)at->head_kv, (i32)own.key,
                        (i32)own.batch);
}

/* Starts copying the bias of the block's tile @j with its rows to the stage; likewise. */
HEED_DEVICE void copy_bias(const tiles *t, const place *at, ring stage, u32 j, u32 barrier)
{
#if HEED_BIAS_TILES
    u32 key = loaded_key(at, j), batch = HEED_BIAS_TILES & 4 ? at->batch : 0;
    HEED_UNROLL
    for (u32 i = 0; i < HEED_ROW_GROUPS * BIAS_PANELS && is_speaker(); i++) {
        u32 row_group = i / BIAS_PANELS, panel = i % BIAS_PANELS;
        u32 query = divide(at->row + row_group * GROUP_ROWS, t->m->args.group);
        ptx_tensor_load(bias_tile(stage, row_group) + panel * GROUP_ROWS * PANEL_ROW, &t->m->bias,
                        barrier, (i32)(key + panel * PANEL_COLUMNS),
                        HEED_BIAS_TILES & 2 ? (i32)at->head_q : 0, (i32)query, (i32)batch);
    }
#else
    (void)t;
    (void)at;
    (void)stage;
    (void)j;
    (void)barrier;
#endif
}

/* In builds without overlap: waits until the tile before that of @next, if there is one, has been
 * read. */
HEED_DEVICE void wait_before(const tiles *t, ring next, u32 j)
{
    if (ABLATED(ABLATE_NO_OVERLAP) && (j > 0 || next.stage > 0 || next.parity > 0)) {
        u32 wrapped = next.stage == 0;
        ptx_mbarrier_wait(stage_barrier(t->empty, wrapped ? HEED_STAGES - 1 : next.stage - 1),
                          next.parity ^ wrapped);
    }
}

/* Loads the block's tile @j, whose part is @own, to the stage, which is empty. */
HEED_DEVICE void load_tile(const tiles *t, const place *at, ring stage, u32 j, part own)
{
    u32 full = stage_barrier(t->full, stage.stage);
    if (ABLATED(ABLATE_NO_LOADS) && j >= HEED_STAGES) { /* the stage keeps its data */
        if (is_speaker())
            ptx_mbarrier_arrive(full);
        return;
    }
    if (is_speaker())
        ptx_mbarrier_arrive_expect(full, t->bytes);
    if (HEED_PAGED)
        ptx_warp_barrier();
    copy_part(t, at, stage, own, full);
    if (HEED_BIAS_TILES && t->full == K_FULL)
        copy_bias(t, at, stage, j, full);
}

/* Loads the tiles from @j on, each when its stage is empty. */
HEED_DEVICE void load_tiles(const tiles *t, const place *at, ring *next, u32 j)
{
    HEED_NO_UNROLL
    for (; j < block_count(at, at->tiles); j++) {
        part own;
        if (HEED_PAGED) /* looks up a page while the stage is not yet empty */
            own = find_part(t, at, j);
        wait_before(t, *next, j);
        ptx_mbarrier_wait(stage_barrier(t->empty, next->stage), next->parity ^ 1);
        if (!HEED_PAGED)
            own = find_part(t, at, j);
        load_tile(t, at, *next, j, own);
        ring_advance(next, 1);
    }
}

HEED_DEVICE u32 chunk_not_finite(const heed_u32x4 *x)
{
    return half_not_finite(x->v[0]) | half_not_finite(x->v[1]) | half_not_finite(x->v[2]) |
           half_not_finite(x->v[3]);
}

/* Zeroes non-finite values in a chunk of 8 columns of V, number @i of the tile, and records its
 * key. */
HEED_DEVICE void clean_chunk(u32 smem, u32 key, u32 i)
{
    HEED_NO_UNROLL
    for (u32 word = 0; word < 4; word++) {
        u32 at = smem + i * 16 + word * 4, x = ptx_ld_shared_4(at), bad = half_not_finite(x);
        if (!bad)
            continue;
        ptx_st_shared_4(at, x & ~((bad >> 15) * 0xffffu));
        ptx_min_shared_u32(ptx_shared_base() + BAD_AT, key + i / PANEL_CHUNKS % HEED_TILE_KEYS);
    }
}

/* Checks two adjacent chunks at a time. */
HEED_DEVICE void clean_tile(u32 smem, u32 key, u32 thread)
{
    HEED_NO_UNROLL
    for (u32 i = thread; i < V_PANELS * HEED_TILE_KEYS * PANEL_CHUNKS; i += 2 * CLEANERS) {
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

/* Cleans the item's tiles that need it. @all is the ring position of the item's first tile among
 * all of the block's, @next that among tiles that need cleaning. */
HEED_DEVICE void clean_item(const place *at, ring all, ring *next, u32 thread)
{
    HEED_NO_UNROLL
    for (u32 j = 0; j < block_count(at, CLEANED(at)); j++) {
        ptx_mbarrier_wait(stage_barrier(V_FULL, all.stage), all.parity);
        clean_tile(v_tile(all), loaded_key(at, j), thread);
        ptx_mbarrier_arrive(stage_barrier(V_CLEAN, next->stage));
        ring_advance(&all, 1);
        ring_advance(next, 1);
    }
}

/* Resets the bad key to none. */
HEED_DEVICE void clear_bad(u32 thread)
{
    if (thread == 0)
        ptx_st_shared_4(ptx_shared_base() + BAD_AT, NO_KEY);
}

/* Sends the first bad key to the other block of the pair. */
HEED_DEVICE void send_bad(u32 thread, u32 rank)
{
    u32 other = 1 - rank;
    ptx_barrier_named(LOADERS_BARRIER, CLEANERS);
    ptx_cluster_wait();
    heed_u32x2 key = { { bad_key(BAD_AT), 0 } };
    if (thread == 0)
        ptx_st_async_8(ptx_mapa(ptx_shared_base() + OTHER_BAD_AT, other), key,
                       ptx_mapa(left_barrier(), other));
}

/* ---- First loads ---- */

/* The number of the block's tiles that are loaded first: those of K with which the teams begin, and
 * one of V. They and Q are loaded before all others. */
HEED_DEVICE u32 first_tiles(const place *at, const int of_k)
{
    u32 most = of_k && !ABLATED(ABLATE_NO_OVERLAP) ? HEED_KEY_GROUPS : 1;
    u32 count = block_count(at, at->tiles);
    return most < count ? most : count;
}

/* Prefetches the block's share of its head's tiles of K or V into the L2: all blocks of the head's
 * rows are about to read them, and each fetches different ones. In a pair, one block fetches K, the
 * other one V. */
HEED_DEVICE void fetch_tiles(const heed_cuda_mapped_args *m, const tiles *t, const place *at,
                             const int of_k)
{
    if (PAIR > 1 && at->rank == (u32)of_k)
        return;
    HEED_NO_UNROLL
    for (u32 i = at->row / BLOCK_ROWS; i < at->tiles; i += m->args.blocks) {
        HEED_UNROLL
        for (u32 panel = 0; panel < t->panels; panel++)
            ptx_tensor_prefetch(t->map, (i32)(panel * PANEL_COLUMNS), (i32)at->head_kv,
                                (i32)((first_tile(at) + i) * HEED_TILE_KEYS), (i32)at->batch);
    }
}

/* Copies the block's first tiles to their stages while the preceding launch may still write them,
 * and again when it has ended. The second copy is faster than after a prefetch into the L2, which
 * has partitions: prefetched data may be in the one that is far from this multiprocessor. */
HEED_DEVICE void rehearse(const heed_cuda_mapped_args *m, const tiles *t, const place *at,
                          const int of_k)
{
    u32 barrier = rehearsal_barrier(of_k), count = of_k ? first_tiles(at, 1) : 0;
    ptx_mbarrier_arrive_expect(barrier, of_k ? count * K_BYTES : HEED_ROW_GROUPS * Q_BYTES);
    for (u32 r = 0; r < HEED_ROW_GROUPS && !of_k; r++)
        copy_q(m, at, r, r, barrier);
    for (ring stage = { 0, 0 }; stage.stage < count; stage.stage++)
        copy_part(t, at, stage, find_part(t, at, stage.stage), barrier);
    ptx_mbarrier_wait(barrier, 0);
}

/* True if the next launch's blocks begin as soon as all of this one's have begun, which needs room
 * for two blocks. Later they would be placed on multiprocessors whose blocks have ended, two on
 * one; that launch would take longer, and so would the ones after it. */
#define EARLY (RESIDENT > 1)

/* Finds the block's first item before waiting for the preceding launch, and starts the first
 * loads. */
HEED_DEVICE void load_first(const heed_cuda_mapped_args *m, const int of_k, place *at, ring *next)
{
    tiles t = tiles_of(m, of_k);
    at->rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    at->row_group = 0;
    if (FOUND_LATE) /* the place depends on data in memory */
        ptx_griddepcontrol_wait();
    find_place(m, at, item_number(0));
    if (m->ahead && !FOUND_LATE) {
        fetch_tiles(m, &t, at, of_k);
        rehearse(m, &t, at, of_k);
    }
    if (!FOUND_LATE)
        ptx_griddepcontrol_wait();
    if (EARLY)
        ptx_griddepcontrol_launch();
    for (u32 r = 0; r < HEED_ROW_GROUPS && !of_k; r++)
        load_q(m, at, r, r);
    for (u32 j = 0; j < first_tiles(at, of_k); j++) {
        load_tile(&t, at, *next, j, find_part(&t, at, j));
        ring_advance(next, 1);
    }
}

/* ---- All loads ---- */

/* The loads after the first ones. */
HEED_DEVICE void load_items(const heed_cuda_mapped_args *m, const int of_k, place *at, ring *next)
{
    tiles t = tiles_of(m, of_k);
    u32 first = first_tiles(at, of_k);
    for (u32 round = 0, number; has_item(&m->args, round, number = item_number(round)); round++) {
        if (round > 0)
            find_place(m, at, number);
        if (round > 0 && !of_k)
            load_rows(m, at, round);
        load_tiles(&t, at, next, round > 0 ? 0 : first);
    }
    if (!EARLY)
        ptx_griddepcontrol_launch();
}

HEED_DEVICE void clean_items(const heed_cuda_mapped_args *m, u32 thread)
{
    place at;
    ring all = { 0, 0 }, next = { 0, 0 };
    u32 cleaned = 0; /* items */
    at.rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    at.row_group = 0;
    if (FOUND_LATE)
        ptx_griddepcontrol_wait();
    for (u32 round = 0, number; has_item(&m->args, round, number = item_number(round)); round++) {
        find_place(m, &at, number);
        if (CLEANED(&at) > 0 && cleaned++ > 0) { /* initially there are no bad keys */
            ptx_mbarrier_wait(done_barrier(), cleaned % 2);
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

/* ---- Roles ---- */

/* True if the first loads come before everything else. If a block begins while the preceding launch
 * still runs, there is time for setup meanwhile, and all warps wait for that launch. */
#define LOADS_FIRST (HEED_SCHEDULE == 2)

/* State of a producer thread between its first loads and the others. */
typedef struct loader {
    place at;
    ring next;
} loader;

/* Starts the first loads, in producer threads. */
HEED_DEVICE void start_loads(const heed_cuda_mapped_args *m, u32 warp, loader *l)
{
    if (warp == K_WARP && is_loader())
        load_first(m, 1, &l->at, &l->next);
    else if (warp == V_WARP && is_loader())
        load_first(m, 0, &l->at, &l->next);
    ptx_warp_barrier();
}

/* The last warpgroup. Later loads are only started after both warps have started their first
 * ones. */
HEED_DEVICE void load(const heed_cuda_mapped_args *m, loader *l)
{
    u32 warp = ptx_thread() / 32;
    if (!LOADS_FIRST) {
        start_loads(m, warp, l);
        ptx_barrier_named(FIRST_BARRIER, GROUP_THREADS);
    }
    if (warp == K_WARP && is_loader())
        load_items(m, 1, &l->at, &l->next);
    else if (warp == V_WARP && is_loader())
        load_items(m, 0, &l->at, &l->next);
    else if (HEED_MASKED && warp >= CLEAN_WARP)
        clean_items(m, ptx_thread() - (THREADS - CLEANERS));
}

#endif /* HEED_WGMMA_LOAD_CUH */
