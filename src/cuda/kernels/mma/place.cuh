/*
 * mma/place.cuh - for the prologue of attn_mma.cu: the rows and keys of a block and of a thread
 */
#ifndef HEED_MMA_PLACE_CUH
#define HEED_MMA_PLACE_CUH

#include "mma/sizes.cuh"
#include "order.cuh"
#include "spread.cuh"
#include "tile.cuh"

#define LIST_ROWS HEED_BLOCK_ROWS
#include "tile_list.cuh"

/* Rows that a group loads at a time. */
#define STRIDED_ROWS (GROUP_THREADS / tile_page(QK_PAD))

/* The place of a thread, and the rows and keys of its block. */
typedef struct place {
    u32 thread; /* in its group */
    u32 warp;   /* in its group; of warps that share rows, the first */
#if HEED_VALUE_WARPS > 1
    u32 slice; /* of the columns of V */
#endif
    u32 lane;
    u32 group;
    u32 batch;
    u32 head_kv;
    u32 head; /* batch * heads_kv + head_kv */
    u32 split;
    u32 row; /* the block's first row */
#if HEED_SPREAD
    spread_place spread; /* set first */
#endif
#if HEED_PACKED_Q
    u32 rows; /* of the sequence */
#endif
    u32 tile_begin, tile_full, tile_end; /* tiles of keys; those before tile_full need no mask */
#if HEED_LISTS
    listed_tiles
        listed;        /* list that tile numbers index; of its tiles, this many that need a */
    u32 listed_masked; /* mask come first */
#endif
} place;

/* The warp's slice of V, among those of the warps that share its rows. */
HEED_DEVICE u32 slice_of(const place *at)
{
#if HEED_VALUE_WARPS > 1
    return at->slice;
#else
    (void)at;
    return 0;
#endif
}

/* The first key within a tile whose scores the warp computes. */
HEED_DEVICE u32 part_key(const place *at)
{
    return SCORE_PARTS == 1 ? 0 : slice_of(at) % SCORE_PARTS * PART_KEYS;
}

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

/* Blocks that share the keys of the same rows. */
HEED_DEVICE u32 splits_of(const heed_cuda_args *args, const place *at)
{
#if HEED_SPREAD
    (void)args;
    return spread_splits(&at->spread);
#else
    (void)at;
    return args->splits.value;
#endif
}

/* Blocks are numbered with the split fastest, or, with spread keys, with the head fastest. */
HEED_DEVICE void find_rows(const heed_cuda_args *args, place *at)
{
    u32 number = ptx_keep(ptx_block_x());
    u32 index = divide(number, args->splits);
    item found = find_item(args, index, HEED_BLOCK_ROWS);
    at->split = number - index * args->splits.value;
    at->head = found.head;
    at->row = found.block * HEED_BLOCK_ROWS;
#if HEED_LISTS
    /* A block that is after the sequence's last one has no rows, and may have no list. */
    u32 block = HEED_PACKED_Q && found.block >= args->blocks ? 0 : found.block;
    at->listed = find_listed(args, found.head, block, &at->tile_end, &at->listed_masked);
#endif
#if HEED_SPREAD
    index = divide(number, args->heads_kv);
    at->head = at->spread.batch * args->heads_kv.value + (number - index * args->heads_kv.value);
    at->row = 0;
#endif
    at->batch = divide(at->head, args->heads_kv);
    at->head_kv = at->head - at->batch * args->heads_kv.value;
#if HEED_PACKED_Q
    at->rows = batch_rows(args, at->batch);
#endif
}

#if HEED_LISTS

/* Finds the block's share of the listed tiles. */
HEED_DEVICE void find_keys(const heed_cuda_args *args, place *at)
{
    u32 share = divide(at->tile_end + args->splits.value - 1, args->splits);
    u32 end = (at->split + 1) * share;
    at->tile_begin = at->split * share;
    at->tile_full = at->tile_end = at->tile_end < end ? at->tile_end : end;
}

#else

/* The tiles of keys that the block's rows process. */
HEED_DEVICE tile_range block_tiles(const heed_cuda_args *args, const place *at)
{
    u32 rows = rows_of(args, at);
    u32 last = at->row + HEED_BLOCK_ROWS < rows ? at->row + HEED_BLOCK_ROWS - 1 : rows - 1;
    return visible_tiles(args, at->batch, at->row, last, HEED_TILE_KEYS);
}

