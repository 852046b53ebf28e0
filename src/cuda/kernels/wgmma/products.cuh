/*
 * wgmma/products.cuh - the products of a consumer warpgroup with one tile of keys
 */
#ifndef HEED_WGMMA_PRODUCTS_CUH
#define HEED_WGMMA_PRODUCTS_CUH

#include "wgmma/place.cuh"

#define HEED_ACC16 0 /* products are summed in float32 */

#include "softmax.cuh"

/* One step of scores: d = a b of the tile's width, plus d if @add. */
HEED_DEVICE void score_step(float *d, u64 a, u64 b, int add)
{
#if HEED_TILE_KEYS == 64
    ptx_wgmma_n64_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 80
    ptx_wgmma_n80_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 96
    ptx_wgmma_n96_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 112
    ptx_wgmma_n112_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 128
    ptx_wgmma_n128_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 144
    ptx_wgmma_n144_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 160
    ptx_wgmma_n160_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 176
    ptx_wgmma_n176_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 192
    ptx_wgmma_n192_ss(d, a, b, add);
#elif HEED_TILE_KEYS == 224
    ptx_wgmma_n224_ss(d, a, b, add);
#else
    ptx_wgmma_n256_ss(d, a, b, add);
#endif
}

HEED_DEVICE void value_step(float *d, const u32 a[4], u64 b)
{
#if V_COLUMNS == 64
    ptx_wgmma_n64_rs(d, a, b, 1);
#elif V_COLUMNS == 96
    ptx_wgmma_n96_rs(d, a, b, 1);
#elif V_COLUMNS == 128
    ptx_wgmma_n128_rs(d, a, b, 1);
#elif V_COLUMNS == 192
    ptx_wgmma_n192_rs(d, a, b, 1);
#else
    ptx_wgmma_n256_rs(d, a, b, 1);
#endif
}

/* Replaces scores by elements of the tile of K, so no two are the same. */
HEED_DEVICE void take_keys(float s[ROWS16][KEYS8][4], u32 k)
{
    HEED_UNROLL
    for (u32 nt = 0; nt < KEYS8; nt++) {
        u32 chunk = nt * GROUP_THREADS % (K_BYTES / 16) + ptx_thread() % GROUP_THREADS;
        heed_u32x4 x = ptx_ld_shared_16(k + chunk * 16);
        HEED_UNROLL
        for (int i = 0; i < 4; i++)
            s[0][nt][i] = ptx_as_f32(x.v[i]);
    }
    ptx_warp_barrier();
}

/* The panel where the @kk-th 16 columns begin. */
HEED_DEVICE u32 panel_of(u32 kk)
{
    return kk / 4 * (64 / PANEL_COLUMNS) + kk % 4 * 16 / PANEL_COLUMNS;
}

/* Descriptors of rows of Q, and of tiles of K and of V, at @smem. Without a swizzle a step of
 * scores has columns of two panels, and for values the two distances are swapped. */
HEED_DEVICE u32 describe_q(u32 smem)
{
    return describe(smem, PANEL_COLUMNS < 16 ? GROUP_ROWS * PANEL_ROW : 0);
}

HEED_DEVICE u32 describe_k(u32 smem)
{
    return describe(smem, PANEL_COLUMNS < 16 ? HEED_TILE_KEYS * PANEL_ROW : 0);
}

HEED_DEVICE u32 describe_v(u32 smem)
{
    return describe(smem, PANEL_COLUMNS == 8 ? 8 * PANEL_ROW : HEED_TILE_KEYS * PANEL_ROW);
}

/* True if the addresses of barriers and tiles are kept from tile to tile instead of computed from
 * the stage number: nothing else is between the end of one tile's values and the start of the next
 * one's scores. With HEED_STEP_ORDER 2 there is other work, and no spare registers at head dim
 * 192. */
#define KEPT (HEED_STEP_ORDER != 2)

/* A number that is the same in all lanes, kept in a register: otherwise it would be recomputed at
 * each use. */
