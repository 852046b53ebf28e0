/*
 * softmax.cuh - the online softmax of a warp over one tile of keys, in base 2
 *
 * Works on fragments in the layout of mma.m16n8k16, which wgmma shares: ROWS16 times 16 rows, KEYS8
 * times 8 keys. The including file defines place and row_of().
 */
#ifndef HEED_SOFTMAX_CUH
#define HEED_SOFTMAX_CUH

#include "half.cuh"
#include "plain.cuh"

/* The running maximum before the first logit. The maximum only rises from here, so it is never far
 * below zero, where it would be rounded too coarsely; a row whose logits are all below it has no
 * weight, and is recomputed (plain.cuh). It is finite, so differences of maxima are never NaN. */
#define NO_MAX (-FAR_MAX / 2)

/* A row's running maximum may lag behind the true one by this exponent of two before sums are
 * rescaled. Weights stay below 2^8, well within float16; but with float16 accumulators, weights
 * above 1 would waste range. */
#if HEED_ACC16
#define LAG 0.0f
#else
#define LAG 8.0f
#endif

/* A warp's partial result, in fragments of mma.m16n8k16. */
typedef struct state {
    float o[ROWS16][V8][4];
    float max[ROWS16][2]; /* of the logits, base 2, of rows g and g + 8, or up to LAG less */
    float sum[ROWS16][2]; /* of this lane's columns */
} state;

/* Weights of a tile, as fragments of a product. */
typedef struct weights {
    u32 p[ROWS16][KEYS16 * WORDS][4];
#if HEED_F32
    float sum[ROWS16][2];
#endif
} weights;

/* Resets the sums, keeping the maxima. */
HEED_DEVICE void begin_sums(state *st)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++)
            st->sum[mt][h] = 0.0f;
        HEED_UNROLL
        for (int dt = 0; dt < V8; dt++) {
            HEED_UNROLL
            for (int i = 0; i < 4; i++)
                st->o[mt][dt][i] = 0.0f;
        }
    }
}

HEED_DEVICE void clear(state *st)
{
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++)
        st->max[i / 2][i % 2] = NO_MAX;
    begin_sums(st);
}

/* True if it is known at the end which rows see none of the lane's keys. */
#if HEED_HIDES && STEPS_PACKED
#define KNOWS_UNSEEN 1
#else
#define KNOWS_UNSEEN 0
#endif

/* The lane's rows, for steps, */
typedef struct lane_rows {
#if HEED_MODIFIES || HEED_HIDES
    score_row of[2 * ROWS16];
    int seen[2 * ROWS16]; /* true if a key so far may be visible; only with KNOWS_UNSEEN */
#else
    u32 none;
#endif
} lane_rows;

/* and for a tile; */
typedef struct tile_rows {
#if HEED_MODIFIES || HEED_HIDES
    score_tile at[2 * ROWS16];
#else
    u32 none;
#endif
} tile_rows;

/* and the common part of each row's logits there, which their scores do not include. */
typedef struct tile_bases {
    float of[ROWS16][2];
} tile_bases;

/* Row number @i of the lane, */
HEED_DEVICE void find_lane_row(const heed_cuda_args *args, const place *at, lane_rows *own, int i)
{
#if HEED_MODIFIES || HEED_HIDES
    own->of[i] = find_score_row(args, at->batch, at->head, row_of(at, i / 2, i % 2));
    own->seen[i] = 0;
#else
    (void)args;
    (void)at;
    (void)own;
    (void)i;
#endif
}

/* and in a tile that begins with @key. @whole: the tile has all its keys. */
HEED_DEVICE void find_tile_row(const heed_cuda_args *args, const place *at, const lane_rows *own,
                               tile_rows *rows, int i, u32 key, const int whole, const int how)
{
#if HEED_MODIFIES || HEED_HIDES
    rows->at[i] = score_tile_of(args, &own->of[i], key, at->lane % 4 * 2, whole, how);
#else
    (void)args;
    (void)at;
    (void)own;
    (void)rows;
    (void)i;
    (void)key;
    (void)whole;
    (void)how;
#endif
}

