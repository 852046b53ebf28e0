/*
 * mla/walk.cuh - the main loop of the two warpgroups of attn_mla.cu over the tiles of keys
 *
 * The first one computes the scores and weights of even tiles, the second one those of odd tiles;
 * each accumulates one half of the columns of V, over all tiles. So the weights of a tile and the
 * maxima that they are relative to are passed to the other one through shared memory, and both
 * process the tiles in the same order: their maxima are the same after each.
 */
#ifndef HEED_MLA_WALK_CUH
#define HEED_MLA_WALK_CUH

#include "mla/place.cuh"
#include "softmax.cuh"

/* A thread's state in the main loop. */
typedef struct walk {
    const heed_cuda_args *args;
    place at;
    u32 q;       /* descriptor of the block's rows */
    u32 cleaned; /* tile, if any */
} walk;

/* The scores of a tile. */
typedef struct scores {
    float s[ROWS16][KEYS8][4];
} scores;

/* The warp no longer reads a part of a stage. */
HEED_DEVICE void release(const walk *w, const u32 stage, const u32 part)
{
    if (w->at.lane == 0)
        ptx_mbarrier_arrive(empty_barrier(stage, part));
}

HEED_DEVICE void warpgroup_barrier(const u32 half)
{
    ptx_barrier_named((int)(WARPGROUP_BARRIER + half), GROUP_THREADS);
}

/* ---- Products ---- */

/* Replaces scores by elements of the panel, so no two are the same. */
HEED_DEVICE void take_keys(const walk *w, float *d, const u32 stage, const u32 panel)
{
    u32 thread = w->at.warp * 32 + w->at.lane, k = stage_at(stage) + panel * PANEL_BYTES;
    HEED_UNROLL
    for (u32 nt = 0; nt < KEYS8; nt++) {
        heed_u32x4 x = ptx_ld_shared_16(k +
                                        (nt * GROUP_THREADS + thread) % (PANEL_BYTES / 16) * 16);
        HEED_UNROLL
        for (u32 i = 0; i < 4; i++)
            d[nt * 4 + i] = ptx_as_f32(x.v[i]);
    }
    ptx_warp_barrier();
}

/* Starts the products of a panel for a tile's scores, when it has been loaded. */
HEED_DEVICE void start_panel(const walk *w, float *d, const u32 stage, u32 j, const u32 panel,
                             const int first)
{
    int cleaned = CLEANS && j == w->cleaned;
    u32 q = ptx_keep(w->q),
        k = q + (STAGES_AT + stage * STAGE_BYTES) / 16; /* otherwise each step's would be kept */
    ptx_mbarrier_wait(cleaned ? clean_barrier(panel) : full_barrier(stage, panel),
                      cleaned ? 0 : tile_parity(j));
    if (ABLATED(ABLATE_NO_PRODUCTS)) {
        take_keys(w, d, stage, panel);
        return;
    }
    ptx_wgmma_fence();
    HEED_UNROLL
    for (u32 kk = 0; kk < PANEL_COLUMNS / 16; kk++)
        ptx_wgmma_n64_ss(d, descriptor(q, panel * GROUP_ROWS * PANEL_ROW + kk * 32, 8 * PANEL_ROW),
                         descriptor(k, panel * PANEL_BYTES + kk * 32, 8 * PANEL_ROW),
                         !first || kk > 0);
}

/* The panels in the order in which they are loaded: those of the tail, */
HEED_DEVICE void start_tail(const walk *w, scores *x, const u32 stage, u32 j)
{
    start_panel(w, &x->s[0][0][0], stage, j, TAIL, 1);
    ptx_wgmma_commit();
}

/* and of the halves; waits for all. They are summed in two parts, because tensor cores round each
 * step of a sum towards zero. */
HEED_DEVICE void finish_scores(const walk *w, scores *x, const u32 stage, u32 j)
{
    scores other;
    HEED_UNROLL
    for (u32 panel = 0; panel < HALF_PANELS; panel++)
        start_panel(w, &x->s[0][0][0], stage, j, panel, 0);
    HEED_UNROLL
    for (u32 panel = HALF_PANELS; panel < TAIL; panel++)
        start_panel(w, &other.s[0][0][0], stage, j, panel, panel == HALF_PANELS);
    ptx_wgmma_commit();
    ptx_wgmma_wait(0);
    ptx_wgmma_done(&x->s[0][0][0], KEYS8 * 4);
    ptx_wgmma_done(&other.s[0][0][0], KEYS8 * 4);
    HEED_UNROLL
    for (int i = 0; i < KEYS8 * 4; i++)
        x->s[0][i / 4][i % 4] += other.s[0][i / 4][i % 4];
}

