/*
 * wide/load.cuh - copies of K and V to the rings of attn_wide.cu, by one thread for each consumer
 * warpgroup, in the order in which it uses the pieces
 */
#ifndef HEED_WIDE_LOAD_CUH
#define HEED_WIDE_LOAD_CUH

#include "maps.cuh"
#include "wide/place.cuh"

typedef struct loader {
    const heed_cuda_mapped_args *m;
    place at;
    u32 half; /* the warpgroup */
    ring next;
    u32 pieces; /* so far, in builds without loads */
} loader;

/* Waits until the next slot is free, and makes its barrier expect @boxes boxes. Returns the slot's
 * address. */
HEED_DEVICE u32 begin_piece(loader *l, u32 boxes)
{
    u32 slot = l->next.slot;
    ptx_mbarrier_wait(empty_barrier(l->half, slot), l->next.parity ^ 1);
    if (ABLATED(ABLATE_NO_LOADS) && ++l->pieces > SLOTS) /* the slot keeps its data */
        ptx_mbarrier_arrive(full_barrier(l->half, slot));
    else
        ptx_mbarrier_arrive_expect(full_barrier(l->half, slot), boxes * BOX_BYTES);
    return slot_at(l->half, slot);
}

/* Loads box number @i of a piece: panel @panel of the keys from @key on. */
HEED_DEVICE void load_box(const loader *l, const heed_cuda_map *map, u32 smem, u32 i, u32 panel,
                          u32 key)
{
    if (ABLATED(ABLATE_NO_LOADS) && l->pieces > SLOTS)
        return;
    ptx_tensor_load(smem + i * BOX_BYTES, map, full_barrier(l->half, l->next.slot),
                    (i32)(panel * PANEL_COLUMNS), (i32)l->at.head_kv, (i32)key, (i32)l->at.batch);
}

/* Loads @count panels from @panel on of the keys of a part from @key on. */
HEED_DEVICE void load_scores_piece(loader *l, u32 panel, u32 count, u32 key)
{
    const u32 boxes = PART_KEYS / VALUE_KEYS; /* per panel */
    u32 smem = begin_piece(l, count * boxes);
    HEED_NO_UNROLL
    for (u32 i = 0; i < count * boxes; i++)
        load_box(l, &l->m->k, smem, i, panel + i / boxes, key + i % boxes * VALUE_KEYS);
    next_slot(&l->next);
}

/* Loads tile @j of K. */
HEED_DEVICE void load_scores(loader *l, u32 j)
{
    HEED_NO_UNROLL
    for (u32 sum = 0; sum < QK_PANELS; sum += SUM_PANELS) {
        u32 end = sum + SUM_PANELS < QK_PANELS ? sum + SUM_PANELS : QK_PANELS;
        HEED_NO_UNROLL
        for (u32 part = 0; part < PARTS; part++) {
            HEED_NO_UNROLL
            for (u32 panel = sum; panel < end; panel += PIECE_PANELS)
                load_scores_piece(l, panel, end - panel < PIECE_PANELS ? end - panel : PIECE_PANELS,
                                  tile_key(&l->at, j) + part_key(part, l->half));
        }
    }
}

/* Loads slice @slice of tile @j of V. */
HEED_DEVICE void load_values(loader *l, u32 j, u32 slice)
{
    u32 pieces = value_pieces(&l->at, j);
    HEED_NO_UNROLL
    for (u32 i = 0; i < pieces; i++) {
        u32 smem = begin_piece(l, HALF_PANELS);
        HEED_UNROLL
        for (u32 panel = 0; panel < HALF_PANELS; panel++)
            load_box(l, &l->m->v, smem, panel, (slice * 2 + l->half) * HALF_PANELS + panel,
                     tile_key(&l->at, j) + i * VALUE_KEYS);
        next_slot(&l->next);
    }
}

/* The producer warpgroup. */
HEED_DEVICE void load(const heed_cuda_mapped_args *m)
{
    loader l;
    l.m = m;
    l.pieces = 0;
    l.half = (ptx_thread() - CONSUMER_THREADS) / 32;
    if (l.half > 1 || ptx_lane() > 0)
        return;
    ptx_griddepcontrol_wait();
    ptx_griddepcontrol_launch();
    find_place(&m->args, &l.at);
    begin_ring(&l.next);
    HEED_NO_UNROLL
    for (u32 slice = 0; slice < SLICES; slice++) {
        HEED_NO_UNROLL
        for (u32 j = 0; j < l.at.tiles; j++) {
            if (!WHOLE || slice == 0)
                load_scores(&l, j);
            load_values(&l, j, slice);
        }
    }
}

#endif /* HEED_WIDE_LOAD_CUH */
