/*
 * mla/load.cuh - copies of K to shared memory by one warp per stage, with one lane per page of a
 * tile, or one lane for a whole tile; another warp cleans the last tile
 */
#ifndef HEED_MLA_LOAD_CUH
#define HEED_MLA_LOAD_CUH

#include "maps.cuh"
#include "mla/place.cuh"

/* The lane's part of a tile: its position in K, and its first row @row in the tile. */
typedef struct part {
    u32 row;
    u32 key, batch;
} part;

#if HEED_PAGED

/* Beyond the limit it is in no page, and zeros are copied. */
HEED_DEVICE part find_part(const heed_cuda_args *args, const place *at, u32 j)
{
    const heed_cuda_changes *changes = &args->changes;
    u32 size = changes->page.value;
    part own;
    own.row = ptx_lane() * (size < HEED_TILE_KEYS ? size : HEED_TILE_KEYS);
    u32 key = tile_key(at, j) + own.row, page = divide(key, changes->page);
    own.key = key - page * size;
    own.batch = changes->pages;
    if (own.row < HEED_TILE_KEYS && key < at->limit)
        own.batch = ptx_ld_ahead_4(changes->table + at->batch * changes->table_stride + page);
    return own;
}

#else

HEED_DEVICE part find_part(const heed_cuda_args *args, const place *at, u32 j)
{
    part own;
    (void)args;
    own.row = 0;
    own.key = tile_key(at, j);
    own.batch = at->batch;
    return own;
}

#endif

/* Copies tile @j, part by part as the stage becomes free: the tail, then the halves. */
HEED_DEVICE void load_tile(const heed_cuda_mapped_args *m, const place *at, u32 j, part own,
                           u32 cleaned)
{
    u32 stage = j % STAGES, smem = stage_at(stage) + own.row * PANEL_ROW;
    HEED_UNROLL
    for (u32 i = 0; i < PANELS; i++) {
        const u32 panel = (i + TAIL) % PANELS;
        u32 full = full_barrier(stage, panel);
        const u32 part = panel / HALF_PANELS;
        if (panel % HALF_PANELS == 0) {
            ptx_mbarrier_wait(empty_barrier(stage, part), tile_parity(j) ^ 1);
            if (CLEANS && j == cleaned && (!HEED_PAGED || ptx_lane() == 0))
                ptx_mbarrier_arrive(begun_barrier(part));
        }
        if (ABLATED(ABLATE_NO_LOADS) && j >= STAGES) { /* the stage keeps its data */
            if (!HEED_PAGED || ptx_lane() == 0)
                ptx_mbarrier_arrive(full);
            continue;
        }
        if (!HEED_PAGED || ptx_lane() == 0)
            ptx_mbarrier_arrive_expect(full, PANEL_BYTES);
        if (HEED_PAGED)
            ptx_warp_barrier();
        if (own.row < HEED_TILE_KEYS)
            ptx_tensor_load(smem + panel * PANEL_BYTES, &m->k, full, (i32)(panel * PANEL_COLUMNS),
                            (i32)at->head_kv, (i32)own.key, (i32)own.batch);
    }
}

/* Zeroes the keys of tile @j that no row of the block sees: a weight of zero would not hide one
 * that is not finite. Called by the whole warp. */
HEED_DEVICE void clean_tile(const place *at, u32 j)
{
    const heed_u32x4 zero = { { 0, 0, 0, 0 } };
    u32 first = (at->limit - tile_key(at, j)) * PANEL_CHUNKS;
    HEED_NO_UNROLL
    for (u32 i = 0; i < PANELS; i++) {
        u32 panel = (i + TAIL) % PANELS, smem = stage_at(j % STAGES) + panel * PANEL_BYTES;
        ptx_mbarrier_wait(begun_barrier(panel / HALF_PANELS), 0);
        ptx_mbarrier_wait(full_barrier(j % STAGES, panel), tile_parity(j));
        for (u32 chunk = first + ptx_lane(); chunk < PANEL_BYTES / 16; chunk += 32)
            ptx_st_shared_16(smem + chunk * 16, zero);
        ptx_fence_async();
        ptx_mbarrier_arrive(clean_barrier(panel));
    }
}

/* The producer warpgroup. */
HEED_DEVICE void load(const heed_cuda_mapped_args *m)
{
    place at;
    u32 warp = (ptx_thread() - CONSUMER_THREADS) / 32;
    if (warp > CLEAN_WARP || (warp == CLEAN_WARP && !CLEANS) ||
        (warp < CLEAN_WARP && !HEED_PAGED && ptx_lane() > 0))
        return;
    ptx_griddepcontrol_wait();
    ptx_griddepcontrol_launch();
    find_place(&m->args, &at);
    u32 cleaned = cleaned_tile(&at);
    HEED_NO_UNROLL
    for (u32 j = warp; warp < STAGES && j < at.tiles; j += STAGES)
        load_tile(m, &at, j, find_part(&m->args, &at, j), cleaned);
    if (warp == CLEAN_WARP && cleaned < at.tiles)
        clean_tile(&at, cleaned);
}

#endif /* HEED_MLA_LOAD_CUH */
