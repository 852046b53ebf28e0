/*
 * attn_mma.cu - forward attention with the tensor cores of compute capability 8.0 and later
 *
 * The online softmax of FlashAttention-2 (Dao 2023) in base 2, on mma.m16n8k16 with float32 sums. A
 * block has HEED_KEY_GROUPS groups of HEED_GROUP_WARPS warps. All groups share a tile of
 * HEED_BLOCK_ROWS rows of queries, divided among the warps of each; the groups alternate between
 * the tiles of HEED_TILE_KEYS keys, each with a separate ring of HEED_STAGES stages, and are merged
 * at the end. Blocks may share the keys of the same rows (splits); the last one to finish merges
 * their parts, or heed_combine does. This file has the main loop of a block; mma/pipeline.cuh
 * prefetches its tiles, and the other files of mma/ have the work on a tile.
 *
 * float32 elements are split for the tensor cores' tf32, and a product is several of them: see
 * mma/single.cuh. All code here counts their rows in units of 16 bits, two per element.
 *
 * Compile-time parameters, besides the element type (HEED_BF16), mask (HEED_MASKED), head dims
 * (HEED_DIM_QK, HEED_DIM_V) and whether addresses need not be multiples of 16 (HEED_UNALIGNED):
 *
 *     HEED_BLOCK_ROWS     rows of a block             16 or 32 for each warp of a group
 *     HEED_TILE_KEYS      keys of a tile              multiples of 16
 *     HEED_GROUP_WARPS    warps of a group
 *     HEED_KEY_GROUPS     groups
 *     HEED_STAGES         stages of K and V           2 or more
 *     HEED_Q_PLACE        where Q is                  1: in shared memory; 2: in registers
 *     HEED_STEP_ORDER     order of a step             1: products and softmax of a tile in
 *                                                     sequence; 2: the scores of the next tile
 *                                                     along with this softmax
 *     HEED_BLOCKS_PER_SM  blocks per multiprocessor   for which registers are allocated; not with
 *                                                     HEED_CAPPED, where a compiler option sets the
 *                                                     number of registers
 *     HEED_VALUE_WARPS    warps that share rows       each has a slice of the columns of V; 1 to 8,
 *                                                     and only for HEED_KEY_GROUPS 1
 *     HEED_SHARED_V       1: V is the first columns of K, and is not loaded
 *     HEED_ACC16          1: products are summed in float16, those with V within a tile; needs
 *                         HEED_STEP_ORDER 1
 *     HEED_PRODUCTS       0: elements have 16 bits; else they are float32, whose products are 3:
 *                         three of tf32; 2: three of bfloat16; 1: one of tf32; these need
 *                         HEED_STEP_ORDER 1
 *
 * In addition HEED_ABLATE, for degraded builds (ablation.h):
 *
 *     @ablate no-exp no-products divergent extra-barrier strided unswizzled no-staging no-overlap
 *     @ablate over-unrolled masked no-loads delay
 *
 * Rows whose maximum is 2^24 or more in magnitude are recomputed by plain.cuh.
 *
 * docs/kernels/attn_mma.md has the log: versions with their timings, and other attempts.
 */
#include "delay.cuh"
#include "mma/pipeline.cuh"
#include "mma/products.cuh"
#include "mma/store.cuh"
#include "mma/wide.cuh"

/* The source of the lane's part of tile j of K, */
HEED_DEVICE tile_source k_source(const walk *w, u32 j)
{
#if HEED_ABLATE == ABLATE_NO_STAGING
    return direct_source(w, w->k, ELEMENT_BYTES * w->args->k_stride.seq, j, 0);
#else
    return stage_of(w, j) + PART_AT(w) + (w->kv_lanes & 0xffff);
#endif
}

/* and of V. @fast: in the main loop. */
HEED_DEVICE tile_source v_source(const walk *w, u32 j, const int fast)
{
#if HEED_ABLATE == ABLATE_NO_STAGING
    return direct_source(w, w->v, ELEMENT_BYTES * w->args->v_stride.seq, j,
                         HEED_MASKED && !HEED_HIDES && !fast && is_partial(w, j));
#else
    (void)fast;
    return stage_of(w, j) + V_AT + SLICE_AT(w) + (w->kv_lanes >> 16);
#endif
}

