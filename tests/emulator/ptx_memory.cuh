/*
 * ptx_memory.cuh - shared and global memory on the emulator: see ptx.cuh
 */
#ifndef HEED_PTX_MEMORY_CUH
#define HEED_PTX_MEMORY_CUH

#include <string.h>

#include "emulator/request.h"
#include "src/cuda/kernels/types.cuh"

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

/* ---- line of the request ---- */

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

#endif /* HEED_PTX_MEMORY_CUH */