HEED_DEVICE u32 keep(u32 x)
{
    return KEPT ? ptx_shfl_idx_u32(x, 0) : x;
}

/* A tile of K and V: its stage, the stage's barrier K_FULL, with the others next to it, and the
 * descriptor of K. */
typedef struct tile {
    ring at;
    u32 barrier;
    u32 k;
} tile;

HEED_DEVICE tile tile_at(ring at)
{
    tile t;
    t.at = at;
    t.barrier = keep(stage_barrier(K_FULL, at.stage));
    t.k = keep(describe_k(k_tile(at)));
    return t;
}

/* Moves to the team's next tile. */
HEED_DEVICE void tile_advance(tile *t)
{
    u32 before = t->at.stage;
    ring_advance(&t->at, HEED_KEY_GROUPS);
    u32 back = t->at.stage <= before ? HEED_STAGES : 0;
    t->barrier += (HEED_KEY_GROUPS - back) * 8;
    t->k += (HEED_KEY_GROUPS - back) * (STAGE_BYTES / 16);
}

HEED_DEVICE u32 tile_barrier(const tile *t, u32 which)
{
    return KEPT ? t->barrier + (which - K_FULL) * HEED_STAGES * 8
                : stage_barrier(which, t->at.stage);
}

HEED_DEVICE u32 tile_k(const tile *t)
{
    return KEPT ? t->k : describe_k(k_tile(t->at));
}

/* Starts the scores of the tile with the rows of Q of descriptor @q. */
HEED_DEVICE void start_scores(float s[ROWS16][KEYS8][4], u32 q, const tile *t)
{
    if (ABLATED(ABLATE_EXTRA_BARRIER))
        ptx_barrier_named((int)(WARPGROUP_BARRIER + ptx_thread() / GROUP_THREADS), GROUP_THREADS);
    if (ABLATED(ABLATE_NO_PRODUCTS)) {
        take_keys(s, k_tile(t->at));
        return;
    }
    u32 k = tile_k(t);
    HEED_UNROLL
    for (u32 kk = 0; kk < QK16; kk++) {
        u32 panel = panel_of(kk), within = kk % 4 * 32 % PANEL_ROW;
        score_step(
            &s[0][0][0], descriptor(q, panel * GROUP_ROWS * PANEL_ROW + within, 8 * PANEL_ROW),
            descriptor(k, panel * HEED_TILE_KEYS * PANEL_ROW + within, 8 * PANEL_ROW), kk > 0);
    }
    ptx_wgmma_commit();
}

/* Starts adding the tile's values to the sums, weighted: those of the keys from 8 * @first up to
 * 8 * @end, which are even. */
HEED_DEVICE void start_values(state *st, weights *w, const tile *t, int first, int end)
{
    u32 v = tile_k(t) + (describe_v(K_BYTES) - describe_k(0));
    if (ABLATED(ABLATE_NO_PRODUCTS))
        return;
    HEED_UNROLL
    for (int kk = first / 2; kk < end / 2; kk++)
        value_step(&st->o[0][0][0], w->p[0][kk],
                   descriptor(v, (u32)kk * 16 * PANEL_ROW,
                              (PANEL_COLUMNS == 8 ? HEED_TILE_KEYS : 8) * PANEL_ROW));
    ptx_wgmma_commit();
}

/* Marks the scores as ready; nothing reads them before. */
HEED_DEVICE void scores_done(float s[ROWS16][KEYS8][4])
{
    ptx_wgmma_done(&s[0][0][0], KEYS8 * 4);
}

HEED_DEVICE void values_done(state *st)
{
    ptx_wgmma_done(&st->o[0][0][0], V8 * 4);
}

/* ---- Weights ---- */

/* Replaces the scores of all keys by their weights, and stores their sums in @sum. */
HEED_DEVICE void exponentiate_all(const state *st, float s[ROWS16][KEYS8][4],
                                  const tile_bases *bases, float scale, float sum[ROWS16][2])
{
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        sum[0][h] = 0.0f;
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++) {
        HEED_UNROLL
        for (int i = 0; i < 4; i++) {
            s[0][nt][i] = weight_of(st, bases, s[0][nt][i], scale, 0, i / 2);
            sum[0][i / 2] += s[0][nt][i];
        }
    }
}

