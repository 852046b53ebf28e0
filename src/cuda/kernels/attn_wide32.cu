/*
 * attn_wide32.cu - float32 with head dims beyond 256, on the tensor cores of compute capability 8.0
 * and later
 *
 * A block takes 64 rows and one tile of keys, and heed_combine merges tiles. The sums of 64 wide
 * rows do not fit the registers of a block, but the scores of a tile fit its shared memory. So a
 * block works in phases, like separate matrix products: the scores of the tile, with panels of 32
 * columns of Q and K at a time (wide32/products.cuh); the softmax, one row per warp
 * (wide32/weights.cuh); the sums of values, 256 columns at a time. The data of a step are loaded
 * during the previous step (wide32/load.cuh).
 *
 * Compile-time parameters, besides mask (HEED_MASKED) and head dims (HEED_DIM_QK, HEED_DIM_V):
 *
 *     HEED_TILE_KEYS  keys of a tile                128, 256 or 512
 *     HEED_PRODUCTS   how float32 is multiplied     3, 2 or 1 (single_mma.cuh)
 *
 * In addition HEED_ABLATE, for degraded builds (ablation.h):
 *
 *     @ablate no-exp no-products no-loads divergent extra-barrier unswizzled no-overlap delay
 *
 * Rows whose maximum is 2^24 or more in magnitude are recomputed by plain.cuh, and so are those
 * whose results are not finite.
 *
 * docs/kernels/attn_wide32.md has the log.
 */
#include "delay.cuh"
#include "wide32/load.cuh"
#include "wide32/store.cuh"

/* Starts the copies for the first step. */
HEED_DEVICE void begin(const heed_cuda_args *args, const place *at, const sources *from)
{
    if (at->keys > 0)
        load_panel(args, at, from, 0, 0, stage_of(0));
    started();
}

/* Starts the copies for the step after a panel of a pass, which is step @step. */
HEED_DEVICE void load_after(const heed_cuda_args *args, const place *at, const sources *from,
                            u32 step, u32 nth, u32 panel)
{
    const int ends = panel + 1 == QK_PANELS;
    if (ends && nth + 1 == score_passes(at))
        load_part(args, at, from, 0, 0, stage_of(step + 1));
    else if (!ABLATED(ABLATE_NO_LOADS) || step + 1 < STAGES)
        load_panel(args, at, from, ends ? nth + 1 : nth, ends ? 0 : panel + 1, stage_of(step + 1));
}

/* Returns the number of steps. */
HEED_DEVICE u32 make_scores(const heed_cuda_args *args, const place *at, const sources *from)
{
    u32 passes = score_passes(at), step = 0;
    HEED_NO_UNROLL
    for (u32 nth = 0; nth < passes; nth++) {
        scores sum;
        HEED_UNROLL
        for (u32 i = 0; i < ROWS16 * KEYS8 * 4; i++)
            sum.s[i / 4 / KEYS8][i / 4 % KEYS8][i % 4] = 0.0f;
        HEED_NO_UNROLL
        for (u32 panel = 0; panel < QK_PANELS; panel++, step++) {
            await_step();
            load_after(args, at, from, step, nth, panel);
            started();
            multiply_panel(at, &sum, stage_of(step));
        }
        leave_scores(at, &sum, nth);
    }
    return step;
}

/* @first: the first step. */
HEED_DEVICE void sum_values(const heed_cuda_args *args, const place *at, const sources *from,
                            u32 first)
{
    u32 step = first;
    HEED_NO_UNROLL
    for (u32 slice = 0; slice < SLICES; slice++) {
        values sum;
        HEED_UNROLL
        for (u32 i = 0; i < ROWS16 * 16; i++)
            sum.o[i / 16][i / 4 % 4][i % 4] = 0.0f;
        HEED_NO_UNROLL
        for (u32 key = 0; key < at->keys; key += PART_KEYS, step++) {
            await_step();
            const int ends = key + PART_KEYS >= at->keys;
            const int more = !ABLATED(ABLATE_NO_LOADS) || step + 1 - first < STAGES;
            if (more && !(ends && slice + 1 == SLICES))
                load_part(args, at, from, ends ? 0 : key + PART_KEYS, ends ? slice + 1 : slice,
                          stage_of(step + 1));
            started();
            multiply_part(at, &sum, stage_of(step), key);
        }
        store_slice(args, at, &sum, slice);
    }
}

HEED_ENTRY(THREADS, 1) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    place at;
    ptx_griddepcontrol_wait();
    find_place(&args, &at);
    u32 began = delay_begin();
    sources from = find_sources(&args, &at);
    find_q_rows(&args, &at);
    ptx_barrier();
    begin(&args, &at, &from);
    u32 step = make_scores(&args, &at, &from);
    ptx_barrier();
    make_weights(&args, &at);
    ptx_barrier();
    sum_values(&args, &at, &from, step);
    ptx_barrier();
    finish_rows(&args, &at);
    delay_end(began);
}
