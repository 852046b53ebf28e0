/*
 * attn_wide32.cu - float32 with head dims beyond 256, on the tensor cores of compute capability 8.0
 * and later
 *
 * A block takes 64 rows and one tile of keys, and heed_combine merges tiles. The sums of 64 wide
 * rows do not fit the registers of a block, but the scores of a tile fit its shared memory. So a
 * block does one thing after another, as products of matrices are done: the scores of the tile,
 * panels of 32 columns of Q and K at a time (wide32/products.cuh); the softmax, a row by a warp
 * (wide32/weights.cuh); the sums of values, 256 columns at a time. The data of a step come while
 * the one before is at work (wide32/load.cuh).
 *
 * Compile-time parameters, beside mask (HEED_MASKED) and head dims (HEED_DIM_QK, HEED_DIM_V):
 *
 *     HEED_TILE_KEYS  keys of a tile                128, 256 or 512
 *     HEED_PRODUCTS   how float32 is multiplied     3 or 1 (single.cuh)
 *
 * Beside them HEED_ABLATE, for degraded builds (ablate.cuh):
 *
 *     @ablate no-exp no-products no-loads divergent extra-barrier unswizzled no-overlap delay
 *
 * Rows whose maximum is 2^24 or more from zero are computed again by plain.cuh, and so are those
 * whose results are not finite.
 *
 * docs/kernels/attn_wide32.md has the log.
 */
#include "delay.cuh"
#include "wide32/load.cuh"
#include "wide32/store.cuh"

HEED_DEVICE void make_scores(const heed_cuda_args *args, const place *at)
{
    u32 steps = score_steps(at), step = 0;
    HEED_NO_UNROLL
    for (u32 pass = 0; step < steps; pass++) {
        scores sum;
        HEED_UNROLL
        for (u32 i = 0; i < ROWS16 * KEYS8 * 4; i++)
            sum.s[i / 4 / KEYS8][i / 4 % KEYS8][i % 4] = 0.0f;
        HEED_NO_UNROLL
        for (u32 panel = 0; panel < QK_PANELS; panel++, step++) {
            advance(args, at, step);
            multiply_panel(at, &sum, stage_of(step));
        }
        leave_scores(at, &sum, pass);
    }
}

HEED_DEVICE void sum_values(const heed_cuda_args *args, const place *at)
{
    u32 step = score_steps(at);
    HEED_NO_UNROLL
    for (u32 slice = 0; slice < SLICES; slice++) {
        values sum;
        HEED_UNROLL
        for (u32 i = 0; i < ROWS16 * 16; i++)
            sum.o[i / 16][i / 4 % 4][i % 4] = 0.0f;
        HEED_NO_UNROLL
        for (u32 key = 0; key < at->keys; key += PART_KEYS, step++) {
            advance(args, at, step);
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
    load_step(&args, &at, 0);
    make_scores(&args, &at);
    ptx_barrier();
    make_weights(&args, &at);
    ptx_barrier();
    sum_values(&args, &at);
    ptx_barrier();
    finish_rows(&args, &at);
    delay_end(began);
}