/* Prepares elements that were read ahead for modify_row(). */
HEED_DEVICE void ready_tile_rows(lane_rows *own, tile_rows *rows, const int how)
{
#if HEED_MODIFIES || HEED_HIDES
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++) {
        score_tile_ready(&rows->at[i], &rows->at[i ^ 1], i % 2 == 0, how);
        if (KNOWS_UNSEEN)
            own->seen[i] |= how & STEP_SEEN ? 1 : is_any_visible(&rows->at[i], how);
    }
#else
    (void)own;
    (void)rows;
    (void)how;
#endif
}

#if HEED_MODIFIES || HEED_HIDES

/* Changes the scores of the row, and removes those of keys that steps hide. */
HEED_DEVICE void modify_row_so(const heed_cuda_args *args, const score_row *row,
                               const score_tile *at, float s[ROWS16][KEYS8][4], float *base, int i,
                               const int whole, const int how)
{
    *base = base_of(args, row, at, how);
    HEED_UNROLL
    for (u32 n = 0; n < 2 * KEYS8; n++) {
        const u32 j = step_turn(n, how), c = j / 2 * 8 + j % 2;
        float *score = &s[i / 2][j / 2][i % 2 * 2 + j % 2];
        if (HEED_MODIFIES)
            *score = score_of(args, row, at, *score, c, whole, how);
        if (HEED_HIDES && !(how & STEP_SEEN) && !is_visible(args, row, at, c, whole, how))
            *score = -ptx_infinity();
    }
}

/* The same, with STEP_FAR only where that is valid. */
HEED_DEVICE void modify_row_far(const heed_cuda_args *args, const score_row *row,
                                const score_tile *at, float s[ROWS16][KEYS8][4], float *base, int i,
                                const int whole, const int how)
{
    if (STEPS_RISE && how & STEP_FAR && !is_near(at))
        modify_row_so(args, row, at, s, base, i, whole, how);
    else
        modify_row_so(args, row, at, s, base, i, whole, how & ~STEP_FAR);
}

#endif

/* True if all scores of the warp's rows are small. Four maxima wait less for each other than one
 * would. */
HEED_DEVICE int are_small(const heed_cuda_args *args, float s[ROWS16][KEYS8][4])
{
#if STEPS_CAP
    float most[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * KEYS8 * 4; i++)
        most[i % 4] = ptx_max(most[i % 4], ptx_abs(s[i / 4 / KEYS8][i / 4 % KEYS8][i % 4]));
    return !ptx_vote_any(
        !is_small(args, ptx_max(ptx_max(most[0], most[1]), ptx_max(most[2], most[3]))));
#else
    (void)args;
    (void)s;
    return 0;
#endif
}

/* True if all of the lane's scores are tiny. Combining the bits of two scores is one instruction. */
HEED_DEVICE int has_tiny(const heed_cuda_args *args, float s[ROWS16][KEYS8][4])
{
#if STEPS_CAP
    u32 bits = 0;
    HEED_UNROLL
    for (int i = 0; i < ROWS16 * KEYS8 * 4; i++)
        bits |= ptx_as_u32(tiny_square(args, s[i / 4 / KEYS8][i / 4 % KEYS8][i % 4]));
    return is_tiny(args, bits);
#else
    (void)args;
    (void)s;
    return 1;
#endif
}

/* The same again, with STEP_SMALL where scores are @small. */
HEED_DEVICE void modify_row(const heed_cuda_args *args, const lane_rows *own, const tile_rows *rows,
                            float s[ROWS16][KEYS8][4], tile_bases *bases, int i, const int whole,
                            const int how, int small)
{
#if HEED_MODIFIES || HEED_HIDES
    const score_row *row = &own->of[i];
    const score_tile *at = &rows->at[i];
    float *base = &bases->of[i / 2][i % 2];
    if (STEPS_CAP && small)
        modify_row_far(args, row, at, s, base, i, whole, how | STEP_SMALL);
    else
        modify_row_far(args, row, at, s, base, i, whole, how);
#else
    (void)args;
    (void)own;
    (void)rows;
    (void)s;
    (void)bases;
    (void)i;
    (void)whole;
    (void)how;
    (void)small;
#endif
}

