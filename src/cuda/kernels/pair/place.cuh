/*
 * pair/place.cuh - the place of a thread, and the rows and keys of its block, for attn_mla.cu and
 * attn_wide.cu, whose two consumer warpgroups have the same 64 rows
 *
 * The including file has constants: GROUP_ROWS, GROUP_THREADS, HEED_TILE_KEYS, and LONGEST_FIRST,
 * whether blocks are numbered from the last rows to the first.
 */
#ifndef HEED_PAIR_PLACE_CUH
#define HEED_PAIR_PLACE_CUH

#include "ptx_hopper.cuh"
#include "rows.cuh"

typedef struct place {
    u32 warp; /* in its warpgroup */
    u32 lane;
    u32 half; /* index of the consumer warpgroup */
    u32 head; /* batch * heads_kv + head_kv */
    u32 batch;
    u32 head_kv;
    u32 split;
    u32 row;   /* the block's first */
    u32 first; /* tile of keys, */
    u32 tiles; /* and how many there are; */
    u32 full;  /* those before need no mask */
    u32 limit; /* none of the block's rows sees keys from here on */
} place;

/* For threads of the consumer warpgroups. */
HEED_DEVICE void find_thread(place *at)
{
    u32 thread = ptx_thread_anew();
    at->warp = thread / 32 % 4;
    at->lane = thread % 32;
    at->half = ptx_shfl_idx_u32(thread / GROUP_THREADS, 0); /* the same in all lanes */
}

/* Blocks are numbered with the rows fastest, so those that read the same keys run concurrently. */
HEED_DEVICE void find_place(const heed_cuda_args *args, place *at)
{
    u32 number = ptx_keep(ptx_block_x()), part = number / args->blocks;
    u32 block = number - part * args->blocks;
    at->row = (LONGEST_FIRST ? args->blocks - 1 - block : block) * GROUP_ROWS;
    at->head = divide(part, args->splits);
    at->split = part - at->head * args->splits.value;
    at->batch = divide(at->head, args->heads_kv);
    at->head_kv = at->head - at->batch * args->heads_kv.value;
    u32 last = at->row + GROUP_ROWS < args->rows ? at->row + GROUP_ROWS - 1 : args->rows - 1;
    tile_range seen = visible_tiles(args, at->batch, at->row, last, HEED_TILE_KEYS);
    u32 share = divide(seen.end + args->splits.value - 1, args->splits);
    u32 end = (at->split + 1) * share < seen.end ? (at->split + 1) * share : seen.end;
    at->first = at->split * share;
    at->tiles = end > at->first ? end - at->first : 0;
    at->full = seen.full_end > at->first ? seen.full_end - at->first : 0;
    if (ABLATED(ABLATE_MASKED))
        at->full = 0;
    at->limit = batch_keys(args, at->batch, divide(last, args->group)).end;
}

/* The first key of the block's tile @j. */
HEED_DEVICE u32 tile_key(const place *at, u32 j)
{
    return (at->first + j) * HEED_TILE_KEYS;
}

/* Row g (@h 0) or g + 8 (1) of the warp. */
HEED_DEVICE u32 row_of(const place *at, int mt, int h)
{
    return at->row + at->warp * 16 + (u32)mt * 16 + (u32)h * 8 + at->lane / 4;
}

/* The address where a thread of warpgroup @half stores its two rows' maxima, or sums. */
HEED_DEVICE u32 left_at(const place *at, const u32 what, u32 half)
{
    return ptx_shared_base() + what + (half * GROUP_THREADS + at->warp * 32 + at->lane) * 8;
}

#endif /* HEED_PAIR_PLACE_CUH */
