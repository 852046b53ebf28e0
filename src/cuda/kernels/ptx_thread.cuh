/*
 * ptx_thread.cuh - thread indices and barriers: instructions as in ptx.cuh
 */
#ifndef HEED_PTX_THREAD_CUH
#define HEED_PTX_THREAD_CUH

#include "types.cuh"

/* ---- where a thread is ---- */

/* Index of the thread in its block. */
HEED_DEVICE u32 ptx_thread(void)
{
    return threadIdx.x;
}

/* The same, read again at each call, so no register holds it in between. */
HEED_DEVICE u32 ptx_thread_anew(void)
{
    u32 r;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(r));
    return r;
}

/* Index of the thread in its warp. */
HEED_DEVICE u32 ptx_lane(void)
{
    return threadIdx.x & 31u;
}

/* Number of threads in the block. */
HEED_DEVICE u32 ptx_threads(void)
{
    return blockDim.x;
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

/* bar.arrive id, threads: arrives without waiting. */
HEED_DEVICE void ptx_barrier_named_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* bar.warp.sync: waits for all lanes of the warp; their earlier accesses are done. */
HEED_DEVICE void ptx_warp_barrier(void)
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* A place that the compiler moves no arithmetic across: a loop for as long as @never, which is
 * false, but not known to be. A barrier alone does not keep it from doing so. */
HEED_DEVICE void ptx_keep_order(int never)
{
    u32 again = never;
    HEED_NO_UNROLL
    while (again)
        asm volatile("nanosleep.u32 0;" : "+r"(again)::"memory");
}

/* griddepcontrol.wait: waits until the preceding grid is done. No-op before sm_90. */
HEED_DEVICE void ptx_griddepcontrol_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* griddepcontrol.launch_dependents: the next grid may start. No-op before sm_90. */
HEED_DEVICE void ptx_griddepcontrol_launch(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif /* HEED_PTX_THREAD_CUH */
