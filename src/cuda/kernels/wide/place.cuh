/*
 * wide/place.cuh - the rings and barriers of attn_wide.cu; pair/place.cuh has what a block works on
 */
#ifndef HEED_WIDE_PLACE_CUH
#define HEED_WIDE_PLACE_CUH

#include "wide/sizes.cuh"

#include "pair/place.cuh" /* with those constants */

/* Where the next piece of a warpgroup goes: pieces take the slots of its ring in turn. */
typedef struct ring {
    u32 slot;
    u32 parity; /* of the turn */
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

/* Barriers. Over when the piece in a slot has come, */
HEED_DEVICE u32 full_barrier(u32 half, u32 slot)
{
    return ptx_shared_base() + BARRIERS_AT + (half * SLOTS + slot) * 8;
}

/* and when it has been read, of which each warp tells. */
HEED_DEVICE u32 empty_barrier(u32 half, u32 slot)
{
    return full_barrier(2, 0) + (half * SLOTS + slot) * 8;
}

/* The first key of part @part of those of tile @j that warpgroup @half makes scores of, from that
 * of the tile on. */
HEED_DEVICE u32 part_key(const u32 part, u32 half)
{
    return (2 * part + half) * PART_KEYS;
}

/* So many pieces of V a tile has, but for those of keys that no row sees. */
HEED_DEVICE u32 value_pieces(const place *at, u32 j)
{
    u32 keys = at->limit - tile_key(at, j);
    return keys < HEED_TILE_KEYS ? (keys + VALUE_KEYS - 1) / VALUE_KEYS
                                 : HEED_TILE_KEYS / VALUE_KEYS;
}

/* Named barriers. */
#define CONSUMERS_BARRIER 1

#endif /* HEED_WIDE_PLACE_CUH */
