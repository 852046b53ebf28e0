/*
 * attn_wgmma.cu - forward attention with the asynchronous tensor cores of compute capability 9.0
 *
 * The online softmax of attn_mma.cu on wgmma, with copies by the tensor memory accelerator. A block
 * has HEED_R * HEED_K warpgroups that compute and one that loads (wgmma_load.cuh). Those that
 * compute have 64 rows of queries each: HEED_R of them have rows side by side and share all tiles
 * of keys; HEED_K such teams, or those of a pair of blocks, share the same rows, take turns at the
 * tiles, and are merged at the end. Tiles are worked on from the last one to the first, so that
 * those that need a mask come first. Here is what a block does with its items; how a warpgroup
 * walks through the tiles is in wgmma_walk.cuh, what it does to them in wgmma_tile.cuh and
 * softmax.cuh, how teams are merged in wgmma_merge.cuh.
 *
 * Compile-time parameters, beside the element type (HEED_BF16), mask (HEED_CAUSAL), head dims
 * (HEED_DIM_QK, HEED_DIM_V) and whether the scale is negative (HEED_NEGATE):
 *
 *     HEED_R    row groups                  64 rows each
 *     HEED_K    key groups
 *     HEED_N    keys of a tile
 *     HEED_S    stages of K and V           a multiple of HEED_K, 2 or more
 *     HEED_O    order of a step             1: scores, weights and values one after another, but
 *                                           the values of 32 keys are started beside the weights
 *                                           of the next, and weights are begun before it is known
 *                                           whether the maxima of the tiles before will do
 *                                           2: the scores of the next tile are started along with
 *                                           the values of this one, and its weights made beside
 *                                           3: one after another. With 2 and 3 the first
 *                                           tile's maxima stay until a weight becomes too large,
 *                                           which the sums of weights tell, so that none are
 *                                           looked for
 *     HEED_T    turns of the row groups     1: none; 2: at starting products; 3: at exponentials
 *     HEED_C    tiles of a row group        1: those of the block; 2: under a mask it passes by
 *                                           what its rows do not see, and masks only what they
 *                                           half see
 *     HEED_G    grid                        1: a block for each item; 2: as many blocks as there
 *                                           are multiprocessors, and each takes items in turn;
 *                                           3: a block for each item, two of them on a
 *                                           multiprocessor, so that those of the next launch are
 *                                           there and have what they need in the L2;
 *                                           4: the same, and two blocks, a cluster, share the keys
 *                                           of each item
 *
 * Beside them HEED_ABLATE, for builds that are worse on purpose (ablate.cuh):
 *
 *     @ablate no-exp no-products no-loads divergent extra-barrier strided unswizzled no-overlap
 *     @ablate over-unrolled masked delay
 *
 * Version log. On one H200, f16, without a mask, cold: TF is TFLOP/s of b4 h32 s4096 d64 and b4 h16
 * s4096 d128, us the time of b2 h8 s512 d64 and b8 h16 s512 d64. cuDNN 9.19 did 482 / 659 TF
 * and 9.9 / 26.7 us in the same runs. Power holds long runs back by up to 10 %, differently each
 * time.
 *
 *     1  as first written                                              512 / 631 TF   7.2 / 29.8 us
 *     2  a launch begins before the one ahead of it has ended; Q of    519 / 687      6.0 / 22.6
 *        the next item comes meanwhile; four row groups
 *     3  one thread loads K, another one Q and V, where one took 220   535 / 698      6.0 / 20.9
 *        clocks a tile; key groups merge, each some of the columns
 *     4  key groups store their columns at once, without a copy of     523 / 655      5.9 / 20.7
 *        boxes; the first item is found before the wait                (other run)
 *     5  order 4, grid 3; blocks that begin early fetch ahead; under   554 / 684      5.5 / 20.9
 *        a mask row groups pass by tiles (HEED_C 2), and tiles of V    (other run)
 *        are cleaned by two chunks at a time
 *
 * Version 5 in more figures, in the same runs as cuDNN: b1 h8 s512 d64 5.46 -> 5.00 us by fetching
 * ahead, which where blocks cannot begin early costs 0.7 us; b2 5.88 -> 5.78 by order 4, -> 5.46 by
 * grid 3. Under a mask, cuDNN = 1: b32 h16 s512 d64 0.85 -> 1.11, b16 s1024 0.90 -> 1.12, b32 h16
 * s512 d128 0.83 -> 0.99, b4 h16 s4096 d128 (static turns) 0.94 -> 1.07.
 *
 *     6  no maxima but the first tile's, unless sums of weights say    595 / 743      5.5 / 19.8
 *        so; d64 without overlap in a warpgroup; what teams leave is   (other run)
 *        merged row by row, and stored at once; pairs of blocks
 *
 * Version 6: a tile of 64 x 64 took 255 instructions a warp, which with four row groups is as many
 * clocks as its exponentials and its products take, and a fifth were for the maxima. cuDNN's time
 * over ours, before and after, in one run each: b4 h32 s4096 d64 1.07 and 1.16, b4 h16 s4096 d128
 * 1.03 and 1.12, b8 h16 s512 d64 1.27 and 1.33. Order 3 needs fewer registers than 2 and is faster
 * with four row groups (974 against 986 us for b4 h32 s4096 d64; old order 2: 1071); at d128 order
 * 2 is (743 us against 764 and 770 with three row groups). Where two blocks fit (HEED_G 3) looking
 * for maxima costs nothing (b2 h8 s512 5.50 us, without 5.56), for those wait more than they
 * compute. b1 h8 s512 d64: 4.96 us by a block for each item, of which 0.92 is the end; 4.92 by
 * pairs that end in word after word for the other block and a cluster's barrier (1.57 us of it the
 * end); 4.39 by pairs with rows left as they are merged, 8 bytes at a time with a barrier that
 * counts them.
 *
 *     7  what finds a tile's barriers and describes it is kept from    581 / 725      5.4 / 19.4
 *        tile to tile; what teams left is read all at once, and where
 *        the merged row goes is found before the tiles
 *
 * Version 7: from the end of a tile's values to the start of the next one's scores there was a
 * chain of some fifteen instructions that found addresses by the number of the stage, and began
 * with where shared memory is. In the same runs, before and after: b2 h8 s512 d64 5.54 -> 5.39 us,
 * under a mask 6.10 -> 5.80; b1 4.45 -> 4.37, under a mask 4.76 -> 4.57; b4 h16 11.81 -> 11.62;
 * b4 h32 s4096 d64 971 -> 947 us. HEED_O 2 keeps nothing: other work lies between there (753 and
 * 749 us), and at head dim 192 it spilled.
 *
 *     8  blocks that begin early share out what they fetch ahead;      595 / 700      4.9 / 18.9
 *        Q is on its way before all but the first keys; order 1 by     (other run)
 *        parts; two stages unrolled; small sections of heads
 *
 * Version 8, in the same runs before and after. Fetching ahead: each block had fetched as many of
 * its head's tiles as it has stages, so eight blocks the same ones; now each fetches others: b2 h8
 * s512 by grid 3 5.38 -> 5.03 us. Under a mask the next launch begins before tiles are loaded, else
 * its blocks come two on a multiprocessor whose short ones have ended: with the former 6.72 ->
 * 5.10. Order 1 by parts: b2 by tiles of 128 keys 5.55 -> 5.28, with data in the L2 4.84 -> 4.66;
 * b1 by pairs, with the shared fetching, 4.40 -> 4.27. Copies of K that wait until those of Q have
 * been started: b4 h16 s512 11.54 -> 11.15, b8 19.25 -> 18.87; and until that of the first values
 * has, and rows that are set to zero only where one is to be: b4 11.23 -> 11.08. Main loop of order
 * 2 twice, where there are two stages: b4 h16 s4096 d128 744 -> 721 us, under a mask 542 -> 520.
 * Whether a value of V was taken out is asked once for all columns: under a mask b32 h16 s512 d128
 * 103.5 -> 99.7, b32 h32 s512 d64 114.8 -> 111.1, b4 h16 12.3 -> 11.8. Sections (args.c): b4 h32
 * s4096 d64 under a mask 558 us with 28 heads, 514 with one; b1 h16 s16384 d128 1710 with 3, 1537
 * with 16.
 *
 *     9  first loads ahead of all barriers but their own; order 1    577 / 702      4.6 / 18.7
 *        begins weights before maxima are known; what a block reads    (other run)
 *        first is copied twice, once ahead
 *
 * Version 9, in the same runs before and after. One thread had made all barriers (47 take 540
 * clocks) before the first copy; now three do, and with grid 2 the first copies come before all
 * else: b4 h16 s512 11.31 -> 10.98 us, b4 h16 s512 d128 under a mask 20.4 -> 19.8. With order 1
 * maxima stood in front of the exponentials, 32 comparisons and two shuffles one after another; now
 * these begin with the maximum that is there, each lane compares beside them, and only where a lane
 * finds its maximum too far behind are they made again, with the same result: b2 h8 s512 4.90 ->
 * 4.75. That blocks other than grid 2's have one item is known in compilation, and the first tile
 * stands by itself: -> 4.71, under a mask 5.19 -> 4.89 (2300 instructions; in another form 2800
 * took 0.2 us longer than 2470). What had been fetched ahead came 280 clocks later than what the
 * launch before had read too, and under a mask K 600: copied to shared memory, twice, it comes as
 * soon: -> 4.64 to 4.70, under a mask too. By pairs b1 h8 s512 4.23 -> 4.21, under a mask 4.44
 * -> 4.14. The barrier of the block had been waited for by those that compute and by those that
 * load, each in a place of their own, which synccheck takes for divergent; one place for all
 * (heed_attend) is as fast: b1 4.0, b2 4.6, b4 10.7.
 *
 *    10  blocks that find room begin as soon as all of the launch   573 / 710      4.4 / 19.8
 *        ahead have begun, without a mask, too                         (other run)
 *
 * Version 10: without a mask that had been when the launch ahead had loaded its tiles. Where
 * tensors lay so that some of its blocks ended much before others, two went to one multiprocessor,
 * and then again at each launch behind: b2 h8 s512 took 4.57 us by itself, but 4.9 to 6.2, from
 * replay to replay, with the tensors that a program has after it has timed two other problems.
 * Now 4.42 and 4.43; b1 h8 s1024 7.66 -> 6.80, b8 h8 s128 3.55 -> 3.25; b1 h8 s512 in bfloat16,
 * timed second, 4.11 -> 3.94, and first 3.92 -> 3.97.
 *
 *    11  rows whose maximum is 2^24 or more from zero are given up and made anew (plain.cuh)
 *
 * Version 11: such rows had been 0 or NaN, since a maximum that is rounded by 1 to 128 was taken
 * off. They are noticed where maxima are raised, and told by their sums at the end, so that the
 * steps are as they were: b2 h8 s512 d64 208 instructions a tile before and after. The code at the
 * end, which is not run else, is some 550 instructions. Predicted: the same within 1 %. Timed cold,
 * in turns with version 10, medians of 4 rounds: s4096 takes 0.975 to 1.004 of its time, b32 s512
 * 1.006 to 1.011, and 1.019 under a mask at d64; b1 and b2 h8 s512 d64 1.014, and 1.038 and 1.064
 * under a mask. The reason is not known: the loop under a mask has 280 instructions a tile where it
 * had 278.
 *
 * What the compiler must be kept from: it moves the wait for the values in front of the
 * exponentials, unless branches lie between (see step() with HEED_O 2); and it serializes all wgmma
 * where one of them starts in a branch, or where it cannot tell that a wait covers it. ptxas -v
 * says so: C7510 to C7520. And it keeps addresses of tiles in the registers of all lanes, and moves
 * them for each product, where it cannot tell that all lanes are there: the team without tiles
 * leaves walk_tiles() before the first step, since a condition around that costs 0.1 us.
 *
 * What PTX and synccheck ask for: the four warps of a warpgroup give registers away by one and the
 * same instruction (PTX), and all that wait at a barrier do so by one and the same (synccheck, with
 * part of a block's threads as well; bar.arrive may be anywhere). The emulator asks for both, but
 * knows lines of the source: in an inline function that is called in two places it sees one.
 *
 * Where time goes, b2 h8 s512 d64 by grid 3, in clocks between stamps of one thread, before version
 * 9 took maxima out of the way: 820 from the end of the launch ahead until Q has come (1100 where
 * it was only fetched), 500 until the first scores, then for each tile 860 for its weights (the
 * first 1050), 140 for its values, 430 for the next scores; 140 until the other team is done, 320
 * to leave, 600 to merge; 1300 from there to the next launch's start, which is what an empty one
 * takes, 0.75 us. One team alone takes 1150 a tile in place of 1430, and tiles of 128 keys 1650.
 * Leaving out all copies but the first saves 0.1 us.
 *
 * Tried, and no gain: 1 to 8 of 16 exponentials by a polynomial on the multiply-add units (Cody and
 * Waite's reduction, degree 3, no branches: b4 h32 s4096 d64 1071 -> 1145 to 1218 us, b8 h16 s512
 * 20.9 -> 21.6 to 24.1; b2 5.51 -> 5.42 was the best): issue slots bind, not the units. Constants
 * in place of the address of shared memory (1 %). Key groups that begin half a tile apart (b2 5.49
 * -> 5.39, b1 and the mask the same or worse). Four key groups (b1 5.07 against 4.78). Pairs for
 * b2, where all multiprocessors have work without (6.7 against 5.6).
 *
 * Tried with version 9, b2 h8 s512, in the same runs: key groups that load for themselves, without
 * the other warpgroup, two blocks of 128 registers a thread (tiles of 64 keys 5.24, of 128 5.19,
 * where 4.87 was had); Q and first keys by cp.async of those that compute (5.45 against 4.89: there
 * after 1380 clocks, by boxes after 820); those that compute kept at the barrier of the block until
 * first copies have begun (5.10 against 4.91; with grid 2 it is what helps); key groups 150 to 300
 * clocks apart (4.87 of 4.91, under a mask longer); one loop for tiles with and without a mask
 * (4.85 against 4.71); what teams leave in a place of its own, without a barrier before (4.63
 * against 4.64, and 38 KB more); a fetch of O, or of own rows by other loads (the same, or longer).
 * Other loads delayed until the first have come: b4 h16 11.5 against 11.1, though d128 under a
 * mask 19.5 against 19.9.
 *
 * Configs. Of the legal ones with tiles of 64, 96 or 128 keys and as many stages as fit, those
 * that the model predicted within a quarter of the best were timed for 139 problems with cold
 * tensors: 3600 times; and what won, for 95 others beside the table there was. Before and after,
 * each pair from one run: short rows of d128 by order 1 (b1 h32/8 s256 6.4 -> 5.4 us, s128 causal
 * 4.4 -> 3.7), 64 rows by one warpgroup (b32 h16 s64 d64 8.0 -> 7.0), order 1 where an item has
 * few tiles of d128 (b4 h32/8 s512 32.6 -> 28.9; from 2048 keys on order 2 is mostly faster, at
 * 4096 by 13 %); under a mask two row groups of 64 keys with tiles of their own (b4 h16 s512 d64
 * 12.4 -> 11.0, b32 h16 s512 d128 103.8 -> 98.6) or four without turns (b32 h32 s512 d64 113.8 ->
 * 106.5, but b4 h32 s4096 513 -> 537). What the table had and no problem missed then is gone. It
 * also showed that two row groups with two key groups that take turns never ended: turn_barrier()
 * says why.
 *
 * Tried with version 8, b2 h8 s512: a cluster's multicast of K and V to two blocks with other rows
 * (5.74 us against 5.28); pairs with two row groups and half of the keys (6.1 to 7.4 against 5.4);
 * blocks on the four idle multiprocessors that fetch for all others (5.54 against 5.32; b4 16.4
 * against 11.6); values and the next tile's scores started together, one wait for both (4.85 by
 * tiles of 128 keys, data in the L2, where parts take 4.66); teams that keep the columns they merge
 * in registers and leave a third as many bytes (the same: shared memory is not what a merge takes);
 * all first loads from one thread (5.41 against 5.06, though b4 11.21 against 11.59). Without
 * exponentials 4.8 against 5.5. Main loops of d64 unrolled twice to eight times (1 % faster to 30 %
 * slower).
 *
 * Tried with version 7, b2 h8 s512: two buffers of scores, so that the next tile's are there before
 * the exponentials of this one begin (5.90 us against 5.50, and 5.66 without copies: starting the
 * four wgmma of a tile takes a warpgroup 190 to 330 clocks, since it starts one only when the one
 * before has been taken); sums and packing behind the wait for the values, so that nothing waits
 * for an exponential just started (5.55 against 5.47); the second key group a product behind the
 * first (the same); three and four key groups (5.64, 5.58), tiles of 128 keys (5.43).
 *
 * Tried with version 5: turns at exponentials (498 TF at d64, against 538 with turns at products
 * and 471 without); 160 or 176 keys a tile at d128 (695 and 617 TF); scores that start before the
 * softmax (6.0 us; 437 TF); exponentials before the maxima (5.78 against 5.88 us, now moot). For b2
 * h8 s512: tiles that never come (5.65 us, so the L2 does not bind, and a cluster's multicast could
 * not help); maxima of the next tile beside the exponentials of this one (6.04); turns of key
 * groups (6.0); barriers made by four warps, or by lanes of one (6.0, 6.8: one thread makes 47 in
 * 540 clocks, and each lane fences); a launch that lets the next begin at once (7.1, but see
 * version 10: its blocks then land two on a multiprocessor); grid 3 with as many blocks as
 * multiprocessors (7.4). Under a mask: 32 of 128 heads of d128 s512 a section (130 us, with 8 102):
 * turns then give some blocks half as much again, which section_of() now avoids.
 */
