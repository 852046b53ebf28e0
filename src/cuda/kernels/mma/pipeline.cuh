/*
 * mma/pipeline.cuh - the software pipeline of attn_mma.cu: loads K and V to shared memory
 * HEED_STAGES - 1 steps before they are needed
 *
 * It begins with fill_pipeline(); then each step gets the next tile with advance(), which also
 * starts the load that replaces the last tile.
 */
#ifndef HEED_MMA_PIPELINE_CUH
#define HEED_MMA_PIPELINE_CUH

#include "mma/load.cuh"
#include "mma/products.cuh"
#include "mma/wide.cuh"

HEED_DEVICE void one_barrier(const place *at)
{
    if (HEED_KEY_GROUPS == 1)
        ptx_barrier();
    else
        ptx_barrier_named(1 + (int)at->group, GROUP_THREADS);
}

/* Waits for the group. */
HEED_DEVICE void group_barrier(const place *at)
{
    one_barrier(at);
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        one_barrier(at);
}

/* A thread's state in the main loop. */
typedef struct walk {
    place at;
    const heed_cuda_args *args;
    const u8 *k; /* of the block's head */
    const u8 *v;
    u32 q_smem, bad_smem, stages;
#if HEED_VALUE_WARPS > 1
    u32 shared, weights; /* shared by warps of the same rows */
#endif
    u32 tiles; /* of the group */
    u32 full;  /* tiles without a mask, plus the late ones */
    tile_stream k_stream, v_stream;
    u32 q_lane;   /* the lane's ldmatrix offset in Q, */
    u32 kv_lanes; /* in a tile of K, and, in the upper half, in a tile of V */
#if KNOWS_LENGTH
    u32 length; /* keys of the batch element */
#endif
#if HEED_PAGED
    key_pages k_pages, v_pages; /* of the next tiles to load */
#endif
#if HEED_Q_PLACE == 2
    u32 q[QK16][ROWS16][4];
#endif
} walk;

/* Finds the place of the block and the thread; if registers are SCARCE, again after the main loop,
 * and at the end. */
HEED_DEVICE void locate(walk *w, const heed_cuda_args *args)
{
    place *at = &w->at;
    find_place(args, at);
    w->args = args;
#if KNOWS_LENGTH
    w->length = clip_key(&args->seq_k, batch_length(args, at->batch));
#endif
    w->q_smem = ptx_shared_base();
    w->bad_smem = w->q_smem + Q_BYTES;
#if HEED_VALUE_WARPS > 1
    w->shared = w->q_smem + SHARED_AT;
    w->weights = w->q_smem + WEIGHTS_AT;
#endif
    w->stages = w->q_smem + STAGES_AT + at->group * HEED_STAGES * STAGE_BYTES;
    w->k = (const u8 *)args->k +
           ELEMENT_BYTES * keys_offset(args, at->batch, at->head_kv, args->k_stride);
    w->v = (const u8 *)args->v +
           ELEMENT_BYTES * keys_offset(args, at->batch, at->head_kv, args->v_stride);
    w->tiles = own_tiles(at, at->tile_end);
    w->full = ABLATED(ABLATE_MASKED)
                  ? 0
                  : own_tiles(at, at->tile_full < at->tile_end ? at->tile_full : at->tile_end);
}

/* Number of steps of the main loop: as long as tile j needs no mask, and the tiles that are loaded
 * meanwhile have all their rows. */
HEED_DEVICE u32 main_steps(const walk *w)
{
    u32 whole = HEED_LISTS ? w->at.tile_end : KEY_COUNT(w) / HEED_TILE_KEYS;
    whole = own_tiles(&w->at, whole < w->at.tile_end ? whole : w->at.tile_end);
    whole = whole > HEED_STAGES - 1 + K_AHEAD ? whole - (HEED_STAGES - 1 + K_AHEAD) : 0;
    return whole < w->full ? whole : w->full;
}

/* True if tiles that need a mask come first. */
#define MASKED_FIRST (HEED_HIDES_FIRST || HEED_LISTS)

/* True if tile j needs a mask of positions. */
HEED_DEVICE int is_partial(const walk *w, u32 j)
{
    if (HEED_LISTS && is_inner(&w->at, j))
        return 0;
    return (MASKED_FIRST && j < late_tiles(w->args, &w->at)) || j >= w->full;
}

HEED_DEVICE u32 stage_of(const walk *w, u32 j)
{
    return w->stages + j % HEED_STAGES * STAGE_BYTES;
}