#if !HEED_F32

/* Adds the products of 16 columns to the scores of a tile. */
HEED_DEVICE void score_columns(const walk *w, half_sum s[ROWS16][KEYS8], u32 q_lane, tile_source k,
                               int kk)
{
#if HEED_Q_PLACE == 2
    (void)q_lane;
    multiply_k(s, (u32(*)[4])w->q[kk], k, kk);
#else
    u32 q[ROWS16][4];
    (void)w;
    load_q_fragments(q, q_lane, kk);
    multiply_k(s, q, k, kk);
#endif
}

#endif

#if HEED_F32

HEED_DEVICE void sum_scores(const walk *w, float s[ROWS16][KEYS8][4], u32 j)
{
    u32 q_lane = w->q_lane;
    tile_source k = k_source(w, j);
    score_sums sums;
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk += STEP8) {
#if HEED_Q_PLACE == 2
        (void)q_lane;
        multiply_k(s, &sums, (u32(*)[ROWS16][4])w->q + kk, k, kk);
#else
        u32 q[STEP8][ROWS16][4];
        HEED_UNROLL
        for (int half = 0; half < STEP8; half++)
            load_q_fragments(q[half], q_lane, kk + half);
        multiply_k(s, &sums, q, k, kk);
#endif
    }
}

#else

#if QK16 > SUM16

HEED_DEVICE void add_part(half_sum s[ROWS16][KEYS8], half_sum part[ROWS16][KEYS8])
{
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * KEYS8 * 4; i++)
        s[i / 4 / KEYS8][i / 4 % KEYS8][i % 4] += part[i / 4 / KEYS8][i / 4 % KEYS8][i % 4];
}

#endif

HEED_DEVICE void sum_scores(const walk *w, half_sum s[ROWS16][KEYS8], u32 j)
{
    u32 q_lane = w->q_lane;
    tile_source k = k_source(w, j);
#if QK16 > SUM16
    half_sum part[ROWS16][KEYS8];
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++) {
        score_columns(w, kk < SUM16 ? s : part, q_lane, k, kk);
        if (kk >= SUM16 && (kk % SUM16 == SUM16 - 1 || kk == QK16 - 1))
            add_part(s, part);
    }
#else
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++)
        score_columns(w, s, q_lane, k, kk);
#endif
}

#endif

/* Computes the scores of tile j. @whole: all its keys exist. */
HEED_DEVICE void score(const walk *w, float s[ROWS16][KEYS8][4], tile_bases *bases, u32 j,
                       const int whole)
{
#if HEED_ACC16
    half_sum sums[ROWS16][KEYS8];
    sum_scores(w, sums, j);
    unpack_scores(s, sums);
#else
    sum_scores(w, s, j);
#endif
    modify_scores(w->args, &w->at, s, bases, PART_FIRST(w, j), whole);
}

#if HEED_STEP_ORDER == 1

/* Adds the sums of the last tiles to those of earlier ones, unless they are the @first ones. */
HEED_DEVICE void fold(const walk *w, state *st, int first)
{
    u32 own = w->q_smem + FOLD_AT + ptx_thread() * 4;
    if (!first)
        add_left(st, own, THREADS);
    leave_state(st, own, THREADS);
    begin_sums(st);
}

/* Updates the maxima with the scores of all warps that share the rows, */
HEED_DEVICE void raise_all(const walk *w, state *st, float s[ROWS16][KEYS8][4],
                           const tile_bases *bases)
{
#if SCORE_PARTS > 1
    raise_shared_max(&w->at, w->shared, st, s, bases, w->args->scale);
#else
    raise_max(st, s, bases, w->args->scale);
#endif
}

/* and the sums of values with the weights of all of them; @p are this warp's. */
HEED_DEVICE void multiply_all(const walk *w, state *st, weights *p, tile_source v)
{
#if SCORE_PARTS > 1
    share_weights(&w->at, w->weights, p);
    multiply_slice(&w->at, w->weights, st, v);
#else
    (void)w;
    multiply_v(st, p, v);
#endif
}

