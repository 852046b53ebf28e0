/*
 * ptx_math.cuh - arithmetic on the emulator: see ptx.cuh
 */
#ifndef HEED_PTX_MATH_CUH
#define HEED_PTX_MATH_CUH

#include <math.h>

#include "emulator/half.h"
#include "src/cuda/kernels/types.cuh"

/* ---- integers ---- */

HEED_DEVICE u32 ptx_popc(u32 x)
{
    return (u32)__builtin_popcount(x);
}

HEED_DEVICE u32 ptx_permute(u32 x, u32 y, u32 which)
{
    u64 bytes = (u64)y << 32 | x;
    u32 r = 0;
    for (int i = 0; i < 4; i++)
        r |= (u32)(bytes >> (which >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return r;
}

HEED_DEVICE u32 ptx_mul_hi(u32 x, u32 y)
{
    return (u32)((u64)x * y >> 32);
}

HEED_DEVICE u32 ptx_keep(u32 x)
{
    return x;
}

/* ---- float32 ---- */

HEED_DEVICE u32 ptx_as_u32(float x)
{
    return half_bits(x);
}

HEED_DEVICE float ptx_as_f32(u32 x)
{
    return half_value(x);
}

HEED_DEVICE float ptx_infinity(void)
{
    return half_value(0x7f800000u);
}

/* Flushes a subnormal like .ftz. */
HEED_DEVICE float ptx_flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

HEED_DEVICE float ptx_ex2(float x)
{
    return ptx_flushed(exp2f(x));
}

HEED_DEVICE float ptx_lg2(float x)
{
    return log2f(ptx_flushed(x));
}

HEED_DEVICE float ptx_rcp(float x)
{
    return ptx_flushed(half_value(0x3f800000u) / ptx_flushed(x));
}

HEED_DEVICE float ptx_fma(float x, float y, float z)
{
    return fmaf(x, y, z);
}

HEED_DEVICE float ptx_fms(float x, float y, float z)
{
    return fmaf(x, y, -z);
}

HEED_DEVICE float ptx_abs(float x)
{
    return fabsf(x);
}

HEED_DEVICE float ptx_min_nan(float x, float y)
{
    return x != x || x < y ? x : y;
}

HEED_DEVICE float ptx_max_nan(float x, float y)
{
    return x != x || x > y ? x : y;
}

HEED_DEVICE float ptx_max(float x, float y)
{
    return fmaxf(x, y);
}

HEED_DEVICE float ptx_exp(float x)
{
    return expf(x);
}

HEED_DEVICE float ptx_log(float x)
{
    return logf(x);
}

HEED_DEVICE float ptx_sqrt(float x)
{
    return sqrtf(x);
}

HEED_DEVICE float ptx_floor(float x)
{
    return floorf(x);
}

/* ---- 16-bit floats ---- */

HEED_DEVICE float ptx_f16_to_f32(u16 x)
{
    return half_from_f16(x);
}

HEED_DEVICE u16 ptx_f32_to_f16(float x)
{
    return half_to_f16(x);
}

HEED_DEVICE float ptx_bf16_to_f32(u16 x)
{
    return half_from_bf16(x);
}

HEED_DEVICE u16 ptx_f32_to_bf16(float x)
{
    return half_to_bf16(x);
}

HEED_DEVICE u32 ptx_pack_f16(float lo, float hi)
{
    return half_to_f16(lo) | (u32)half_to_f16(hi) << 16;
}

HEED_DEVICE u32 ptx_pack_bf16(float lo, float hi)
{
    return half_to_bf16(lo) | (u32)half_to_bf16(hi) << 16;
}

HEED_DEVICE u32 ptx_f32_to_tf32(float x)
{
    return x == x ? (half_bits(x) + 0x1000u) & 0xffffe000u : 0x7fffe000u;
}

HEED_DEVICE float ptx_unpack_f16_lo(u32 x)
{
    return half_from_f16((u16)x);
}

HEED_DEVICE float ptx_unpack_f16_hi(u32 x)
{
    return half_from_f16((u16)(x >> 16));
}

HEED_DEVICE float ptx_unpack_bf16_lo(u32 x)
{
    return half_value(x << 16);
}

HEED_DEVICE float ptx_unpack_bf16_hi(u32 x)
{
    return half_value(x & 0xffff0000u);
}

/* Products and sums of two float16 are exact in float32, except for sums of very different numbers,
 * for which a second rounding does no significant harm. */
HEED_DEVICE u32 ptx_mul_f16x2(u32 x, u32 y)
{
    return ptx_pack_f16(ptx_unpack_f16_lo(x) * ptx_unpack_f16_lo(y),
                        ptx_unpack_f16_hi(x) * ptx_unpack_f16_hi(y));
}

HEED_DEVICE u32 ptx_add_f16x2(u32 x, u32 y)
{
    return ptx_pack_f16(ptx_unpack_f16_lo(x) + ptx_unpack_f16_lo(y),
                        ptx_unpack_f16_hi(x) + ptx_unpack_f16_hi(y));
}

HEED_DEVICE u32 ptx_fma_f16x2(u32 x, u32 y, u32 z)
{
    return ptx_pack_f16(fmaf(ptx_unpack_f16_lo(x), ptx_unpack_f16_lo(y), ptx_unpack_f16_lo(z)),
                        fmaf(ptx_unpack_f16_hi(x), ptx_unpack_f16_hi(y), ptx_unpack_f16_hi(z)));
}

#endif /* HEED_PTX_MATH_CUH */
