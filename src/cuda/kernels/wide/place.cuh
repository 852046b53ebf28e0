/*
 * wide/place.cuh - the rings and barriers of attn_wide.cu; pair/place.cuh has the rows and keys of
 * a block
 */
#ifndef HEED_WIDE_PLACE_CUH
#define HEED_WIDE_PLACE_CUH

#include "wide/sizes.cuh"

#include "pair/place.cuh" /* with those constants */

/* The position of a warpgroup's next piece: pieces use the slots of its ring in order. */
typedef struct ring {
    u32 slot;
    u32 parity; /* of the current pass over the ring */
} ring;

HEED_DEVICE void begin_ring(ring *r)
{
    r->slot = r->parity = 0;
}

HEED_DEVICE void next_slot(ring *r)
{
    r->slot++;
    if (r->slot == SLOTS) {
        r->slot = 0;
        r->parity ^= 1;
    }
}

HEED_DEVICE u32 slot_at(u32 half, u32 slot)
{
    return ptx_shared_base() + RINGS_AT + (half * SLOTS + slot) * PIECE_BYTES;
}

/* Barriers. Complete when the piece in a slot has been loaded, */
HEED_DEVICE u32 full_barrier(u32 half, u32 slot)
{
    return ptx_shared_base() + BARRIERS_AT + (half * SLOTS + slot) * 8;
}

/* and when each warp has read it. */
HEED_DEVICE u32 empty_barrier(u32 half, u32 slot)
{
    return full_barrier(2, 0) + (half * SLOTS + slot) * 8;
}

/* The first key, relative to its tile, of part @part of those whose scores warpgroup @half
 * computes. */
HEED_DEVICE u32 part_key(const u32 part, u32 half)
{
    return (2 * part + half) * PART_KEYS;
}

/* The number of pieces of V in a tile, without those of keys that no row sees. */
HEED_DEVICE u32 value_pieces(const place *at, u32 j)
{
    u32 keys = at->limit - tile_key(at, j);
    return keys < HEED_TILE_KEYS ? (keys + VALUE_KEYS - 1) / VALUE_KEYS
                                 : HEED_TILE_KEYS / VALUE_KEYS;
}

/* Named barriers. */
#define CONSUMERS_BARRIER 1

#endif /* HEED_WIDE_PLACE_CUH */
