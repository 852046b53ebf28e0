/*
 * wide32/place.cuh - the rows and keys of a block of attn_wide32.cu
 */
#ifndef HEED_WIDE32_PLACE_CUH
#define HEED_WIDE32_PLACE_CUH

#include "rows.cuh"
#include "wide32/sizes.cuh"

typedef struct place {
    u32 warp;
    u32 lane;
    u32 head; /* batch * heads_kv + head_kv */
    u32 batch;
    u32 head_kv;
    u32 split;
    u32 row;  /* the block's first */
    u32 key;  /* the first one of its tile, */
    u32 keys; /* and the number of its keys that any row sees */
} place;

/* Blocks are numbered with the rows fastest, so those that read the same keys run concurrently. */
HEED_DEVICE void find_place(const heed_cuda_args *args, place *at)
{
    u32 number = ptx_keep(ptx_block_x()), part = number / args->blocks;
    u32 block = number - part * args->blocks;
    at->warp = ptx_thread() / 32;
    at->lane = ptx_lane();
    at->row = (LONGEST_FIRST ? args->blocks - 1 - block : block) * BLOCK_ROWS;
    at->head = divide(part, args->splits);
    at->split = part - at->head * args->splits.value;
    at->batch = divide(at->head, args->heads_kv);
    at->head_kv = at->head - at->batch * args->heads_kv.value;
    u32 last = at->row + BLOCK_ROWS < args->rows ? at->row + BLOCK_ROWS - 1 : args->rows - 1;
    u32 end = batch_keys(args, at->batch, divide(last, args->group)).end;
    at->key = at->split * HEED_TILE_KEYS;
    at->keys = end > at->key ? end - at->key : 0;
    at->keys = at->keys < HEED_TILE_KEYS ? at->keys : HEED_TILE_KEYS;
}

/* Passes of PASS_KEYS keys, and parts of PART_KEYS. */
HEED_DEVICE u32 score_passes(const place *at)
{
    return (at->keys + PASS_KEYS - 1) / PASS_KEYS;
}

HEED_DEVICE u32 value_parts(const place *at)
{
    return (at->keys + PART_KEYS - 1) / PART_KEYS;
}

/* Each step is a panel of the scores of a pass, pass by pass; then a part of the keys of a slice of
 * V, slice by slice. */
HEED_DEVICE u32 stage_of(u32 step)
{
    return ptx_shared_base() + STAGES_AT + step % STAGES * STAGE_BYTES;
}

#endif /* HEED_WIDE32_PLACE_CUH */
