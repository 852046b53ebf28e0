/*
 * ptx_memory.cuh - shared and global memory, and copies between them: instructions as in ptx.cuh
 *
 * Shared memory is one arena that begins at ptx_shared_base() and is only accessed by 32-bit
 * addresses, never by pointers.
 */
#ifndef HEED_PTX_MEMORY_CUH
#define HEED_PTX_MEMORY_CUH

#include "types.cuh"

/* ---- shared memory ---- */

HEED_ALIGNAS(1024) extern __shared__ u8 heed_shared[];

/* cvta.to.shared: the address in the shared window of a generic pointer into it. */
HEED_DEVICE u32 ptx_smem_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

/* Address of the block's dynamic shared memory. */
HEED_DEVICE u32 ptx_shared_base(void)
{
    return ptx_smem_address(heed_shared);
}

/* ld.shared.v4.u32: 16 bytes from an address that is a multiple of 16. */
HEED_DEVICE heed_u32x4 ptx_ld_shared_16(u32 smem)
{
    heed_u32x4 r;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
                 : "r"(smem)
                 : "memory");
    return r;
}

/* ld.shared.v2.u32: 8 bytes from an address that is a multiple of 8. */
HEED_DEVICE heed_u32x2 ptx_ld_shared_8(u32 smem)
{
    heed_u32x2 r;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(r.v[0]), "=r"(r.v[1])
                 : "r"(smem)
                 : "memory");
    return r;
}

/* ld.shared.u32 */
HEED_DEVICE u32 ptx_ld_shared_4(u32 smem)
{
    u32 r;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(smem) : "memory");
    return r;
}

/* ld.shared.u16 */
HEED_DEVICE u16 ptx_ld_shared_u16(u32 smem)
{
    u16 r;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(r) : "r"(smem) : "memory");
    return r;
}

/* ld.shared.f32 */
HEED_DEVICE float ptx_ld_shared_f32(u32 smem)
{
    float r;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(r) : "r"(smem) : "memory");
    return r;
}

/* st.shared.v4.u32: 16 bytes to an address that is a multiple of 16. */
HEED_DEVICE void ptx_st_shared_16(u32 smem, heed_u32x4 x)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(smem), "r"(x.v[0]), "r"(x.v[1]),
                 "r"(x.v[2]), "r"(x.v[3])
                 : "memory");
}

/* st.shared.v2.u32: 8 bytes to an address that is a multiple of 8. */
HEED_DEVICE void ptx_st_shared_8(u32 smem, heed_u32x2 x)
{
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(smem), "r"(x.v[0]), "r"(x.v[1])
                 : "memory");
}

/* st.shared.u32 */
HEED_DEVICE void ptx_st_shared_4(u32 smem, u32 x)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(smem), "r"(x) : "memory");
}

/* st.shared.u16 */
HEED_DEVICE void ptx_st_shared_u16(u32 smem, u16 x)
{
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(smem), "h"(x) : "memory");
}

/* st.shared.f32 */
HEED_DEVICE void ptx_st_shared_f32(u32 smem, float x)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(smem), "f"(x) : "memory");
}

/* red.shared.min.u32: atomic minimum of the value there and @x. */
HEED_DEVICE void ptx_min_shared_u32(u32 smem, u32 x)
{
    asm volatile("red.shared.min.u32 [%0], %1;" ::"r"(smem), "r"(x) : "memory");
}

/* ---- global to shared memory, asynchronously ---- */

/* cp.async.cg.shared.global.L2::128B: starts a copy of @bytes, 0 to 16, from @global to the 16 at
 * @smem, and sets the rest of those to zero. Both addresses are multiples of 16. With 0 bytes
 * @global is not read. */
HEED_DEVICE void ptx_cp_async_16(u32 smem, const void *global, u32 bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(smem), "l"(global),
                 "r"(bytes)
                 : "memory");
}

/* cp.async.commit_group: the copies that this thread started since the last commit form a group. */
HEED_DEVICE void ptx_cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* cp.async.wait_group: waits until at most @n of this thread's groups are pending. @n is a
 * constant, 0 to 7. Other threads see the bytes after a barrier. */
