/*
 * wide/walk.cuh - the main loop of the two warpgroups of attn_wide.cu over the tiles of keys
 *
 * Each computes the scores of half a tile's keys, and accumulates half the columns of a slice. So
 * they exchange the maxima of rows, and store the weights in shared memory, from which the products
 * with V read them.
 */
#ifndef HEED_WIDE_WALK_CUH
#define HEED_WIDE_WALK_CUH

#include "wide/place.cuh"

#include "softmax.cuh"
#include "tile.cuh"

/* A thread's state in the main loop. */
typedef struct walk {
    const heed_cuda_args *args;
    place at;
    ring next;
    u32 base; /* descriptor of the beginning of shared memory, */
    u32 ring; /* and that of the warpgroup's ring */
} walk;

/* The scores of a part of a tile. */
typedef struct scores {
    float s[ROWS16][KEYS8][4];
} scores;

HEED_DEVICE void consumers_barrier(void)
{
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
}

/* ---- Pieces ---- */

/* Waits for the next piece. Returns the descriptor of its slot. */
HEED_DEVICE u32 await_piece(const walk *w)
{
    ptx_mbarrier_wait(full_barrier(w->at.half, w->next.slot), w->next.parity);
    ptx_wgmma_fence();
    return w->ring + w->next.slot * (PIECE_BYTES / 16);
}

/* The warp no longer reads a slot. */
HEED_DEVICE void release(const walk *w, u32 slot)
{
    if (w->at.lane == 0)
        ptx_mbarrier_arrive(empty_barrier(w->at.half, slot));
}

/* Called when the products with a piece have been started. Releases the previous piece, unless this
 * is the @first one of several. */
HEED_DEVICE void piece_started(walk *w, const int first)
{
    u32 before = w->next.slot == 0 ? SLOTS - 1 : w->next.slot - 1;
    ptx_wgmma_commit();
    if (!first) {
        ptx_wgmma_wait(1);
        release(w, before);
    }
    next_slot(&w->next);
}

/* Waits for the products with all pieces, and releases the last one. */
HEED_DEVICE void pieces_done(const walk *w)
{
    ptx_wgmma_wait(0);
    release(w, w->next.slot == 0 ? SLOTS - 1 : w->next.slot - 1);
}

/* ---- Products ---- */

/* One step of scores, */
HEED_DEVICE void score_step(float *d, u64 a, u64 b, int add)
{
    if (PART_KEYS == 128)
        ptx_wgmma_n128_ss(d, a, b, add);
    else
        ptx_wgmma_n64_ss(d, a, b, add);
}

/* and of values. */
HEED_DEVICE void value_step(float *d, u64 a, u64 b)
{
    if (ABLATED(ABLATE_NO_PRODUCTS))
        return;
    if (HALF_COLUMNS == 256)
        ptx_wgmma_n256_ss_across(d, a, b, 1);
    else
        ptx_wgmma_n192_ss_across(d, a, b, 1);
}

/* Replaces scores by elements of the piece, so no two are the same. */
HEED_DEVICE void take_keys(const walk *w, scores *x)
{
    u32 piece = slot_at(w->at.half, w->next.slot), thread = w->at.warp * 32 + w->at.lane;
    HEED_UNROLL
    for (u32 nt = 0; nt < KEYS8; nt++) {
        heed_u32x4 k = ptx_ld_shared_16(piece +
                                        (nt * GROUP_THREADS + thread) % (BOX_BYTES / 16) * 16);
        HEED_UNROLL
        for (u32 i = 0; i < 4; i++)
            x->s[0][nt][i] = ptx_as_f32(k.v[i]);
    }
    ptx_warp_barrier();
}

/* Computes the contribution of @count panels from @panel on to the scores of a part. */
HEED_DEVICE void sum_panels(walk *w, scores *x, u32 panel, const u32 count)
{
    u32 q = w->base + panel * (GROUP_ROWS * PANEL_ROW / 16);
    HEED_UNROLL
    for (u32 i = 0; i < count; i += PIECE_PANELS) {
        u32 k = await_piece(w);
        if (ABLATED(ABLATE_NO_PRODUCTS))
            take_keys(w, x);
        HEED_UNROLL
        for (u32 kk = 0;
             !ABLATED(ABLATE_NO_PRODUCTS) && kk < 4 * PIECE_PANELS && i * 4 + kk < count * 4; kk++)
            score_step(
                &x->s[0][0][0],
                descriptor(q, (i + kk / 4) * GROUP_ROWS * PANEL_ROW + kk % 4 * 32, 8 * PANEL_ROW),
                descriptor(k, kk / 4 * PART_KEYS * PANEL_ROW + kk % 4 * 32, 8 * PANEL_ROW),
                i + kk > 0);
        piece_started(w, i == 0);
    }
    pieces_done(w);
    ptx_wgmma_done(&x->s[0][0][0], KEYS8 * 4);
}

/* The same for all parts, added to @x. */
HEED_DEVICE void add_panels(walk *w, scores x[PARTS], u32 panel, const u32 count)
{
    HEED_UNROLL
    for (int part = 0; part < PARTS; part++) {
        scores more;
        sum_panels(w, &more, panel, count);
        HEED_UNROLL
        for (int i = 0; i < KEYS8 * 4; i++)
            x[part].s[0][i / 4][i % 4] += more.s[0][i / 4][i % 4];
    }
}

