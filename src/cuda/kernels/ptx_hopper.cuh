/*
 * ptx_hopper.cuh - the instructions of compute capability 9.0 that C lacks, one wrapper each
 *
 * As in ptx.cuh, whose rules hold here too: tests/emulator has the same prototypes in C. wgmma and
 * setmaxnreg need sm_90a, the rest sm_90.
 *
 * A warpgroup is four consecutive warps, the first a multiple of four; all its threads execute
 * wgmma together. Warp w of it has rows 16w to 16w + 15 of the product, in fragments like those of
 * mma.m16n8k16: of the 8 columns from 8i on, d[4i] to d[4i+3], and as the operand a, four registers
 * for 16 columns.
 *
 * Asynchronous copies and wgmma access shared memory through the async proxy: after ordinary stores
 * to data that they read, the storing thread needs ptx_fence_async() before the barrier between it
 * and them.
 */
#ifndef HEED_PTX_HOPPER_CUH
#define HEED_PTX_HOPPER_CUH

#include "maps.cuh"
#include "ptx.cuh"

/* ---- barriers in shared memory: 8 bytes at a multiple of 8 ----
 *
 * A phase completes when the number of threads given at initialization have arrived, and all
 * expected bytes have been transferred. Phases are distinguished by their parity, which begins with
 * 0. */

/* mbarrier.init: for @count arrivals per phase. */
HEED_DEVICE void ptx_mbarrier_init(u32 barrier, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/* fence.mbarrier_init: makes barriers that the thread initialized visible to copies. */
HEED_DEVICE void ptx_fence_mbarrier_init(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* mbarrier.arrive: earlier accesses of the thread are ordered before those of threads that wait for
 * the phase. */
HEED_DEVICE void ptx_mbarrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* mbarrier.arrive.expect_tx: the same, and the phase expects @bytes more. */
HEED_DEVICE void ptx_mbarrier_arrive_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* mbarrier.try_wait.parity: waits until the phase of @parity has completed: returns at once if the
 * current one has the other parity. */
HEED_DEVICE void ptx_mbarrier_wait(u32 barrier, u32 parity)
{
    asm volatile(
        "{ .reg .pred p; again: "
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

/* fence.proxy.async: makes the thread's earlier stores to shared memory visible to copies and
 * wgmma. */
HEED_DEVICE void ptx_fence_async(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- clusters: two blocks that run at the same time and can access each other's shared memory
 * ---- */

/* %cluster_ctarank: the block's index in the cluster. */
HEED_DEVICE u32 ptx_cluster_rank(void)
{
    u32 r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

/* mapa: the address in the cluster's shared memory that corresponds to @smem in block @rank. */
HEED_DEVICE u32 ptx_mapa(u32 smem, u32 rank)
{
    u32 r;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(smem), "r"(rank));
    return r;
}

/* st.async.v2.b32: stores 8 bytes in the shared memory of a block, which must have begun, and
 * signals a barrier of that block. Both addresses are in the cluster's shared memory. */
HEED_DEVICE void ptx_st_async_8(u32 smem, heed_u32x2 x, u32 barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, "
                 "[%3];" ::"r"(smem),
                 "r"(x.v[0]), "r"(x.v[1]), "r"(barrier)
                 : "memory");
}

/* barrier.cluster.arrive: the thread arrives without waiting for the other threads of the
 * cluster, */
HEED_DEVICE void ptx_cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}

/* barrier.cluster.wait: and waits for them. Their accesses before they arrived are visible. */
HEED_DEVICE void ptx_cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/* ---- the tensor memory accelerator: one thread starts a copy of a whole box ---- */

/* prefetch.tensormap: prefetches the map, which is in the arguments of the kernel. */
HEED_DEVICE void ptx_prefetch_map(const heed_cuda_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* cp.async.bulk.tensor.4d, global to shared: starts a copy of the box that begins at @column,
 * @head, @row and @batch to @smem, a multiple of 1024. @barrier counts its bytes, those of the
 * whole box. */
HEED_DEVICE void ptx_tensor_load(u32 smem, const heed_cuda_map *map, u32 barrier, i32 column,
                                 i32 head, i32 row, i32 batch)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(smem),
                 "l"(map), "r"(barrier), "r"(column), "r"(head), "r"(row), "r"(batch)
                 : "memory");
}

/* cp.async.bulk.prefetch.tensor.4d: fetches such a box into the L2. */
HEED_DEVICE void ptx_tensor_prefetch(const heed_cuda_map *map, i32 column, i32 head, i32 row,
                                     i32 batch)
{
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global [%0, {%1, %2, %3, %4}];" ::"l"(map),
                 "r"(column), "r"(head), "r"(row), "r"(batch)
                 : "memory");
}

/* cp.async.bulk.tensor.4d, shared to global: the other direction, as part of the thread's next
 * group. */
HEED_DEVICE void ptx_tensor_store(const heed_cuda_map *map, u32 smem, i32 column, i32 head, i32 row,
                                  i32 batch)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
                 "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
                 "r"(smem), "r"(column), "r"(head), "r"(row), "r"(batch)
                 : "memory");
}