#if HEED_ABLATE == ABLATE_NO_STAGING

#if HEED_PAGED || WIDE
#error "keys in pages are not read where they lie, nor wide heads, nor a V that is a part of K"
#endif

/* Tile j of the head that begins at @rows. @clean: it is on the edge of a mask. */
HEED_DEVICE tile_source direct_source(const walk *w, const u8 *rows, i64 stride, u32 j, int clean)
{
    tile_source from;
    from.key = tile_key(&w->at, j);
    from.rows = rows + from.key * stride;
    from.stride = stride;
    u32 keys = loadable_keys(w->args, &w->at);
    from.valid = from.key < keys ? keys - from.key : 0;
    from.lane = w->at.lane;
    from.bad_smem = clean ? w->bad_smem : 0;
    return from;
}

#endif

/* Tiles of a list are anywhere: the stream restarts from the first key for each. */
HEED_DEVICE void find_listed_tile(const walk *w, tile_stream *stream, i64 stride, u32 j)
{
    if (HEED_LISTS)
        stream->from += (i64)tile_key(&w->at, j) * stride;
}

/* Loads the group's tiles of K in the order of @j, each once, and likewise those of V. */
HEED_DEVICE void stream_k(walk *w, u32 j, const int whole)
{
    tile_stream listed = w->k_stream, *stream = HEED_LISTS ? &listed : &w->k_stream;
    find_listed_tile(w, stream, ELEMENT_BYTES * w->args->k_stride.seq, j);
    tile_stream_load(stream, stage_of(w, j), ELEMENT_BYTES * w->args->k_stride.seq,
                     HEED_KEY_GROUPS * HEED_TILE_KEYS, KEY_COUNT(w) - tile_key(&w->at, j), whole,
                     HEED_TILE_KEYS, QK_HALVES, QK_PAD, GROUP_THREADS, w->at.thread);
}

HEED_DEVICE void stream_v(walk *w, u32 j, const int whole)
{
    tile_stream listed = w->v_stream, *stream = HEED_LISTS ? &listed : &w->v_stream;
    find_listed_tile(w, stream, ELEMENT_BYTES * w->args->v_stride.seq, j);
    tile_stream_load(stream, stage_of(w, j) + V_AT, ELEMENT_BYTES * w->args->v_stride.seq,
                     HEED_KEY_GROUPS * HEED_TILE_KEYS, KEY_COUNT(w) - tile_key(&w->at, j), whole,
                     HEED_TILE_KEYS, V_HALVES, V_PAD, GROUP_THREADS, w->at.thread);
}

#if HEED_PAGED

/* Loads tile j of K, */
HEED_DEVICE void page_k(walk *w, u32 j, const int aligned)
{
    const heed_cuda_args *args = w->args;
    load_pages(args, &w->at, w->k, args->k_stride, stage_of(w, j), tile_key(&w->at, j), w->length,
               &w->k_pages, QK_HALVES, QK_PAD, aligned);
}

/* and of V, which is the same tile or the one before; */
HEED_DEVICE void page_v(walk *w, u32 j, const int aligned)
{
    const heed_cuda_args *args = w->args;
    load_pages(args, &w->at, w->v, args->v_stride, stage_of(w, j) + V_AT, tile_key(&w->at, j),
               w->length, K_AHEAD ? &w->v_pages : &w->k_pages, V_HALVES, V_PAD, aligned);
}

/* looks up the pages of tile j, if it exists; */
HEED_DEVICE key_pages find_pages(const walk *w, u32 j)
{
    int exists = j < w->tiles;
    return look_up(w->args, &w->at, exists ? tile_key(&w->at, j) : 0, exists ? w->length : 0);
}

/* and those of the next tile of K, a step before they are needed. */
HEED_DEVICE void page_next(walk *w, u32 j)
{
    w->v_pages = w->k_pages;
    w->k_pages = find_pages(w, j);
}

HEED_DEVICE void start_step(walk *w, u32 j, const int whole, const int aligned)
{
    (void)whole;
    if (j + K_AHEAD < w->tiles)
        page_k(w, j + K_AHEAD, aligned);
    if (!HEED_SHARED_V && j < w->tiles)
        page_v(w, j, aligned);
    page_next(w, j + K_AHEAD + 1);
}

/* With K_AHEAD, loads the first tile of K, whose pages have been found. */
HEED_DEVICE void start_first(walk *w, const int aligned)
{
    if (!K_AHEAD)
        return;
    if (w->tiles > 0)
        page_k(w, 0, aligned);
    page_next(w, 1);
}

