/*
 * single_mma.cuh - products of float32 on tensor cores
 *
 * Tensor cores take tf32, which is float32 with 11 significant bits. So with HEED_PRODUCTS 3 an
 * operand is the sum of two: @high, its value rounded to 11 bits, and @low, the remainder, of which
 * at most one bit is lost. A product is high high + (high low + low high); low low is below the
 * last bit of a float32. With HEED_PRODUCTS 1 it is only high high; with 2 both parts are bfloat16,
 * whose products take half the time, and keep 16 bits of an operand.
 *
 * Fragments are those of mma.m16n8k8, or two of these for one mma.m16n8k16, whose operands are
 * pairs of a lane's elements: the order within sums does not matter.
 */
#ifndef HEED_SINGLE_MMA_CUH
#define HEED_SINGLE_MMA_CUH

#include "ablation.h"
#include "ptx.cuh"

#if HEED_PRODUCTS < 1 || HEED_PRODUCTS > 3
#error "HEED_PRODUCTS is 1 to 3"
#endif

#define SPLITS (HEED_PRODUCTS > 1)         /* true if operands have two parts */
#define STEP8 (HEED_PRODUCTS == 2 ? 2 : 1) /* 8-column (or 8-key) groups per product */

/* An operand of a product: its rows, */
typedef struct single_left {
    u32 high[4];
    u32 low[4];
} single_left;

/* and columns. */
typedef struct single_right {
    u32 high[2];
    u32 low[2];
} single_right;

#if HEED_PRODUCTS == 2

/* Parts of two elements, in one register each. */
HEED_DEVICE void split_pair(u32 x, u32 y, u32 *high, u32 *low)
{
    *high = ptx_pack_bf16(ptx_as_f32(x), ptx_as_f32(y));
    *low = ptx_pack_bf16(ptx_as_f32(x) - ptx_unpack_bf16_lo(*high),
                         ptx_as_f32(y) - ptx_unpack_bf16_hi(*high));
}

/* Splits the first (@half 0) or last 8 columns of rows, */
HEED_DEVICE void split_left(single_left *left, const u32 x[4], int half)
{
    HEED_UNROLL
    for (int i = 0; i < 2; i++)
        split_pair(x[i], x[i + 2], &left->high[2 * half + i], &left->low[2 * half + i]);
}

/* or 8 rows of columns. */
HEED_DEVICE void split_right(single_right *right, u32 x, u32 y, int half)
{
    split_pair(x, y, &right->high[half], &right->low[half]);
}

#else

/* The remainder of an infinity or NaN is NaN, so the affected rows are detected. */
HEED_DEVICE void split_single(u32 x, u32 *high, u32 *low)
{
#if SPLITS
    *high = (x + 0x1000u) & 0xffffe000u;
    *low = ptx_as_u32(ptx_as_f32(x) - ptx_as_f32(*high));
#else
    *high = ptx_f32_to_tf32(ptx_as_f32(x));
    *low = 0;
#endif
}

/* @half is 0. */
HEED_DEVICE void split_left(single_left *left, const u32 x[4], int half)
{
    (void)half;
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        split_single(x[i], &left->high[i], &left->low[i]);
}

HEED_DEVICE void split_right(single_right *right, u32 x, u32 y, int half)
{
    (void)half;
    split_single(x, &right->high[0], &right->low[0]);
    split_single(y, &right->high[1], &right->low[1]);
}

#endif

/* d += a b, or d = a b if that is the @first. */
HEED_DEVICE void single_mma(float d[4], const u32 a[4], const u32 b[2], const int first)
{
#if HEED_ABLATE == ABLATE_NO_PRODUCTS
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        d[i] = (first ? 0.0f : d[i]) + ptx_as_f32(a[i]) * ptx_as_f32(b[i % 2]);
#elif HEED_PRODUCTS == 2
    if (first)
        ptx_mma_bf16_first(d, a, b);
    else
        ptx_mma_bf16(d, a, b);
#else
    if (first)
        ptx_mma_tf32_first(d, a, b);
    else
        ptx_mma_tf32(d, a, b);
#endif
}

#endif /* HEED_SINGLE_MMA_CUH */
