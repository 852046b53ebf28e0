/*
 * attn_wgmma.cu - forward attention with the asynchronous tensor cores of compute capability 9.0
 *
 * The online softmax of attn_mma.cu on wgmma, with copies by the tensor memory accelerator (TMA). A
 * block is warp-specialised: HEED_ROW_GROUPS * HEED_KEY_GROUPS consumer warpgroups compute, and one
 * producer warpgroup loads (wgmma/load.cuh). A consumer has 64 rows of queries. HEED_ROW_GROUPS row
 * groups have adjacent rows and share all tiles of keys. HEED_KEY_GROUPS such teams, or those of a
 * cluster of two blocks, have the same rows, alternate between the tiles, and are merged at the
 * end. Tiles are processed from the last one to the first, so those that need a mask come first.
 * This file has the loop of a block over its work items; wgmma/walk.cuh has the main loop of a
 * warpgroup, wgmma/products.cuh and softmax.cuh its steps, wgmma/merge.cuh the merge.
 *
 * Compile-time parameters, besides the element type (HEED_BF16), mask (HEED_MASKED), head dims
 * (HEED_DIM_QK, HEED_DIM_V) and whether the scale is negative (HEED_NEGATE):
 *
 *     HEED_ROW_GROUPS  row groups               64 rows each
 *     HEED_KEY_GROUPS  key groups
 *     HEED_TILE_KEYS   keys of a tile
 *     HEED_STAGES      stages of K and V        a multiple of HEED_KEY_GROUPS, 2 or more
 *     HEED_STEP_ORDER  order of a step          1: scores, weights and values in sequence, but the
 *                                               values of 32 keys overlap with the weights of the
 *                                               next 32, and weights start before it is known
 *                                               whether earlier tiles' maxima are large enough
 *                                               2: the scores of the next tile start together with
 *                                               the values of this one, and overlap its weights
 *                                               3: in sequence. With 2 and 3 rescaling is lazy: the
 *                                               first tile's maxima stay until a sum of weights
 *                                               shows that one has become too large
 *     HEED_TURNS       turns of the row groups  1: none; ping-pong, 2: at products, 3: at
 *                                               exponentials
 *     HEED_OWN_TILES   tiles of a row group     1: those of the block; 2: under a mask it skips the
 *                                               tiles that its rows do not see, and masks only
 *                                               those that they see in part
 *     HEED_SCHEDULE    grid                     1: a block for each item; 2: persistent, as many
 *                                               blocks as multiprocessors, each with several items;
 *                                               3: a block for each item, two on a multiprocessor,
 *                                               so that those of the next launch are resident and
 *                                               have their first tiles in the L2;
 *                                               4: the same, and the two blocks of a cluster share
 *                                               the keys of each item
 *     HEED_SPLIT       split keys               1: args.splits blocks share the keys of an item
 *                                               and store parts for heed_combine
 *     HEED_BIAS_TILES  tiles of the bias        0: none, lanes read its elements; otherwise the
 *                                               sum of 1, for tiles that are copied along with
 *                                               those of K, 2 if it has heads, and 4 if it has a
 *                                               batch
 *
 * In addition HEED_ABLATE, for degraded builds (ablation.h):
 *
 *     @ablate no-exp no-products no-loads divergent extra-barrier strided unswizzled no-overlap
 *     @ablate over-unrolled masked delay
 *
 * Rows whose maximum is 2^24 or more in magnitude are recomputed by plain.cuh, and so are those
 * under a mask that see values which are not finite.
 *
 * docs/kernels/attn_wgmma.md has the log: versions with their timings, other attempts, a breakdown
 * of the time, and the rules that keep the compiler from serializing wgmma.
 */
#include "delay.cuh"
#include "wgmma/load.cuh"
#include "wgmma/merge.cuh"
#include "wgmma/store.cuh"
#include "wgmma/walk.cuh"

/* ---- Items ---- */

