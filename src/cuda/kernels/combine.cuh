/*
 * combine.cuh - merges what the blocks that share the keys of the same rows have left
 *
 * Each of them has left its part of O, normalized, and the LSE of its keys. The whole is the mean
 * of the parts, weighted by the exponentials of their LSEs. A warp merges a row; its lanes take
 * every 32nd column.
 */
#ifndef HEED_COMBINE_CUH
#define HEED_COMBINE_CUH

#include "half.cuh"
#include "rows.cuh"

#define COMBINE_THREADS 128
#define COMBINE_COLUMNS ((HEED_DIM_V + 31) / 32)

/* Where the parts of a row are. */
typedef struct parts {
    const float *o; /* of the first split */
    const float *lse;
    i64 rows; /* from one split to the next */
    u32 count;
} parts;

/* The largest LSE of the parts. */
HEED_DEVICE float largest_lse(const parts *from)
{
    float top = -ptx_infinity();
    for (u32 i = ptx_lane(); i < from->count; i += 32)
        top = ptx_max(top, ptx_ld_global_f32(from->lse + i * from->rows));
    for (int turn = 1; turn < 32; turn *= 2)
        top = ptx_max(top, ptx_shfl_xor(top, turn));
    return top;
}

/* Adds the parts up, weighted relative to @top; returns the sum of the weights. */
HEED_DEVICE float add_parts(const parts *from, float top, float o[COMBINE_COLUMNS])
{
    float sum = 0.0f;
    HEED_UNROLL
    for (int c = 0; c < COMBINE_COLUMNS; c++)
        o[c] = 0.0f;
    for (u32 i = 0; i < from->count; i++) {
        float lse = ptx_ld_global_f32(from->lse + i * from->rows);
        if (lse == -ptx_infinity())
            continue;
        float weight = ptx_ex2(lse - top);
        const float *part = from->o + i * from->rows * HEED_DIM_V;
        sum += weight;
        HEED_UNROLL
        for (int c = 0; c < COMBINE_COLUMNS; c++) {
            u32 column = c * 32 + ptx_lane();
            if (column < HEED_DIM_V)
                o[c] += weight * ptx_ld_global_f32(part + column);
        }
    }
    return sum;
}

HEED_DEVICE void combine_row(const heed_cuda_args *args, u32 head, u32 row)
{
    float o[COMBINE_COLUMNS];
    i64 first = (i64)head * args->splits.value * args->rows + row;
    parts from;
    from.o = args->partial + first * HEED_DIM_V;
    from.lse = args->partial_lse + first;
    from.rows = args->rows;
    from.count = args->splits.value;
    float top = largest_lse(&from);
    float sum = add_parts(&from, top, o);
    float factor = sum == 0.0f ? 0.0f : ptx_rcp(sum);
    u8 *to = (u8 *)args->o + 2 * row_offset(args, head, args->o_stride, row);
    HEED_UNROLL
    for (int c = 0; c < COMBINE_COLUMNS; c++) {
        u32 column = c * 32 + ptx_lane();
        if (column < HEED_DIM_V)
            ptx_st_global_u16(to + 2 * column, half_of(o[c] * factor));
    }
    if (args->lse && ptx_lane() == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, head, row),
                          sum == 0.0f ? -ptx_infinity() : (top + ptx_lg2(sum)) * LN_2);
}

HEED_ENTRY(COMBINE_THREADS, 1) heed_combine(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 item = ptx_block_x() * (COMBINE_THREADS / 32) + ptx_thread() / 32;
    u32 head = item / args.rows;
    ptx_griddepcontrol_wait();
    if (head < args.heads)
        combine_row(&args, head, item - head * args.rows);
}

#endif /* HEED_COMBINE_CUH */
