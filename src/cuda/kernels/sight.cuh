/*
 * sight.cuh - decide whether steps hide all keys of a tile from all rows of a block, none, or some
 *
 * Interval arithmetic as in interval.h, by a warp: all lanes compute all intervals, and share the
 * elements that loads scan. program.cuh, which score_print.c prints, has
 *
 *     sight_of_rows  the intervals of steps that do not depend on the key,
 *     sight_of_keys  and of the others, for one tile: the last one is the visibility
 */
#ifndef HEED_SIGHT_CUH
#define HEED_SIGHT_CUH

#include "problem/interval.h"

/* Elements that one load may scan; with more, the interval has all values. */
#define SIGHT_MAX 4096.0f

/* A set of pairs of queries and keys. */
typedef struct sight_pairs {
    heed_bounds batch, head, query, position, key;
} sight_pairs;

/* Types of elements. */
enum {
    SIGHT_F32,
    SIGHT_F16,
    SIGHT_BF16,
    SIGHT_I32,
    SIGHT_BYTE,
    SIGHT_BIT
};

HEED_DEVICE heed_kind sight_kind(const int type)
{
    return type == SIGHT_I32                         ? HEED_KIND_INT
           : type == SIGHT_BYTE || type == SIGHT_BIT ? HEED_KIND_BOOL
                                                     : HEED_KIND_FLOAT;
}

/* Element @i of the row that begins with element @row of @data (for bits, word @row). */
HEED_DEVICE heed_bounds sight_element(const u8 *data, i64 row, u32 i, const int type)
{
    u32 x;
    if (type == SIGHT_BYTE)
        x = ptx_ld_operand_1(data + row + i) != 0;
    else if (type == SIGHT_BIT)
        x = ptx_ld_operand_4(data + (row + i / 32) * 4) >> i % 32 & 1;
    else if (type == SIGHT_F16 || type == SIGHT_BF16)
        x = ptx_ld_operand_2(data + (row + i) * 2);
    else
        x = ptx_ld_operand_4(data + (row + i) * 4);
    if (sight_kind(type) != HEED_KIND_FLOAT)
        return interval_of_whole((i32)x);
    return interval_of_real(type == SIGHT_F16    ? ptx_f16_to_f32((u16)x)
                            : type == SIGHT_BF16 ? ptx_bf16_to_f32((u16)x)
                                                 : ptx_as_f32(x));
}

/* The union of all lanes' intervals. */
HEED_DEVICE heed_bounds sight_unite(heed_bounds x, const heed_kind kind)
{
    HEED_UNROLL
    for (int turn = 1; turn < 32; turn *= 2) {
        heed_bounds y;
        y.least.whole = (i32)ptx_shfl_xor_u32((u32)x.least.whole, turn);
        y.greatest.whole = (i32)ptx_shfl_xor_u32((u32)x.greatest.whole, turn);
        y.nan = kind == HEED_KIND_FLOAT ? (i32)ptx_shfl_xor_u32((u32)x.nan, turn) : 0;
        x = interval_unite(x, y, kind);
    }
    return x;
}

/* Interval of the elements of a source with @rank indices, each of which is an interval. */
HEED_DEVICE heed_bounds sight_load(const heed_cuda_source *from, const int type, const int rank,
                                   heed_bounds a, heed_bounds b, heed_bounds c, heed_bounds d)
{
    const heed_kind kind = sight_kind(type);
    const heed_bounds any[4] = { a, b, c, d };
    u32 first[4], size[4];
    float count = 1.0f;
    HEED_UNROLL
    for (int k = 0; k < rank; k++) {
        heed_bounds index = interval_clip(any[k], from->last[k] + 1);
        first[k] = (u32)index.least.whole;
        size[k] = (u32)index.greatest.whole - first[k] + 1;
        count *= (float)size[k];
    }
    if (count > SIGHT_MAX)
        return interval_any(kind);
    heed_bounds all = interval_any(kind);
    const u32 last = (u32)count - 1;
    HEED_NO_UNROLL
    for (u32 begin = 0; begin <= last; begin += 32) {
        u32 n = begin + ptx_lane() < last ? begin + ptx_lane() : last;
        u32 along = n % size[rank - 1] + first[rank - 1];
        i64 row = 0;
        n /= size[rank - 1];
        HEED_UNROLL
        for (int k = rank - 2; k >= 0; k--) {
            row += (i64)(first[k] + n % size[k]) * from->stride[k];
            n /= size[k];
        }
        heed_bounds here = sight_element((const u8 *)from->data, row, along, type);
        all = begin == 0 ? here : interval_unite(all, here, kind);
    }
    return sight_unite(all, kind);
}

#endif /* HEED_SIGHT_CUH */