/* Changes the sign of the warpgroup's rows of Q. */
HEED_DEVICE void negate_q(const walk *w)
{
    u32 thread = w->at.warp * 32 + w->at.lane;
    if (w->at.key_group == 0) {
        for (u32 i = thread; i < GROUP_ROWS * QK_PANELS * PANEL_CHUNKS; i += GROUP_THREADS) {
            heed_u32x4 x = ptx_ld_shared_16(w->q + i * 16);
            for (int word = 0; word < 4; word++)
                x.v[word] ^= 0x80008000u;
            ptx_st_shared_16(w->q + i * 16, x);
        }
        ptx_fence_async();
    }
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
}

/* Epilogue of teams that share rows. Returns true if the thread's row must still be recomputed. */
HEED_DEVICE int finish_team(walk *w, state *st, team_row *m)
{
    if (PAIR == 1)
        ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* tiles have been read */
    else
        ptx_cluster_wait(); /* the other block has begun */
    leave_sums(&w->at, st);
    if (PAIR > 1)
        find_merged(&w->m->args, &w->at, m); /* while the other block's results arrive */
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
    if (PAIR > 1)
        ptx_mbarrier_wait(left_barrier(), 0);
    int own = merge_row(&w->m->args, &w->at, m);
    if (ANEW_LAST)
        return own;
    if (ptx_vote_any(own))
        call_remake_merged(w->m, own);
    return 0;
}

/* Epilogue of a row group with separate rows. */
HEED_DEVICE void finish(walk *w, state *st)
{
    place *at = &w->at;
    normalize(st);
    u32 own = clear_unseen(&w->own, st, given_up(&w->m->args, at, st));
#if HEED_SPLIT
    store_part(&w->m->args, at, st, own);
    return;
#endif
    add_sinks(&w->m->args, at, st);
    if (HEED_MASKED && HEED_SCHEDULE == 2 && CLEANED(at) > 0)
        ptx_mbarrier_arrive(done_barrier());
    store_o(w->m, at, st, w->round, own, w->q);
    store_lse(&w->m->args, at, st, own); /* before O, which does not depend on its address */
}

HEED_DEVICE int compute_item(walk *w)
{
    state st;
    u32 buffer = q_buffer(w->round, w->at.row_group);
    team_row m;
    w->q = q_smem(buffer);
    w->rows = keep(describe_q(w->q));
    clear(&st);
    find_own_rows(w);
    if (TEAMS > 1 && PAIR == 1)
        find_merged(&w->m->args, &w->at, &m);
    ptx_mbarrier_wait(group_barrier(Q_FULL, buffer), q_parity(w->round));
    if (HEED_NEGATE)
        negate_q(w);
    walk_tiles(w, &st);
    if (HEED_HIDES)
        mark_not_finite(&st);
    if (PLACED_ANEW)
        find_thread(&w->at);
    if (TEAMS > 1)
        return finish_team(w, &st, &m);
    finish(w, &st);
    return 0;
}

HEED_DEVICE int compute(const heed_cuda_mapped_args *m)
{
    walk w;
    u32 group = ptx_shfl_idx_u32(ptx_thread() / GROUP_THREADS, 0); /* the same in all lanes */
    w.m = m;
    w.at.warp = ptx_thread() / 32 % 4;
    w.at.lane = ptx_lane();
    if (PLACED_ANEW)
        find_thread(&w.at);
    w.at.key_group = HEED_KEY_GROUPS == 1 ? 0 : group / HEED_ROW_GROUPS;
    w.at.row_group = HEED_ROW_GROUPS == 1 ? 0 : group % HEED_ROW_GROUPS;
    w.at.rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    w.at.team = w.at.rank * HEED_KEY_GROUPS + w.at.key_group;
    (void)group; /* there may be only one */
    w.clean.stage = w.at.key_group;
    w.clean.parity = 0;
    w.tile = tile_at(w.clean);
    if (HEED_TURNS > 1 && w.at.row_group == HEED_ROW_GROUPS - 1)
        pass_turn(&w.at);
    u32 number;
    int own = 0;
    for (w.round = 0; has_item(&m->args, w.round, number = item_number(w.round)); w.round++) {
        find_place(m, &w.at, number);
        own = compute_item(&w);
    }
    release_o(&w.at, q_buffer(w.round - 1, w.at.row_group));
    if (HEED_TURNS > 1 && w.at.row_group == 0)
        take_turn(&w.at);
    return own;
}

