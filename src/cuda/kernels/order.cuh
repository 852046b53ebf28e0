/*
 * order.cuh - the tile scheduler: which work item, a block of rows of one head, is worked on when
 */
#ifndef HEED_ORDER_CUH
#define HEED_ORDER_CUH

#include "rows.cuh"

/* A block of rows of one head. */
typedef struct item {
    u32 head;
    u32 block;
} item;

/* Items are numbered within a section of heads. Under a mask the heads of a section come before its
 * blocks, from the last rows to the first, so that the longest work is done first. */
HEED_DEVICE item find_item(const heed_cuda_args *args, u32 number)
{
    item found;
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

#endif /* HEED_ORDER_CUH */
