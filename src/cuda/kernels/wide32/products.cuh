/*
 * wide32/products.cuh - the products of attn_wide32.cu: scores, and the sums of values
 *
 * Fragments are those of mma.m16n8k8. Tensor cores truncate sums, so each panel of columns, or part
 * of the keys, has a separate sum, and these are added up in float32.
 *
 * The order of the sum over keys does not matter: of 8 keys, position t of the weights' rows holds
 * key 2t, and position t + 4 key 2t + 1, so lanes store and load without bank conflicts. Neither
 * does the order of columns of V: column g of four adjacent products is one of columns 4g to 4g +
 * 3, which a lane loads at once.
 */
#ifndef HEED_WIDE32_PRODUCTS_CUH
#define HEED_WIDE32_PRODUCTS_CUH

#include "single_mma.cuh"
#include "tile.cuh"
#include "wide32/place.cuh"

/* The key of a position in rows of weights. */
HEED_DEVICE u32 key_of_place(u32 place)
{
    return place / 8 * 8 + place % 4 * 2 + place / 4 % 2;
}

typedef struct scores {
    float s[ROWS16][KEYS8][4];
} scores;

HEED_DEVICE void add_sums(float *sum, const float *part, const int count)
{
    HEED_UNROLL
    for (int i = 0; i < count; i++)
        sum[i] += part[i];
}

/* d += a b, or d = a b if it is the @first; small parts are added first. */
HEED_DEVICE void multiply(float d[4], const single_left *a, const single_right *b, const int first)
{
#if SPLITS
    single_mma(d, a->low, b->high, first);
    single_mma(d, a->high, b->low, 0);
#endif
    single_mma(d, a->high, b->high, !SPLITS && first);
}

/* Loads rows of an operand from the lane's rows in shared memory. */
HEED_DEVICE void load_left(single_left *left, u32 lane, u32 row16, u32 step)
{
    HEED_UNROLL
    for (u32 half = 0; half < STEP8; half++) {
        u32 x[4];
        ptx_ldmatrix_x4(x, tile_lane_at(lane, BLOCK_ROWS, 2 * PANEL, row16, step * STEP8 + half));
        split_left(left, x, (int)half);
    }
}

/* Adds the products of a panel of Q and one of K, the warp's share of the keys. */
HEED_DEVICE void multiply_panel(const place *at, scores *sum, u32 smem)
{
    u32 row = at->lane / 16 * 8 + at->lane % 8; /* of 16 keys */
    u32 q_lane = smem + tile_lane(2 * PANEL, at->lane % 16, at->lane / 16);
    u32 k_lane = smem + BLOCK_ROWS * PANEL_ROW + at->warp * WARP_KEYS * PANEL_ROW +
                 tile_lane(2 * PANEL, row, at->lane / 8 % 2);
    float part[ROWS16][KEYS8][4];
    HEED_UNROLL
    for (u32 kk = 0; kk < PANEL / 8 / STEP8; kk++) {
        single_left q[ROWS16];
        u32 x[STEP8][4];
        HEED_UNROLL
        for (u32 mt = 0; mt < ROWS16; mt++)
            load_left(&q[mt], q_lane, mt, kk);
        HEED_UNROLL
        for (u32 nt = 0; nt < KEYS8; nt++) {
            single_right k;
            HEED_UNROLL
            for (u32 half = 0; half < STEP8; half++) {
                if (nt % 2 == 0)
                    ptx_ldmatrix_x4(x[half], tile_lane_at(k_lane, PASS_KEYS, 2 * PANEL, nt / 2,
                                                          kk * STEP8 + half));
                split_right(&k, x[half][nt % 2 * 2], x[half][nt % 2 * 2 + 1], (int)half);
            }
            HEED_UNROLL
            for (u32 mt = 0; mt < ROWS16; mt++)
                multiply(part[mt][nt], &q[mt], &k, kk == 0);
        }
    }
    add_sums(sum->s[0][0], part[0][0], ROWS16 * KEYS8 * 4);
}

/* Stores the warp's scores of a pass where the weights will be. */
HEED_DEVICE void leave_scores(const place *at, const scores *sum, u32 nth)
{
    u32 smem = ptx_shared_base() + WEIGHTS_AT, g = at->lane / 4, t = at->lane % 4;
    u32 first = (nth * PASS_KEYS + at->warp * WARP_KEYS) / 4; /* chunk */
    HEED_UNROLL
    for (u32 i = 0; i < ROWS16 * KEYS8 * 4; i++) {
        const u32 mt = i / 4 / KEYS8, nt = i / 4 % KEYS8, n = i % 4;
        u32 row = mt * 16 + n / 2 * 8 + g;
        ptx_st_shared_f32(
            smem + tile_at(BLOCK_ROWS, 2 * HEED_TILE_KEYS, row, first + nt * 2 + n % 2) + t * 4,
            sum->s[mt][nt][n]);
    }
}

typedef struct values {
    float o[ROWS16][4][4];
} values;

/* Adds the values of a part of the keys, from @key on, for the warp's panel of a slice. */
HEED_DEVICE void multiply_part(const place *at, values *sum, u32 smem, u32 key)
{
    u32 p_lane = ptx_shared_base() + WEIGHTS_AT + key / PANEL * BLOCK_ROWS * PANEL_ROW +
                 tile_lane(2 * PANEL, at->lane % 16, at->lane / 16);
    u32 v_lane = smem + at->warp * PART_KEYS * PANEL_ROW +
                 tile_lane(2 * PANEL, at->lane % 4 * 2, at->lane / 4);
    float part[ROWS16][4][4];
    HEED_UNROLL
    for (u32 kk = 0; kk < PART_KEYS / 8 / STEP8; kk++) {
        single_left p[ROWS16];
        heed_u32x4 even[STEP8], odd[STEP8];
        HEED_UNROLL
        for (u32 half = 0; half < STEP8; half++) {
            u32 from = v_lane + (kk * STEP8 + half) * 8 * PANEL_ROW;
            even[half] = ptx_ld_shared_16(from);
            odd[half] = ptx_ld_shared_16((from ^ tile_turn(2 * PANEL, 1) * 16) + PANEL_ROW);
        }
        HEED_UNROLL
        for (u32 mt = 0; mt < ROWS16; mt++)
            load_left(&p[mt], p_lane, mt, kk);
        HEED_UNROLL
        for (u32 n = 0; n < 4; n++) {
            single_right v;
            HEED_UNROLL
            for (u32 half = 0; half < STEP8; half++)
                split_right(&v, even[half].v[n], odd[half].v[n], (int)half);
            HEED_UNROLL
            for (u32 mt = 0; mt < ROWS16; mt++)
                multiply(part[mt][n], &p[mt], &v, kk == 0);
        }
    }
    add_sums(sum->o[0][0], part[0][0], ROWS16 * 16);
}

#endif /* HEED_WIDE32_PRODUCTS_CUH */