#include "delay.cuh"
#include "wgmma_load.cuh"
#include "wgmma_merge.cuh"
#include "wgmma_store.cuh"
#include "wgmma_walk.cuh"

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

/* The teams that share rows. */
HEED_DEVICE void finish_team(walk *w, state *st, merged *m)
{
    if (PAIR == 1)
        ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* tiles have been read */
    else
        ptx_cluster_wait(); /* the other block has begun */
    leave_sums(&w->at, st);
    if (PAIR > 1)
        find_merged(&w->m->args, &w->at, m); /* while what the other block leaves is on its way */
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
    if (PAIR > 1)
        ptx_mbarrier_wait(left_barrier(), 0);
    remake_merged(&w->m->args, &w->at, merge_row(&w->m->args, &w->at, m));
}

/* A row group with rows of its own. */
HEED_DEVICE void finish(walk *w, state *st)
{
    place *at = &w->at;
    normalize(st);
    if (HEED_CAUSAL)
        spoil(&w->m->args, at, st);
    if (HEED_CAUSAL && HEED_G == 2)
        ptx_mbarrier_arrive(done_barrier());
    store_lse(&w->m->args, at, st);
    store_o(w->m, at, st, w->q);
}

HEED_DEVICE void compute_item(walk *w)
{
    state st;
    u32 buffer = q_buffer(w->round, w->at.row_group);
    merged m;
    w->q = q_smem(buffer);
    w->rows = keep(describe_q(w->q));
    clear(&st);
    if (TEAMS > 1 && PAIR == 1)
        find_merged(&w->m->args, &w->at, &m);
    ptx_mbarrier_wait(group_barrier(Q_FULL, buffer), q_parity(w->round));
    if (HEED_NEGATE)
        negate_q(w);
    walk_tiles(w, &st);
    if (TEAMS > 1)
        finish_team(w, &st, &m);
    else
        finish(w, &st);
}

