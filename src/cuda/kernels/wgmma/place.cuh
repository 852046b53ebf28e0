/*
 * wgmma/place.cuh - for the prologue of attn_wgmma.cu: the rows and keys of a block, those of each
 * warpgroup, and its barriers
 */
#ifndef HEED_WGMMA_PLACE_CUH
#define HEED_WGMMA_PLACE_CUH

#include "order.cuh"
#include "ptx_hopper.cuh"
#include "wgmma/sizes.cuh"

#define LIST_ROWS BLOCK_ROWS
#include "tile_list.cuh"

/* The number of the block's tiles to clean: those on the edge of a mask. If steps may hide any key,
 * all tiles would have to be cleaned: instead none is, and rows that are not finite are recomputed
 * (mark_not_finite). */
#define CLEANED(at) (HEED_HIDES ? 0 : (at)->masked)

/* True if blocks share the keys of an item, whose parts are merged at the end (combine.cuh). */
#ifndef HEED_SPLIT
#define HEED_SPLIT 0
#endif

/* True if the tiles of a block may begin anywhere. */
#define BEGINS_LATER (HEED_HIDES_FIRST || HEED_SPLIT)

/* The place of a thread, and the rows and keys of its block. */
typedef struct place {
    u32 warp; /* in its warpgroup */
    u32 lane;
    u32 rank;      /* of the block, in a pair */
    u32 row_group; /* of the warpgroup */
    u32 key_group;
    u32 team; /* of both blocks */
    u32 batch;
    u32 head; /* as in args, */
    u32 head_q;
    u32 head_kv; /* and in their tensors */
    u32 row;     /* the warpgroup's first */
#if HEED_PACKED_Q
    u32 rows; /* of the sequence, which begins with this query; */
    u32 first_query;
#endif
#if HEED_PACKED_K
    u32 first_key; /* and with this key */
#endif
#if HEED_SPLIT
    u32 split;
#endif
    u32 tiles;  /* of keys that the block processes, from the last one to the first, but first
                   all */
    u32 masked; /* the number that need a mask */
    u32 passed; /* with HEED_OWN_TILES 2: the number that none of the warpgroup's rows sees, */
    u32 cut;    /* and up to here its rows need a mask */
#if HEED_PAGED
    u32 length; /* keys of the batch element */
#endif
#if HEED_LISTS
    listed_tiles listed;
#elif BEGINS_LATER
    u32 begin; /* the tile with the lowest keys; */
    u32 late;  /* of those that need a mask, the number where it hides first keys */
#endif
} place;

/* Rows of the batch element. */
HEED_DEVICE u32 rows_of(const heed_cuda_args *args, const place *at)
{
#if HEED_PACKED_Q
    (void)args;
    return at->rows;
#else
    (void)at;
    return args->rows;
#endif
}

#if HEED_LISTS

/* Finds the tiles of the block's rows, from @first to @last; the warpgroup's rows process all of
 * them. */
HEED_DEVICE void find_tiles(const heed_cuda_args *args, place *at, u32 first, u32 last)
{
    (void)last;
    at->listed = find_listed(args, at->head, first / BLOCK_ROWS, &at->tiles, &at->masked);
    at->passed = 0;
    at->cut = at->masked;
}

/* The first key of tile @j, in processing order. */
HEED_DEVICE u32 tile_key(const place *at, u32 j)
{
    return listed_key(&at->listed, j, at->masked);
}

/* True if tile @j, one of those that need a mask, does so only because of steps. */
HEED_DEVICE int is_inner(const place *at, u32 j)
{
    return listed_inner(&at->listed, j, at->masked);
}

/* Listed tiles are not prefetched. */
HEED_DEVICE u32 first_tile(const place *at)
{
    (void)at;
    return 0;
}

#else

HEED_DEVICE int is_inner(const place *at, u32 j)
{
    (void)at;
    (void)j;
    return 0;
}

/* The tile with the lowest keys. */
HEED_DEVICE u32 first_tile(const place *at)
{
#if BEGINS_LATER
    return at->begin;
#else
    (void)at;
    return 0;
#endif
}

/* Finds the tiles that the warpgroup skips, and those that need a mask for its rows. */
HEED_DEVICE void find_own_tiles(const heed_cuda_args *args, place *at)
{
    u32 last = at->row + GROUP_ROWS - 1, end = 0, full = 0, hides = 0;
    u32 rows = rows_of(args, at);
    last = last < rows ? last : rows - 1;
    if (at->row < rows) {
        tile_range own = visible_tiles(args, at->batch, at->row, last, HEED_TILE_KEYS);
        end = own.end;
        full = own.full_end;
#if HEED_HIDES_FIRST
        end -= at->begin;
        hides = own.full_begin > at->begin;
        full = full > at->begin ? full - at->begin : 0;
#endif
    }
    at->passed = at->tiles - end;
    if (ABLATED(ABLATE_MASKED))
        full = 0;
    at->cut = at->tiles - (full < end ? full : end);
#if HEED_HIDES_FIRST
    at->cut = at->late > 0 || hides ? at->masked : at->cut;
#else
    (void)hides;
#endif
}

