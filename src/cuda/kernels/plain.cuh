/*
 * plain.cuh - one row of queries computed by one warp, directly from the tensors
 *
 * The warp processes the keys 32 at a time: each lane computes the score of one of them; the
 * softmax is online; then all lanes together accumulate the values, each lane the columns lane,
 * lane + 32, ... The maximum is that of the scores, and is subtracted before scaling. Sums are
 * split into parts, each of which is rounded less often: those of products over the head dim in
 * two, those of values over 32 keys, then over PLAIN_PART times as many, then over all.
 *
 * attn_naive.cu does nothing else. Faster kernels use it for rows that they give up. Their weights
 * are 2^(score * scale - maximum), with a maximum that is itself a rounded product: at 2^24 it is
 * off by up to 1, at 2^31 by 128, which makes the weights infinite or zero. So the epilogue of a
 * kernel recomputes a row if its maximum is that large, or if its sum is NaN or zero, which happens
 * if all logits are far below zero. Rows with NaN in their tensors are therefore computed twice,
 * with the same result, and rows that see no key at no cost.
 */
#ifndef HEED_PLAIN_CUH
#define HEED_PLAIN_CUH

#include "ablation.h"
#include "element.cuh"
#include "score.cuh"

/* Unrolling is left to the compiler; where rows are rarely computed this way, it is off. */
#ifndef PLAIN_LOOP
#define PLAIN_LOOP HEED_NO_UNROLL
#define PLAIN_KEY_LOOP HEED_NO_UNROLL
#endif

#define PLAIN_COLUMNS ((HEED_DIM_V + 31) / 32) /* of a lane */
#define PLAIN_CHAINS 2                         /* parts of a sum of products */
#define PLAIN_PART 16                          /* steps of 32 keys that are summed first */

/* Maxima from this on are rounded too coarsely. */
#define FAR_MAX 16777216.0f /* 2^24 */

/* A merge that weights parts by the logarithms of their sums needs more precision. */
#define FAR_LSE 16384.0f /* 2^14 */

/* True if a row must be recomputed, given its sum of weights and its maximum, which must stay below
 * @far. False in builds whose results are wrong anyway. */
HEED_DEVICE int is_given_up(float sum, float max, const float far)
{
    if (ABLATED(ABLATE_NO_EXP) || ABLATED(ABLATE_NO_PRODUCTS) || ABLATED(ABLATE_NO_LOADS))
        return 0;
    return !(sum > 0.0f && max < far);
}

/* 2^x, for weights. */
HEED_DEVICE float power_of_two(float x)
{
    if (ABLATED(ABLATE_NO_EXP))
        return x;
    if (ABLATED(ABLATE_DIVERGENT) && ptx_lane() % 2 == 1)
        return 2.0f * ptx_ex2(x - 1.0f);
    return ptx_ex2(x);
}

HEED_DEVICE float warp_max(float x)
{
    for (int turn = 1; turn < 32; turn *= 2)
        x = ptx_max(x, ptx_shfl_xor(x, turn));
    return x;
}

HEED_DEVICE float warp_sum(float x)
{
    for (int turn = 1; turn < 32; turn *= 2)
        x += ptx_shfl_xor(x, turn);
    return x;
}

/* Bitwise or over all lanes. */
HEED_DEVICE u32 warp_or(u32 x)
{
    for (int turn = 1; turn < 32; turn *= 2)
        x |= ptx_as_u32(ptx_shfl_xor(ptx_as_f32(x), turn));
    return x;
}

/* An element of K or V; a made-up one in builds without loads. */
HEED_DEVICE float load_key(const void *tensor, i64 index)
{
    return ABLATED(ABLATE_NO_LOADS) ? (float)((u32)index & 15) : load_element(tensor, index);
}

/* The lane's @c-th column. */
HEED_DEVICE u32 plain_column(u32 c)
{
    return ABLATED(ABLATE_STRIDED) ? ptx_lane() * PLAIN_COLUMNS + c : c * 32 + ptx_lane();
}

/* The product of the row at @q with the key at @k, with the sign of the scale. */
HEED_DEVICE float plain_product(const heed_cuda_args *args, i64 q, i64 k)
{
    float sum[PLAIN_CHAINS] = { 0.0f, 0.0f };
    PLAIN_LOOP
    for (int first = 0; first < HEED_DIM_QK; first += PLAIN_CHAINS) {
        HEED_UNROLL
        for (int i = 0; i < PLAIN_CHAINS; i++) {
            int d = first + i;
            if (d >= HEED_DIM_QK)
                continue;
            float x = load_element(args->q, q + d), y = load_key(args->k, k + d);
            sum[i] = ABLATED(ABLATE_NO_PRODUCTS) ? ptx_max(x, y) : sum[i] + x * y;
        }
    }
    float all = sum[0] + sum[1];
    return args->negate ? -all : all;
}

