/*
 * half.cuh - the element type that a kernel is compiled for: float16, or bfloat16 with HEED_BF16;
 * and the accumulator type of its products: float32, or float16 with HEED_ACC16
 *
 * With HEED_PRODUCTS elements are float32, with the products of single_mma.cuh. Sizes count units
 * of 16 bits: WORDS of them are an element.
 */
#ifndef HEED_HALF_CUH
#define HEED_HALF_CUH

#include "ablation.h"
#include "ptx.cuh"

#ifndef HEED_PRODUCTS
#define HEED_PRODUCTS 0
#endif
#define HEED_F32 (HEED_PRODUCTS > 0)
#define WORDS (HEED_F32 ? 2 : 1)
#define ELEMENT_BYTES (2 * WORDS)

/* Exponent bits of two elements, and an addend that carries into the sign bit if all of them are
 * set. */
#if HEED_BF16
#define HALF_EXPONENTS 0x7f807f80u
#define HALF_CARRIES 0x00800080u
#else
#define HALF_EXPONENTS 0x7c007c00u
#define HALF_CARRIES 0x04000400u
#endif

/* Four sums of products: rows g and g + 8, two columns each. */
#if HEED_ACC16
typedef u32 half_sum[2];
#else
typedef float half_sum[4];
#endif

/* Replaces products: a multiply-add, so the operands are needed, and no two sums are the same. */
#if HEED_ABLATE == ABLATE_NO_PRODUCTS && HEED_ACC16
HEED_DEVICE void half_mma_not(half_sum d, const u32 a[4], const u32 b[2])
{
    d[0] += a[0] * b[0];
}

HEED_DEVICE void half_mma_not_first(half_sum d, const u32 a[4], const u32 b[2])
{
    d[0] = a[0] ^ b[0];
    d[1] = a[1] ^ b[1];
}
#elif HEED_ABLATE == ABLATE_NO_PRODUCTS
HEED_DEVICE void half_mma_not(half_sum d, const u32 a[4], const u32 b[2])
{
    d[0] += ptx_as_f32(a[0]) * ptx_as_f32(b[0]);
}

HEED_DEVICE void half_mma_not_first(half_sum d, const u32 a[4], const u32 b[2])
{
    for (int i = 0; i < 4; i++)
        d[i] = ptx_as_f32(a[i]) * ptx_as_f32(b[i % 2]);
}
#endif

/* d += a b */
HEED_DEVICE void half_mma(half_sum d, const u32 a[4], const u32 b[2])
{
#if HEED_ABLATE == ABLATE_NO_PRODUCTS
    half_mma_not(d, a, b);
#elif HEED_ACC16
    ptx_mma_f16_acc16(d, a, b);
#elif HEED_BF16
    ptx_mma_bf16(d, a, b);
#else
    ptx_mma_f16(d, a, b);
#endif
}

/* d = a b */
HEED_DEVICE void half_mma_first(half_sum d, const u32 a[4], const u32 b[2])
{
#if HEED_ABLATE == ABLATE_NO_PRODUCTS
    half_mma_not_first(d, a, b);
#elif HEED_ACC16
    ptx_mma_f16_acc16_first(d, a, b);
#elif HEED_BF16
    ptx_mma_bf16_first(d, a, b);
#else
    ptx_mma_f16_first(d, a, b);
#endif
}

HEED_DEVICE u32 half_pack(float low, float high)
{
#if HEED_BF16
    return ptx_pack_bf16(low, high);
#else
    return ptx_pack_f16(low, high);
#endif
}

HEED_DEVICE u16 half_of(float x)
{
#if HEED_BF16
    return ptx_f32_to_bf16(x);
#else
    return ptx_f32_to_f16(x);
#endif
}

/* Stores an element. */
HEED_DEVICE void half_store(u8 *to, float x)
{
#if HEED_F32
    ptx_st_global_f32((float *)(void *)to, x);
#else
    ptx_st_global_u16(to, half_of(x));
#endif
}

/* 0x8000 in each of the two halves that is an infinity or NaN. */
HEED_DEVICE u32 half_not_finite(u32 x)
{
    return ((x & HALF_EXPONENTS) + HALF_CARRIES) & 0x80008000u;
}

#endif /* HEED_HALF_CUH */
