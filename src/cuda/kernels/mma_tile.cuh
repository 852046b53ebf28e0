/*
 * mma_tile.cuh - what a warp does to one tile of keys: scores, softmax, and the sums of values
 */
#ifndef HEED_MMA_TILE_CUH
#define HEED_MMA_TILE_CUH

#include "half.cuh"
#include "mma_place.cuh"
#include "tile.cuh"

/* The maximum of no logits: the least finite number and not -infinity, so that differences of
 * maxima are never NaN. */
#define NO_MAX (-3.402823466e+38f)

/* A row's running maximum may fall behind the true one by this factor, as a power of two, before
 * sums are scaled anew. Weights stay below 2^8, well within float16; but where that is what sums
 * are made in, weights above 1 would be waste of its range. */
#if HEED_ACC16
#define LAG 0.0f
#else
#define LAG 8.0f
#endif

/* What a warp computes, in fragments of mma.m16n8k16. */
typedef struct state {
    float o[ROWS16][V8][4];
    float max[ROWS16][2]; /* of the logits, to base 2, of rows g and g + 8, or up to LAG less */
    float sum[ROWS16][2]; /* of this lane's columns */
} state;

typedef struct weights {
    u32 p[ROWS16][KEYS16][4];
} weights;

HEED_DEVICE void clear(state *st)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            st->max[mt][h] = NO_MAX;
            st->sum[mt][h] = 0.0f;
        }
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++)
                st->o[mt][dt][i] = 0.0f;
        }
    }
}

/* @lane: where the lane looks in the warp's rows of Q. */
HEED_DEVICE void load_q_fragments(u32 q[ROWS16][4], u32 lane, u32 kk)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++)
        ptx_ldmatrix_x4(q[mt], tile_lane_at(lane, HEED_M, QK_PAD, mt, kk));
}

/* The products of 16 columns of Q with those of all keys of a tile, added to @s; the first ones, of
 * @kk 0, take the place of what was there. */
HEED_DEVICE void multiply_k(half_sum s[ROWS16][KEYS8], u32 q[ROWS16][4], u32 lane, u32 kk)
{
    HEED_UNROLL
    for (int nt = 0; nt < KEYS16; nt++) {
        u32 k[4];
        ptx_ldmatrix_x4(k, tile_lane_at(lane, HEED_N, QK_PAD, nt, kk));
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            if (kk == 0) {
                half_mma_first(s[mt][2 * nt], q[mt], k);
                half_mma_first(s[mt][2 * nt + 1], q[mt], k + 2);
            } else {
                half_mma(s[mt][2 * nt], q[mt], k);
                half_mma(s[mt][2 * nt + 1], q[mt], k + 2);
            }
        }
    }
}

/* Takes the keys that a row does not see out of the scores of a tile that begins with @key. */
HEED_DEVICE void mask_scores(const heed_cuda_args *args, const place *at, float s[ROWS16][KEYS8][4],
                             u32 key)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            u32 limit = row_limit(args, at, mt, h);
            u32 seen = limit > key ? limit - key : 0;
            HEED_UNROLL
            for (int nt = 0; nt < KEYS8; nt++) {
                HEED_UNROLL
                for (int i = 0; i < 2; i++)
                    if (nt * 8 + at->lane % 4 * 2 + i >= seen)
                        s[mt][nt][2 * h + i] = -ptx_infinity();
            }
        }
    }
}

/* Scales the sums of rows whose maximum was raised from @old. */
HEED_DEVICE void scale_sums(state *st, float old[ROWS16][2])
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        float factor[2];
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            factor[h] = st->max[mt][h] == old[mt][h] ? 1.0f : ptx_ex2(old[mt][h] - st->max[mt][h]);
            st->sum[mt][h] *= factor[h];
        }
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++)
                st->o[mt][dt][i] *= factor[i / 2];
        }
    }
}

/* Brings the running maxima up to date with the scores, and the sums along if need be. No branch
 * but the last one, so that rows are worked on side by side. */
HEED_DEVICE void raise_max(state *st, float s[ROWS16][KEYS8][4], float scale)
{
    float top[ROWS16][2], old[ROWS16][2];
    int raised = 0;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++)
            top[mt][h] = ptx_max(s[mt][0][2 * h], s[mt][0][2 * h + 1]);
    }
    HEED_UNROLL
    for (int nt = 1; nt < KEYS8; nt++) {
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                top[mt][h] = ptx_max(top[mt][h], ptx_max(s[mt][nt][2 * h], s[mt][nt][2 * h + 1]));
        }
    }
    HEED_UNROLL
    for (int turn = 1; turn < 4; turn *= 2) {
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                top[mt][h] = ptx_max(top[mt][h], ptx_shfl_xor(top[mt][h], turn));
        }
    }
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float now = top[mt][h] * scale;
            old[mt][h] = st->max[mt][h];
            int raise = now > old[mt][h] + LAG;
            raised |= raise;
            st->max[mt][h] = raise ? now : old[mt][h];
        }
    }
    if (ptx_vote_any(raised))
        scale_sums(st, old);
}

/* The weights of 8 keys. */
HEED_DEVICE void exponentiate(state *st, weights *w, float s[ROWS16][KEYS8][4], float scale, int nt)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float low = ptx_ex2(s[mt][nt][2 * h] * scale - st->max[mt][h]);
            float high = ptx_ex2(s[mt][nt][2 * h + 1] * scale - st->max[mt][h]);
            st->sum[mt][h] += low + high;
            w->p[mt][nt / 2][nt % 2 * 2 + h] = half_pack(low, high);
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

/* Half precision is for the sum of a tile only, so that long sums keep their accuracy. */
HEED_DEVICE void multiply_v(state *st, weights *w, u32 lane)
{
    HEED_UNROLL
    for (int dt = 0; dt < V8 / 2; dt++) {
        half_sum sums[ROWS16][2];
        HEED_UNROLL
        for (int kk = 0; kk < KEYS16; kk++) {
            u32 v[4];
            ptx_ldmatrix_x4_trans(v, tile_lane_at(lane, HEED_N, V_PAD, kk, dt));
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

HEED_DEVICE void multiply_v(state *st, weights *w, u32 lane)
{
    HEED_UNROLL
    for (int kk = 0; kk < KEYS16; kk++) {
        HEED_UNROLL
        for (int dt = 0; dt < V8 / 2; dt++) {
            u32 v[4];
            ptx_ldmatrix_x4_trans(v, tile_lane_at(lane, HEED_N, V_PAD, kk, dt));
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++) {
                half_mma(st->o[mt][2 * dt], w->p[mt][kk], v);
                half_mma(st->o[mt][2 * dt + 1], w->p[mt][kk], v + 2);
            }
        }
    }
}

#endif

#endif /* HEED_MMA_TILE_CUH */
