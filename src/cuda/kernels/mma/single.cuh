/*
 * mma/single.cuh - the products of one tile of keys for float32 elements
 *
 * Tensor cores truncate sums, which would accumulate over many additions. So sums of the larger
 * products (single_mma.cuh) restart every SUM8 times 8 columns of Q, and with every tile of V, and
 * are added up in float32; the smaller ones are summed separately.
 *
 * The order of the sum over keys does not matter: with element k of a sum as key 2k, and k + 4 as
 * key 2k + 1, a lane's weights are already where its scores are. Neither does the order of columns
 * of V: column g of two adjacent products is 2g and 2g + 1 of V, which a lane loads at once.
 */
#ifndef HEED_MMA_SINGLE_CUH
#define HEED_MMA_SINGLE_CUH

#include "mma/direct.cuh"
#include "mma/place.cuh"
#include "softmax.cuh"

#if HEED_F32

#include "single_mma.cuh"

#define SUM8 4
#define V16 (V8 / 2)
#define TILE8 (HEED_TILE_KEYS / 8)
#define TILE_STEPS (TILE8 / STEP8)

/* Adds a product to the sums of its larger and of its smaller part. */
HEED_DEVICE void single_multiply(float high[4], float low[4], const single_left *a,
                                 const single_right *b, const int first_high, const int first_low)
{
#if SPLITS
    single_mma(low, a->low, b->high, first_low);
    single_mma(low, a->high, b->low, 0);
#else
    (void)low;
    (void)first_low;
#endif
    single_mma(high, a->high, b->high, first_high);
}

/* Partial sums of the products of scores. */
typedef struct score_sums {
    float high[ROWS16][KEYS8][4]; /* since the last restart */
    float low[ROWS16][KEYS8][4];
} score_sums;

/* The products of STEP8 times 8 columns of Q, from 8 * @kk on, with those of all keys of a tile:
 * after the last ones of a part the sum is added to @s, or overwrites it. */
HEED_DEVICE void multiply_k(float s[ROWS16][KEYS8][4], score_sums *sums, u32 q[STEP8][ROWS16][4],
                            tile_source from, u32 kk)
{
    const int end = kk + STEP8, last = end == QK16;
    single_left left[ROWS16];
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * STEP8; i++)
        split_left(&left[i / STEP8], q[i % STEP8][i / STEP8], i % STEP8);
    HEED_UNROLL
    for (int nt = 0; nt < KEYS16; nt++) {
        u32 k[STEP8][4];
        HEED_UNROLL
        for (u32 half = 0; half < STEP8; half++)
            load_k_fragments(k[half], from, nt, kk + half);
        HEED_UNROLL
        for (int n = 2 * nt; n < 2 * nt + 2; n++) {
            single_right right;
            HEED_UNROLL
            for (int half = 0; half < STEP8; half++)
                split_right(&right, k[half][n % 2 * 2], k[half][n % 2 * 2 + 1], half);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++)
                single_multiply(sums->high[mt][n], sums->low[mt][n], &left[mt], &right,
                                kk % SUM8 == 0, kk == 0);
        }
    }
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * KEYS8 * 4 && (last || end % SUM8 == 0); i++) {
        const int mt = i / 4 / KEYS8, nt = i / 4 % KEYS8, n = i % 4;
        float part = sums->high[mt][nt][n];
        if (SPLITS && last)
            part += sums->low[mt][nt][n];
        s[mt][nt][n] = kk < SUM8 ? part : s[mt][nt][n] + part;
    }
}

/* Adds 16 columns of the values of a tile, weighted with @left. */
HEED_DEVICE void multiply_values(state *st, const single_left left[ROWS16][TILE_STEPS],
                                 tile_source from, u32 column16)
{
    float high[ROWS16][2][4], low[ROWS16][2][4];
    HEED_UNROLL
    for (u32 kk = 0; kk < TILE_STEPS; kk++) {
        heed_u32x2 even[STEP8], odd[STEP8];
        HEED_UNROLL
        for (u32 half = 0; half < STEP8; half++)
            load_values(&even[half], &odd[half], from, kk * STEP8 + half, column16);
        HEED_UNROLL
        for (int n = 0; n < 2; n++) {
            single_right right;
            HEED_UNROLL
            for (int half = 0; half < STEP8; half++)
                split_right(&right, even[half].v[n], odd[half].v[n], half);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++)
                single_multiply(high[mt][n], low[mt][n], &left[mt][kk], &right, kk == 0, kk == 0);
        }
    }
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * 8; i++) {
        const int mt = i / 8, n = i / 4 % 2;
        float sum = high[mt][n][i % 4];
        if (SPLITS)
            sum += low[mt][n][i % 4];
        st->o[mt][2 * column16 + n][i % 4] += sum;
    }
}

/* The same for all columns, with the weights of all keys of a tile. */
HEED_DEVICE void multiply_tile(state *st, u32 p[ROWS16][TILE8][4], tile_source from)
{
    single_left left[ROWS16][TILE_STEPS];
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * TILE8; i++)
        split_left(&left[i / TILE8][i % TILE8 / STEP8], p[i / TILE8][i % TILE8], i % STEP8);
    HEED_UNROLL
    for (u32 column16 = 0; column16 < V16; column16++)
        multiply_values(st, left, from, column16);
}

#if SCORE_PARTS == 1

HEED_DEVICE void multiply_v(state *st, weights *w, tile_source from)
{
    multiply_tile(st, w->p, from);
}

#endif

/* Adds the weights of a tile whose values have been added. */
HEED_DEVICE void add_weights(state *st, const weights *w)
{
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++)
        st->sum[i / 2][i % 2] += w->sum[i / 2][i % 2];
}

#endif

#endif /* HEED_MMA_SINGLE_CUH */
