/*
 * ceiling_memory.cu - kernels that read and copy memory at any level, and an empty kernel
 *
 * ceiling.cuh is prepended to this file.
 */
#include "ptx.cuh"

#define THREADS 256
#define AT_ONCE 4 /* concurrent loads of a thread */

/* Loads unit @i and the following ones at distance @stride; past the last one, @i again. */
HEED_DEVICE void load(const heed_ceiling_args *args, u64 i, u64 stride, heed_u32x4 x[AT_ONCE])
{
    const heed_u32x4 *from = (const heed_u32x4 *)args->from;
    HEED_UNROLL
    for (u32 j = 0; j < AT_ONCE; j++)
        x[j] = ptx_ld_global_16(from + (i + j * stride < args->units ? i + j * stride : i));
}

/* Reads all units in each round, each block different ones every time, so they are never in its
 * multiprocessor's cache. */
HEED_ENTRY(THREADS, 4) heed_ceiling_read(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    const u64 stride = (u64)ptx_grid_x() * THREADS;
    u32 sum = 0;
    HEED_NO_UNROLL
    for (u64 round = 0; round < args.rounds; round++) {
        u64 block = (ptx_block_x() + round * 37) % ptx_grid_x();
        HEED_NO_UNROLL
        for (u64 i = block * THREADS + ptx_thread(); i < args.units; i += AT_ONCE * stride) {
            heed_u32x4 x[AT_ONCE];
            load(&args, i, stride, x);
            HEED_UNROLL
            for (u32 j = 0; j < AT_ONCE; j++)
                sum ^= x[j].v[0] ^ x[j].v[1] ^ x[j].v[2] ^ x[j].v[3];
        }
    }
    if (sum == args.never)
        ptx_st_global_4(args.to, sum);
}

HEED_ENTRY(THREADS, 4) heed_ceiling_copy(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    const u64 stride = (u64)ptx_grid_x() * THREADS;
    heed_u32x4 *to = (heed_u32x4 *)args.to;
    HEED_NO_UNROLL
    for (u64 round = 0; round < args.rounds; round++) {
        HEED_NO_UNROLL
        for (u64 i = ptx_block_x() * THREADS + ptx_thread(); i < args.units;
             i += AT_ONCE * stride) {
            heed_u32x4 x[AT_ONCE];
            load(&args, i, stride, x);
            HEED_UNROLL
            for (u32 j = 0; j < AT_ONCE; j++)
                ptx_st_global_16(to + (i + j * stride < args.units ? i + j * stride : i), x[j]);
        }
    }
}

HEED_ENTRY(THREADS, 1) heed_ceiling_launch(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    if (args.rounds == args.never)
        ptx_st_global_4(args.to, 0);
}
