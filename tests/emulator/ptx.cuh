/*
 * ptx.cuh - the instructions of src/cuda/kernels/ptx.cuh and what it includes, in C on the emulator
 *
 * A kernel that is compiled with this file included first (-include) finds the include guard set
 * and takes these prototypes for the real ones. Their meaning is said there. Arithmetic is done
 * here; the machine does everything that touches shared memory or waits. Macros at the end tell it
 * which line of the kernel asks.
 */
#ifndef HEED_PTX_CUH
#define HEED_PTX_CUH

#include <math.h>
#include <string.h>

#include "emulator/half.h"
#include "emulator/request.h"
#include "src/cuda/kernels/types.cuh"

/* ---- where a thread is ---- */

HEED_DEVICE u32 ptx_thread(void)
{
    return emulator_thread();
}

HEED_DEVICE u32 ptx_thread_anew(void)
{
    return emulator_thread();
}

HEED_DEVICE u32 ptx_lane(void)
{
    return emulator_thread() % 32;
}

HEED_DEVICE u32 ptx_block_x(void)
{
    return emulator_block(0);
}

HEED_DEVICE u32 ptx_block_y(void)
{
    return emulator_block(1);
}

HEED_DEVICE u32 ptx_block_z(void)
{
    return emulator_block(2);
}

HEED_DEVICE u32 ptx_grid_x(void)
{
    return emulator_grid(0);
}

HEED_DEVICE u32 ptx_grid_y(void)
{
    return emulator_grid(1);
}

HEED_DEVICE u32 ptx_grid_z(void)
{
    return emulator_grid(2);
}

/* A clock that goes on by one whenever somebody looks at it. */
HEED_DEVICE u32 ptx_clock(void)
{
    static u32 clock;
    return ++clock;
}

/* ---- barriers ---- */

HEED_DEVICE void ptx_barrier(void)
{
    emulator_barrier(0, 0);
}

HEED_DEVICE void ptx_barrier_named(int id, int threads)
{
    emulator_barrier(id, threads);
}

HEED_DEVICE void ptx_barrier_named_arrive(int id, int threads)
{
    emulator_arrive(id, threads);
}

HEED_DEVICE void ptx_warp_barrier(void)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_WARP_BARRIER });
}

HEED_DEVICE void ptx_griddepcontrol_wait(void) {}

HEED_DEVICE void ptx_griddepcontrol_launch(void) {}

/* ---- shared memory ---- */

HEED_DEVICE u32 ptx_shared_base(void)
{
    return EMULATOR_SHARED_BASE;
}

HEED_DEVICE heed_u32x4 ptx_ld_shared_16(u32 smem)
{
    heed_u32x4 r;
    emulator_load(smem, &r, 16);
    return r;
}

HEED_DEVICE heed_u32x2 ptx_ld_shared_8(u32 smem)
{
    heed_u32x2 r;
    emulator_load(smem, &r, 8);
    return r;
}

HEED_DEVICE u32 ptx_ld_shared_4(u32 smem)
{
    u32 r;
    emulator_load(smem, &r, 4);
    return r;
}

HEED_DEVICE u16 ptx_ld_shared_u16(u32 smem)
{
    u16 r;
    emulator_load(smem, &r, 2);
    return r;
}

HEED_DEVICE float ptx_ld_shared_f32(u32 smem)
{
    float r;
    emulator_load(smem, &r, 4);
    return r;
}

HEED_DEVICE void ptx_st_shared_16(u32 smem, heed_u32x4 x)
{
    emulator_store(smem, &x, 16);
}

HEED_DEVICE void ptx_st_shared_8(u32 smem, heed_u32x2 x)
{
    emulator_store(smem, &x, 8);
}

HEED_DEVICE void ptx_st_shared_4(u32 smem, u32 x)
{
    emulator_store(smem, &x, 4);
}

HEED_DEVICE void ptx_st_shared_u16(u32 smem, u16 x)
{
    emulator_store(smem, &x, 2);
}

HEED_DEVICE void ptx_st_shared_f32(u32 smem, float x)
{
    emulator_store(smem, &x, 4);
}

HEED_DEVICE void ptx_min_shared_u32(u32 smem, u32 x)
{
    emulator_min(smem, x);
}

