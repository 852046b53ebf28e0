/*
 * tile_list.cuh - lists of the tiles of keys that blocks of rows process, where steps hide keys
 *
 * heed_list() runs before a kernel that is compiled with HEED_LISTS, whose blocks process the tiles
 * of their lists instead of a range. A list is for one block of LIST_ROWS rows, of one key/value
 * head or of several that see the same keys: changes.list_heads. It has two numbers and room for
 * changes.list_tiles others:
 *
 *     the number of tiles, and the number of those that are only seen in part,
 *     the first key of each of the latter, from the last one to the first, plus 1 if only steps
 *     hide keys of the tile,
 *     and at the end of the room, backwards, those of tiles that all rows see completely
 *
 * One thread block makes one list, and each warp checks a tile.
 */
#ifndef HEED_TILE_LIST_CUH
#define HEED_TILE_LIST_CUH

#include "score.cuh"

#if HEED_LISTS

#define LIST_WARPS 32
#define LIST_HEAD 2

typedef enum list_class {
    LIST_NONE,
    LIST_PARTIAL,
    LIST_INNER, /* partial, but only because of steps */
    LIST_FULL
} list_class;

/* The address of the list of @block of @head. */
HEED_DEVICE u32 *list_of(const heed_cuda_args *args, u32 head, u32 block)
{
    const heed_cuda_changes *changes = &args->changes;
    u32 number = divide(head, changes->list_heads) * args->blocks + block;
    return changes->lists + (i64)number * (LIST_HEAD + changes->list_tiles);
}

/* A list, for the blocks that process it. */
typedef struct listed_tiles {
    const u32 *list;
    u32 end; /* the number of a full tile is subtracted from it */
} listed_tiles;

/* Reads the number of tiles, and the number of those that need a mask. */
HEED_DEVICE listed_tiles find_listed(const heed_cuda_args *args, u32 head, u32 block, u32 *tiles,
                                     u32 *masked)
{
    listed_tiles found;
    found.list = list_of(args, head, block);
    *tiles = ptx_ld_ahead_4(found.list);
    *masked = ptx_ld_ahead_4(found.list + 1);
    found.end = LIST_HEAD + args->changes.list_tiles - 1 + *masked;
    return found;
}

/* The entry of tile @j in the list. The first @masked tiles need a mask. */
HEED_DEVICE u32 listed_entry(const listed_tiles *of, u32 j, u32 masked)
{
    return ptx_ld_ahead_4(of->list + (j < masked ? LIST_HEAD + j : of->end - j));
}

/* The first key of tile @j. */
HEED_DEVICE u32 listed_key(const listed_tiles *of, u32 j, u32 masked)
{
    return listed_entry(of, j, masked) & ~1u;
}

/* True if only steps hide keys of tile @j, so the mask of positions does not. */
HEED_DEVICE int listed_inner(const listed_tiles *of, u32 j, u32 masked)
{
    return listed_entry(of, j, masked) & 1;
}

/* ---- Making one ---- */

typedef struct list_maker {
    sight_pairs pairs;
    heed_bounds steps[STEPS_SEEN];
    tile_range tiles;
    u32 count; /* of those */
} list_maker;

HEED_DEVICE void begin_list(const heed_cuda_args *args, list_maker *m, u32 number)
{
    u32 share = number / args->blocks, block = number - share * args->blocks;
    u32 head = share * args->changes.list_heads.value, batch = divide(head, args->heads_kv);
    u32 first = block * LIST_ROWS, last = first + LIST_ROWS - 1, group = args->group.value;
    u32 head_q = (head - batch * args->heads_kv.value) * group;
    u32 rows = batch_rows(args, batch);
    last = last < rows ? last : rows - 1;
    m->count = 0;
    if (HEED_PACKED_Q && first >= rows)
        return;
    m->tiles = visible_tiles(args, batch, first, last, HEED_TILE_KEYS);
    if (ABLATED(ABLATE_MASKED))
        m->tiles.full_end = 0;
    m->count = m->tiles.end > m->tiles.begin ? m->tiles.end - m->tiles.begin : 0;
    i64 query = divide(first, args->group), query_last = divide(last, args->group);
    m->pairs.batch = interval_whole(batch, batch);
    m->pairs.head = interval_whole(head_q, head_q + (group - 1));
    m->pairs.query = interval_whole(query, query_last);
    m->pairs.position = interval_whole(query + args->first, query_last + args->first);
    sight_of_rows(args, &m->pairs, m->steps);
}