HEED_DEVICE void step(walk *w, state *st, u32 j, const int fast, const int aligned)
{
    float s[ROWS16][KEYS8][4];
    tile_bases bases;
    weights p;
    advance(w, j, fast, aligned);
    if (HEED_F32 && j % FOLD_TILES == 0 && j > 0)
        fold(w, st, j == FOLD_TILES);
    if (!fast && warp_limit(w->args, &w->at) <= tile_key(&w->at, j))
        return;
    score(w, s, &bases, j, fast);
    if (!fast && is_partial(w, j))
        mask_scores(w->args, &w->at, s, PART_FIRST(w, j));
    raise_all(w, st, s, &bases);
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++)
        exponentiate(st, &p, s, &bases, w->args->scale, nt);
    multiply_all(w, st, &p, v_source(w, j, fast));
#if HEED_F32
    add_weights(st, &p);
#endif
}

HEED_DEVICE void walk_tiles(walk *w, state *st, const int aligned)
{
    u32 j = 0;
    HEED_NO_UNROLL
    for (; MASKED_FIRST && j < late_tiles(w->args, &w->at); j++)
        step(w, st, j, 0, aligned);
    if (aligned) {
        u32 steps = main_steps(w);
        HEED_MAIN_LOOP
        for (; j < steps; j++)
            step(w, st, j, 1, 1);
        if (SCARCE)
            locate(w, w->args);
    }
    HEED_NO_UNROLL
    for (; j < w->tiles; j++)
        step(w, st, j, 0, aligned);
}

#else

/* @s holds the scores of tile j, @next gets those of the next one. Past the last tile it multiplies
 * stale data of the stage, and the result is not used. */
HEED_DEVICE void step(walk *w, state *st, float s[ROWS16][KEYS8][4], tile_bases *bases,
                      float next[ROWS16][KEYS8][4], tile_bases *next_bases, u32 j, const int fast,
                      const int aligned)
{
    weights p;
    advance(w, j, fast, aligned);
    if (!fast && is_partial(w, j))
        mask_scores(w->args, &w->at, s, tile_key(&w->at, j));
    raise_max(st, s, bases, w->args->scale);
    u32 q_lane = ptx_keep(w->q_lane);
    tile_source k = k_source(w, j + 1);
    HEED_UNROLL
    for (int kk = 0; kk < QK16; kk++) {
        score_columns(w, next, q_lane, k, kk);
        HEED_UNROLL
        for (int nt = kk * KEYS8 / QK16; nt < (kk + 1) * KEYS8 / QK16; nt++)
            exponentiate(st, &p, s, bases, w->args->scale, nt);
    }
    modify_scores(w->args, &w->at, next, next_bases, tile_key(&w->at, j + 1), fast);
    multiply_v(st, &p, v_source(w, j, fast));
}

/* Processes tile j, and the next one if there is one. */
HEED_DEVICE void two_steps(walk *w, state *st, float even[ROWS16][KEYS8][4],
                           float odd[ROWS16][KEYS8][4], tile_bases bases[2], u32 j,
                           const int aligned)
{
    step(w, st, even, &bases[0], odd, &bases[1], j, 0, aligned);
    if (j + 1 < w->tiles)
        step(w, st, odd, &bases[1], even, &bases[0], j + 1, 0, aligned);
}

HEED_DEVICE void walk_tiles(walk *w, state *st, const int aligned)
{
    float even[ROWS16][KEYS8][4], odd[ROWS16][KEYS8][4];
    tile_bases bases[2];
    u32 j = 0;
    if (w->tiles > 0)
        score(w, even, &bases[0], 0, 0);
    HEED_NO_UNROLL
    for (; MASKED_FIRST && j < late_tiles(w->args, &w->at); j += 2)
        two_steps(w, st, even, odd, bases, j, aligned);
    if (aligned) {
        u32 steps = main_steps(w);
        HEED_MAIN_LOOP
        for (; j + 1 < steps; j += 2) {
            step(w, st, even, &bases[0], odd, &bases[1], j, 1, 1);
            step(w, st, odd, &bases[1], even, &bases[0], j + 1, 1, 1);
        }
        if (SCARCE)
            locate(w, w->args);
    }
    HEED_NO_UNROLL
    for (; j < w->tiles; j += 2)
        two_steps(w, st, even, odd, bases, j, aligned);
}