/* A warp's partial result of its row; once the row is finished, @o is the final result. */
typedef struct plain_row {
    float o[PLAIN_COLUMNS];
    float part_o[PLAIN_COLUMNS]; /* of the last steps, */
    float max;                   /* of the scores */
    float sum;                   /* of exponentials relative to it, */
    float part_sum;              /* and of the last steps */
#if HEED_SINKS
    float lse; /* with the sink */
#endif
} plain_row;

HEED_DEVICE void plain_clear(float o[PLAIN_COLUMNS], float *sum)
{
    *sum = 0.0f;
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        o[c] = 0.0f;
}

/* Adds the partial sums to the total ones. */
HEED_DEVICE void plain_fold(plain_row *st)
{
    st->sum += st->part_sum;
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        st->o[c] += st->part_o[c];
    plain_clear(st->part_o, &st->part_sum);
}

HEED_DEVICE void plain_scale(float o[PLAIN_COLUMNS], float *sum, float factor)
{
    *sum *= factor;
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        o[c] *= factor;
}

/* Adds the 32 keys from @key on; the row sees those below @end, except those that steps hide. @own
 * is the lane's score, @sees is true if its key is visible. */
HEED_DEVICE void plain_add(const heed_cuda_args *args, plain_row *st, u32 batch, i64 v, u32 key,
                           u32 end, float own, int sees)
{
    float max = ptx_max(st->max, warp_max(own)), o[PLAIN_COLUMNS];
    float base = max == -ptx_infinity() ? 0.0f : max;
    float factor = ptx_ex2((st->max - base) * args->scale);
    float weight = power_of_two((own - base) * args->scale);
    st->max = max;
    if (factor != 1.0f) {
        plain_scale(st->o, &st->sum, factor);
        plain_scale(st->part_o, &st->part_sum, factor);
    }
    st->part_sum += warp_sum(weight);
    if (HEED_HIDES && !sees)
        weight = -1.0f; /* not a valid weight */
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        o[c] = 0.0f;
    PLAIN_LOOP
    for (u32 j = 0; j < 32 && key + j < end; j++) {
        float p = ptx_shfl_idx(weight, (int)j);
        if (HEED_HIDES && p < 0.0f)
            continue;
        i64 row = v + key_offset(args, batch, args->v_stride, key + j);
        HEED_UNROLL
        for (int c = 0; c < PLAIN_COLUMNS; c++) {
            u32 column = plain_column(c);
            if (column >= HEED_DIM_V)
                continue;
            float x = load_key(args->v, row + column);
            o[c] = ABLATED(ABLATE_NO_PRODUCTS) ? ptx_max(o[c], x) : o[c] + p * x;
        }
    }
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        st->part_o[c] += o[c];
    if ((key / 32 + 1) % PLAIN_PART == 0)
        plain_fold(st);
}

/* A key that the row may see: whether it does, and its score. */
typedef struct plain_key {
    float score;
    int sees;
} plain_key;

/* Evaluates key @key, at @k, for the row at @q, which does not see keys from @end on. */
HEED_DEVICE plain_key plain_look(const heed_cuda_args *args, i64 q, i64 k, u32 batch, u32 head,
                                 u32 row, u32 key, u32 end)
{
    plain_key found;
    found.sees = key < end;
#if HEED_MODIFIES || HEED_HIDES
    score_row steps = find_score_row(args, batch, head, row);
    score_tile at = score_tile_of(args, &steps, key / 32 * 32, key % 32, 1, 0);
    if (HEED_HIDES && found.sees)
        found.sees = is_visible(args, &steps, &at, 0, 1, 0);
#endif
    found.score = found.sees
                      ? plain_product(args, q, k + key_offset(args, batch, args->k_stride, key))
                      : -ptx_infinity();
#if HEED_MODIFIES
    if (found.sees)
        found.score = score_of(args, &steps, &at, found.score, 0, 1, 0) +
                      base_of(args, &steps, &at, 0);
#endif
    (void)batch;
    (void)head;
    (void)row;
    return found;
}

#if HEED_SINKS

/* Adds the sink. The weights so far are relative to the maximum, which may be too large to be
 * compared with the sink in base 2. */
