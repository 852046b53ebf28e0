/*
 * wgmma_walk.cuh - how a warpgroup of attn_wgmma.cu walks through its tiles of keys, in one of
 * four orders
 */
#ifndef HEED_WGMMA_WALK_CUH
#define HEED_WGMMA_WALK_CUH

#include "wgmma_store.cuh"

#if HEED_C == 2 && (HEED_K > 1 || !HEED_CAUSAL)
#error "HEED_C 2 is for row groups, under a mask"
#endif
#if HEED_S % HEED_K != 0 || (HEED_O > 1 && HEED_S < 2 * HEED_K) || (HEED_G == 2 && HEED_K > 1) || \
    (HEED_T > 1 && HEED_R == 1)
#error \
    "HEED_S must be a multiple of HEED_K, with HEED_O 2 to 4 twice it or more; key groups need HEED_G 1, and turns several row groups"
#endif

/* All that a thread knows while it goes through the tiles. */
typedef struct walk {
    const heed_cuda_mapped_args *m;
    place at;
    u32 round;   /* of items */
    u32 q;       /* its rows in shared memory */
    ring tile;   /* the next tile of the team, */
    ring before; /* and with HEED_O 3 the one before */
    ring clean;  /* the next one of V that needs a mask */
} walk;

/* Its tile number j is the block's tile own_tile(at, j). */
HEED_DEVICE u32 own_tile(const place *at, u32 j)
{
    return HEED_C == 2 ? at->passed + j : at->key_group + j * HEED_K;
}

/* How many of the block's first @count tiles are the team's. */
HEED_DEVICE u32 own_count(const place *at, u32 count)
{
    u32 first = HEED_C == 2 ? at->passed : at->key_group;
    return count > first ? (count - first + HEED_K - 1) / HEED_K : 0;
}

/* Up to which of the block's tiles its rows need a mask. */
HEED_DEVICE u32 masked_end(const place *at)
{
    return HEED_C == 2 ? at->cut : at->masked;
}

/* The warp no longer reads what the barrier is about. */
HEED_DEVICE void release(const walk *w, u32 barrier)
{
    if (w->at.lane == 0)
        ptx_mbarrier_arrive(barrier);
}

/* Waits for the tile of V at @from, and for its cleaning if the block needs a mask for it. */
HEED_DEVICE void wait_values(walk *w, ring from, int cleaned)
{
    if (HEED_CAUSAL && cleaned) {
        ptx_mbarrier_wait(stage_barrier(V_CLEAN, w->clean.stage), w->clean.parity);
        ring_advance(&w->clean, HEED_K);
    } else {
        ptx_mbarrier_wait(stage_barrier(V_FULL, from.stage), from.parity);
    }
}

/* With HEED_C 2: is tile @j cleaned? Else those are that its rows need a mask for. */
HEED_DEVICE int is_cleaned(const walk *w, u32 j)
{
    return own_tile(&w->at, j) < w->at.masked;
}

/* Once an item's first products are done, the copy of the last one's results is over, too. */
HEED_DEVICE void release_last(const walk *w)
{
    if (HEED_G == 2 && w->round > 0)
        release_o(&w->at, q_buffer(w->round - 1, w->at.row_group));
}

/* ---- Turns: row group r goes after r - 1, and the first one after the last ---- */

HEED_DEVICE void pass_turn(const place *at)
{
    u32 next = at->row_group + 1 < HEED_R ? at->row_group + 1 : 0;
    ptx_barrier_named_arrive((int)(TURN_BARRIER + next), 2 * GROUP_THREADS);
}

HEED_DEVICE void take_turn(const place *at)
{
    ptx_barrier_named((int)(TURN_BARRIER + at->row_group), 2 * GROUP_THREADS);
}

/* ---- Steps ---- */