#endif

/* Stores the results, which the first group has. */
HEED_DEVICE void store(const walk *w, const place *at, state *st, const int aligned)
{
    if (HEED_HIDES || (WIDE && HEED_MASKED) || HEED_F32)
        mark_not_finite(st);
    normalize(st);
    if (HEED_MASKED && HEED_KEY_GROUPS == 1 && ABLATED(ABLATE_NO_STAGING))
        ptx_barrier(); /* values were read after the last barrier */
    if (CLEANS)
        spoil(w->args, at, st, w->bad_smem);
    if (splits_of(w->args, at) > 1) {
        store_partial(w->args, at, st);
        return;
    }
    u32 own = HEED_SINKS ? given_up(st) : 0; /* by their own sums */
    add_sinks(w->args, at, st);
    store_lse(w->args, at, st);
    if (HEED_KEY_GROUPS == 1 && O_MOVES)
        ptx_barrier();
    if (!HEED_SINKS)
        own = given_up(st);
    store_o(w->args, at, st, w->q_smem, aligned);
    if (ptx_vote_any(own))
        remake_own(w->args, own, at->batch);
}

HEED_DEVICE void finish(walk *w, state *st, const int aligned)
{
    if (SCARCE)
        locate(w, w->args);
    place at = w->at;
#if HEED_F32
    if (w->tiles > FOLD_TILES)
        add_left(st, w->q_smem + FOLD_AT + ptx_thread() * 4, THREADS);
#endif
    if (HEED_KEY_GROUPS > 1) {
        ptx_cp_async_wait(0);
        merge_groups(&at, st, w->q_smem + STAGES_AT);
    }
#if HEED_VALUE_WARPS > 1
    (void)aligned;
    store_shared(w->args, &at, st, w->q_smem, w->shared);
#else
    if (at.group == 0)
        store(w, &at, st, aligned);
#endif
#if !COMBINE_APART
    if (w->args->arrived)
        merge_parts(w->args, &at);
#endif
}

/* The first group has at most one tile more than the others. They execute the same number of
 * barriers, because race checkers count barriers per thread. */
HEED_DEVICE void even_out(const walk *w)
{
    place first = w->at;
    first.group = 0;
    if (HEED_KEY_GROUPS > 1 && w->tiles < own_tiles(&first, first.tile_end))
        group_barrier(&w->at);
}

/* Processes the rows and keys of the block, or, if keys are spread, of a part of its share. */
HEED_DEVICE void attend_part(walk *w, const heed_cuda_args *args, const int aligned)
{
    state st;
    locate(w, args);
    if (!FOUND_LATE)
        ptx_griddepcontrol_wait();
    ptx_griddepcontrol_launch();
    if (HEED_PACKED_Q && w->at.row >= rows_of(args, &w->at))
        return;
    u32 begin = delay_begin();
    fill_pipeline(w, aligned);
    clear(&st);
    walk_tiles(w, &st, aligned);
    even_out(w);
    finish(w, &st, aligned);
    delay_end(begin);
}

HEED_DEVICE void attend(const heed_cuda_args *args, const int aligned)
{
    walk w;
    if (FOUND_LATE) /* the place depends on data in memory */
        ptx_griddepcontrol_wait();
#if HEED_SPREAD
    int more = find_spread(args, &w.at.spread, divide(ptx_block_x(), args->heads_kv));
    HEED_NO_UNROLL
    while (more) {
        attend_part(&w, args, aligned);
        more = next_spread(args, &w.at.spread);
        ptx_cp_async_wait(0);
        ptx_barrier(); /* shared memory is free */
    }
#else
    attend_part(&w, args, aligned);
#endif
}

HEED_ENTRY(THREADS, HEED_BLOCKS_PER_SM) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    attend(&args, !HEED_UNALIGNED);
}