HEED_DEVICE void compute(const heed_cuda_mapped_args *m)
{
    walk w;
    u32 group = ptx_shfl_idx_u32(ptx_thread() / GROUP_THREADS, 0); /* the same in all lanes */
    w.m = m;
    w.at.warp = ptx_thread() / 32 % 4;
    w.at.lane = ptx_lane();
    w.at.key_group = HEED_K == 1 ? 0 : group / HEED_R;
    w.at.row_group = HEED_R == 1 ? 0 : group % HEED_R;
    w.at.rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    w.at.team = w.at.rank * HEED_K + w.at.key_group;
    (void)group; /* of which there may be only one */
    w.clean.stage = w.at.key_group;
    w.clean.parity = 0;
    w.tile = tile_at(w.clean);
    if (HEED_T > 1 && w.at.row_group == HEED_R - 1)
        pass_turn(&w.at);
    u32 number;
    for (w.round = 0; has_item(&m->args, w.round, number = item_number(w.round)); w.round++) {
        find_place(m, &w.at, number);
        compute_item(&w);
    }
    release_o(&w.at, q_buffer(w.round - 1, w.at.row_group));
    if (HEED_T > 1 && w.at.row_group == 0)
        take_turn(&w.at);
}

/* The barriers that one of the threads that load needs for its first loads, */
HEED_DEVICE void make_first_barriers(const int of_k)
{
    for (u32 i = 0; i < HEED_R * Q_BUFFERS && !of_k; i++)
        ptx_mbarrier_init(group_barrier(Q_FULL, i), 1);
    for (u32 i = 0; i < HEED_S; i++)
        ptx_mbarrier_init(stage_barrier(of_k ? K_FULL : V_FULL, i), 1);
    ptx_mbarrier_init(rehearsal_barrier(of_k), 1);
    ptx_fence_mbarrier_init();
}

