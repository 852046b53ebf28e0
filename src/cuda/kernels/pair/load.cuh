/*
 * pair/load.cuh - the copy of Q to shared memory by the two consumer warpgroups; rows may belong to
 * any heads
 *
 * Its panels, Q_COLUMNS columns in total, are at the beginning of shared memory.
 */
#ifndef HEED_PAIR_LOAD_CUH
#define HEED_PAIR_LOAD_CUH

#include "pair/place.cuh"
#include "panels.cuh"
#include "tile.cuh"

/* Each thread has 16 bytes of every panel in two rows. Rows and columns out of bounds become
 * zeros. */
#define Q_STEP (CONSUMER_THREADS / PANEL_CHUNKS) /* distance of the two rows */

HEED_DEVICE void negate_chunk(u32 smem)
{
    heed_u32x4 x = ptx_ld_shared_16(smem);
    for (int i = 0; i < 4; i++)
        x.v[i] ^= 0x80008000u;
    ptx_st_shared_16(smem, x);
}

/* Loads the block's rows, with the sign of the scale, for all consumer warps. */
HEED_DEVICE void load_q(const heed_cuda_args *args, const place *at)
{
    u32 smem = ptx_shared_base(), first = ptx_thread() / PANEL_CHUNKS,
        column = ptx_thread() % PANEL_CHUNKS;
    HEED_NO_UNROLL
    for (u32 row = first; row < GROUP_ROWS; row += Q_STEP) {
        u32 dim = at->row + row < args->rows ? HEED_DIM_QK : 0;
        const u8 *q = (const u8 *)args->q;
        if (dim)
            q += 2 * row_offset(args, at->head, args->q_stride, at->row + row);
        HEED_UNROLL
        for (u32 chunk = column; chunk < Q_COLUMNS / 8; chunk += PANEL_CHUNKS) {
            u32 bytes = tile_chunk_bytes(dim, chunk);
            ptx_cp_async_16(smem + tile_at(GROUP_ROWS, Q_COLUMNS, row, chunk),
                            q + (bytes ? 16 * chunk : 0), bytes);
        }
    }
    ptx_cp_async_commit();
    ptx_cp_async_wait(0);
    for (u32 row = first; row < GROUP_ROWS && args->negate; row += Q_STEP)
        for (u32 chunk = column; chunk < Q_COLUMNS / 8; chunk += PANEL_CHUNKS)
            negate_chunk(smem + tile_at(GROUP_ROWS, Q_COLUMNS, row, chunk));
    ptx_fence_async();
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
}

#endif /* HEED_PAIR_LOAD_CUH */