/* cp.async.bulk.commit_group: the stores that this thread started since the last commit form a
 * group. */
HEED_DEVICE void ptx_bulk_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* cp.async.bulk.wait_group.read: waits until all groups of the thread have read shared memory,
 * which may then be used again. */
HEED_DEVICE void ptx_bulk_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* ---- matrices ---- */

/* stmatrix.x4: four 8x8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of
 * matrix l / 8, a multiple of 16; for matrix i it has elements 2t and 2t+1 of row g in r[i]. */
HEED_DEVICE void ptx_stmatrix_x4(u32 smem, const u32 r[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* setmaxnreg.dec and .inc: sets the registers per thread of the warpgroup to @count, a constant; an
 * increase waits until the block has enough free registers. */
HEED_DEVICE void ptx_setmaxnreg_dec(int count)
{
    switch (count) {
    case 24:
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        break;
    case 32:
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        break;
    case 40:
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        break;
    default:
        asm volatile("trap;");
        break;
    }
}

HEED_DEVICE void ptx_setmaxnreg_inc(int count)
{
    switch (count) {
    case 104:
        asm volatile("setmaxnreg.inc.sync.aligned.u32 104;");
        break;
    case 112:
        asm volatile("setmaxnreg.inc.sync.aligned.u32 112;");
        break;
    case 160:
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
        break;
    case 232:
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        break;
    case 240:
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        break;
    default: /* no other count is supported: fail instead of hanging */
        asm volatile("trap;");
        break;
    }
}

/* wgmma.fence: makes registers written so far visible to the following wgmma. */
HEED_DEVICE void ptx_wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* wgmma.commit_group: the wgmma that this warpgroup started since the last commit form a group. */
HEED_DEVICE void ptx_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* wgmma.wait_group: waits until at most @n groups, 0 to 2, are pending. Sums that are read or
 * written after that need ptx_wgmma_done(). */
HEED_DEVICE void ptx_wgmma_wait(int n)
{
    if (n == 0)
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    else if (n == 1)
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    else
        asm volatile("wgmma.wait_group.sync.aligned 2;" ::: "memory");
}

/* No instruction: keeps the compiler from moving accesses to the @count registers @d before
 * this. */
HEED_DEVICE void ptx_wgmma_done(float *d, int count)
{
    HEED_UNROLL
    for (int i = 0; i < count; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* The same for those of the operand a, which may be overwritten from here on. */
HEED_DEVICE void ptx_wgmma_done_a(u32 *a, int count)
{
    HEED_UNROLL
    for (int i = 0; i < count; i++)
        asm volatile("" : "+r"(a[i])::"memory");
}

/* Registers in groups of eight: their names in the text of an instruction, and the operands. */

#define WGMMA_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WGMMA_8 "%8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_16 "%16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_24 "%24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_32 "%32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_40 "%40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_48 "%48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_56 "%56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_64 "%64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_72 "%72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_80 "%80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_88 "%88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_96 "%96, %97, %98, %99, %100, %101, %102, %103"
#define WGMMA_104 "%104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_112 "%112, %113, %114, %115, %116, %117, %118, %119"
#define WGMMA_120 "%120, %121, %122, %123, %124, %125, %126, %127"

#define WGMMA_D8(d, i)                                                          \
    "+f"((d)[(i)]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]), \
        "+f"((d)[(i) + 4]), "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]), "+f"((d)[(i) + 7])

#define WGMMA_TEXT_32 WGMMA_0 ", " WGMMA_8 ", " WGMMA_16 ", " WGMMA_24
#define WGMMA_ALL_32(d) WGMMA_D8(d, 0), WGMMA_D8(d, 8), WGMMA_D8(d, 16), WGMMA_D8(d, 24)
#define WGMMA_TEXT_40 WGMMA_TEXT_32 ", " WGMMA_32
#define WGMMA_ALL_40(d) WGMMA_ALL_32(d), WGMMA_D8(d, 32)
#define WGMMA_TEXT_48 WGMMA_TEXT_40 ", " WGMMA_40
#define WGMMA_ALL_48(d) WGMMA_ALL_40(d), WGMMA_D8(d, 40)
#define WGMMA_TEXT_56 WGMMA_TEXT_48 ", " WGMMA_48
#define WGMMA_ALL_56(d) WGMMA_ALL_48(d), WGMMA_D8(d, 48)
#define WGMMA_TEXT_64 WGMMA_TEXT_56 ", " WGMMA_56
#define WGMMA_ALL_64(d) WGMMA_ALL_56(d), WGMMA_D8(d, 56)
#define WGMMA_TEXT_72 WGMMA_TEXT_64 ", " WGMMA_64
#define WGMMA_ALL_72(d) WGMMA_ALL_64(d), WGMMA_D8(d, 64)
#define WGMMA_TEXT_80 WGMMA_TEXT_72 ", " WGMMA_72
#define WGMMA_ALL_80(d) WGMMA_ALL_72(d), WGMMA_D8(d, 72)
#define WGMMA_TEXT_88 WGMMA_TEXT_80 ", " WGMMA_80
#define WGMMA_ALL_88(d) WGMMA_ALL_80(d), WGMMA_D8(d, 80)
#define WGMMA_TEXT_96 WGMMA_TEXT_88 ", " WGMMA_88
#define WGMMA_ALL_96(d) WGMMA_ALL_88(d), WGMMA_D8(d, 88)
#define WGMMA_TEXT_112 WGMMA_TEXT_96 ", " WGMMA_96 ", " WGMMA_104
#define WGMMA_ALL_112(d) WGMMA_ALL_96(d), WGMMA_D8(d, 96), WGMMA_D8(d, 104)
#define WGMMA_TEXT_128 WGMMA_TEXT_112 ", " WGMMA_112 ", " WGMMA_120
#define WGMMA_ALL_128(d) WGMMA_ALL_112(d), WGMMA_D8(d, 112), WGMMA_D8(d, 120)

#if HEED_BF16
#define WGMMA_TYPES "f32.bf16.bf16"
#else
#define WGMMA_TYPES "f32.f16.f16"
#endif

/* The texts. @shape is that of the product, @d its registers, @a, @b and @add the operands. The
 * summed dimension is contiguous in both matrices in shared memory, */
#define WGMMA_SS(shape, d, a, b, add)                                                \
    "{ .reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned." shape \
    "." WGMMA_TYPES " {" d "}, " a ", " b ", p, 1, 1, 0, 0; }"
/* or in the first one only, */
#define WGMMA_SS_ACROSS(shape, d, a, b, add)                                         \
    "{ .reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned." shape \
    "." WGMMA_TYPES " {" d "}, " a ", " b ", p, 1, 1, 0, 1; }"
/* or, with the first one in registers, the other dimension is contiguous in the second one. */
#define WGMMA_RS(shape, d, a0, a1, a2, a3, b, add)                                   \
    "{ .reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned." shape \
    "." WGMMA_TYPES " {" d "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b ", p, 1, 1, 1; }"

/*
 * wgmma.m64nNk16 with both operands in shared memory: d = a b, plus d if @add. @a and @b are
 * descriptors; a has 64 rows, b has N rows, of 16 elements each.
 */

HEED_DEVICE void ptx_wgmma_n64_ss(float d[32], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n64k16", WGMMA_TEXT_32, "%32", "%33", "%34")
                 : WGMMA_ALL_32(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n80_ss(float d[40], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n80k16", WGMMA_TEXT_40, "%40", "%41", "%42")
                 : WGMMA_ALL_40(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n96_ss(float d[48], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n96k16", WGMMA_TEXT_48, "%48", "%49", "%50")
                 : WGMMA_ALL_48(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n112_ss(float d[56], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n112k16", WGMMA_TEXT_56, "%56", "%57", "%58")
                 : WGMMA_ALL_56(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n128_ss(float d[64], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n128k16", WGMMA_TEXT_64, "%64", "%65", "%66")
                 : WGMMA_ALL_64(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n144_ss(float d[72], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n144k16", WGMMA_TEXT_72, "%72", "%73", "%74")
                 : WGMMA_ALL_72(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n160_ss(float d[80], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n160k16", WGMMA_TEXT_80, "%80", "%81", "%82")
                 : WGMMA_ALL_80(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n176_ss(float d[88], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n176k16", WGMMA_TEXT_88, "%88", "%89", "%90")
                 : WGMMA_ALL_88(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n192_ss(float d[96], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n192k16", WGMMA_TEXT_96, "%96", "%97", "%98")
                 : WGMMA_ALL_96(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n224_ss(float d[112], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n224k16", WGMMA_TEXT_112, "%112", "%113", "%114")
                 : WGMMA_ALL_112(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n256_ss(float d[128], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS("m64n256k16", WGMMA_TEXT_128, "%128", "%129", "%130")
                 : WGMMA_ALL_128(d)
                 : "l"(a), "l"(b), "r"(add));
}

/* The same, but b has 16 rows of N elements. */

HEED_DEVICE void ptx_wgmma_n192_ss_across(float d[96], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS_ACROSS("m64n192k16", WGMMA_TEXT_96, "%96", "%97", "%98")
                 : WGMMA_ALL_96(d)
                 : "l"(a), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n256_ss_across(float d[128], u64 a, u64 b, int add)
{
    asm volatile(WGMMA_SS_ACROSS("m64n256k16", WGMMA_TEXT_128, "%128", "%129", "%130")
                 : WGMMA_ALL_128(d)
                 : "l"(a), "l"(b), "r"(add));
}

/*
 * wgmma.m64nNk16 with a in registers and b, 16 rows of N elements, in shared memory: d = a b, plus
 * d if @add. The registers of a may not be written before the wait.
 */

HEED_DEVICE void ptx_wgmma_n64_rs(float d[32], const u32 a[4], u64 b, int add)
{
    asm volatile(WGMMA_RS("m64n64k16", WGMMA_TEXT_32, "%32", "%33", "%34", "%35", "%36", "%37")
                 : WGMMA_ALL_32(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n96_rs(float d[48], const u32 a[4], u64 b, int add)
{
    asm volatile(WGMMA_RS("m64n96k16", WGMMA_TEXT_48, "%48", "%49", "%50", "%51", "%52", "%53")
                 : WGMMA_ALL_48(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n128_rs(float d[64], const u32 a[4], u64 b, int add)
{
    asm volatile(WGMMA_RS("m64n128k16", WGMMA_TEXT_64, "%64", "%65", "%66", "%67", "%68", "%69")
                 : WGMMA_ALL_64(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n192_rs(float d[96], const u32 a[4], u64 b, int add)
{
    asm volatile(WGMMA_RS("m64n192k16", WGMMA_TEXT_96, "%96", "%97", "%98", "%99", "%100", "%101")
                 : WGMMA_ALL_96(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

HEED_DEVICE void ptx_wgmma_n256_rs(float d[128], const u32 a[4], u64 b, int add)
{
    asm volatile(
        WGMMA_RS("m64n256k16", WGMMA_TEXT_128, "%128", "%129", "%130", "%131", "%132", "%133")
        : WGMMA_ALL_128(d)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

#endif /* HEED_PTX_HOPPER_CUH */