/* Does both, row by row, for the scores of a tile. */
HEED_DEVICE void modify_scores(const heed_cuda_args *args, const place *at,
                               float s[ROWS16][KEYS8][4], tile_bases *bases, u32 key,
                               const int whole)
{
    lane_rows own;
    tile_rows rows;
    int small = whole && are_small(args, s);
    (void)small; /* without steps */
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16 && (HEED_MODIFIES || HEED_HIDES); i++) {
        const int how = (HEED_PAIRS ? STEP_PAIRS : 0) | (whole ? STEP_FAR | STEP_SEEN : 0);
        find_lane_row(args, at, &own, i);
        find_tile_row(args, at, &own, &rows, i, key, whole, how);
        modify_row(args, &own, &rows, s, bases, i, whole, how, small);
    }
}

/* Sets the sums of rows whose results are not all finite to NaN, before they are normalized, so
 * that they are recomputed: the cause may be a non-finite value of a key that steps hide. */
HEED_DEVICE void mark_not_finite(state *st)
{
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16; i++) {
        HEED_UNROLL
        for (int j = 0; j < 2 * V8; j++)
            st->sum[i / 2][i % 2] = ptx_fma(st->o[i / 2][j / 2][i % 2 * 2 + j % 2], 0.0f,
                                            st->sum[i / 2][i % 2]);
    }
}

/* The keys that row g (@h 0) or g + 8 (1) of 16 sees. */
HEED_DEVICE key_range row_keys(const heed_cuda_args *args, const place *at, int mt, int h)
{
    return seen_keys(args, at->batch, divide(row_of(at, mt, h), args->group));
}

/* Masks the keys that a row does not see in the scores of a tile that begins with @key. */
HEED_DEVICE void mask_scores(const heed_cuda_args *args, const place *at, float s[ROWS16][KEYS8][4],
                             u32 key)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            key_range keys = row_keys(args, at, mt, h);
            u32 begin = HEED_HIDES_FIRST && keys.begin > key ? keys.begin - key : 0;
            u32 end = keys.end > key ? keys.end - key : 0;
            HEED_UNROLL
            for (int nt = 0; nt < KEYS8; nt++) {
                HEED_UNROLL
                for (int i = 0; i < 2; i++) {
                    u32 j = nt * 8 + at->lane % 4 * 2 + i;
                    if ((HEED_HIDES_FIRST && j < begin) || j >= end)
                        s[mt][nt][2 * h + i] = -ptx_infinity();
                }
            }
        }
    }
}

/* A row's running maximum, relative to its base in the tile. */
HEED_DEVICE float tile_max(const state *st, const tile_bases *bases, float scale, int mt, int h)
{
    if (HEED_MODIFIES)
        return ptx_fma(-bases->of[mt][h], scale, st->max[mt][h]);
    return st->max[mt][h];
}

