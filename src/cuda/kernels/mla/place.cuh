/*
 * mla/place.cuh - stages and barriers of attn_mla.cu; pair/place.cuh has the rows and keys of a
 * block
 */
#ifndef HEED_MLA_PLACE_CUH
#define HEED_MLA_PLACE_CUH

#include "mla/sizes.cuh"
#include "pair/place.cuh"

/* The tile with keys beyond the limit, which are cleaned; @tiles if there is none. */
HEED_DEVICE u32 cleaned_tile(const place *at)
{
    return CLEANS && at->limit < tile_key(at, at->tiles) ? at->tiles - 1 : at->tiles;
}

/* ---- Shared memory: even tiles use the first stage, odd ones the second ---- */

HEED_DEVICE u32 stage_at(u32 stage)
{
    return ptx_shared_base() + STAGES_AT + stage * STAGE_BYTES;
}

/* Barriers. Complete when a panel of a stage has been loaded, */
HEED_DEVICE u32 full_barrier(u32 stage, u32 panel)
{
    return ptx_shared_base() + BARRIERS_AT + (stage * PANELS + panel) * 8;
}

/* when a part of a stage has been read, */
HEED_DEVICE u32 empty_barrier(u32 stage, u32 part)
{
    return full_barrier(STAGES, 0) + (stage * PARTS + part) * 8;
}

/* at which so many warps arrive: those of one warpgroup, but both read the odd tiles' weights; */
HEED_DEVICE u32 readers_of(u32 stage, u32 part)
{
    return stage == 1 && part == TAIL_PART ? CONSUMER_THREADS / 32 : GROUP_THREADS / 32;
}

/* when the load of a part of the tile to clean has been started, so its panels come next, */
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
#define READY_BARRIER 1     /* weights of an even tile are stored; next one: of an odd tile */
#define WARPGROUP_BARRIER 3 /* of the first warpgroup, and the next one of the second */
#define CONSUMERS_BARRIER 5

#endif /* HEED_MLA_PLACE_CUH */