/* Initializes the barriers that one of the producer threads needs for its first loads, */
HEED_DEVICE void make_first_barriers(const int of_k)
{
    for (u32 i = 0; i < HEED_ROW_GROUPS * Q_BUFFERS && !of_k; i++)
        ptx_mbarrier_init(group_barrier(Q_FULL, i), 1);
    for (u32 i = 0; i < HEED_STAGES; i++)
        ptx_mbarrier_init(stage_barrier(of_k ? K_FULL : V_FULL, i), 1);
    ptx_mbarrier_init(rehearsal_barrier(of_k), 1);
    ptx_fence_mbarrier_init();
}

/* and all others. */
HEED_DEVICE void make_other_barriers(void)
{
    for (u32 i = 0; i < HEED_STAGES; i++) {
        ptx_mbarrier_init(stage_barrier(K_EMPTY, i), 4 * HEED_ROW_GROUPS);
        ptx_mbarrier_init(stage_barrier(V_EMPTY, i), 4 * HEED_ROW_GROUPS);
        if (HEED_MASKED)
            ptx_mbarrier_init(stage_barrier(V_CLEAN, i), CLEANERS);
    }
    for (u32 i = 0; i < HEED_ROW_GROUPS * Q_BUFFERS; i++)
        ptx_mbarrier_init(group_barrier(Q_EMPTY, i), 1);
    if (HEED_MASKED)
        ptx_mbarrier_init(done_barrier(), CONSUMER_THREADS);
    if (PAIR > 1)
        ptx_mbarrier_init(left_barrier(), 1);
    ptx_fence_mbarrier_init();
    if (PAIR > 1)
        expect_left();
}

/* Sets up shared state; three threads initialize the barriers concurrently, so the producers have
 * theirs before all are done. */
HEED_DEVICE void begin(const heed_cuda_mapped_args *m)
{
    u32 warp = ptx_thread() / 32, first = ptx_lane() == 0;
    if (warp == K_WARP && first) {
        ptx_prefetch_map(&m->k);
        make_first_barriers(1);
    } else if (warp == V_WARP && first) {
        ptx_prefetch_map(&m->q);
        ptx_prefetch_map(&m->v);
        make_first_barriers(0);
    } else if (warp == CLEAN_WARP && first) {
        make_other_barriers();
    }
    if (HEED_MASKED && warp >= CLEAN_WARP)
        clear_bad(ptx_thread() - CLEAN_WARP * 32);
    ptx_warp_barrier();
}

ENTRY(THREADS, RESIDENT) heed_attend(HEED_GRID_CONSTANT const heed_cuda_mapped_args args)
{
    u32 loads = ptx_thread() >= CONSUMER_THREADS;
    int own = 0;
    loader l;
    l.next.stage = l.next.parity = 0;
    begin(&args);
    if (LOADS_FIRST && loads)
        start_loads(&args, ptx_thread() / 32, &l);
    ptx_barrier(); /* one barrier for all */
    if (PAIR > 1)
        ptx_cluster_arrive();
    if (loads) {
        if (CONSUMERS > 1)
            ptx_setmaxnreg_dec(LOADER_REGISTERS);
        load(&args, &l);
    } else {
        if (CONSUMERS > 1)
            ptx_setmaxnreg_inc(CONSUMER_REGISTERS);
        if (RESIDENT > 1 || HEED_CHANGES)
            ptx_griddepcontrol_wait(); /* polling barriers meanwhile would slow down other warps */
        u32 began = delay_begin();
        own = compute(&args);
        delay_end(began);
    }
    if (TEAMS > 1 && ANEW_LAST && ptx_vote_any(own))
        remake_merged(&args, own);
    (void)own; /* unused in other configs */
}