/* One step of values. */
HEED_DEVICE void value_step(float *d, const u32 a[4], u64 b)
{
    if (ABLATED(ABLATE_NO_PRODUCTS))
        return;
    ptx_wgmma_n256_rs(d, a, b, 1);
}

/* Starts adding the values of the stage's tile to the sums of warpgroup @half. */
HEED_DEVICE void start_values(state *st, weights *p, const u32 stage, const u32 half)
{
    u32 v = describe(stage_at(stage) + half * HALF_PANELS * PANEL_BYTES, PANEL_BYTES);
    ptx_wgmma_fence();
    HEED_UNROLL
    for (u32 kk = 0; kk < KEYS16; kk++)
        value_step(&st->o[0][0][0], p->p[0][kk], descriptor(v, kk * 16 * PANEL_ROW, 8 * PANEL_ROW));
    ptx_wgmma_commit();
}

/* Waits for them, but not for the @later groups that were started since. */
HEED_DEVICE void values_done(const walk *w, state *st, weights *p, const u32 stage, const u32 half,
                             const int later)
{
    ptx_wgmma_wait(later);
    ptx_wgmma_done(&st->o[0][0][0], V8 * 4);
    ptx_wgmma_done_a(&p->p[0][0][0], KEYS16 * 4);
    release(w, stage, half);
}

/* ---- Weights ---- */

/* Rescales the sums of weights to maxima that were raised from @old. */
HEED_DEVICE void scale_weights(state *st, float old[ROWS16][2])
{
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        st->sum[0][h] *= ptx_ex2(old[0][h] - st->max[0][h]);
}

/* Rescales the sums of values. */
HEED_DEVICE void scale_values(state *st, float old[ROWS16][2])
{
    float factor[2];
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        factor[h] = ptx_ex2(old[0][h] - st->max[0][h]);
    HEED_UNROLL
    for (int i = 0; i < V8 * 4; i++)
        st->o[0][i / 4][i % 4] *= factor[i / 2 % 2];
}

/* Raises the maxima to those of tile @j's scores. Returns true if sums of values must be rescaled,
 * from @old. */
HEED_DEVICE int raise(const walk *w, state *st, scores *x, float old[ROWS16][2], u32 j)
{
    tile_bases bases;
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        warpgroup_barrier(w->at.half);
    if (j >= w->at.full)
        mask_scores(w->args, &w->at, x->s, tile_key(&w->at, j));
    int raised = find_max(st, x->s, &bases, w->args->scale, old);
    scale_weights(st, old);
    return raised;
}

/* The address of the thread's weights of 16 keys. */
HEED_DEVICE u32 weights_at(const walk *w, const u32 stage, u32 kk)
{
    u32 thread = w->at.warp * 32 + w->at.lane;
    return stage_at(stage) + TAIL * PANEL_BYTES + (kk * GROUP_THREADS + thread) * 16;
}

/* Computes the weights of the tile with these scores, and stores them and the maxima for the other
 * warpgroup, whose threads have the same rows. */
HEED_DEVICE void leave_weights(const walk *w, state *st, scores *x, weights *p, const u32 stage)
{
    tile_bases bases;
    heed_u32x2 max = { { ptx_as_u32(st->max[0][0]), ptx_as_u32(st->max[0][1]) } };
    warpgroup_barrier(stage); /* all warps have read the tail */
    ptx_st_shared_8(left_at(&w->at, MAX_AT, stage), max);
    HEED_UNROLL
    for (int kk = 0; kk < KEYS16; kk++) {
        heed_u32x4 own;
        exponentiate(st, p, x->s, &bases, w->args->scale, 2 * kk);
        exponentiate(st, p, x->s, &bases, w->args->scale, 2 * kk + 1);
        HEED_UNROLL
        for (int i = 0; i < 4; i++)
            own.v[i] = p->p[0][kk][i];
        ptx_st_shared_16(weights_at(w, stage, (u32)kk), own);
    }
    ptx_fence_async(); /* the next tail is copied there */
    ptx_barrier_named_arrive((int)(READY_BARRIER + stage), CONSUMER_THREADS);
}