/* Goes past the tiles that its rows do not see, which others wait for, and as many turns. */
HEED_DEVICE void pass_tiles(walk *w)
{
#if HEED_C == 2
    HEED_NO_UNROLL
    for (u32 j = 0; j < w->at.passed; j++) {
        ptx_mbarrier_wait(stage_barrier(K_FULL, w->tile.stage), w->tile.parity);
        release(w, stage_barrier(K_EMPTY, w->tile.stage));
        wait_values(w, w->tile, j < w->at.masked);
        release(w, stage_barrier(V_EMPTY, w->tile.stage));
        ring_advance(&w->tile, 1);
        if (HEED_T > 1 && (HEED_O == 1 || j + 1 < w->at.tiles)) {
            take_turn(&w->at);
            pass_turn(&w->at);
        }
    }
#else
    (void)w;
#endif
}

HEED_DEVICE void mask_tile(const walk *w, float s[ROWS16][KEYS8][4], u32 j)
{
    mask_scores(&w->m->args, &w->at, s, tile_key(&w->at, own_tile(&w->at, j)));
}

#if HEED_O == 1

HEED_DEVICE void step(walk *w, state *st, u32 j, const int masked)
{
    float s[ROWS16][KEYS8][4], scale = w->m->args.scale;
    weights p;
    ring here = w->tile;
    ring_advance(&w->tile, HEED_K);
    ptx_mbarrier_wait(stage_barrier(K_FULL, here.stage), here.parity);
    if (HEED_T == 2)
        take_turn(&w->at);
    ptx_wgmma_fence();
    start_scores(s, w->q, k_tile(here));
    ptx_wgmma_wait(0);
    scores_done(s);
    release(w, stage_barrier(K_EMPTY, here.stage));
    if (HEED_T == 2)
        pass_turn(&w->at);
    if (masked)
        mask_tile(w, s, j);
    if (HEED_T == 3)
        take_turn(&w->at);
    raise_max(st, s, scale);
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++)
        exponentiate(st, &p, s, scale, nt);
    if (HEED_T == 3)
        pass_turn(&w->at);
    wait_values(w, here, HEED_C == 1 ? masked : is_cleaned(w, j));
    ptx_wgmma_fence();
    start_values(st, &p, v_tile(here));
    ptx_wgmma_wait(0);
    values_done(st);
    release(w, stage_barrier(V_EMPTY, here.stage));
}

HEED_DEVICE void walk_tiles(walk *w, state *st)
{
    u32 masked = own_count(&w->at, masked_end(&w->at)), tiles = own_count(&w->at, w->at.tiles),
        j = 0;
    pass_tiles(w);
    release_last(w);
    HEED_NO_UNROLL
    for (; j < masked; j++)
        step(w, st, j, 1);
    HEED_NO_UNROLL
    for (; j < tiles; j++)
        step(w, st, j, 0);
}

#elif HEED_O == 3

/* Starts the scores of the next tile. */
HEED_DEVICE void start_next(walk *w, float s[ROWS16][KEYS8][4])
{
    ptx_mbarrier_wait(stage_barrier(K_FULL, w->tile.stage), w->tile.parity);
    ptx_wgmma_fence();
    start_scores(s, w->q, k_tile(w->tile));
}

/* Turns the scores @s of tile @j, which are under way, into weights, and starts its values. Beside
 * the softmax run the values of the tile before, unless it is the @first, and the scores @next of
 * the next one, unless it is the @last. */
HEED_DEVICE void step(walk *w, state *st, weights *p, float s[ROWS16][KEYS8][4],
                      float next[ROWS16][KEYS8][4], u32 j, const int first, const int last)
{
    float old[ROWS16][2], sum[ROWS16][2], scale = w->m->args.scale;
    ring here = w->tile, before = w->before;
    int masked = own_tile(&w->at, j) < masked_end(&w->at);
    ring_advance(&w->tile, HEED_K);
    w->before = here;
    if (!last)
        start_next(w, next);
    ptx_wgmma_wait(!first + !last);
    scores_done(s);
    release(w, stage_barrier(K_EMPTY, here.stage));
    if (masked)
        mask_tile(w, s, j);
    int raised = find_max(st, s, scale, old);
    exponentiate_all(st, s, scale, s, sum);
    /* Before the wait below: its branches keep the order. */
    wait_values(w, here, HEED_C == 1 ? masked : is_cleaned(w, j));
    if (!first) {
        ptx_wgmma_wait(!last);
        values_done(st);
        scores_done(s);
        release(w, stage_barrier(V_EMPTY, before.stage));
    }
    if (raised)
        scale_sums(st, old);
    take_weights(st, p, s, sum);
    ptx_wgmma_fence();
    start_values(st, p, v_tile(here));
}