/* ---- global to shared memory, asynchronously ---- */

HEED_DEVICE void ptx_cp_async_16(u32 smem, const void *global, u32 bytes)
{
    emulator_copy(smem, global, bytes);
}

HEED_DEVICE void ptx_cp_async_commit(void)
{
    emulator_commit();
}

HEED_DEVICE void ptx_cp_async_wait(int n)
{
    emulator_wait(n);
}

/* ---- global memory ---- */

HEED_DEVICE heed_u32x4 ptx_ld_global_16(const void *p)
{
    heed_u32x4 r;
    emulator_check_global(p, 16);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE heed_u32x4 ptx_ld_global_nc_16(const void *p)
{
    return ptx_ld_global_16(p);
}

HEED_DEVICE u32 ptx_ld_operand_1(const void *p)
{
    emulator_check_global(p, 1);
    return *(const u8 *)p;
}

HEED_DEVICE u32 ptx_ld_operand_2(const void *p)
{
    u16 r;
    emulator_check_global(p, 2);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE u32 ptx_ld_operand_4(const void *p)
{
    u32 r;
    emulator_check_global(p, 4);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE u32 ptx_ld_ahead_2(const void *p)
{
    return ptx_ld_operand_2(p);
}

HEED_DEVICE u32 ptx_ld_ahead_4(const void *p)
{
    return ptx_ld_operand_4(p);
}

HEED_DEVICE heed_u32x4 ptx_ld_ahead_16(const void *p)
{
    heed_u32x4 r;
    emulator_check_global(p, 16);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE heed_u32x2 ptx_ld_operand_8(const void *p)
{
    heed_u32x2 r;
    emulator_check_global(p, 8);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE u16 ptx_ld_global_u16(const void *p)
{
    u16 r;
    emulator_check_global(p, 2);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE float ptx_ld_global_f32(const void *p)
{
    float r;
    emulator_check_global(p, 4);
    memcpy(&r, p, sizeof r);
    return r;
}

HEED_DEVICE void ptx_st_global_16(void *p, heed_u32x4 x)
{
    emulator_check_global(p, 16);
    memcpy(p, &x, sizeof x);
}

HEED_DEVICE void ptx_st_global_8(void *p, heed_u32x2 x)
{
    emulator_check_global(p, 8);
    memcpy(p, &x, sizeof x);
}

HEED_DEVICE void ptx_st_global_4(void *p, u32 x)
{
    emulator_check_global(p, 4);
    memcpy(p, &x, sizeof x);
}

HEED_DEVICE void ptx_st_global_u16(void *p, u16 x)
{
    emulator_check_global(p, 2);
    memcpy(p, &x, sizeof x);
}

HEED_DEVICE void ptx_st_global_f32(void *p, float x)
{
    emulator_check_global(p, 4);
    memcpy(p, &x, sizeof x);
}

HEED_DEVICE u32 ptx_inc_global_u32(void *p, u32 limit)
{
    u32 r, next;
    emulator_check_global(p, 4);
    memcpy(&r, p, sizeof r);
    next = r >= limit ? 0 : r + 1;
    memcpy(p, &next, sizeof next);
    return r;
}

/* ---- matrices ---- */

HEED_DEVICE void ptx_ldmatrix_x4(u32 r[4], u32 smem)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_LDMATRIX, .d = r, .n = 4, .x = smem });
}

HEED_DEVICE void ptx_ldmatrix_x4_trans(u32 r[4], u32 smem)
{
    emulator_meet(
        &(emulator_request){ .what = EMULATOR_LDMATRIX_TRANS, .d = r, .n = 4, .x = smem });
}

HEED_DEVICE void ptx_ldmatrix_x2(u32 r[2], u32 smem)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_LDMATRIX, .d = r, .n = 2, .x = smem });
}

HEED_DEVICE void ptx_ldmatrix_x2_trans(u32 r[2], u32 smem)
{
    emulator_meet(
        &(emulator_request){ .what = EMULATOR_LDMATRIX_TRANS, .d = r, .n = 2, .x = smem });
}

HEED_DEVICE void ptx_mma_f16(float d[4], const u32 a[4], const u32 b[2])
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_MMA_F16, .d = d, .a = a, .b = b });
}