HEED_DEVICE void plain_add_sink(const heed_cuda_args *args, plain_row *st, u32 head, u32 row)
{
    const heed_cuda_changes *changes = &args->changes;
    float sink = row_sink(args, head, row);
    st->lse = sink;
    if (st->sum == 0.0f)
        return;
    float apart = ptx_fms(st->max, changes->unit, sink) * LOG2_E; /* the maximum minus the sink */
    float own = apart < 0.0f ? ptx_ex2(apart) : 1.0f;
    float all = st->sum * own + (apart < 0.0f ? 1.0f : ptx_ex2(-apart));
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        st->o[c] *= st->sum * own / all;
    if (!(apart < 0.0f))
        st->lse = st->max * changes->unit;
    st->lse += ptx_lg2(all) * LN_2;
}

#endif

#if HEED_HIDES

/* Keys are checked in batches of this many times 32. */
#define PLAIN_LOOKS 8

/* The beginning of a row's @keys, without those before the first one that steps show. */
HEED_DEVICE u32 plain_first_seen(const heed_cuda_args *args, u32 batch, u32 head, u32 row,
                                 key_range keys)
{
    score_row steps = find_score_row(args, batch, head, row);
    HEED_NO_UNROLL
    for (u32 key = keys.begin; key < keys.end; key += 32 * PLAIN_LOOKS) {
        int seen = 0;
        HEED_UNROLL
        for (u32 i = 0; i < PLAIN_LOOKS; i++) {
            u32 own = key + 32 * i + ptx_lane();
            own = own < keys.end ? own : keys.end - 1;
            score_tile at = score_tile_of(args, &steps, own / 32 * 32, own % 32, 1, 0);
            seen |= is_visible(args, &steps, &at, 0, 1, 0);
        }
        if (ptx_vote_any(seen))
            return key;
    }
    return keys.end;
}

#endif

/* Computes a row of @head with the keys and values of @head_kv of @batch, as numbered in the
 * tensors. */
HEED_DEVICE void plain_attend(const heed_cuda_args *args, plain_row *st, u32 head, u32 row,
                              u32 batch, u32 head_kv)
{
    i64 q = row_offset(args, head, args->q_stride, row);
    i64 k = keys_offset(args, batch, head_kv, args->k_stride);
    i64 v = keys_offset(args, batch, head_kv, args->v_stride);
    key_range keys = seen_keys(args, batch, find_row(args, row).query);
#if HEED_HIDES
    keys.begin = plain_first_seen(args, batch, head, row, keys);
#endif
    st->max = -ptx_infinity();
    plain_clear(st->o, &st->sum);
    plain_clear(st->part_o, &st->part_sum);
    PLAIN_KEY_LOOP
    for (u32 key = keys.begin; key < keys.end; key += 32) {
        if (ABLATED(ABLATE_EXTRA_BARRIER))
            ptx_warp_barrier();
        plain_key own = plain_look(args, q, k, batch, head, row, key + ptx_lane(), keys.end);
        if (HEED_HIDES && !ptx_vote_any(own.sees))
            continue;
        plain_add(args, st, batch, v, key, keys.end, own.score, own.sees);
    }
    plain_fold(st);
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++)
        st->o[c] = st->sum == 0.0f ? 0.0f : st->o[c] / st->sum;
#if HEED_SINKS
    plain_add_sink(args, st, head, row);
#endif
}

/* The logarithm of the sum, in natural units. */
HEED_DEVICE float plain_lse(const heed_cuda_args *args, const plain_row *st)
{
#if HEED_SINKS
    (void)args;
    return st->lse;
#else
    return st->sum == 0.0f ? -ptx_infinity()
                           : ptx_fma(st->max, args->scale * LN_2, ptx_lg2(st->sum) * LN_2);
#endif
}

HEED_DEVICE void plain_store_lse(const heed_cuda_args *args, const plain_row *st, u32 head, u32 row)
{
    if (args->lse && ptx_lane() == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, head, row), plain_lse(args, st));
}

/* Computes and stores a row of @head. */
HEED_DEVICE void plain_make(const heed_cuda_args *args, u32 head, u32 row, u32 batch, u32 head_kv)
{
    plain_row st;
    plain_attend(args, &st, head, row, batch, head_kv);
    i64 o = row_offset(args, head, args->o_stride, row);
    HEED_UNROLL
    for (int c = 0; c < PLAIN_COLUMNS; c++) {
        u32 column = plain_column(c);
        if (column < HEED_DIM_V)
            store_element(args->o, o + column, st.o[c]);
    }
    plain_store_lse(args, &st, head, row);
}

#endif /* HEED_PLAIN_CUH */
