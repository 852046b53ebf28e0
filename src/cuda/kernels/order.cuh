/*
 * order.cuh - the tile scheduler: the order of the work items, which are blocks of rows of one head
 */
#ifndef HEED_ORDER_CUH
#define HEED_ORDER_CUH

#include "rows.cuh"

/* A block of rows of one head. */
typedef struct item {
    u32 head;
    u32 block;
} item;

#if HEED_PACKED_Q

/* The number of the first slot of packed sequence @batch, for blocks of @rows rows. Slots are
 * numbered along all sequences; a sequence has enough for its blocks wherever it begins, and at
 * most one more. */
HEED_DEVICE u32 first_place(const heed_cuda_args *args, u32 batch, const u32 rows)
{
    return first_query(args, batch) * args->group.value / rows + batch;
}

/* The sequence that has slot @place: the last one that does not begin after it. */
HEED_DEVICE u32 find_sequence(const heed_cuda_args *args, u32 place, const u32 rows)
{
    u32 low = 0, high = divide(args->heads, args->heads_kv) - 1;
    HEED_NO_UNROLL
    while (low < high) {
        u32 middle = (low + high + 1) / 2;
        if (first_place(args, middle, rows) <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Items are numbered from the last slot to the first, with all heads of a slot in sequence. The
 * block may be after the sequence's last one: then it has no rows. */
HEED_DEVICE item find_item(const heed_cuda_args *args, u32 number, const u32 rows)
{
    item found;
    found.head = number;
    found.block = 0;
    if (args->changes.places == 0)
        return found;
    u32 place = divide(number, args->heads_kv), head_kv = number - place * args->heads_kv.value;
    place = args->changes.places - 1 - place;
    u32 batch = find_sequence(args, place, rows);
    found.block = place - first_place(args, batch, rows);
    found.head = batch * args->heads_kv.value + head_kv;
    return found;
}

HEED_DEVICE u32 item_count(const heed_cuda_args *args)
{
    u32 places = args->changes.places;
    return places > 0 ? places * args->heads_kv.value : args->heads;
}

#else

/* Items are numbered within a section of heads. Under a mask the head varies fastest, and blocks go
 * from the last rows to the first, so the longest work comes first. */
HEED_DEVICE item find_item(const heed_cuda_args *args, u32 number, const u32 rows)
{
    item found;
    (void)rows;
    u32 section = divide(number, args->work);
    u32 within = number - section * args->work.value;
    u32 begin = section * args->section.value;
    heed_cuda_divisor heads = begin + args->section.value <= args->heads ? args->section
                                                                         : args->rest;
    found.block = divide(within, heads);
    found.head = begin + within - found.block * heads.value;
    if (HEED_MASKED)
        found.block = args->blocks - 1 - found.block;
    return found;
}

HEED_DEVICE u32 item_count(const heed_cuda_args *args)
{
    return args->blocks * args->heads;
}

#endif

#endif /* HEED_ORDER_CUH */
