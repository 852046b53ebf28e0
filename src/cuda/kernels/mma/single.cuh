/*
 * mma/single.cuh - the products of one tile of keys for float32 elements
 *
 * Tensor cores take tf32, float32 of 11 significant bits. So with HEED_PRODUCTS 3 an operand is the
 * sum of two: @high, itself to 11 bits, and @low, the rest, of which at most one bit is lost. A
 * product is high high + (high low + low high); low low is below the last bit of a float32. With
 * HEED_PRODUCTS 1 it is high high alone.
 *
 * Tensor cores cut sums off, towards zero, which many additions would show. So sums of the larger
 * products begin anew every SUM8 times 8 columns of Q, and with every tile of V, and are added up in
 * float32; the smaller ones are summed apart.
 *
 * Fragments are those of mma.m16n8k8. Its sum over keys may have any order: the weights of a lane
 * are where its scores came, if element k of a sum is key 2k, and k + 4 key 2k + 1. Columns of V may
 * have any order too: column g of two products side by side is 2g of V and 2g + 1, which a lane loads
 * at once.
 */
#ifndef HEED_MMA_SINGLE_CUH
#define HEED_MMA_SINGLE_CUH

#include "mma/direct.cuh"
#include "mma/place.cuh"
#include "softmax.cuh"

#if HEED_F32

#if HEED_PRODUCTS != 1 && HEED_PRODUCTS != 3
#error "HEED_PRODUCTS is 1 or 3, or 0 for elements of 16 bits"
#endif

#define SUM8 4
#define V16 (V8 / 2)
#define TILE8 (HEED_TILE_KEYS / 8)

/* An operand of a product: rows of it, */
typedef struct single_left {
    u32 high[4];
    u32 low[4];
} single_left;

/* and columns. */
typedef struct single_right {
    u32 high[2];
    u32 low[2];
} single_right;

/* A sum may be cut off where a half of the last bit is added. An infinity has NaN for a rest, and so
 * has NaN, so that the rows that it is in are found. */
HEED_DEVICE void split_single(u32 x, u32 *high, u32 *low)
{
#if HEED_PRODUCTS == 1
    *high = ptx_f32_to_tf32(ptx_as_f32(x));
    *low = 0;
#else
    *high = (x + 0x1000u) & 0xffffe000u;
    *low = ptx_as_u32(ptx_as_f32(x) - ptx_as_f32(*high));
#endif
}

HEED_DEVICE void split_left(single_left *left, const u32 x[4])
{
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        split_single(x[i], &left->high[i], &left->low[i]);
}

HEED_DEVICE void split_right(single_right *right, u32 x, u32 y)
{
    split_single(x, &right->high[0], &right->low[0]);
    split_single(y, &right->high[1], &right->low[1]);
}

/* d += a b, or d = a b if that is the @first. */
HEED_DEVICE void single_mma(float d[4], const u32 a[4], const u32 b[2], const int first)
{
#if HEED_ABLATE == ABLATE_NO_PRODUCTS
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        d[i] = (first ? 0.0f : d[i]) + ptx_as_f32(a[i]) * ptx_as_f32(b[i % 2]);
#else
    if (first)
        ptx_mma_tf32_first(d, a, b);
    else
        ptx_mma_tf32(d, a, b);
#endif
}

/* Adds a product to the sums of its larger and of its smaller part. */
HEED_DEVICE void single_multiply(float high[4], float low[4], const single_left *a,
                                 const single_right *b, const int first_high, const int first_low)
{
#if HEED_PRODUCTS == 3
    single_mma(low, a->low, b->high, first_low);
    single_mma(low, a->high, b->low, 0);
#else
    (void)low;
    (void)first_low;
#endif
    single_mma(high, a->high, b->high, first_high);
}

/* Sums of the products of scores, as far as they have come. */
typedef struct score_sums {
    float high[ROWS16][KEYS8][4]; /* since they began anew */
    float low[ROWS16][KEYS8][4];
} score_sums;

/* The products of 8 columns of Q with those of all keys of a tile: after the last ones of a part it
 * is added to @s, or takes the place of what was there. */
HEED_DEVICE void multiply_k(float s[ROWS16][KEYS8][4], score_sums *sums, u32 q[ROWS16][4],
                            tile_source from, u32 kk)
{
    const int last = kk == QK16 - 1;
    single_left left[ROWS16];
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++)
        split_left(&left[mt], q[mt]);
    HEED_UNROLL
    for (int nt = 0; nt < KEYS16; nt++) {
        u32 k[4];
        load_k_fragments(k, from, nt, kk);
        HEED_UNROLL
        for (int n = 2 * nt; n < 2 * nt + 2; n++) {
            single_right right;
            split_right(&right, k[n % 2 * 2], k[n % 2 * 2 + 1]);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++)
                single_multiply(sums->high[mt][n], sums->low[mt][n], &left[mt], &right,
                                kk % SUM8 == 0, kk == 0);
        }
    }
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * KEYS8 * 4 && (last || kk % SUM8 == SUM8 - 1); i++) {
        const int mt = i / 4 / KEYS8, nt = i / 4 % KEYS8, n = i % 4;
        float part = sums->high[mt][nt][n];
        if (HEED_PRODUCTS == 3 && last)
            part += sums->low[mt][nt][n];
        s[mt][nt][n] = kk < SUM8 ? part : s[mt][nt][n] + part;
    }
}

/* Adds the values of a tile, of 16 columns, weighted with @left. */
HEED_DEVICE void multiply_values(state *st, const single_left left[ROWS16][TILE8], tile_source from,
                                 u32 column16)
{
    float high[ROWS16][2][4], low[ROWS16][2][4];
    HEED_UNROLL
    for (u32 kk = 0; kk < TILE8; kk++) {
        heed_u32x2 even, odd;
        load_values(&even, &odd, from, kk, column16);
        HEED_UNROLL
        for (int n = 0; n < 2; n++) {
            single_right right;
            split_right(&right, even.v[n], odd.v[n]);
            HEED_UNROLL
            for (int mt = 0; mt < ROWS16; mt++)
                single_multiply(high[mt][n], low[mt][n], &left[mt][kk], &right, kk == 0, kk == 0);
        }
    }
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * 8; i++) {
        const int mt = i / 8, n = i / 4 % 2;
        float sum = high[mt][n][i % 4];
        if (HEED_PRODUCTS == 3)
            sum += low[mt][n][i % 4];
        st->o[mt][2 * column16 + n][i % 4] += sum;
    }
}

/* Of all columns, with the weights of all keys of a tile. */
HEED_DEVICE void multiply_tile(state *st, u32 p[ROWS16][TILE8][4], tile_source from)
{
    single_left left[ROWS16][TILE8];
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * TILE8; i++)
        split_left(&left[i / TILE8][i % TILE8], p[i / TILE8][i % TILE8]);
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
