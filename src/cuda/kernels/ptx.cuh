/*
 * ptx.cuh - the instructions that C lacks, one wrapper each, named after the instruction
 *
 * Nothing else in device code may contain asm or a builtin of CUDA. tests/emulator has the same
 * prototypes in C, which is how kernels run where there is no GPU; a wrapper added here is added
 * there.
 *
 * Shared memory is one arena that begins at ptx_shared_base() and is reached by 32-bit addresses
 * only, never by pointers. What is asynchronous, a barrier, or an access to memory that others
 * write, is volatile and clobbers memory, so that the compiler keeps their order; arithmetic is
 * neither, so that it may be scheduled freely.
 *
 * Fragments of mma.m16n8k16, with g = lane / 4 and t = lane % 4; each register holds two adjacent
 * 16-bit elements, the lower column (for b: row) in the lower half:
 *
 *     a[0] (row g, columns 2t, 2t+1)   a[1] (g+8, 2t..)   a[2] (g, 2t+8..)   a[3] (g+8, 2t+8..)
 *     b[0] (rows 2t, 2t+1, column g)   b[1] (rows 2t+8, 2t+9, column g)
 *     d[0], d[1] (row g, columns 2t, 2t+1)               d[2], d[3] (row g+8, the same columns)
 */
#ifndef HEED_PTX_CUH
#define HEED_PTX_CUH

#include "types.cuh"

/* ---- where a thread is ---- */

/* Index of the thread in its block. */
HEED_DEVICE u32 ptx_thread(void)
{
    return threadIdx.x;
}

/* Index of the thread in its warp. */
HEED_DEVICE u32 ptx_lane(void)
{
    return threadIdx.x & 31u;
}

HEED_DEVICE u32 ptx_block_x(void)
{
    return blockIdx.x;
}
HEED_DEVICE u32 ptx_block_y(void)
{
    return blockIdx.y;
}
HEED_DEVICE u32 ptx_block_z(void)
{
    return blockIdx.z;
}

/* Number of blocks in the grid. */
HEED_DEVICE u32 ptx_grid_x(void)
{
    return gridDim.x;
}
HEED_DEVICE u32 ptx_grid_y(void)
{
    return gridDim.y;
}
HEED_DEVICE u32 ptx_grid_z(void)
{
    return gridDim.z;
}

/* %clock: the multiprocessor's clocks, modulo 2^32. */
HEED_DEVICE u32 ptx_clock(void)
{
    u32 r;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(r)::"memory");
    return r;
}

/* ---- barriers ---- */

/* bar.sync 0: waits for all threads of the block; their earlier accesses are done. */
HEED_DEVICE void ptx_barrier(void)
{
    asm volatile("bar.sync 0;" ::: "memory");
}

/* bar.sync id, threads: the same among @threads threads, a multiple of 32; @id is 1 to 15. */
HEED_DEVICE void ptx_barrier_named(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* bar.arrive id, threads: is one of them without waiting. */
HEED_DEVICE void ptx_barrier_named_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* bar.warp.sync: waits for all lanes of the warp; their earlier accesses are done. */
HEED_DEVICE void ptx_warp_barrier(void)
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* griddepcontrol.wait: waits until the grid before this one is done. Nothing before sm_90. */
HEED_DEVICE void ptx_griddepcontrol_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* griddepcontrol.launch_dependents: the grid after this one may start. Nothing before sm_90. */
HEED_DEVICE void ptx_griddepcontrol_launch(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

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

/* red.shared.min.u32: what is there becomes the lesser of it and @x, atomically. */
HEED_DEVICE void ptx_min_shared_u32(u32 smem, u32 x)
{
    asm volatile("red.shared.min.u32 [%0], %1;" ::"r"(smem), "r"(x) : "memory");
}

/* ---- global to shared memory, asynchronously ---- */

/* cp.async.cg.shared.global.L2::128B: starts a copy of @bytes, 0 to 16, from @global to the 16 at
 * @smem, of which the rest becomes zero. Both addresses are multiples of 16. With 0 bytes @global
 * is not read. */
HEED_DEVICE void ptx_cp_async_16(u32 smem, const void *global, u32 bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(smem), "l"(global),
                 "r"(bytes)
                 : "memory");
}

/* cp.async.commit_group: the copies that this thread started since the last one are a group. */
HEED_DEVICE void ptx_cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* cp.async.wait_group: waits until at most @n of this thread's groups are not yet done. @n is a
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

/* ld.global.nc.L1::no_allocate.v4.u32: the same from memory that nobody writes meanwhile, read
 * once. */
HEED_DEVICE heed_u32x4 ptx_ld_global_nc_16(const void *p)
{
    heed_u32x4 r;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(r.v[0]), "=r"(r.v[1]), "=r"(r.v[2]), "=r"(r.v[3])
        : "l"(p));
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

/* atom.acq_rel.gpu.global.inc.u32: what is at @p, which becomes one more, or 0 where it was @limit
 * or more. What comes before, and what a barrier put before it, is seen after a later one at the
 * same place, by any block. */
HEED_DEVICE u32 ptx_inc_global_u32(void *p, u32 limit)
{
    u32 r;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(r)
                 : "l"(p), "r"(limit)
                 : "memory");
    return r;
}