/* The class of tile @j of the range for the block's rows, counted from the last one. */
HEED_DEVICE u32 class_of(const heed_cuda_args *args, list_maker *m, u32 j)
{
    u32 tile = m->tiles.end - 1 - j, key = tile * HEED_TILE_KEYS;
    u32 end = args->seq_k - key < HEED_TILE_KEYS ? args->seq_k : key + HEED_TILE_KEYS;
    m->pairs.key = interval_whole(key, (i64)end - 1);
    sight_of_keys(args, &m->pairs, m->steps);
    const heed_bounds sight = m->steps[STEPS_SEEN - 1];
    if (!sight.greatest.whole)
        return LIST_NONE;
    if (tile < m->tiles.full_begin || tile >= m->tiles.full_end)
        return LIST_PARTIAL;
    return sight.least.whole ? LIST_FULL : LIST_INNER;
}

/* Adds tiles from number @j of the range on; @seen is that of the lane's tile. Called by the first
 * warp. @masked and @full count earlier ones. */
HEED_DEVICE void add_tiles(const heed_cuda_args *args, const list_maker *m, u32 *list, u32 j,
                           u32 seen, u32 *masked, u32 *full)
{
    int is_partial = seen == LIST_PARTIAL || seen == LIST_INNER;
    u32 partial = ptx_vote_ballot(is_partial), whole = ptx_vote_ballot(seen == LIST_FULL),
        before = (1u << ptx_lane()) - 1;
    u32 key = (m->tiles.end - 1 - (j + ptx_lane())) * HEED_TILE_KEYS;
    if (is_partial)
        ptx_st_global_4(list + LIST_HEAD + *masked + ptx_popc(partial & before),
                        key + (seen == LIST_INNER));
    if (seen == LIST_FULL)
        ptx_st_global_4(list + LIST_HEAD + args->changes.list_tiles - 1 - *full -
                            ptx_popc(whole & before),
                        key);
    *masked += ptx_popc(partial);
    *full += ptx_popc(whole);
}

HEED_ENTRY_BESIDE(LIST_WARPS * 32) heed_list(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    list_maker m;
    u32 warp = ptx_thread() / 32, masked = 0, full = 0, smem = ptx_shared_base();
    u32 *list = args.changes.lists + (i64)ptx_block_x() * (LIST_HEAD + args.changes.list_tiles);
    ptx_griddepcontrol_wait();
    ptx_griddepcontrol_launch(); /* not earlier: its blocks would compete with those that read
                                    lists */
    begin_list(&args, &m, ptx_block_x());
    HEED_NO_UNROLL
    for (u32 j = 0; j < m.count; j += LIST_WARPS) {
        u32 seen = j + warp < m.count ? class_of(&args, &m, j + warp) : (u32)LIST_NONE;
        u32 at = smem + j / LIST_WARPS % 2 * LIST_WARPS * 4; /* the first warp may still read */
        if (ptx_lane() == 0)
            ptx_st_shared_4(at + warp * 4, seen);
        ptx_barrier();
        if (warp == 0)
            add_tiles(&args, &m, list, j, ptx_ld_shared_4(at + ptx_lane() * 4), &masked, &full);
    }
    if (ptx_thread() == 0) {
        ptx_st_global_4(list, masked + full);
        ptx_st_global_4(list + 1, masked);
    }
}

#endif

#endif /* HEED_TILE_LIST_CUH */
