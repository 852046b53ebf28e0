/*
 * attn_wide.cu - head dims beyond 256 with the asynchronous tensor cores of compute capability 9.0
 *
 * A block takes 64 rows and a range of keys; heed_combine merges the ranges. Q stays in shared
 * memory. K and V stream through two rings, one for each of the two consumer warpgroups, which a
 * thread of a third warpgroup fills (wide/load.cuh). The sums of 64 rows and 512 columns of V take
 * half of all registers, so a wider V is split into two slices; each warpgroup has half of a slice.
 * wide/walk.cuh describes how they share the tiles, and pair/store.cuh has the epilogue of a slice.
 *
 * Compile-time parameters, besides the element type (HEED_BF16), mask (HEED_MASKED) and head dims
 * (HEED_DIM_QK, HEED_DIM_V):
 *
 *     HEED_TILE_KEYS  keys of a tile       128: each slice processes all tiles, and computes all
 *                                          weights again; 512: there is one tile, whose weights
 *                                          stay in shared memory for all slices
 *
 * In addition HEED_ABLATE, for degraded builds (ablation.h):
 *
 *     @ablate no-exp no-products no-loads divergent extra-barrier masked delay
 *
 * Rows whose maximum is 2^24 or more in magnitude are recomputed by plain.cuh, and so are those
 * under a mask whose results are not finite.
 *
 * docs/kernels/attn_wide.md has the log.
 */
#include "delay.cuh"
#include "wide/load.cuh"
#include "wide/walk.cuh"

#include "pair/load.cuh"
#include "pair/store.cuh"

/* The two warpgroups that compute. Their place is computed again after the main loop, so no
 * registers hold it until then. */
HEED_DEVICE void compute(const heed_cuda_args *args)
{
    walk w;
    state st;
    ptx_griddepcontrol_wait();
    w.args = args;
    find_thread(&w.at);
    find_place(args, &w.at);
    begin_ring(&w.next);
    w.base = ptx_shfl_idx_u32(describe(ptx_shared_base(), 0), 0);
    w.ring = w.base + (RINGS_AT + w.at.half * SLOTS * PIECE_BYTES) / 16;
    load_q(args, &w.at);
    if (WHOLE)
        begin_whole(&w, &st);
    float bad[2] = { 0.0f, 0.0f }, sum[2];
    sum[0] = WHOLE ? st.sum[0][0] : 0.0f;
    sum[1] = WHOLE ? st.sum[0][1] : 0.0f;
    HEED_NO_UNROLL
    for (u32 slice = 0; slice < SLICES; slice++) {
        if (WHOLE)
            walk_whole(&w, &st, sum);
        else
            walk_tiles(&w, &st);
        place at;
        find_thread(&at);
        find_place(args, &at);
        store(args, &at, &st, slice, bad);
    }
}

/* The first producer thread initializes the barriers. */
HEED_DEVICE void make_barriers(const heed_cuda_mapped_args *m)
{
    ptx_prefetch_map(&m->k);
    ptx_prefetch_map(&m->v);
    for (u32 half = 0; half < 2; half++)
        for (u32 slot = 0; slot < SLOTS; slot++) {
            ptx_mbarrier_init(full_barrier(half, slot), 1);
            ptx_mbarrier_init(empty_barrier(half, slot), GROUP_THREADS / 32);
        }
    ptx_fence_mbarrier_init();
}

HEED_ENTRY(THREADS, 1) heed_attend(HEED_GRID_CONSTANT const heed_cuda_mapped_args args)
{
    u32 loads = ptx_thread() >= CONSUMER_THREADS;
    if (ptx_thread() == CONSUMER_THREADS)
        make_barriers(&args);
    ptx_barrier();
    if (loads) {
        ptx_setmaxnreg_dec(LOADER_REGISTERS);
        load(&args);
    } else {
        ptx_setmaxnreg_inc(CONSUMER_REGISTERS);
        u32 began = delay_begin();
        compute(&args.args);
        delay_end(began);
    }
}
