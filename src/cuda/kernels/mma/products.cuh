/*
 * mma/products.cuh - the products of one tile of keys: scores, and the sums of values
 */
#ifndef HEED_MMA_PRODUCTS_CUH
#define HEED_MMA_PRODUCTS_CUH

#include "mma/direct.cuh"
#include "mma/place.cuh"
#include "mma/single.cuh"
#include "softmax.cuh"
#include "tile.cuh"

/* @lane: the lane's offset in the warp's rows of Q. */
HEED_DEVICE void load_q_fragments(u32 q[ROWS16][4], u32 lane, u32 kk)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++)
        ptx_ldmatrix_x4(q[mt], tile_lane_at(lane, HEED_BLOCK_ROWS, QK_PAD, mt, kk));
}

#if !HEED_F32

/* Sums are split into parts of this many times 16 columns, because tensor cores round each step of
 * a sum towards zero. */
#define SUM16 16

/* The products of 16 columns of Q with those of all keys of a tile, added to @s; the first ones of
 * a part overwrite it. */
HEED_DEVICE void multiply_k(half_sum s[ROWS16][KEYS8], u32 q[ROWS16][4], tile_source from, u32 kk)
{
    HEED_UNROLL
    for (int nt = 0; nt < KEYS16; nt++) {
        u32 k[4];
        load_k_fragments(k, from, nt, kk);
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            if (kk % SUM16 == 0) {
                half_mma_first(s[mt][2 * nt], q[mt], k);
                half_mma_first(s[mt][2 * nt + 1], q[mt], k + 2);
            } else {
                half_mma(s[mt][2 * nt], q[mt], k);
                half_mma(s[mt][2 * nt + 1], q[mt], k + 2);
            }
        }
    }
}

#if HEED_ACC16

HEED_DEVICE void unpack_scores(float s[ROWS16][KEYS8][4], half_sum sums[ROWS16][KEYS8])
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int nt = 0; nt < KEYS8; nt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++) {
                s[mt][nt][2 * h] = ptx_unpack_f16_lo(sums[mt][nt][h]);
                s[mt][nt][2 * h + 1] = ptx_unpack_f16_hi(sums[mt][nt][h]);
            }
        }
    }
}

HEED_DEVICE void add_half_sum(float o[4], const half_sum sum)
{
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        o[2 * h] += ptx_unpack_f16_lo(sum[h]);
        o[2 * h + 1] += ptx_unpack_f16_hi(sum[h]);
    }
}

/* Half precision is only used for the sum of a tile, so long sums stay accurate. */
HEED_DEVICE void multiply_v(state *st, weights *w, tile_source from)
{
    HEED_UNROLL
    for (int dt = 0; dt < V8 / 2; dt++) {
        half_sum sums[ROWS16][2];
        HEED_UNROLL
        for (int kk = 0; kk < KEYS16; kk++) {
            u32 v[4];
            load_v_fragments(v, from, kk, dt);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++) {
                HEED_UNROLL
                for (int i = 0; i < 2; i++) {
                    if (kk == 0)
                        half_mma_first(sums[mt][i], w->p[mt][kk], v + 2 * i);
                    else
                        half_mma(sums[mt][i], w->p[mt][kk], v + 2 * i);
                }
            }
        }
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            add_half_sum(st->o[mt][2 * dt], sums[mt][0]);
            add_half_sum(st->o[mt][2 * dt + 1], sums[mt][1]);
        }
    }
}

#else

HEED_DEVICE void multiply_v(state *st, weights *w, tile_source from)
{
    HEED_UNROLL
    for (int kk = 0; kk < KEYS16; kk++) {
        HEED_UNROLL
        for (int dt = 0; dt < V8 / 2; dt++) {
            u32 v[4];
            load_v_fragments(v, from, kk, dt);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++) {
                half_mma(st->o[mt][2 * dt], w->p[mt][kk], v);
                half_mma(st->o[mt][2 * dt + 1], w->p[mt][kk], v + 2);
            }
        }
    }
}

#endif

#endif

#endif /* HEED_MMA_PRODUCTS_CUH */