HEED_DEVICE u32 clamp(u32 x, u32 least, u32 most)
{
    return x < least ? least : x < most ? x : most;
}

/* Reduces the tiles of an item to those of the block's split. */
HEED_DEVICE void find_share(const heed_cuda_args *args, const place *at, tile_range *tiles)
{
#if HEED_SPLIT
    u32 share = divide(tiles->end - tiles->begin + args->splits.value - 1, args->splits);
    tiles->begin = clamp(tiles->begin + at->split * share, 0, tiles->end);
    tiles->end = clamp(tiles->begin + share, 0, tiles->end);
    tiles->full_begin = clamp(tiles->full_begin, tiles->begin, tiles->end);
    tiles->full_end = clamp(tiles->full_end, tiles->begin, tiles->end);
#else
    (void)args;
    (void)at;
    (void)tiles;
#endif
}

/* Finds the tiles of the block's rows, from @first to @last, and which of them are the warpgroup's.
 */
HEED_DEVICE void find_tiles(const heed_cuda_args *args, place *at, u32 first, u32 last)
{
    tile_range all = visible_tiles(args, at->batch, first, last, HEED_TILE_KEYS);
    find_share(args, at, &all);
    at->tiles = all.end - all.begin;
    u32 full = all.full_end;
    if (BEGINS_LATER)
        full = full > all.begin ? full - all.begin : 0;
    if (ABLATED(ABLATE_MASKED))
        full = 0;
    at->masked = at->tiles > full ? at->tiles - full : 0;
#if BEGINS_LATER
    at->begin = all.begin;
    at->late = all.full_begin - all.begin < full ? all.full_begin - all.begin : full;
    at->masked += at->late;
#endif
    if (HEED_OWN_TILES == 2)
        find_own_tiles(args, at);
}

/* The first key of tile @j, in processing order. */
HEED_DEVICE u32 tile_key(const place *at, u32 j)
{
#if BEGINS_LATER
    if (j >= at->masked)
        j -= at->late;
    else if (j >= at->masked - at->late)
        j += at->tiles - at->masked;
    return (at->begin + (at->tiles - 1 - j)) * HEED_TILE_KEYS;
#else
    return (at->tiles - 1 - j) * HEED_TILE_KEYS;
#endif
}

#endif

/* For a block after the last rows of a sequence. */
HEED_DEVICE void find_no_tiles(place *at)
{
    at->tiles = at->masked = at->passed = at->cut = 0;
#if BEGINS_LATER && !HEED_LISTS
    at->begin = at->late = 0;
#endif
}

/* Moves to an item; thread, warpgroup and lane are known. */
HEED_DEVICE void find_place(const heed_cuda_mapped_args *m, place *at, u32 number)
{
    const heed_cuda_args *args = &m->args;
#if HEED_SPLIT
    u32 split = number;
    number = divide(number, args->splits);
    at->split = split - number * args->splits.value;
#endif
    item found = find_item(args, number, BLOCK_ROWS);
    u32 first = found.block * BLOCK_ROWS, last = first + BLOCK_ROWS - 1;
    at->head = found.head;
    at->batch = divide(found.head, args->heads_kv);
#if HEED_PACKED_Q
    at->rows = batch_rows(args, at->batch);
    at->first_query = first_query(args, at->batch);
#endif
#if HEED_PACKED_K
    at->first_key = first_key(args, at->batch);
#endif
    u32 rows = rows_of(args, at);
    last = last < rows ? last : rows - 1;
    u32 head = found.head - at->batch * args->heads_kv.value;
    at->head_q = head * args->group.value;
    at->head_kv = divide(head, m->share);
    at->row = first + at->row_group * GROUP_ROWS;
#if HEED_PAGED
    at->length = clip_key(&args->seq_k, batch_length(args, at->batch));
#endif
    if (HEED_PACKED_Q && first >= rows)
        find_no_tiles(at);
    else
        find_tiles(args, at, first, last);
}

/* Row g (@h 0) or g + 8 (1) of the warp. */
HEED_DEVICE u32 row_of(const place *at, int mt, int h)
{
    return at->row + at->warp * 16 + (u32)mt * 16 + (u32)h * 8 + at->lane / 4;
}

/* The number, among all tiles, of the block's tile @i, */
HEED_DEVICE u32 block_tile(const place *at, u32 i)
{
    return PAIR == 1
               ? i
               : i / HEED_KEY_GROUPS * TEAMS + at->rank * HEED_KEY_GROUPS + i % HEED_KEY_GROUPS;
}

/* and the number of its own tiles among the first @count. */
HEED_DEVICE u32 block_count(const place *at, u32 count)
{
    if (PAIR == 1)
        return count;
    u32 turns = count / TEAMS * HEED_KEY_GROUPS, rest = count % TEAMS,
        before = at->rank * HEED_KEY_GROUPS;
    rest = rest > before ? rest - before : 0;
    return turns + (rest < HEED_KEY_GROUPS ? rest : HEED_KEY_GROUPS);
}