/* Converts the weights in @s for the product. */
HEED_DEVICE void take_weights(weights *w, float s[ROWS16][KEYS8][4])
{
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++)
            w->p[0][nt / 2][nt % 2 * 2 + h] = half_pack(s[0][nt][2 * h], s[0][nt][2 * h + 1]);
    }
}

/* Both at once for the keys from 8 * @first up to 8 * @end, adding to @sum; the scores are kept. */
HEED_DEVICE void weigh(const state *st, weights *w, float s[ROWS16][KEYS8][4],
                       const tile_bases *bases, float scale, float sum[ROWS16][2], int first,
                       int end)
{
    HEED_UNROLL
    for (int nt = first; nt < end; nt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float low = weight_of(st, bases, s[0][nt][2 * h], scale, 0, h);
            float high = weight_of(st, bases, s[0][nt][2 * h + 1], scale, 0, h);
            sum[0][h] += low + high;
            w->p[0][nt / 2][nt % 2 * 2 + h] = half_pack(low, high);
        }
    }
}

HEED_DEVICE void add_sums(state *st, float sum[ROWS16][2])
{
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        st->sum[0][h] += sum[0][h];
}

/* True if the weights are usable: with too small a maximum they are just as accurate, as long as
 * none is too large for float16, which @sum, of one lane's keys, shows. False for NaN. */
#define WEIGHTS_MAX 32768.0f

HEED_DEVICE int weights_fit(float sum[ROWS16][2])
{
    return sum[0][0] <= WEIGHTS_MAX && sum[0][1] <= WEIGHTS_MAX;
}

/* ---- Scores once more ---- */

/* The address of 16 bytes of a row in panels of @rows rows, the first of which is at @smem. */
HEED_DEVICE u32 chunk_at(u32 smem, const u32 rows, u32 row, u32 chunk)
{
    (void)rows;
#if PANEL_COLUMNS != 64
    smem += chunk / PANEL_CHUNKS * rows * PANEL_ROW;
    chunk %= PANEL_CHUNKS;
#endif
    return smem + row * PANEL_ROW + (chunk ^ PANEL_TURN(row)) * 16;
}

/* The scores of the tile at @k with mma instructions of single warps, whose fragments are the same:
 * wgmma must not be in a branch. */
HEED_DEVICE void remake_scores(const place *at, float s[ROWS16][KEYS8][4], u32 q, u32 k)
{
    HEED_UNROLL
    for (int nt = 0; nt < KEYS8; nt++) {
        HEED_UNROLL
        for (int i = 0; i < 4; i++)
            s[0][nt][i] = 0.0f;
    }
    HEED_NO_UNROLL
    for (u32 kk = 0; kk < QK16; kk++) {
        u32 panel = panel_of(kk), chunk = kk % 4 * 2 % PANEL_CHUNKS, a[4];
        u32 rows = q + panel * GROUP_ROWS * PANEL_ROW,
            keys = k + panel * HEED_TILE_KEYS * PANEL_ROW;
        ptx_ldmatrix_x4(
            a, chunk_at(rows, GROUP_ROWS, at->warp * 16 + at->lane % 16, chunk + at->lane / 16));
        HEED_UNROLL
        for (int nt = 0; nt < KEYS8; nt += 2) {
            u32 key = (u32)nt * 8 + at->lane / 16 * 8 + at->lane % 8, b[4];
            ptx_ldmatrix_x4(b, chunk_at(keys, HEED_TILE_KEYS, key, chunk + at->lane / 8 % 2));
            half_mma(s[0][nt], a, b);
            half_mma(s[0][nt + 1], a, b + 2);
        }
    }
    ptx_warp_barrier(); /* all lanes have read the tile */
}

#endif /* HEED_WGMMA_PRODUCTS_CUH */
