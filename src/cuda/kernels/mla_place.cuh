/*
 * mla_place.cuh - where a thread of attn_mla.cu is, and what its block works on
 */
#ifndef HEED_MLA_PLACE_CUH
#define HEED_MLA_PLACE_CUH

#include "mla_sizes.cuh"
#include "ptx_hopper.cuh"

typedef struct place {
    u32 warp; /* in its warpgroup */
    u32 lane;
    u32 half; /* which of the warpgroups that compute */
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

/* In the warpgroups that compute. */
HEED_DEVICE void find_thread(place *at)
{
    u32 thread = ptx_thread_anew();
    at->warp = thread / 32 % 4;
    at->lane = thread % 32;
    at->half = ptx_shfl_idx_u32(thread / GROUP_THREADS, 0); /* the same in all lanes */
}

/* Blocks are numbered by rows first, so that those which read the same keys run side by side. */
HEED_DEVICE void find_place(const heed_cuda_args *args, place *at)
{
    u32 number = ptx_keep(ptx_block_x()), part = number / args->blocks;
    at->row = (number - part * args->blocks) * GROUP_ROWS;
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

/* The tile that has keys beyond the limit, which are cleaned; @tiles: none has. */
HEED_DEVICE u32 cleaned_tile(const place *at)
{
    return CLEANS && at->limit < tile_key(at, at->tiles) ? at->tiles - 1 : at->tiles;
}

/* Row g (@h 0) or g + 8 (1) of the warp. */
HEED_DEVICE u32 row_of(const place *at, int mt, int h)
{
    return at->row + at->warp * 16 + (u32)mt * 16 + (u32)h * 8 + at->lane / 4;
}

/* ---- Shared memory: even tiles have the first stage, odd ones the second ---- */

HEED_DEVICE u32 stage_at(u32 stage)
{
    return ptx_shared_base() + STAGES_AT + stage * STAGE_BYTES;
}

/* Where a thread of warpgroup @half leaves its two rows' maxima, or sums. */
HEED_DEVICE u32 left_at(const place *at, const u32 what, u32 half)
{
    return ptx_shared_base() + what + (half * GROUP_THREADS + at->warp * 32 + at->lane) * 8;
}

/* Barriers. Over when a panel of a stage has come, */
HEED_DEVICE u32 full_barrier(u32 stage, u32 panel)
{
    return ptx_shared_base() + BARRIERS_AT + (stage * PANELS + panel) * 8;
}

/* when a part of a stage has been read, */
HEED_DEVICE u32 empty_barrier(u32 stage, u32 part)
{
    return full_barrier(STAGES, 0) + (stage * PARTS + part) * 8;
}

/* of which so many warps tell: those of one warpgroup, but both look at the odd tiles' weights; */
HEED_DEVICE u32 readers_of(u32 stage, u32 part)
{
    return stage == 1 && part == TAIL_PART ? CONSUMER_THREADS / 32 : GROUP_THREADS / 32;
}

/* when a part of the tile that is cleaned is under way, so that its panels come next, */
HEED_DEVICE u32 begun_barrier(u32 part)
{
    return empty_barrier(STAGES, part);
}

/* and when a panel of it has been cleaned. */
HEED_DEVICE u32 clean_barrier(u32 panel)
{
    return begun_barrier(PARTS) + panel * 8;
}

/* The parity of the first two for tile @j; that of the others is 0. */
HEED_DEVICE u32 tile_parity(u32 j)
{
    return j / STAGES % 2;
}

/* Named barriers. */
#define READY_BARRIER 1     /* the weights of an even tile are there; and of an odd one: the next */
#define WARPGROUP_BARRIER 3 /* of the first warpgroup, and the next one of the second */
#define CONSUMERS_BARRIER 5

#endif /* HEED_MLA_PLACE_CUH */