/* ---- Items: those of a block, or of a pair ---- */

/* Number of the block's item @round. Every other round is reversed, so no block gets the longest
 * item of each round. */
HEED_DEVICE u32 item_number(u32 round)
{
    u32 blocks = ptx_grid_x() / PAIR, block = ptx_block_x() / PAIR;
    return round * blocks + (HEED_MASKED && round % 2 ? blocks - 1 - block : block);
}

/* True if the block has an item number @number, in its round @round. */
HEED_DEVICE int has_item(const heed_cuda_args *args, u32 round, u32 number)
{
    return HEED_SCHEDULE == 2 ? number < item_count(args) : round == 0;
}

/* ---- Barriers ----
 *
 * Stages form a ring. A stage's tile has been loaded when its barrier "full" completes, and the
 * warpgroups have read it when "empty" completes. V_CLEAN is for tiles of V that need a mask, which
 * form a separate ring. */

enum {
    K_FULL,
    K_EMPTY,
    V_FULL,
    V_EMPTY,
    V_CLEAN,
    STAGE_BARRIERS
};
enum {
    Q_FULL,
    Q_EMPTY,
    GROUP_BARRIERS
};

HEED_DEVICE u32 stage_barrier(u32 which, u32 stage)
{
    return ptx_shared_base() + BARRIERS_AT + (which * HEED_STAGES + stage) * 8;
}

HEED_DEVICE u32 group_barrier(u32 which, u32 buffer)
{
    return ptx_shared_base() + BARRIERS_AT +
           (STAGE_BARRIERS * HEED_STAGES + which * HEED_ROW_GROUPS * Q_BUFFERS + buffer) * 8;
}

/* Completes when the results of an item with cleaned tiles no longer need the producers' record of
 * bad keys. Only for such items: otherwise the warpgroups could end two items before a producer
 * warp checks, and the parity would be the same as if they had ended none. */
HEED_DEVICE u32 done_barrier(void)
{
    return ptx_shared_base() + BARRIERS_AT +
           (STAGE_BARRIERS * HEED_STAGES + GROUP_BARRIERS * HEED_ROW_GROUPS * Q_BUFFERS) * 8;
}

/* With pairs: completes when the other block's data have arrived. */
HEED_DEVICE u32 left_barrier(void)
{
    return done_barrier() + 8;
}

/* For the part of K, or of Q, that is copied while the preceding launch still runs. */
HEED_DEVICE u32 rehearsal_barrier(int of_k)
{
    return left_barrier() + (of_k ? 8 : 16);
}

/* The buffer of a row group for Q and O of round @round, and the parity of its barriers. */
HEED_DEVICE u32 q_buffer(u32 round, u32 row_group)
{
    return round % Q_BUFFERS * HEED_ROW_GROUPS + row_group;
}

HEED_DEVICE u32 q_parity(u32 round)
{
    return round / Q_BUFFERS % 2;
}

HEED_DEVICE u32 q_smem(u32 buffer)
{
    return ptx_shared_base() + Q_AT + buffer * Q_GROUP_BYTES;
}

/* A position in a ring of barriers: the next one and the parity of its phase. */
typedef struct ring {
    u32 stage;
    u32 parity;
} ring;

HEED_DEVICE void ring_advance(ring *r, u32 steps)
{
    r->stage += steps;
    if (r->stage >= HEED_STAGES) {
        r->stage -= HEED_STAGES;
        r->parity ^= 1;
    }
}

/* The addresses of a stage's tiles in shared memory. */
HEED_DEVICE u32 k_tile(ring at)
{
    return ptx_shared_base() + at.stage * STAGE_BYTES;
}

HEED_DEVICE u32 v_tile(ring at)
{
    return k_tile(at) + K_BYTES;
}

HEED_DEVICE u32 bias_tile(ring at, u32 row_group)
{
    return k_tile(at) + K_BYTES + V_BYTES + row_group * BIAS_GROUP_BYTES;
}

/* The first bad key, whose values are not all finite, in tiles that needed a mask; @at is BAD_AT,
 * or OTHER_BAD_AT for that of the other block of a pair. Those values were zeroed, and rows that
 * see the key are recomputed. */
HEED_DEVICE u32 bad_key(u32 at)
{
    return ptx_ld_shared_4(ptx_shared_base() + at);
}

/* Named barriers. */
#define CONSUMERS_BARRIER 1
#define LOADERS_BARRIER 2
#define WARPGROUP_BARRIER 3 /* and the following ones, one per warpgroup */
#define TURN_BARRIER 7      /* likewise */
#define FIRST_BARRIER 11    /* of the last warpgroup, when the first loads have been started */

HEED_DEVICE void warpgroup_barrier(const place *at)
{
    ptx_barrier_named((int)(WARPGROUP_BARRIER + at->key_group * HEED_ROW_GROUPS + at->row_group),
                      GROUP_THREADS);
}

#endif /* HEED_WGMMA_PLACE_CUH */