HEED_DEVICE void ptx_mma_bf16(float d[4], const u32 a[4], const u32 b[2])
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_MMA_BF16, .d = d, .a = a, .b = b });
}

HEED_DEVICE void ptx_mma_f16_first(float d[4], const u32 a[4], const u32 b[2])
{
    memset(d, 0, 4 * sizeof *d);
    ptx_mma_f16(d, a, b);
}

HEED_DEVICE void ptx_mma_bf16_first(float d[4], const u32 a[4], const u32 b[2])
{
    memset(d, 0, 4 * sizeof *d);
    ptx_mma_bf16(d, a, b);
}

HEED_DEVICE void ptx_mma_f16_acc16(u32 d[2], const u32 a[4], const u32 b[2])
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_MMA_F16_ACC16, .d = d, .a = a, .b = b });
}

HEED_DEVICE void ptx_mma_f16_acc16_first(u32 d[2], const u32 a[4], const u32 b[2])
{
    memset(d, 0, 2 * sizeof *d);
    ptx_mma_f16_acc16(d, a, b);
}

/* ---- between the lanes of a warp ---- */

HEED_DEVICE u32 ptx_shfl_xor_u32(u32 x, int mask)
{
    u32 r = 0;
    emulator_meet(&(emulator_request){ .what = EMULATOR_SHFL_XOR, .d = &r, .n = mask, .x = x });
    return r;
}

HEED_DEVICE float ptx_shfl_xor(float x, int mask)
{
    return half_value(ptx_shfl_xor_u32(half_bits(x), mask));
}

HEED_DEVICE u32 ptx_shfl_idx_u32(u32 x, int lane)
{
    u32 r = 0;
    emulator_meet(&(emulator_request){ .what = EMULATOR_SHFL_IDX, .d = &r, .n = lane, .x = x });
    return r;
}

HEED_DEVICE float ptx_shfl_idx(float x, int lane)
{
    return half_value(ptx_shfl_idx_u32(half_bits(x), lane));
}

HEED_DEVICE int ptx_vote_any(int x)
{
    u32 r = 0;
    emulator_meet(&(emulator_request){ .what = EMULATOR_VOTE_ANY, .d = &r, .x = x != 0 });
    return (int)r;
}

HEED_DEVICE u32 ptx_vote_ballot(int x)
{
    u32 r = 0;
    emulator_meet(&(emulator_request){ .what = EMULATOR_VOTE_BALLOT, .d = &r, .x = x != 0 });
    return r;
}

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

/* A subnormal as .ftz flushes it. */
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

/* Products and sums of two float16 are exact in float32 but for sums of very different numbers,
 * where a second rounding does no harm to speak of. */
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

/* ---- which line asks ---- */

#define EMULATOR_HERE emulator_at(__FILE__, __LINE__)

