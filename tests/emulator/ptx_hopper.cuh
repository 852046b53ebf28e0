/*
 * ptx_hopper.cuh - the instructions of src/cuda/kernels/ptx_hopper.cuh, in C on the emulator
 *
 * Included first, like ptx.cuh. Products receive the addresses of their registers, whose values are
 * read and written when the product is waited for.
 */
#ifndef HEED_PTX_HOPPER_CUH
#define HEED_PTX_HOPPER_CUH

#include "emulator/ptx.cuh"
#include "src/cuda/kernels/maps.cuh"

/* ---- barriers in shared memory ---- */

HEED_DEVICE void ptx_mbarrier_init(u32 barrier, u32 count)
{
    emulator_mbarrier_init(barrier, count);
}

HEED_DEVICE void ptx_fence_mbarrier_init(void)
{
    emulator_fence(true);
}

HEED_DEVICE void ptx_mbarrier_arrive(u32 barrier)
{
    emulator_mbarrier_arrive(barrier, 0);
}

HEED_DEVICE void ptx_mbarrier_arrive_expect(u32 barrier, u32 bytes)
{
    emulator_mbarrier_arrive(barrier, bytes);
}

HEED_DEVICE void ptx_mbarrier_wait(u32 barrier, u32 parity)
{
    emulator_mbarrier_wait(barrier, parity);
}

HEED_DEVICE void ptx_fence_async(void)
{
    emulator_fence(false);
}

/* ---- clusters of blocks ---- */

HEED_DEVICE u32 ptx_cluster_rank(void)
{
    return emulator_rank();
}

HEED_DEVICE u32 ptx_mapa(u32 smem, u32 rank)
{
    return emulator_mapped(smem, rank);
}

HEED_DEVICE void ptx_st_async_8(u32 smem, heed_u32x2 x, u32 barrier)
{
    emulator_remote_store(smem, &x, barrier);
}

HEED_DEVICE void ptx_cluster_arrive(void)
{
    emulator_cluster_arrive();
}

HEED_DEVICE void ptx_cluster_wait(void)
{
    emulator_cluster_wait();
}

/* ---- the tensor memory accelerator ---- */

HEED_DEVICE void ptx_prefetch_map(const heed_cuda_map *map)
{
    emulator_check_global(map, 64);
}

/* Caches are not emulated. */
HEED_DEVICE void ptx_tensor_prefetch(const heed_cuda_map *map, i32 column, i32 head, i32 row,
                                     i32 batch)
{
    emulator_check_global(map, 64);
    (void)column;
    (void)head;
    (void)row;
    (void)batch;
}

HEED_DEVICE void ptx_tensor_load(u32 smem, const heed_cuda_map *map, u32 barrier, i32 column,
                                 i32 head, i32 row, i32 batch)
{
    const int at[4] = { column, head, row, batch };
    emulator_tensor_load(smem, map, barrier, at);
}

HEED_DEVICE void ptx_tensor_store(const heed_cuda_map *map, u32 smem, i32 column, i32 head, i32 row,
                                  i32 batch)
{
    const int at[4] = { column, head, row, batch };
    emulator_tensor_store(map, smem, at);
}

HEED_DEVICE void ptx_bulk_commit(void)
{
    emulator_bulk_commit();
}

HEED_DEVICE void ptx_bulk_wait_read(void)
{
    emulator_bulk_wait();
}

/* ---- matrices ---- */

HEED_DEVICE void ptx_stmatrix_x4(u32 smem, const u32 r[4])
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_STMATRIX, .a = r, .n = 4, .x = smem });
}

HEED_DEVICE void ptx_setmaxnreg_dec(int count)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_REGISTERS, .n = count });
}

HEED_DEVICE void ptx_setmaxnreg_inc(int count)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_REGISTERS, .n = count });
}

HEED_DEVICE void ptx_wgmma_fence(void)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_WGMMA_FENCE });
}

HEED_DEVICE void ptx_wgmma_commit(void)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_WGMMA_COMMIT });
}