HEED_DEVICE void ptx_cp_async_wait(int n)
{
    switch (n) {
    case 0:
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        break;
    case 1:
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        break;
    case 2:
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        break;
    case 3:
        asm volatile("cp.async.wait_group 3;" ::: "memory");
        break;
    case 4:
        asm volatile("cp.async.wait_group 4;" ::: "memory");
        break;
    case 5:
        asm volatile("cp.async.wait_group 5;" ::: "memory");
        break;
    case 6:
        asm volatile("cp.async.wait_group 6;" ::: "memory");
        break;
    default:
        asm volatile("cp.async.wait_group 7;" ::: "memory");
        break;
    }
}

/* ---- global memory ---- */

/* ld.global.v4.u32: 16 bytes from an address that is a multiple of 16. */
HEED_DEVICE heed_u32x4 ptx_ld_global_16(const void *p)
{
    heed_u32x4 r;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
                 : "l"(p)
                 : "memory");
    return r;
}

/* ld.global.nc.L1::no_allocate.v4.u32: the same from memory that is not written meanwhile, and only
 * read once. */
HEED_DEVICE heed_u32x4 ptx_ld_global_nc_16(const void *p)
{
    heed_u32x4 r;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
        : "l"(p));
    return r;
}

/* ld.global.u8, u16, u32, v2.u32 and v4.u32, for operands, which are not written while the kernel
 * runs: the compiler may merge, move or remove loads. */
HEED_DEVICE u32 ptx_ld_operand_1(const void *p)
{
    u32 r;
    asm("ld.global.u8 %0, [%1];" : "=r"(r) : "l"(p));
    return r;
}

HEED_DEVICE u32 ptx_ld_operand_2(const void *p)
{
    u16 r;
    asm("ld.global.u16 %0, [%1];" : "=h"(r) : "l"(p));
    return r;
}

HEED_DEVICE u32 ptx_ld_operand_4(const void *p)
{
    u32 r;
    asm("ld.global.u32 %0, [%1];" : "=r"(r) : "l"(p));
    return r;
}

/* The same, but kept in order: these loads start before the code that follows. */
HEED_DEVICE u32 ptx_ld_ahead_2(const void *p)
{
    u16 r;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(r) : "l"(p));
    return r;
}

HEED_DEVICE u32 ptx_ld_ahead_4(const void *p)
{
    u32 r;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(r) : "l"(p));
    return r;
}

HEED_DEVICE heed_u32x4 ptx_ld_ahead_16(const void *p)
{
    heed_u32x4 r;
    asm volatile("ld.global.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
                 : "l"(p));
    return r;
}

HEED_DEVICE heed_u32x2 ptx_ld_operand_8(const void *p)
{
    heed_u32x2 r;
    asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r.v[0]), "=r"(r.v[1]) : "l"(p));
    return r;
}

/* ld.global.u16 */
HEED_DEVICE u16 ptx_ld_global_u16(const void *p)
{
    u16 r;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(r) : "l"(p) : "memory");
    return r;
}

/* ld.global.f32 */
HEED_DEVICE float ptx_ld_global_f32(const void *p)
{
    float r;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(r) : "l"(p) : "memory");
    return r;
}

/* st.global.v4.u32: 16 bytes to an address that is a multiple of 16. */
HEED_DEVICE void ptx_st_global_16(void *p, heed_u32x4 x)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(x.v[0]), "r"(x.v[1]),
                 "r"(x.v[2]), "r"(x.v[3])
                 : "memory");
}

/* st.global.v2.u32: 8 bytes to an address that is a multiple of 8. */
HEED_DEVICE void ptx_st_global_8(void *p, heed_u32x2 x)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(x.v[0]), "r"(x.v[1]) : "memory");
}

/* st.global.u32 */
HEED_DEVICE void ptx_st_global_4(void *p, u32 x)
{
    asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

/* st.global.u16 */
HEED_DEVICE void ptx_st_global_u16(void *p, u16 x)
{
    asm volatile("st.global.u16 [%0], %1;" ::"l"(p), "h"(x) : "memory");
}

/* st.global.f32 */
HEED_DEVICE void ptx_st_global_f32(void *p, float x)
{
    asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(x) : "memory");
}

/* atom.acq_rel.gpu.global.inc.u32: returns the value at @p, which is incremented, or set to 0 if it
 * was @limit or more. Writes before it, including those ordered by a barrier, are visible after a
 * later one at the same address, in any block. */
HEED_DEVICE u32 ptx_inc_global_u32(void *p, u32 limit)
{
    u32 r;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(r)
                 : "l"(p), "r"(limit)
                 : "memory");
    return r;
}

#endif /* HEED_PTX_MEMORY_CUH */