#define ptx_barrier() (EMULATOR_HERE, ptx_barrier())
#define ptx_barrier_named(id, threads) (EMULATOR_HERE, ptx_barrier_named(id, threads))
#define ptx_barrier_named_arrive(id, threads) (EMULATOR_HERE, ptx_barrier_named_arrive(id, threads))
#define ptx_warp_barrier() (EMULATOR_HERE, ptx_warp_barrier())
#define ptx_ld_shared_16(smem) (EMULATOR_HERE, ptx_ld_shared_16(smem))
#define ptx_ld_shared_8(smem) (EMULATOR_HERE, ptx_ld_shared_8(smem))
#define ptx_ld_shared_4(smem) (EMULATOR_HERE, ptx_ld_shared_4(smem))
#define ptx_ld_shared_u16(smem) (EMULATOR_HERE, ptx_ld_shared_u16(smem))
#define ptx_ld_shared_f32(smem) (EMULATOR_HERE, ptx_ld_shared_f32(smem))
#define ptx_st_shared_16(smem, x) (EMULATOR_HERE, ptx_st_shared_16(smem, x))
#define ptx_st_shared_8(smem, x) (EMULATOR_HERE, ptx_st_shared_8(smem, x))
#define ptx_st_shared_4(smem, x) (EMULATOR_HERE, ptx_st_shared_4(smem, x))
#define ptx_st_shared_u16(smem, x) (EMULATOR_HERE, ptx_st_shared_u16(smem, x))
#define ptx_st_shared_f32(smem, x) (EMULATOR_HERE, ptx_st_shared_f32(smem, x))
#define ptx_min_shared_u32(smem, x) (EMULATOR_HERE, ptx_min_shared_u32(smem, x))
#define ptx_cp_async_16(smem, global, bytes) (EMULATOR_HERE, ptx_cp_async_16(smem, global, bytes))
#define ptx_cp_async_wait(n) (EMULATOR_HERE, ptx_cp_async_wait(n))
#define ptx_ld_global_16(p) (EMULATOR_HERE, ptx_ld_global_16(p))
#define ptx_ld_global_nc_16(p) (EMULATOR_HERE, ptx_ld_global_nc_16(p))
#define ptx_ld_operand_1(p) (EMULATOR_HERE, ptx_ld_operand_1(p))
#define ptx_ld_operand_2(p) (EMULATOR_HERE, ptx_ld_operand_2(p))
#define ptx_ld_operand_4(p) (EMULATOR_HERE, ptx_ld_operand_4(p))
#define ptx_ld_ahead_2(p) (EMULATOR_HERE, ptx_ld_ahead_2(p))
#define ptx_ld_ahead_4(p) (EMULATOR_HERE, ptx_ld_ahead_4(p))
#define ptx_ld_ahead_16(p) (EMULATOR_HERE, ptx_ld_ahead_16(p))
#define ptx_ld_operand_8(p) (EMULATOR_HERE, ptx_ld_operand_8(p))
#define ptx_ld_global_u16(p) (EMULATOR_HERE, ptx_ld_global_u16(p))
#define ptx_ld_global_f32(p) (EMULATOR_HERE, ptx_ld_global_f32(p))
#define ptx_st_global_16(p, x) (EMULATOR_HERE, ptx_st_global_16(p, x))
#define ptx_st_global_8(p, x) (EMULATOR_HERE, ptx_st_global_8(p, x))
#define ptx_st_global_4(p, x) (EMULATOR_HERE, ptx_st_global_4(p, x))
#define ptx_st_global_u16(p, x) (EMULATOR_HERE, ptx_st_global_u16(p, x))
#define ptx_st_global_f32(p, x) (EMULATOR_HERE, ptx_st_global_f32(p, x))
#define ptx_inc_global_u32(p, limit) (EMULATOR_HERE, ptx_inc_global_u32(p, limit))
#define ptx_ldmatrix_x4(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x4(r, smem))
#define ptx_ldmatrix_x4_trans(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x4_trans(r, smem))
#define ptx_ldmatrix_x2(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x2(r, smem))
#define ptx_ldmatrix_x2_trans(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x2_trans(r, smem))
#define ptx_mma_f16(d, a, b) (EMULATOR_HERE, ptx_mma_f16(d, a, b))
#define ptx_mma_bf16(d, a, b) (EMULATOR_HERE, ptx_mma_bf16(d, a, b))
#define ptx_mma_f16_first(d, a, b) (EMULATOR_HERE, ptx_mma_f16_first(d, a, b))
#define ptx_mma_bf16_first(d, a, b) (EMULATOR_HERE, ptx_mma_bf16_first(d, a, b))
#define ptx_mma_f16_acc16(d, a, b) (EMULATOR_HERE, ptx_mma_f16_acc16(d, a, b))
#define ptx_mma_f16_acc16_first(d, a, b) (EMULATOR_HERE, ptx_mma_f16_acc16_first(d, a, b))
#define ptx_shfl_xor_u32(x, mask) (EMULATOR_HERE, ptx_shfl_xor_u32(x, mask))
#define ptx_shfl_xor(x, mask) (EMULATOR_HERE, ptx_shfl_xor(x, mask))
#define ptx_shfl_idx_u32(x, lane) (EMULATOR_HERE, ptx_shfl_idx_u32(x, lane))
#define ptx_shfl_idx(x, lane) (EMULATOR_HERE, ptx_shfl_idx(x, lane))
#define ptx_vote_any(x) (EMULATOR_HERE, ptx_vote_any(x))
#define ptx_vote_ballot(x) (EMULATOR_HERE, ptx_vote_ballot(x))

#endif /* HEED_PTX_CUH */