HEED_DEVICE void ptx_wgmma_wait(int n)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_WGMMA_WAIT, .n = n });
}

HEED_DEVICE void ptx_wgmma_done(float *d, int count)
{
    (void)d;
    (void)count;
}

HEED_DEVICE void ptx_wgmma_done_a(u32 *a, int count)
{
    (void)a;
    (void)count;
}

/* @a is NULL if it is in shared memory; @flags are those of b, in addition to @add. */
HEED_DEVICE void ptx_wgmma_so(int n, float *d, const u32 *a, u64 a_desc, u64 b_desc, int add,
                              u32 flags)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_WGMMA,
                                       .n = n,
                                       .x = (add ? EMULATOR_WGMMA_ADD : 0) |
                                            (HEED_BF16 ? EMULATOR_WGMMA_BF16 : 0) | flags,
                                       .d = d,
                                       .a = a,
                                       .desc = { a_desc, b_desc } });
}

HEED_DEVICE void ptx_wgmma(int n, float *d, const u32 *a, u64 a_desc, u64 b_desc, int add)
{
    ptx_wgmma_so(n, d, a, a_desc, b_desc, add, a ? EMULATOR_WGMMA_ACROSS : 0);
}

HEED_DEVICE void ptx_wgmma_n64_ss(float d[32], u64 a, u64 b, int add)
{
    ptx_wgmma(64, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n80_ss(float d[40], u64 a, u64 b, int add)
{
    ptx_wgmma(80, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n96_ss(float d[48], u64 a, u64 b, int add)
{
    ptx_wgmma(96, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n112_ss(float d[56], u64 a, u64 b, int add)
{
    ptx_wgmma(112, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n128_ss(float d[64], u64 a, u64 b, int add)
{
    ptx_wgmma(128, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n144_ss(float d[72], u64 a, u64 b, int add)
{
    ptx_wgmma(144, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n160_ss(float d[80], u64 a, u64 b, int add)
{
    ptx_wgmma(160, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n176_ss(float d[88], u64 a, u64 b, int add)
{
    ptx_wgmma(176, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n192_ss(float d[96], u64 a, u64 b, int add)
{
    ptx_wgmma(192, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n224_ss(float d[112], u64 a, u64 b, int add)
{
    ptx_wgmma(224, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n256_ss(float d[128], u64 a, u64 b, int add)
{
    ptx_wgmma(256, d, NULL, a, b, add);
}

HEED_DEVICE void ptx_wgmma_n192_ss_across(float d[96], u64 a, u64 b, int add)
{
    ptx_wgmma_so(192, d, NULL, a, b, add, EMULATOR_WGMMA_ACROSS);
}

HEED_DEVICE void ptx_wgmma_n256_ss_across(float d[128], u64 a, u64 b, int add)
{
    ptx_wgmma_so(256, d, NULL, a, b, add, EMULATOR_WGMMA_ACROSS);
}

HEED_DEVICE void ptx_wgmma_n64_rs(float d[32], const u32 a[4], u64 b, int add)
{
    ptx_wgmma(64, d, a, 0, b, add);
}

HEED_DEVICE void ptx_wgmma_n96_rs(float d[48], const u32 a[4], u64 b, int add)
{
    ptx_wgmma(96, d, a, 0, b, add);
}

HEED_DEVICE void ptx_wgmma_n128_rs(float d[64], const u32 a[4], u64 b, int add)
{
    ptx_wgmma(128, d, a, 0, b, add);
}

HEED_DEVICE void ptx_wgmma_n192_rs(float d[96], const u32 a[4], u64 b, int add)
{
    ptx_wgmma(192, d, a, 0, b, add);
}

HEED_DEVICE void ptx_wgmma_n256_rs(float d[128], const u32 a[4], u64 b, int add)
{
    ptx_wgmma(256, d, a, 0, b, add);
}

/* ---- line of the request ---- */

#define ptx_mbarrier_init(barrier, count) (EMULATOR_HERE, ptx_mbarrier_init(barrier, count))
#define ptx_mbarrier_arrive(barrier) (EMULATOR_HERE, ptx_mbarrier_arrive(barrier))
#define ptx_mbarrier_arrive_expect(barrier, bytes) \
    (EMULATOR_HERE, ptx_mbarrier_arrive_expect(barrier, bytes))
#define ptx_mbarrier_wait(barrier, parity) (EMULATOR_HERE, ptx_mbarrier_wait(barrier, parity))
#define ptx_mapa(smem, rank) (EMULATOR_HERE, ptx_mapa(smem, rank))
#define ptx_st_async_8(smem, x, barrier) (EMULATOR_HERE, ptx_st_async_8(smem, x, barrier))
#define ptx_cluster_arrive() (EMULATOR_HERE, ptx_cluster_arrive())
#define ptx_cluster_wait() (EMULATOR_HERE, ptx_cluster_wait())
#define ptx_tensor_prefetch(map, column, head, row, batch) \
    (EMULATOR_HERE, ptx_tensor_prefetch(map, column, head, row, batch))
#define ptx_tensor_load(smem, map, barrier, column, head, row, batch) \
    (EMULATOR_HERE, ptx_tensor_load(smem, map, barrier, column, head, row, batch))
#define ptx_tensor_store(map, smem, column, head, row, batch) \
    (EMULATOR_HERE, ptx_tensor_store(map, smem, column, head, row, batch))
#define ptx_bulk_wait_read() (EMULATOR_HERE, ptx_bulk_wait_read())
#define ptx_stmatrix_x4(smem, r) (EMULATOR_HERE, ptx_stmatrix_x4(smem, r))
#define ptx_setmaxnreg_dec(count) (EMULATOR_HERE, ptx_setmaxnreg_dec(count))
#define ptx_setmaxnreg_inc(count) (EMULATOR_HERE, ptx_setmaxnreg_inc(count))
#define ptx_wgmma_fence() (EMULATOR_HERE, ptx_wgmma_fence())
#define ptx_wgmma_commit() (EMULATOR_HERE, ptx_wgmma_commit())
#define ptx_wgmma_wait(n) (EMULATOR_HERE, ptx_wgmma_wait(n))
#define ptx_wgmma_n64_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n64_ss(d, a, b, add))
#define ptx_wgmma_n80_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n80_ss(d, a, b, add))
#define ptx_wgmma_n96_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n96_ss(d, a, b, add))
#define ptx_wgmma_n112_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n112_ss(d, a, b, add))
#define ptx_wgmma_n128_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n128_ss(d, a, b, add))
#define ptx_wgmma_n144_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n144_ss(d, a, b, add))
#define ptx_wgmma_n160_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n160_ss(d, a, b, add))
#define ptx_wgmma_n176_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n176_ss(d, a, b, add))
#define ptx_wgmma_n192_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n192_ss(d, a, b, add))
#define ptx_wgmma_n224_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n224_ss(d, a, b, add))
#define ptx_wgmma_n256_ss(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n256_ss(d, a, b, add))
#define ptx_wgmma_n192_ss_across(d, a, b, add) \
    (EMULATOR_HERE, ptx_wgmma_n192_ss_across(d, a, b, add))
#define ptx_wgmma_n256_ss_across(d, a, b, add) \
    (EMULATOR_HERE, ptx_wgmma_n256_ss_across(d, a, b, add))
#define ptx_wgmma_n64_rs(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n64_rs(d, a, b, add))
#define ptx_wgmma_n96_rs(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n96_rs(d, a, b, add))
#define ptx_wgmma_n128_rs(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n128_rs(d, a, b, add))
#define ptx_wgmma_n192_rs(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n192_rs(d, a, b, add))
#define ptx_wgmma_n256_rs(d, a, b, add) (EMULATOR_HERE, ptx_wgmma_n256_rs(d, a, b, add))

#endif /* HEED_PTX_HOPPER_CUH */