/* Turns scores of the lane's rows into base-2 logits. Lanes of a row may have different bases. */
HEED_DEVICE void add_bases(float top[ROWS16][2], const tile_bases *bases, float scale)
{
    HEED_UNROLL
    for (int i = 0; i < 2 * ROWS16 && HEED_MODIFIES; i++)
        top[i / 2][i % 2] = ptx_fma(bases->of[i / 2][i % 2], scale, top[i / 2][i % 2] * scale);
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

/* Finds the largest score of each row, or if steps change scores the largest base-2 logit. */
HEED_DEVICE void find_tops(float s[ROWS16][KEYS8][4], const tile_bases *bases, float scale,
                           float top[ROWS16][2])
{
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
    add_bases(top, bases, scale);
    HEED_UNROLL
    for (int turn = 1; turn < 4; turn *= 2) {
        HEED_UNROLL
        for (int mt = 0; mt < ROWS16; mt++) {
            HEED_UNROLL
            for (int h = 0; h < 2; h++)
                top[mt][h] = ptx_max(top[mt][h], ptx_shfl_xor(top[mt][h], turn));
        }
    }
}

/* Updates the running maxima with those; @old gets the previous ones. Returns true if one of the
 * warp's was raised: then sums must be rescaled. No branches, so rows are processed in parallel. */
HEED_DEVICE int raise_tops(state *st, float top[ROWS16][2], float scale, float old[ROWS16][2])
{
    int raised = 0;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float now = HEED_MODIFIES ? top[mt][h] : top[mt][h] * scale;
            old[mt][h] = st->max[mt][h];
            int raise = now > old[mt][h] + LAG;
            raised |= raise;
            st->max[mt][h] = raise ? now : old[mt][h];
        }
    }
    return ptx_vote_any(raised);
}

/* Does both, with the scores. */
HEED_DEVICE int find_max(state *st, float s[ROWS16][KEYS8][4], const tile_bases *bases, float scale,
                         float old[ROWS16][2])
{
    float top[ROWS16][2];
    find_tops(s, bases, scale, top);
    return raise_tops(st, top, scale, old);
}

/* The same, and rescales the sums if necessary. */
HEED_DEVICE void raise_max(state *st, float s[ROWS16][KEYS8][4], const tile_bases *bases,
                           float scale)
{
    float old[ROWS16][2];
    if (find_max(st, s, bases, scale, old))
        scale_sums(st, old);
}

/* True if the maximum of one of the lane's rows lags too far behind one of its scores. */
HEED_DEVICE int max_lags(const state *st, float s[ROWS16][KEYS8][4], const tile_bases *bases,
                         float scale)
{
    int lags = 0;
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float top = ptx_max(s[mt][0][2 * h], s[mt][0][2 * h + 1]);
            HEED_UNROLL
            for (int nt = 1; nt < KEYS8; nt++)
                top = ptx_max(top, ptx_max(s[mt][nt][2 * h], s[mt][nt][2 * h + 1]));
            lags |= top * scale > tile_max(st, bases, scale, mt, h) + LAG;
        }
    }
    return lags;
}

/* The weight of a score. */
HEED_DEVICE float weight_of(const state *st, const tile_bases *bases, float score, float scale,
                            int mt, int h)
{
    float max = tile_max(st, bases, scale, mt, h);
    return power_of_two(STEPS_CAP ? score - max : ptx_fms(score, scale, max));
}

/* Stores two weights of row g (@h 0) or g + 8 (1), for neighbouring keys of @nt. */
HEED_DEVICE void note_weights(state *st, weights *w, float low, float high, int mt, int h, int nt)
{
#if HEED_F32
    (void)st;
    w->sum[mt][h] = nt == 0 ? low + high : w->sum[mt][h] + (low + high);
    w->p[mt][nt][h] = ptx_as_u32(low);
    w->p[mt][nt][h + 2] = ptx_as_u32(high);
#else
    st->sum[mt][h] += low + high;
    w->p[mt][nt / 2][nt % 2 * 2 + h] = half_pack(low, high);
#endif
}

/* Computes the weights of 8 keys. */
HEED_DEVICE void exponentiate(state *st, weights *w, float s[ROWS16][KEYS8][4],
                              const tile_bases *bases, float scale, int nt)
{
    HEED_UNROLL
    for (int mt = 0; mt < ROWS16; mt++) {
        HEED_UNROLL
        for (int h = 0; h < 2; h++) {
            float low = weight_of(st, bases, s[mt][nt][2 * h], scale, mt, h);
            float high = weight_of(st, bases, s[mt][nt][2 * h + 1], scale, mt, h);
            note_weights(st, w, low, high, mt, h, nt);
        }
    }
}

#endif /* HEED_SOFTMAX_CUH */
