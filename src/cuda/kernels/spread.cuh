/*
 * spread.cuh - split-KV for batch elements with different numbers of keys: all blocks get about the
 * same number of tiles
 *
 * For problems whose queries are one block of rows for each batch element, as in decoding. A
 * key/value head has batch * splits blocks, its slots. The tiles of all batch elements are split
 * into shares of one size, about the smallest for which there are enough slots, and a batch element
 * has one or more consecutive slots, one per share. Each warp determines its own, with its lanes
 * examining 32 batch elements at a time.
 */
#ifndef HEED_SPREAD_CUH
#define HEED_SPREAD_CUH

#include "rows.cuh"

#ifndef HEED_SPREAD
#define HEED_SPREAD 0
#endif

/* A block's share of a batch element. */
typedef struct spread_place {
    u32 batch;
    u32 split, splits; /* the index and the number of splits; 0 splits: an unused slot */
    u32 first;         /* first slot of the batch element */
    u32 share;         /* tiles */
} spread_place;

#if HEED_SPREAD

HEED_DEVICE u32 batch_count(const heed_cuda_args *args)
{
    return divide(args->heads, args->heads_kv);
}

/* Tiles that the rows of @batch process; 0 beyond the last one. */
HEED_DEVICE u32 spread_tiles(const heed_cuda_args *args, u32 batch)
{
    u32 rows = batch < batch_count(args) ? batch_rows(args, batch) : 0;
    if (rows == 0)
        return 0;
    tile_range tiles = visible_tiles(args, batch, 0, rows - 1, HEED_TILE_KEYS);
    return tiles.end > tiles.begin ? tiles.end - tiles.begin : 0;
}

/* Slots of @batch with such shares: at least one, as rows without keys must still be stored; none
 * beyond the last batch element. */
HEED_DEVICE u32 spread_count(const heed_cuda_args *args, u32 batch, u32 share)
{
    u32 tiles = spread_tiles(args, batch), count = (tiles + share - 1) / share;
    return batch >= batch_count(args) ? 0 : count > 0 ? count : 1;
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

/* Slots of batch elements before @end; with a share of 0: their tiles. */
HEED_DEVICE u32 spread_sum(const heed_cuda_args *args, u32 end, u32 share)
{
    u32 sum = 0;
    HEED_NO_UNROLL
    for (u32 b = ptx_lane(); b < (end + 31) / 32 * 32; b += 32) {
        u32 own = share == 0 ? spread_tiles(args, b) : spread_count(args, b, share);
        sum += ptx_shfl_idx_u32(warp_sum_up_to(b < end ? own : 0), 31);
    }
    return sum;
}

/* The size of a share. The last share of a batch element is half empty on average; if there are too
 * few slots for that, it is counted as full. */
HEED_DEVICE u32 spread_share(const heed_cuda_args *args)
{
    u32 batches = batch_count(args), places = batches * args->splits.value;
    u32 tiles = spread_sum(args, batches, 0), likely = places - batches / 2;
    u32 share = (tiles + likely - 1) / likely;
    share = share > 0 ? share : 1;
    if (spread_sum(args, batches, share) > places)
        share = (tiles + (places - batches) - 1) / (places - batches);
    return share;
}

/* Finds the batch element and the share of slot @place of a head. Called by all lanes. */
HEED_DEVICE spread_place find_spread(const heed_cuda_args *args, u32 place)
{
    spread_place found;
    u32 before = 0, batches = batch_count(args);
    found.share = spread_share(args);
    found.batch = found.split = found.splits = found.first = 0;
    HEED_NO_UNROLL
    for (u32 b = 0; b < batches; b += 32) {
        u32 count = spread_count(args, b + ptx_lane(), found.share), upto = warp_sum_up_to(count);
        u32 here = ptx_vote_ballot(before + upto > place);
        if (here != 0) {
            int lane = (int)ptx_popc(~here & (here - 1)); /* the first of them */
            found.batch = b + (u32)lane;
            found.splits = ptx_shfl_idx_u32(count, lane);
            found.first = before + ptx_shfl_idx_u32(upto, lane) - found.splits;
            found.split = place - found.first;
            break;
        }
        before += ptx_shfl_idx_u32(upto, 31);
    }
    return found;
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

HEED_DEVICE part_place place_parts(const heed_cuda_args *args, u32 head_kv, u32 first, u32 splits)
{
    part_place at;
    at.first = ((i64)first * args->heads_kv.value + head_kv) * args->rows;
    at.step = (i64)args->heads_kv.value * args->rows;
    at.splits = splits;
    return at;
}

/* Finds those of @head. Called by all lanes. */
HEED_DEVICE part_place find_parts(const heed_cuda_args *args, u32 head)
{
    u32 share = spread_share(args), batch = divide(head, args->heads_kv);
    u32 first = spread_sum(args, batch, share);
    return place_parts(args, head - batch * args->heads_kv.value, first,
                       spread_count(args, batch, share));
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
