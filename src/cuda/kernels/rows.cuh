/*
 * rows.cuh - rows of queries: where they are in the tensors, and what they see
 *
 * See args.cuh for what a row is. A head here is one of batch * heads_kv.
 */
#ifndef HEED_ROWS_CUH
#define HEED_ROWS_CUH

#include "args.cuh"
#include "ptx.cuh"

#define LN_2 0.693147180559945f

/* Greater than any key. */
#define NO_KEY 0xffffffffu

HEED_DEVICE u32 divide(u32 n, heed_cuda_divisor by)
{
    return by.multiplier == 0 ? n : ptx_mul_hi(n, by.multiplier) >> by.shift;
}

/* The first key that query @i does not see. */
HEED_DEVICE u32 visible_keys(const heed_cuda_args *args, u32 i)
{
    if (!HEED_CAUSAL)
        return args->seq_k;
    i64 keys = i + args->visible;
    if (keys < 0)
        return 0;
    return keys < (i64)args->seq_k ? (u32)keys : args->seq_k;
}

/* Where a row is along the sequence, and among the query heads of its group. */
typedef struct row_place {
    u32 query;
    u32 head;
} row_place;

HEED_DEVICE row_place find_row(const heed_cuda_args *args, u32 row)
{
    row_place place;
    place.query = divide(row, args->group);
    place.head = row - place.query * args->group.value;
    return place;
}

/* Elements from the beginning of Q or O to a row of @head. */
HEED_DEVICE i64 row_offset(const heed_cuda_args *args, u32 head, heed_cuda_strides stride, u32 row)
{
    row_place place = find_row(args, row);
    u32 batch = divide(head, args->heads_kv);
    u32 head_kv = head - batch * args->heads_kv.value;
    return batch * stride.batch + place.query * stride.seq +
           ((i64)head_kv * args->group.value + place.head) * stride.head;
}

/* Elements from the beginning of the LSE to a row of @head. */
HEED_DEVICE i64 lse_offset(const heed_cuda_args *args, u32 head, u32 row)
{
    row_place place = find_row(args, row);
    return ((i64)head * args->group.value + place.head) * args->seq_q + place.query;
}

#endif /* HEED_ROWS_CUH */