#else

HEED_DEVICE void start_step(walk *w, u32 j, const int whole, const int aligned)
{
    u32 k = j + K_AHEAD;
    if (aligned) {
        if (whole || k < w->tiles)
            stream_k(w, k, whole);
        if (!HEED_SHARED_V && (whole || j < w->tiles))
            stream_v(w, j, whole);
    } else {
        if (k < w->tiles)
            load_k(w->args, &w->at, w->k, w->stages, k);
        if (!HEED_SHARED_V && j < w->tiles)
            load_v(w->args, &w->at, w->v, w->stages, j);
    }
}

/* With K_AHEAD, loads the first tile of K. */
HEED_DEVICE void start_first(walk *w, const int aligned)
{
    if (K_AHEAD && w->tiles > 0 && aligned)
        stream_k(w, 0, 0);
    else if (K_AHEAD && w->tiles > 0)
        load_k(w->args, &w->at, w->k, w->stages, 0);
}

#endif

/* Step j of the pipeline is K of tile j + K_AHEAD and V of tile j. @whole: both exist with all
 * their rows. */
HEED_DEVICE void load_step(walk *w, u32 j, const int whole, const int aligned)
{
    /* In builds without loads, the stages keep their data, if any. */
    if (!ABLATED(ABLATE_NO_STAGING) && !(ABLATED(ABLATE_NO_LOADS) && whole && j >= HEED_STAGES))
        start_step(w, j, whole, aligned);
    ptx_cp_async_commit();
}

/* Waits for step j, and until all threads of the group are done with step j - 1, and starts the
 * load that replaces it. @fast: in the main loop. */
HEED_DEVICE void advance(walk *w, u32 j, const int fast, const int aligned)
{
    ptx_cp_async_wait(HEED_STAGES - 2);
    if (CLEANS && !fast && is_partial(w, j) && !ABLATED(ABLATE_NO_STAGING))
        clean_v(&w->at, stage_of(w, j) + V_AT, w->bad_smem, tile_key(&w->at, j));
    group_barrier(&w->at);
    load_step(w, j + HEED_STAGES - 1, fast, aligned);
    if (ABLATED(ABLATE_NO_OVERLAP))
        ptx_cp_async_wait(0);
}

/* Starts the first loads, and waits for Q and everything else that the first step needs. */
HEED_DEVICE void fill_pipeline(walk *w, const int aligned)
{
    place *at = &w->at;
    w->q_lane = w->q_smem + tile_at(HEED_BLOCK_ROWS, QK_PAD, at->warp * WARP_ROWS, 0) +
                tile_lane(QK_PAD, at->lane % 16, at->lane / 16);
    w->kv_lanes = ptx_keep(tile_lane(QK_PAD, at->lane / 16 * 8 + at->lane % 8, at->lane / 8 % 2) |
                           value_lane(at->lane) << 16);
    i64 k_row = ELEMENT_BYTES * w->args->k_stride.seq,
        v_row = ELEMENT_BYTES * w->args->v_stride.seq;
    u32 first = HEED_LISTS ? 0 : tile_key(at, 0);
    w->k_stream = tile_stream_of(w->k + first * k_row, k_row, HEED_TILE_KEYS, QK_PAD, at->thread);
    w->v_stream = tile_stream_of(w->v + first * v_row, v_row, HEED_TILE_KEYS, V_PAD, at->thread);
#if HEED_PAGED
    w->k_pages = find_pages(w, 0);
#endif
    load_q(w->args, at, w->q_smem, aligned);
    if (!ABLATED(ABLATE_NO_STAGING))
        start_first(w, aligned);
    if (K_AHEAD)
        ptx_cp_async_commit();
    HEED_UNROLL
    for (u32 j = 0; j < HEED_STAGES - 1; j++)
        load_step(w, j, 0, aligned);
    if (BAD_BYTES > 0)
        for (u32 i = at->group * GROUP_THREADS + at->thread; i < V_PAD; i += THREADS)
            ptx_st_shared_4(w->bad_smem + i * 4, NO_KEY);
    ptx_cp_async_wait(HEED_STAGES - 2 + K_AHEAD);
    ptx_barrier();
    if (w->args->negate) {
        negate_q(at, w->q_smem);
        ptx_barrier();
    }
#if HEED_Q_PLACE == 2
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++)
        load_q_fragments(w->q[kk], w->q_lane, kk);
#endif
}

#endif
