/*
 * ptx_warp.cuh - collective operations of a warp on the emulator: see ptx.cuh
 */
#ifndef HEED_PTX_WARP_CUH
#define HEED_PTX_WARP_CUH

#include <string.h>

#include "emulator/half.h"
#include "emulator/request.h"
#include "src/cuda/kernels/types.cuh"

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

HEED_DEVICE void ptx_mma_tf32(float d[4], const u32 a[4], const u32 b[2])
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_MMA_TF32, .d = d, .a = a, .b = b });
}

HEED_DEVICE void ptx_mma_tf32_first(float d[4], const u32 a[4], const u32 b[2])
{
    memset(d, 0, 4 * sizeof *d);
    ptx_mma_tf32(d, a, b);
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

/* ---- line of the request ---- */

#define ptx_ldmatrix_x4(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x4(r, smem))
#define ptx_ldmatrix_x4_trans(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x4_trans(r, smem))
#define ptx_ldmatrix_x2(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x2(r, smem))
#define ptx_ldmatrix_x2_trans(r, smem) (EMULATOR_HERE, ptx_ldmatrix_x2_trans(r, smem))
#define ptx_mma_f16(d, a, b) (EMULATOR_HERE, ptx_mma_f16(d, a, b))
#define ptx_mma_bf16(d, a, b) (EMULATOR_HERE, ptx_mma_bf16(d, a, b))
#define ptx_mma_f16_first(d, a, b) (EMULATOR_HERE, ptx_mma_f16_first(d, a, b))
#define ptx_mma_bf16_first(d, a, b) (EMULATOR_HERE, ptx_mma_bf16_first(d, a, b))
#define ptx_mma_tf32(d, a, b) (EMULATOR_HERE, ptx_mma_tf32(d, a, b))
#define ptx_mma_tf32_first(d, a, b) (EMULATOR_HERE, ptx_mma_tf32_first(d, a, b))
#define ptx_mma_f16_acc16(d, a, b) (EMULATOR_HERE, ptx_mma_f16_acc16(d, a, b))
#define ptx_mma_f16_acc16_first(d, a, b) (EMULATOR_HERE, ptx_mma_f16_acc16_first(d, a, b))
#define ptx_shfl_xor_u32(x, mask) (EMULATOR_HERE, ptx_shfl_xor_u32(x, mask))
#define ptx_shfl_xor(x, mask) (EMULATOR_HERE, ptx_shfl_xor(x, mask))
#define ptx_shfl_idx_u32(x, lane) (EMULATOR_HERE, ptx_shfl_idx_u32(x, lane))
#define ptx_shfl_idx(x, lane) (EMULATOR_HERE, ptx_shfl_idx(x, lane))
#define ptx_vote_any(x) (EMULATOR_HERE, ptx_vote_any(x))
#define ptx_vote_ballot(x) (EMULATOR_HERE, ptx_vote_ballot(x))

#endif /* HEED_PTX_WARP_CUH */
