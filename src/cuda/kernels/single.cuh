/*
 * single.cuh - products of float32 on tensor cores
 *
 * Tensor cores take tf32, float32 of 11 significant bits. So with HEED_PRODUCTS 3 an operand is the
 * sum of two: @high, itself to 11 bits, and @low, the rest, of which at most one bit is lost. A
 * product is high high + (high low + low high); low low is below the last bit of a float32. With
 * HEED_PRODUCTS 1 it is high high alone.
 */
#ifndef HEED_SINGLE_CUH
#define HEED_SINGLE_CUH

#include "ablate.cuh"
#include "ptx.cuh"

/* An operand of mma.m16n8k8: rows of it, */
typedef struct single_left {
    u32 high[4];
    u32 low[4];
} single_left;

/* and columns. */
typedef struct single_right {
    u32 high[2];
    u32 low[2];
} single_right;

HEED_DEVICE void split_single(u32 x, u32 *high, u32 *low)
{
#if HEED_PRODUCTS == 1
    *high = ptx_f32_to_tf32(ptx_as_f32(x));
    *low = 0;
#else
    *high = (x + 0x1000u) & 0xffffe000u;
    *low = ptx_as_u32(ptx_as_f32(x) - ptx_as_f32(*high));
#endif
}

HEED_DEVICE void split_left(single_left *left, const u32 x[4])
{
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        split_single(x[i], &left->high[i], &left->low[i]);
}

HEED_DEVICE void split_right(single_right *right, u32 x, u32 y)
{
    split_single(x, &right->high[0], &right->low[0]);
    split_single(y, &right->high[1], &right->low[1]);
}

/* d += a b, or d = a b if that is the @first. */
HEED_DEVICE void single_mma(float d[4], const u32 a[4], const u32 b[2], const int first)
{
#if HEED_ABLATE == ABLATE_NO_PRODUCTS
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        d[i] = (first ? 0.0f : d[i]) + ptx_as_f32(a[i]) * ptx_as_f32(b[i % 2]);
#else
    if (first)
        ptx_mma_tf32_first(d, a, b);
    else
        ptx_mma_tf32(d, a, b);
#endif
}

/* The same for a product of float32, the small parts first. */
HEED_DEVICE void single_multiply(float d[4], const single_left *a, const single_right *b,
                                 const int first)
{
#if HEED_PRODUCTS == 3
    single_mma(d, a->low, b->high, first);
    single_mma(d, a->high, b->low, 0);
    single_mma(d, a->high, b->high, 0);
#else
    single_mma(d, a->high, b->high, first);
#endif
}

#endif /* HEED_SINGLE_CUH */