/* All tiles but the first, whose follower's scores are in @odd. */
HEED_DEVICE void walk_rest(walk *w, state *st, weights *p, float even[ROWS16][KEYS8][4],
                           float odd[ROWS16][KEYS8][4], u32 tiles)
{
    u32 j = 1;
    HEED_NO_UNROLL
    for (; j + 2 < tiles; j += 2) {
        step(w, st, p, odd, even, j, 0, 0);
        step(w, st, p, even, odd, j + 1, 0, 0);
    }
    if (j + 1 < tiles) {
        step(w, st, p, odd, even, j, 0, 0);
        step(w, st, p, even, odd, j + 1, 0, 1);
    } else {
        step(w, st, p, odd, even, j, 0, 1);
    }
}

HEED_DEVICE void walk_tiles(walk *w, state *st)
{
    u32 tiles = own_count(&w->at, w->at.tiles);
    float even[ROWS16][KEYS8][4], odd[ROWS16][KEYS8][4];
    weights p;
    pass_tiles(w);
    if (tiles > 0) {
        start_next(w, even);
        if (tiles == 1) {
            step(w, st, &p, even, odd, 0, 1, 1);
        } else {
            step(w, st, &p, even, odd, 0, 1, 0);
            walk_rest(w, st, &p, even, odd, tiles);
        }
        ptx_wgmma_wait(0);
        values_done(st);
        release(w, stage_barrier(V_EMPTY, w->before.stage));
    }
    release_last(w);
}

#else

/* Waits for the next tile of K after tile @j, if there is one. */
HEED_DEVICE void wait_next_scores(const walk *w, u32 j, u32 tiles)
{
    ring next = w->tile;
    ring_advance(&next, HEED_K);
    if (j + 1 < tiles)
        ptx_mbarrier_wait(stage_barrier(K_FULL, next.stage), next.parity);
}

/* The first tile's weights. */
HEED_DEVICE void first_step(walk *w, state *st, weights *p, u32 tiles)
{
    float s[ROWS16][KEYS8][4], scale = w->m->args.scale;
    ptx_mbarrier_wait(stage_barrier(K_FULL, w->tile.stage), w->tile.parity);
    ptx_wgmma_fence();
    start_scores(s, w->q, k_tile(w->tile));
    ptx_wgmma_wait(0);
    scores_done(s);
    release(w, stage_barrier(K_EMPTY, w->tile.stage));
    if (masked_end(&w->at) > own_tile(&w->at, 0))
        mask_tile(w, s, 0);
    raise_max(st, s, scale);
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++)
        exponentiate(st, p, s, scale, nt);
    wait_next_scores(w, 0, tiles);
}

#if HEED_O == 4

/* As the other step() below, but exponentials do not wait for the tile's maxima, which are found
 * beside them: they are made by those of the tiles before, and anew where one must be raised. */