HEED_DEVICE void load_weights(const walk *w, weights *p, const u32 stage)
{
    HEED_UNROLL
    for (u32 kk = 0; kk < KEYS16; kk++) {
        heed_u32x4 x = ptx_ld_shared_16(weights_at(w, stage, kk));
        HEED_UNROLL
        for (int i = 0; i < 4; i++)
            p->p[0][kk][i] = x.v[i];
    }
}

/* Reads those of the other one's tile, and rescales all sums to its maxima. */
HEED_DEVICE void take_weights(const walk *w, state *st, weights *p, const u32 stage)
{
    float old[ROWS16][2];
    int raised = 0;
    ptx_barrier_named((int)(READY_BARRIER + stage), CONSUMER_THREADS);
    heed_u32x2 max = ptx_ld_shared_8(left_at(&w->at, MAX_AT, stage));
    load_weights(w, p, stage);
    ptx_warp_barrier(); /* all lanes have theirs */
    release(w, stage, TAIL_PART);
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        old[0][h] = st->max[0][h];
        st->max[0][h] = ptx_as_f32(max.v[h]);
        raised |= st->max[0][h] != old[0][h];
    }
    scale_weights(st, old);
    if (ptx_vote_any(raised))
        scale_values(st, old);
}

/* ---- The first warpgroup ---- */

/* Computes the scores of even tile @j, whose tail has been started, its weights, and the values. */
HEED_DEVICE void finish_even(const walk *w, state *st, scores *x, u32 j)
{
    weights p;
    float old[ROWS16][2];
    finish_scores(w, x, 0, j);
    int raised = raise(w, st, x, old, j);
    leave_weights(w, st, x, &p, 0);
    if (raised)
        scale_values(st, old);
    start_values(st, &p, 0, 0);
    values_done(w, st, &p, 0, 0, 0);
}

HEED_DEVICE void walk_even(const walk *w, state *st)
{
    scores first;
    weights p;
    if (w->at.tiles == 0)
        return;
    start_tail(w, &first, 0, 0);
    finish_even(w, st, &first, 0);
    HEED_NO_UNROLL
    for (u32 j = 2; j < w->at.tiles; j += 2) {
        scores x;
        take_weights(w, st, &p, 1);
        start_values(st, &p, 1, 0);
        start_tail(w, &x, 0, j);
        values_done(w, st, &p, 1, 0, 1);
        finish_even(w, st, &x, j);
    }
    if (w->at.tiles % 2 == 0) {
        take_weights(w, st, &p, 1);
        start_values(st, &p, 1, 0);
        values_done(w, st, &p, 1, 0, 0);
    }
}

/* ---- The second warpgroup ---- */

/* Computes the values of the even tile before odd tile @j, whose scores are ready, overlapped with
 * its weights; and starts its own values. */
HEED_DEVICE void start_odd(const walk *w, state *st, scores *x, weights *p, u32 j)
{
    weights before;
    float old[ROWS16][2];
    take_weights(w, st, &before, 0);
    start_values(st, &before, 0, 1);
    int raised = raise(w, st, x, old, j);
    leave_weights(w, st, x, p, 1);
    load_weights(w, p, 1); /* no registers hold both */
    ptx_warp_barrier();
    release(w, 1, TAIL_PART);
    values_done(w, st, &before, 0, 1, 0);
    if (raised)
        scale_values(st, old);
    start_values(st, p, 1, 1);
}

HEED_DEVICE void walk_odd(const walk *w, state *st)
{
    weights p;
    u32 j = 1;
    if (w->at.tiles >= 2) {
        scores x;
        start_tail(w, &x, 1, 1);
        finish_scores(w, &x, 1, 1);
        HEED_NO_UNROLL
        for (; j + 2 < w->at.tiles; j += 2) {
            scores next;
            start_odd(w, st, &x, &p, j);
            start_tail(w, &next, 1, j + 2);
            values_done(w, st, &p, 1, 1, 1);
            finish_scores(w, &next, 1, j + 2);
            x = next;
        }
        start_odd(w, st, &x, &p, j);
        values_done(w, st, &p, 1, 1, 0);
    }
    if (w->at.tiles % 2 == 1) {
        take_weights(w, st, &p, 0);
        start_values(st, &p, 0, 1);
        values_done(w, st, &p, 0, 1, 0);
    }
}

#endif /* HEED_MLA_WALK_CUH */
