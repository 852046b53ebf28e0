/*
 * ptx_math.cuh - integers and floats: instructions as in ptx.cuh
 */
#ifndef HEED_PTX_MATH_CUH
#define HEED_PTX_MATH_CUH

#include "types.cuh"

/* ---- integers ---- */

/* mul.hi.u32: the upper half of the product. */
HEED_DEVICE u32 ptx_mul_hi(u32 x, u32 y)
{
    u32 r;
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}

/* prmt.b32: four bytes of @y (4 to 7) and @x (0 to 3), selected by the digits of @which. */
HEED_DEVICE u32 ptx_permute(u32 x, u32 y, u32 which)
{
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(which));
    return r;
}

/* popc.b32: the number of set bits. */
HEED_DEVICE u32 ptx_popc(u32 x)
{
    u32 r;
    asm("popc.b32 %0, %1;" : "=r"(r) : "r"(x));
    return r;
}

/* The same value, with its origin hidden from the compiler, which then keeps it in a register
 * instead of computing it again. */
HEED_DEVICE u32 ptx_keep(u32 x)
{
    asm volatile("mov.u32 %0, %0;" : "+r"(x));
    return x;
}

/* ---- float32 ---- */

/* The bits of a float, and back. */
HEED_DEVICE u32 ptx_as_u32(float x)
{
    u32 r;
    asm("mov.b32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

HEED_DEVICE float ptx_as_f32(u32 x)
{
    float r;
    asm("mov.b32 %0, %1;" : "=f"(r) : "r"(x));
    return r;
}

HEED_DEVICE float ptx_infinity(void)
{
    return ptx_as_f32(0x7f800000u);
}

/* ex2.approx.ftz: 2 to the power of x, to 2 ULP; 0 for -infinity and for results below 2^-126. */
HEED_DEVICE float ptx_ex2(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* lg2.approx.ftz: logarithm to base 2; -infinity for 0 and subnormals. */
HEED_DEVICE float ptx_lg2(float x)
{
    float r;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* rcp.approx.ftz: 1 / x, to 1 ULP; infinity for 0 and subnormals. */
HEED_DEVICE float ptx_rcp(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* fma.rn.f32: x * y + z, rounded once. */
HEED_DEVICE float ptx_fma(float x, float y, float z)
{
    float r;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z));
    return r;
}

/* The same for x * y - z, without a separate instruction to negate z. */
HEED_DEVICE float ptx_fms(float x, float y, float z)
{
    float r;
    asm("{ .reg .f32 n; neg.f32 n, %3; fma.rn.f32 %0, %1, %2, n; }"
        : "=f"(r)
        : "f"(x), "f"(y), "f"(z));
    return r;
}

/* abs.f32 */
HEED_DEVICE float ptx_abs(float x)
{
    float r;
    asm("abs.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* max.f32: the greater one. If one is NaN, it is the other one, so a maximum hides NaN. */
HEED_DEVICE float ptx_max(float x, float y)
{
    float r;
    asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}

/* min.NaN.f32 and max.NaN.f32: NaN if either one is NaN. */
HEED_DEVICE float ptx_min_nan(float x, float y)
{
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}

HEED_DEVICE float ptx_max_nan(float x, float y)
{
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}

/* Functions of several instructions: exp, log, sqrt and floor, to 2 ULP or better. */
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

/* ---- 16-bit floats. Conversions round to nearest even; too large values become infinity. ---- */

/* cvt.f32.f16 */
HEED_DEVICE float ptx_f16_to_f32(u16 x)
{
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
    return r;
}

/* cvt.rn.f16.f32 */
HEED_DEVICE u16 ptx_f32_to_f16(float x)
{
    u16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

/* A bfloat16 is the upper half of a float. */
HEED_DEVICE float ptx_bf16_to_f32(u16 x)
{
    return ptx_as_f32((u32)x << 16);
}

/* cvt.rn.bf16.f32 */
HEED_DEVICE u16 ptx_f32_to_bf16(float x)
{
    u16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

/* cvt.rn.f16x2.f32: two float16 in one register. */
HEED_DEVICE u32 ptx_pack_f16(float lo, float hi)
{
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

/* cvt.rn.bf16x2.f32: two bfloat16 in one register. */
HEED_DEVICE u32 ptx_pack_bf16(float lo, float hi)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

/* cvt.rna.tf32.f32: rounds to 11 significant bits, to nearest, ties away from zero. */
HEED_DEVICE u32 ptx_f32_to_tf32(float x)
{
    u32 r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

/* The lower and the upper half. */
HEED_DEVICE float ptx_unpack_f16_lo(u32 x)
{
    return ptx_f16_to_f32((u16)x);
}
HEED_DEVICE float ptx_unpack_f16_hi(u32 x)
{
    return ptx_f16_to_f32((u16)(x >> 16));
}
HEED_DEVICE float ptx_unpack_bf16_lo(u32 x)
{
    return ptx_as_f32(x << 16);
}
HEED_DEVICE float ptx_unpack_bf16_hi(u32 x)
{
    return ptx_as_f32(x & 0xffff0000u);
}

/* mul.rn.f16x2, add.rn.f16x2 and fma.rn.f16x2: x * y, x + y and x * y + z, two at a time. */
HEED_DEVICE u32 ptx_mul_f16x2(u32 x, u32 y)
{
    u32 r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}

HEED_DEVICE u32 ptx_add_f16x2(u32 x, u32 y)
{
    u32 r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}

HEED_DEVICE u32 ptx_fma_f16x2(u32 x, u32 y, u32 z)
{
    u32 r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
    return r;
}

#endif /* HEED_PTX_MATH_CUH */