/* ---- matrices: every lane of a warp calls these together ---- */

/* ldmatrix.x4: four 8x8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of
 * matrix l / 8, a multiple of 16; of matrix i it gets, in r[i], elements 2t and 2t+1 of row g. */
HEED_DEVICE void ptx_ldmatrix_x4(u32 r[4], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem)
                 : "memory");
}

/* ldmatrix.x4.trans: the same of the transposed matrices: elements g of rows 2t and 2t+1. */
HEED_DEVICE void ptx_ldmatrix_x4_trans(u32 r[4], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(smem)
                 : "memory");
}

/* ldmatrix.x2: two matrices, from the addresses of lanes 0 to 15. */
HEED_DEVICE void ptx_ldmatrix_x2(u32 r[2], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(smem)
                 : "memory");
}

/* ldmatrix.x2.trans: the same, transposed. */
HEED_DEVICE void ptx_ldmatrix_x2_trans(u32 r[2], u32 smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(smem)
                 : "memory");
}

/* mma.m16n8k16: d += a b, a and b of float16, d of float32. */
HEED_DEVICE void ptx_mma_f16(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* mma.m16n8k16: d += a b, a and b of bfloat16, d of float32. */
HEED_DEVICE void ptx_mma_bf16(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same without what was in d: d = a b. */
HEED_DEVICE void ptx_mma_f16_first(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

HEED_DEVICE void ptx_mma_bf16_first(float d[4], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

/* mma.m16n8k16: d += a b, all of float16: d[0] holds the two elements of row g, d[1] of g + 8. */
HEED_DEVICE void ptx_mma_f16_acc16(u32 d[2], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
        "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same without what was in d: d = a b. */
HEED_DEVICE void ptx_mma_f16_acc16_first(u32 d[2], const u32 a[4], const u32 b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
        "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0));
}

/* ---- between the lanes of a warp: all of them call these together ---- */

/* shfl.sync.bfly: the value of lane ptx_lane() ^ mask. */
HEED_DEVICE u32 ptx_shfl_xor_u32(u32 x, int mask)
{
    u32 r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(x), "r"(mask));
    return r;
}

HEED_DEVICE float ptx_shfl_xor(float x, int mask)
{
    float r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(x), "r"(mask));
    return r;
}

/* shfl.sync.idx: the value of lane @lane, 0 to 31. */
HEED_DEVICE u32 ptx_shfl_idx_u32(u32 x, int lane)
{
    u32 r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(x), "r"(lane));
    return r;
}

HEED_DEVICE float ptx_shfl_idx(float x, int lane)
{
    float r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(x), "r"(lane));
    return r;
}

/* vote.sync.any: is @x other than 0 in any lane? 0 or 1. */
HEED_DEVICE int ptx_vote_any(int x)
{
    int r;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; "
                 "selp.s32 %0, 1, 0, q; }"
                 : "=r"(r)
                 : "r"(x));
    return r;
}

/* ---- integers ---- */

/* mul.hi.u32: the upper half of the product. */
HEED_DEVICE u32 ptx_mul_hi(u32 x, u32 y)
{
    u32 r;
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}

/* The same value, of which the compiler knows no more where it comes from: it keeps it in a
 * register instead of computing it again. */
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

/* ex2.approx.ftz: 2 to the power of x, to 2 units in the last place; 0 for -infinity and for
 * results below 2^-126. */
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

/* rcp.approx.ftz: 1 / x, to 1 unit in the last place; infinity for 0 and subnormals. */
HEED_DEVICE float ptx_rcp(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* max.f32: the greater one. If one is NaN it is the other one, so a maximum hides NaN. */
HEED_DEVICE float ptx_max(float x, float y)
{
    float r;
    asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
}

/* ---- 16-bit floats. Conversions round to nearest even; what is too large becomes infinity. ----
 */

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

/* The lower and the upper one of two. */
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

#endif /* HEED_PTX_CUH */
