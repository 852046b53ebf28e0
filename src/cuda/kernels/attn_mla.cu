/*
 * attn_mla.cu - few queries of many heads that share keys, with the asynchronous tensor cores of
 * compute capability 9.0, where V is the first columns of K
 *
 * This is decoding with DeepSeek's absorbed latent attention: head dims 576 and 512, up to 128
 * query heads on one key/value head. A block takes 64 rows and a range of keys; heed_combine merges
 * the ranges. Q stays in shared memory with two tiles of 64 keys, each loaded once for scores and
 * values. The sums of 64 rows and 512 columns are twice the registers of a warpgroup, so two
 * warpgroups have half of the columns each (mla/walk.cuh describes how they share the tiles), and a
 * third one loads (mla/load.cuh). pair/store.cuh has the epilogue.
 *
 * Compile-time parameters are the element type (HEED_BF16), mask (HEED_MASKED) and head dims
 * (HEED_DIM_QK, HEED_DIM_V).
 *
 * In addition HEED_ABLATE, for degraded builds (ablation.h):
 *
 *     @ablate no-exp no-products no-loads divergent extra-barrier masked delay
 *
 * Rows whose maximum is 2^24 or more from zero are computed again by plain.cuh, and so are those
 * under a mask whose results are not finite.
 *
 * docs/kernels/attn_mla.md has the log.
 */
#include "delay.cuh"
#include "mla/load.cuh"
#include "mla/walk.cuh"
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
    w.q = ptx_shfl_idx_u32(describe(ptx_shared_base(), 0), 0);
    w.cleaned = cleaned_tile(&w.at);
    clear(&st);
    load_q(args, &w.at);
    if (w.at.half == 0)
        walk_even(&w, &st);
    else
        walk_odd(&w, &st);
    place at;
    float bad[2] = { 0.0f, 0.0f };
    find_thread(&at);
    find_place(args, &at);
    store(args, &at, &st, 0, bad);
}

/* The first producer thread initializes the barriers. */
HEED_DEVICE void make_barriers(const heed_cuda_mapped_args *m)
{
    ptx_prefetch_map(&m->k);
    for (u32 stage = 0; stage < STAGES; stage++) {
        for (u32 panel = 0; panel < PANELS; panel++)
            ptx_mbarrier_init(full_barrier(stage, panel), 1);
        for (u32 part = 0; part < PARTS; part++)
            ptx_mbarrier_init(empty_barrier(stage, part), readers_of(stage, part));
    }
    for (u32 part = 0; part < PARTS; part++)
        ptx_mbarrier_init(begun_barrier(part), 1);
    for (u32 panel = 0; panel < PANELS; panel++)
        ptx_mbarrier_init(clean_barrier(panel), 32);
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