/* and all others. */
HEED_DEVICE void make_other_barriers(void)
{
    for (u32 i = 0; i < HEED_S; i++) {
        ptx_mbarrier_init(stage_barrier(K_EMPTY, i), 4 * HEED_R);
        ptx_mbarrier_init(stage_barrier(V_EMPTY, i), 4 * HEED_R);
        if (HEED_CAUSAL)
            ptx_mbarrier_init(stage_barrier(V_CLEAN, i), CLEANERS);
    }
    for (u32 i = 0; i < HEED_R * Q_BUFFERS; i++)
        ptx_mbarrier_init(group_barrier(Q_EMPTY, i), 1);
    if (HEED_CAUSAL)
        ptx_mbarrier_init(done_barrier(), CONSUMER_THREADS);
    if (PAIR > 1)
        ptx_mbarrier_init(left_barrier(), 1);
    ptx_fence_mbarrier_init();
    if (PAIR > 1)
        expect_left();
}

/* Makes what threads find; three of them make the barriers, at the same time, so that those that
 * load have theirs before all are made. */
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
    if (HEED_CAUSAL && warp >= CLEAN_WARP)
        clear_bad(ptx_thread() - CLEAN_WARP * 32);
    ptx_warp_barrier();
}

ENTRY(THREADS, RESIDENT) heed_attend(HEED_GRID_CONSTANT const heed_cuda_mapped_args args)
{
    u32 loads = ptx_thread() >= CONSUMER_THREADS;
    loader l;
    l.next.stage = l.next.parity = 0;
    begin(&args);
    if (LOADS_FIRST && loads)
        start_loads(&args, ptx_thread() / 32, &l);
    ptx_barrier(); /* one place for all */
    if (PAIR > 1)
        ptx_cluster_arrive();
    if (loads) {
        if (CONSUMERS > 1)
            ptx_setmaxnreg_dec(LOADER_REGISTERS);
        load(&args, &l);
    } else {
        if (CONSUMERS > 1)
            ptx_setmaxnreg_inc(CONSUMER_REGISTERS);
        if (RESIDENT > 1)
            ptx_griddepcontrol_wait(); /* asking barriers meanwhile would keep others from working
                                        */
        u32 began = delay_begin();
        compute(&args);
        delay_end(began);
    }
}