/* Computes the scores of the warpgroup's parts of a tile. */
HEED_DEVICE void make_scores(walk *w, scores x[PARTS])
{
    HEED_UNROLL
    for (int part = 0; part < PARTS; part++)
        sum_panels(w, &x[part], 0, SUM_PANELS);
    HEED_NO_UNROLL
    for (u32 panel = SUM_PANELS; panel + SUM_PANELS <= QK_PANELS; panel += SUM_PANELS)
        add_panels(w, x, panel, SUM_PANELS);
    if (QK_PANELS % SUM_PANELS != 0)
        add_panels(w, x, QK_PANELS / SUM_PANELS * SUM_PANELS, QK_PANELS % SUM_PANELS);
}

/* Adds the values of tile @j to the sums of a slice. */
HEED_DEVICE void add_values(walk *w, state *st, u32 j)
{
    u32 pieces = value_pieces(&w->at, j);
    HEED_NO_UNROLL
    for (u32 i = 0; i < pieces; i++) {
        u32 v = await_piece(w), first = i * VALUE_KEYS;
        u32 p = w->base + (WEIGHTS_AT + first / 64 * GROUP_ROWS * PANEL_ROW + first % 64 * 2) / 16;
        v |= BOX_BYTES / 16 << 16;
        HEED_UNROLL
        for (u32 kk = 0; kk < VALUE_KEYS / 16; kk++)
            value_step(&st->o[0][0][0], descriptor(p, kk * 32, 8 * PANEL_ROW),
                       descriptor(v, kk * 16 * PANEL_ROW, 8 * PANEL_ROW));
        piece_started(w, i == 0);
    }
    pieces_done(w);
    ptx_wgmma_done(&st->o[0][0][0], V8 * 4);
}

/* ---- Weights ---- */

/* Finds the largest score of each row in the tile, over both warpgroups' parts. */
HEED_DEVICE void share_tops(const walk *w, scores x[PARTS], float top[ROWS16][2])
{
    tile_bases bases;
    heed_u32x2 own;
    find_tops(x[0].s, &bases, w->args->scale, top);
    HEED_UNROLL
    for (int part = 1; part < PARTS; part++) {
        float more[ROWS16][2];
        find_tops(x[part].s, &bases, w->args->scale, more);
        HEED_UNROLL
        for (int h = 0; h < 2; h++)
            top[0][h] = ptx_max(top[0][h], more[0][h]);
    }
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        own.v[h] = ptx_as_u32(top[0][h]);
    ptx_st_shared_8(left_at(&w->at, MAX_AT, w->at.half), own);
    consumers_barrier(); /* and no warp still reads weights, or Q if there is a single tile */
    heed_u32x2 other = ptx_ld_shared_8(left_at(&w->at, MAX_AT, 1 - w->at.half));
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        top[0][h] = ptx_max(top[0][h], ptx_as_f32(other.v[h]));
}

/* Stores the weights of a part, in panels of 64 keys, for the products. */
HEED_DEVICE void leave_weights(const walk *w, state *st, scores *x, const u32 part)
{
    tile_bases bases;
    u32 row = w->at.warp * 16 + w->at.lane % 16;
    u32 chunk = part_key(part, w->at.half) / 8 + w->at.lane / 16;
    HEED_UNROLL
    for (int kk = 0; kk < KEYS16; kk++) {
        weights p;
        exponentiate(st, &p, x->s, &bases, w->args->scale, 2 * kk);
        exponentiate(st, &p, x->s, &bases, w->args->scale, 2 * kk + 1);
        ptx_stmatrix_x4(ptx_shared_base() + WEIGHTS_AT +
                            tile_at(GROUP_ROWS, HEED_TILE_KEYS, row, chunk + 2 * (u32)kk),
                        p.p[0][kk]);
    }
}

/* Computes the weights of tile @j, and rescales the sums to its maxima. */
HEED_DEVICE void make_weights(walk *w, state *st, u32 j)
{
    scores x[PARTS];
    float top[ROWS16][2], old[ROWS16][2];
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        consumers_barrier();
    make_scores(w, x);
    HEED_UNROLL
    for (u32 part = 0; part < PARTS; part++)
        if (j >= w->at.full)
            mask_scores(w->args, &w->at, x[part].s,
                        tile_key(&w->at, j) + part_key(part, w->at.half));
    share_tops(w, x, top);
    if (raise_tops(st, top, w->args->scale, old) && !WHOLE)
        scale_sums(st, old);
    HEED_UNROLL
    for (u32 part = 0; part < PARTS; part++)
        leave_weights(w, st, &x[part], part);
    ptx_fence_async();
    consumers_barrier(); /* all weights are stored */
}

/* ---- Slices ---- */

/* With a single tile: its weights, before the first slice, */
HEED_DEVICE void begin_whole(walk *w, state *st)
{
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        st->max[0][h] = NO_MAX;
        st->sum[0][h] = 0.0f;
    }
    if (w->at.tiles > 0)
        make_weights(w, st, 0);
}

/* and the sums of a slice; @sum: those of weights. */
HEED_DEVICE void walk_whole(walk *w, state *st, const float sum[2])
{
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        st->sum[0][h] = sum[h];
    HEED_UNROLL
    for (int i = 0; i < V8 * 4; i++)
        st->o[0][i / 4][i % 4] = 0.0f;
    if (w->at.tiles > 0)
        add_values(w, st, 0);
}

/* Otherwise each slice processes all tiles. */
HEED_DEVICE void walk_tiles(walk *w, state *st)
{
    clear(st);
    HEED_NO_UNROLL
    for (u32 j = 0; j < w->at.tiles; j++) {
        make_weights(w, st, j);
        add_values(w, st, j);
    }
}

#endif /* HEED_WIDE_WALK_CUH */
