/*
 * ceiling_wgmma.cu - the matrix rate of Hopper: wgmma.m64n256k16 from shared memory
 *
 * Two warpgroups of a block multiply 64 rows each with the same 256; while one waits for its
 * products, those of the other are in flight. The operands are loaded only once. ceiling.cuh is
 * prepended to this file.
 */
#include "ptx.cuh"
#include "ptx_hopper.cuh"

#define ROW 128 /* bytes of a row of 64 elements, swizzled */
#define A_ROWS 64
#define B_ROWS 256
#define GROUPS 2
#define SUMS 128
#define STEPS 4   /* of 16 elements in a row */
#define REPEATS 4 /* of all steps in a round */

/* A matrix descriptor for swizzled rows of 128 bytes, in groups of 8 rows (1024 bytes). */
HEED_DEVICE u64 descriptor(u32 smem)
{
    const u64 rows8 = 8 * ROW / 16, swizzle_128 = 1u << 30;
    return (rows8 | swizzle_128) << 32 | (smem & 0x3ffff) / 16;
}

HEED_ENTRY(256, 1) heed_ceiling_wgmma(HEED_GRID_CONSTANT const heed_ceiling_args args)
{
    float d[SUMS], sum = 0.0f;
    const u32 base = ptx_shared_base(), thread = ptx_thread();
    for (u32 at = 4 * thread; at < (GROUPS * A_ROWS + B_ROWS) * ROW; at += 4 * 256)
        ptx_st_shared_4(base + at, operand(at + ptx_block_x()));
    ptx_fence_async();
    ptx_barrier();

    const u64 a = descriptor(base + B_ROWS * ROW + thread / 128 * A_ROWS * ROW);
    const u64 b = descriptor(base);
    HEED_UNROLL
    for (int i = 0; i < SUMS; i++)
        d[i] = 0.0f;
    HEED_NO_UNROLL
    for (u64 round = 0; round < args.rounds; round++) {
        ptx_wgmma_fence();
        HEED_UNROLL
        for (u32 i = 0; i < STEPS * REPEATS; i++)
            ptx_wgmma_n256_ss(d, a + i % STEPS * 2, b + i % STEPS * 2, 1);
        ptx_wgmma_commit();
        ptx_wgmma_wait(0);
        ptx_wgmma_done(d, SUMS);
    }
    HEED_UNROLL
    for (int i = 0; i < SUMS; i++)
        sum += d[i];
    if (ptx_as_u32(sum) == args.never)
        ptx_st_global_f32(args.to, sum);
}