HEED_DEVICE void find_keys(const heed_cuda_args *args, place *at)
{
    tile_range seen = block_tiles(args, at);
    at->tile_begin = seen.begin;
    at->tile_end = seen.end;
    at->tile_full = seen.full_end;
#if HEED_SPREAD
    u32 end = seen.begin + spread_end(&at->spread);
    at->tile_begin = seen.begin + spread_begin(&at->spread);
    at->tile_end = at->tile_end < end ? at->tile_end : end;
#else
    if (args->splits.value > 1) {
        u32 last = (args->seq_k + (HEED_TILE_KEYS - 1)) / HEED_TILE_KEYS;
        u32 tiles = (HEED_HIDES_FIRST || KEYS_VARY ? seen.end : last) - seen.begin;
        u32 share = divide(tiles + args->splits.value - 1, args->splits);
        u32 end = seen.begin + (at->split + 1) * share;
        at->tile_begin = seen.begin + at->split * share;
        at->tile_end = at->tile_end < end ? at->tile_end : end;
    }
#endif
}

#endif

/* The number of this group's tiles among the block's up to @end: every HEED_KEY_GROUPS-th. */
HEED_DEVICE u32 own_tiles(const place *at, u32 end)
{
    u32 begin = at->tile_begin + at->group;
    return end > begin ? (end - begin + HEED_KEY_GROUPS - 1) / HEED_KEY_GROUPS : 0;
}

/* The number of these, the first ones, that need a mask which hides first keys, or any mask. */
HEED_DEVICE u32 late_tiles(const heed_cuda_args *args, const place *at)
{
#if HEED_LISTS
    u32 whole = at->listed_masked;
    (void)args;
#else
    u32 whole = HEED_HIDES_FIRST ? block_tiles(args, at).full_begin : 0;
#endif
    return own_tiles(at, whole < at->tile_end ? whole : at->tile_end);
}

#if HEED_LISTS

/* The number in the list of the group's tile @j, or the last one's past that. */
HEED_DEVICE u32 tile_number(const place *at, u32 j)
{
    u32 tile = at->tile_begin + at->group + j * HEED_KEY_GROUPS;
    return tile < at->tile_end ? tile : at->tile_end - 1;
}

/* The first key of that tile. */
HEED_DEVICE u32 tile_key(const place *at, u32 j)
{
    return listed_key(&at->listed, tile_number(at, j), at->listed_masked);
}

/* True if only steps hide keys of the tile. */
HEED_DEVICE int is_inner(const place *at, u32 j)
{
    return listed_inner(&at->listed, tile_number(at, j), at->listed_masked);
}

#else

/* The first key of the group's tile @j; arbitrary past the last tile. */
HEED_DEVICE u32 tile_key(const place *at, u32 j)
{
    u32 tile = at->tile_begin + at->group + j * HEED_KEY_GROUPS;
    return tile * HEED_TILE_KEYS;
}

HEED_DEVICE int is_inner(const place *at, u32 j)
{
    (void)at;
    (void)j;
    return 0;
}

#endif

HEED_DEVICE void find_place(const heed_cuda_args *args, place *at)
{
    u32 thread = ptx_thread();
    at->group = HEED_KEY_GROUPS == 1 ? 0 : thread / GROUP_THREADS;
    at->thread = thread - at->group * GROUP_THREADS;
    at->warp = at->thread / 32;
#if HEED_VALUE_WARPS > 1
    at->slice = at->warp / ROW_WARPS;
    at->warp %= ROW_WARPS;
#endif
    if (ABLATED(ABLATE_STRIDED)) /* neighbouring loading threads are a row apart */
        at->thread = at->thread % STRIDED_ROWS * tile_page(QK_PAD) + at->thread / STRIDED_ROWS;
    at->lane = ptx_lane();
    find_rows(args, at);
    find_keys(args, at);
}

/* In a row of the sums of values, lane @t of four has two elements in fragment @dt: columns
 * FRAGMENT_COLUMN(dt) + t * LANE_COLUMNS + i * PAIR_COLUMNS of the warp's. */
#if HEED_F32
#define FRAGMENT_COLUMN(dt) ((dt) / 2 * 16 + (dt) % 2)
#define LANE_COLUMNS 4
#define PAIR_COLUMNS 2
#else
#define FRAGMENT_COLUMN(dt) ((dt)*8)
#define LANE_COLUMNS 2
#define PAIR_COLUMNS 1
#endif

/* Row g (@h 0) or g + 8 (1) of 16. */
HEED_DEVICE u32 row_of(const place *at, int mt, int h)
{
    return (SCARCE ? ptx_keep(at->row) : at->row) + at->warp * WARP_ROWS + mt * 16 + h * 8 +
           at->lane / 4;
}

/* The first key that none of the warp's rows sees. */
HEED_DEVICE u32 warp_limit(const heed_cuda_args *args, const place *at)
{
    u32 row = (SCARCE ? ptx_keep(at->row) : at->row) + at->warp * WARP_ROWS + WARP_ROWS - 1;
    return batch_keys(args, at->batch, divide(row, args->group)).end;
}

#endif /* HEED_MMA_PLACE_CUH */