HEED_DEVICE void step(walk *w, state *st, weights *p, u32 j, u32 tiles, const int masked,
                      int cleaned_before)
{
    float s[ROWS16][KEYS8][4], e[ROWS16][KEYS8][4], old[ROWS16][2], sum[ROWS16][2];
    float scale = w->m->args.scale;
    ring before = w->tile;
    ring_advance(&w->tile, HEED_K);
    ring here = w->tile;
    ptx_wgmma_fence();
    start_scores(s, w->q, k_tile(here));
    wait_values(w, before, cleaned_before);
    ptx_wgmma_fence();
    start_values(st, p, v_tile(before));
    ptx_wgmma_wait(1);
    scores_done(s);
    release(w, stage_barrier(K_EMPTY, here.stage));
    if (masked)
        mask_tile(w, s, j);
    exponentiate_all(st, s, scale, e, sum);
    int raised = find_max(st, s, scale, old);
    wait_next_scores(w, j, tiles);
    ptx_wgmma_wait(0);
    values_done(st);
    scores_done(e);
    release(w, stage_barrier(V_EMPTY, before.stage));
    if (raised) {
        scale_sums(st, old);
        exponentiate_all(st, s, scale, e, sum);
    }
    take_weights(st, p, e, sum);
}

#else

/* Starts the values of the tile before, whose weights are in @p, beside the scores of tile @j of
 * @tiles; ends with the weights of that. @masked: is it to be masked? @cleaned_before: was
 * V of the one before? K of the tile is there, and that of the next one is waited for before the
 * values are: the branches of that wait keep the compiler from waiting for the values before the
 * exponentials. */
HEED_DEVICE void step(walk *w, state *st, weights *p, u32 j, u32 tiles, const int masked,
                      int cleaned_before)
{
    float s[ROWS16][KEYS8][4], old[ROWS16][2], sum[ROWS16][2], scale = w->m->args.scale;
    ring before = w->tile;
    ring_advance(&w->tile, HEED_K);
    ring here = w->tile;
    if (HEED_T == 2)
        take_turn(&w->at);
    ptx_wgmma_fence();
    start_scores(s, w->q, k_tile(here));
    wait_values(w, before, cleaned_before);
    ptx_wgmma_fence();
    start_values(st, p, v_tile(before));
    if (HEED_T == 2)
        pass_turn(&w->at);
    ptx_wgmma_wait(1);
    scores_done(s);
    release(w, stage_barrier(K_EMPTY, here.stage));
    if (masked)
        mask_tile(w, s, j);
    if (HEED_T == 3)
        take_turn(&w->at);
    int raised = find_max(st, s, scale, old);
    exponentiate_all(st, s, scale, s, sum);
    if (HEED_T == 3)
        pass_turn(&w->at);
    wait_next_scores(w, j, tiles);
    ptx_wgmma_wait(0);
    values_done(st);
    scores_done(s);
    release(w, stage_barrier(V_EMPTY, before.stage));
    if (raised)
        scale_sums(st, old);
    take_weights(st, p, s, sum);
}

#endif

/* Adds the values of the last tile. */
HEED_DEVICE void last_step(walk *w, state *st, weights *p, int cleaned)
{
    wait_values(w, w->tile, cleaned);
    ptx_wgmma_fence();
    start_values(st, p, v_tile(w->tile));
    ptx_wgmma_wait(0);
    values_done(st);
    release(w, stage_barrier(V_EMPTY, w->tile.stage));
    ring_advance(&w->tile, HEED_K);
}

HEED_DEVICE void walk_tiles(walk *w, state *st)
{
    u32 masked = own_count(&w->at, masked_end(&w->at)), tiles = own_count(&w->at, w->at.tiles),
        j = 1;
    weights p;
    pass_tiles(w);
    if (tiles > 0)
        first_step(w, st, &p, tiles);
    release_last(w);
    if (tiles == 0)
        return;
    HEED_NO_UNROLL
    for (; j < masked; j++)
        step(w, st, &p, j, tiles, 1, 1);
    if (j < tiles && masked > 0)
        step(w, st, &p, j++, tiles, 0, 1);
    HEED_NO_UNROLL
    for (; j < tiles; j++)
        step(w, st, &p, j, tiles, 0, HEED_C == 2 && is_cleaned(w, j - 1));
    last_step(w, st, &p, HEED_C == 1 ? masked == tiles : is_cleaned(w, tiles - 1));
}

#endif

#endif /* HEED_WGMMA_WALK_CUH */
