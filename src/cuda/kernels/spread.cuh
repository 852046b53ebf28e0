/*
 * spread.cuh - split-KV for batch elements with different numbers of keys: all blocks get the same
 * number of tiles
 *
 * For problems whose queries are one block of rows for each batch element, as in decoding. A
 * key/value head has args->splits blocks. The tiles of its batch elements, one element after
 * another, are split into shares of one size, one for each block, so that a share may end in the
 * middle of a batch element, and may have parts of several; a block processes these in sequence.
 * Each warp determines its share, from the numbers of keys of all batch elements.
 */
#ifndef HEED_SPREAD_CUH
#define HEED_SPREAD_CUH

#include "rows.cuh"

#ifndef HEED_SPREAD
#define HEED_SPREAD 0
#endif

/* A batch element, as a block sees it. */
typedef struct spread_place {
    u32 batch;
    u32 block;  /* among those of the head */
    u32 share;  /* tiles of a block */
    u32 before; /* tiles of earlier batch elements, */
    u32 tiles;  /* and of this one */
} spread_place;

#if HEED_SPREAD

HEED_DEVICE u32 batch_count(const heed_cuda_args *args)
{
    return divide(args->heads, args->heads_kv);
}

/* Tiles that the rows of @batch process; at least one, since rows without keys must be stored too;
 * 0 beyond the last batch element. */
HEED_DEVICE u32 spread_tiles(const heed_cuda_args *args, u32 batch)
{
    if (batch >= batch_count(args))
        return 0;
    u32 rows = batch_rows(args, batch);
    if (rows == 0)
        return 1;
    tile_range tiles = visible_tiles(args, batch, 0, rows - 1, HEED_TILE_KEYS);
    return tiles.end > tiles.begin ? tiles.end - tiles.begin : 1;
}

/* Inclusive prefix sum of @x over the lanes. */
HEED_DEVICE u32 warp_sum_up_to(u32 x)
{
    HEED_UNROLL
    for (u32 step = 1; step < 32; step *= 2) {
        u32 before = ptx_shfl_idx_u32(x, (int)(ptx_lane() - step) & 31);
        x += ptx_lane() >= step ? before : 0;
    }
    return x;
}

/* Tiles of batch elements before @end. */
HEED_DEVICE u32 spread_sum(const heed_cuda_args *args, u32 end)
{
    u32 sum = 0;
    HEED_NO_UNROLL
    for (u32 b = ptx_lane(); b < end; b += 32)
        sum += spread_tiles(args, b);
    return ptx_shfl_idx_u32(warp_sum_up_to(sum), 31);
}

/* Tiles of a block, for @tiles of a head. */
HEED_DEVICE u32 spread_share(const heed_cuda_args *args, u32 tiles)
{
    return divide(tiles + args->splits.value - 1, args->splits);
}

/* The blocks that process the batch element: the first one, */
HEED_DEVICE u32 spread_first(const spread_place *at)
{
    return at->before / at->share;
}

/* and the number of them. */
HEED_DEVICE u32 spread_splits(const spread_place *at)
{
    return (at->before + at->tiles - 1) / at->share - spread_first(at) + 1;
}

/* The tile after the block's last one, counted from the batch element's first. */
HEED_DEVICE u32 spread_end(const spread_place *at)
{
    return (at->block + 1) * at->share - at->before;
}

/* The block's first tile, counted likewise. */
HEED_DEVICE u32 spread_begin(const spread_place *at)
{
    u32 begin = at->block * at->share;
    return begin > at->before ? begin - at->before : 0;
}

/* Finds the first batch element of block @block of a head. Called by all lanes, each of which looks
 * at a run of batch elements. Returns whether there is one. */
HEED_DEVICE int find_spread(const heed_cuda_args *args, spread_place *at, u32 block)
{
    u32 run = (batch_count(args) + 31) / 32, first = ptx_lane() * run, sum = 0;
    HEED_NO_UNROLL
    for (u32 i = 0; i < run; i++)
        sum += spread_tiles(args, first + i);
    u32 upto = warp_sum_up_to(sum);
    at->block = block;
    at->share = spread_share(args, ptx_shfl_idx_u32(upto, 31));
    u32 begin = block * at->share, lanes = ptx_vote_ballot(upto > begin);
    if (lanes == 0)
        return 0;
    int lane = (int)ptx_popc(~lanes & (lanes - 1)); /* the first of them */
    at->batch = ptx_shfl_idx_u32(first, lane);
    at->before = ptx_shfl_idx_u32(upto - sum, lane);
    at->tiles = spread_tiles(args, at->batch);
    HEED_NO_UNROLL
    while (at->before + at->tiles <= begin) {
        at->before += at->tiles;
        at->tiles = spread_tiles(args, ++at->batch);
    }
    return 1;
}

/* Finds the block's next batch element. Returns whether there is one. */
HEED_DEVICE int next_spread(const heed_cuda_args *args, spread_place *at)
{
    at->before += at->tiles;
    at->batch++;
    at->tiles = spread_tiles(args, at->batch);
    return at->tiles > 0 && spread_first(at) == at->block;
}

#endif

/* ---- Parts of results ---- */

/* The location of the parts of the rows of one head. */
typedef struct part_place {
    i64 first; /* row 0 of the first split, in rows; */
    i64 step;  /* rows from one split to the next */
    u32 splits;
} part_place;

#if HEED_SPREAD

/* A block and a batch element that it processes have a slot for their part, whose index is the sum
 * of both: no two have the same, since either grows from one part to the next. */
HEED_DEVICE part_place place_parts(const heed_cuda_args *args, u32 head_kv, const spread_place *of)
{
    part_place at;
    u32 first = spread_first(of) + of->batch;
    at.first = ((i64)first * args->heads_kv.value + head_kv) * args->rows;
    at.step = (i64)args->heads_kv.value * args->rows;
    at.splits = spread_splits(of);
    return at;
}

/* Finds those of @head. Called by all lanes. */
HEED_DEVICE part_place find_parts(const heed_cuda_args *args, u32 head)
{
    spread_place of;
    of.batch = divide(head, args->heads_kv);
    of.share = spread_share(args, spread_sum(args, batch_count(args)));
    of.before = spread_sum(args, of.batch);
    of.tiles = spread_tiles(args, of.batch);
    of.block = 0;
    return place_parts(args, head - of.batch * args->heads_kv.value, &of);
}

#else

HEED_DEVICE part_place find_parts(const heed_cuda_args *args, u32 head)
{
    part_place at;
    at.first = part_offset(args, head, 0);
    at.step = part_rows(args);
    at.splits = args->splits.value;
    return at;
}

#endif

#endif /* HEED_SPREAD_CUH */
