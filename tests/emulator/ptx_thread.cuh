/*
 * ptx_thread.cuh - thread indices, and barriers, on the emulator: see ptx.cuh
 */
#ifndef HEED_PTX_THREAD_CUH
#define HEED_PTX_THREAD_CUH

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

HEED_DEVICE u32 ptx_threads(void)
{
    return emulator_threads();
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

/* A clock that advances by one whenever it is read. */
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

HEED_DEVICE void ptx_keep_order(int never)
{
    (void)never;
}

HEED_DEVICE void ptx_warp_barrier(void)
{
    emulator_meet(&(emulator_request){ .what = EMULATOR_WARP_BARRIER });
}

HEED_DEVICE void ptx_griddepcontrol_wait(void) {}

HEED_DEVICE void ptx_griddepcontrol_launch(void) {}

/* ---- line of the request ---- */

#define ptx_barrier() (EMULATOR_HERE, ptx_barrier())
#define ptx_barrier_named(id, threads) (EMULATOR_HERE, ptx_barrier_named(id, threads))
#define ptx_barrier_named_arrive(id, threads) (EMULATOR_HERE, ptx_barrier_named_arrive(id, threads))
#define ptx_warp_barrier() (EMULATOR_HERE, ptx_warp_barrier())

#endif /* HEED_PTX_THREAD_CUH */
