/*
 * attend.cu - a plain CUDA kernel with one mistake, or none, for testing the gates
 *
 * A block computes HEED_W rows, one per warp, 32 keys at a time: all threads load a tile of K and V
 * to shared memory, each lane computes the logit of one key, and the softmax is online. f16 only.
 *
 * Compile-time parameters: HEED_CAUSAL, HEED_DIM_QK, HEED_DIM_V, HEED_W, and HEED_MISTAKE, one of
 * those below. Rows are as in args.cuh; shared memory has room for 32 * (HEED_DIM_QK + HEED_DIM_V)
 * floats.
 */
#include "rows.cuh"

/* clang-format off */
#define NO_MISTAKE         0
#define HALF_THE_LOGITS    1
#define POSITIVE_SCALE     2  /* ignores the sign of the scale */
#define DROPS_LAST_TILE    3
#define ONE_KEY_MORE       4
#define UNMASKED_TAIL      5  /* counts the zeros that pad the last tile */
#define INTERLEAVED_HEADS  6  /* maps grouped heads by modulo instead of division */
#define FIRST_KEYS         7  /* uses the keys of the first batch element for all */
#define STALE_OUTPUT       8  /* does not scale the output down when the maximum rises */
#define NO_MAXIMUM         9
#define F16_SUMS          10
#define BASE_2_LSE        11
#define MASKED_BY_ZERO    12  /* masks by a weight of 0 */
#define NAN_FOR_EMPTY     13
#define NO_BARRIER        14  /* does not wait for the tile */
#define PAST_THE_END      15
#define READS_PAST        16  /* K and V, and uses the data there as keys */
#define LEAVES_A_MARK     17  /* in K */
#define NO_FIRST_ROW      18
#define AFTER_WARM_UP     19  /* is right in its first ten calls only */
#define OLD_BIT           20  /* keeps a bit of the old contents of O */
#define EIGHT_BIT_WEIGHTS 21
#define SWAPPED_COLUMNS   22
#define LAZY_WITHOUT_LSE  23
/* clang-format on */

#define IS(mistake) (HEED_MISTAKE == (mistake))

#define TILE 32u
#define THREADS (32u * HEED_W)
#define COLUMNS ((HEED_DIM_V + 31) / 32) /* of a lane */

/* State that persists between launches. */
#ifdef __CUDACC__
#define LASTING static __device__
#else
#define LASTING static
#endif
#if IS(AFTER_WARM_UP)
#define COUNTERS 1024u
LASTING u32 calls[COUNTERS]; /* by block */
#endif

HEED_DEVICE float load_element(const void *tensor, i64 index)
{
    return ptx_f16_to_f32(ptx_ld_global_u16((const u16 *)tensor + index));
}

HEED_DEVICE void store_element(void *tensor, i64 index, float x)
{
    ptx_st_global_u16((u16 *)tensor + index, ptx_f32_to_f16(x));
}

/* ---- the tile ---- */

/* The index of column @c of key @j in the tile. */
HEED_DEVICE u32 key_place(u32 j, u32 c)
{
    return ptx_shared_base() + (j * HEED_DIM_QK + c) * 4u;
}

HEED_DEVICE u32 value_place(u32 j, u32 c)
{
    return ptx_shared_base() + (TILE * HEED_DIM_QK + j * HEED_DIM_V + c) * 4u;
}

/* All threads of the block load the keys from @key on, with their values, and zeros past the
 * last. */
HEED_DEVICE void bring_tile(const heed_cuda_args *args, i64 k, i64 v, u32 key)
{
    u32 end = IS(READS_PAST) ? NO_KEY : args->seq_k;
    for (u32 i = ptx_thread(); i < TILE * HEED_DIM_QK; i += THREADS) {
        u32 j = i / HEED_DIM_QK, c = i % HEED_DIM_QK;
        i64 at = k + (i64)(key + j) * args->k_stride.seq + c;
        ptx_st_shared_f32(key_place(j, c), key + j < end ? load_element(args->k, at) : 0.0f);
    }
    for (u32 i = ptx_thread(); i < TILE * HEED_DIM_V; i += THREADS) {
        u32 j = i / HEED_DIM_V, c = i % HEED_DIM_V;
        i64 at = v + (i64)(key + j) * args->v_stride.seq + c;
        ptx_st_shared_f32(value_place(j, c), key + j < end ? load_element(args->v, at) : 0.0f);
    }
}

/* ---- a row ---- */

typedef struct row_state {
    float o[COLUMNS];
    float max; /* of the scores */
    float sum; /* of exponentials relative to it */
} row_state;

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

/* The logit of the lane's key, without the magnitude of the scale. */
HEED_DEVICE float score(const heed_cuda_args *args, i64 q)
{
    float sum = 0.0f;
    for (u32 c = 0; c < HEED_DIM_QK; c++)
        sum += load_element(args->q, q + c) * ptx_ld_shared_f32(key_place(ptx_lane(), c));
    if (args->negate && !IS(POSITIVE_SCALE))
        sum = -sum;
    return sum * (IS(HALF_THE_LOGITS) ? 0.5f : 1.0f);
}

HEED_DEVICE float rounded(float x)
{
    return ptx_f16_to_f32(ptx_f32_to_f16(x));
}

/* Adds the first @count keys of the tile. @own is the lane's score. */
HEED_DEVICE void add_keys(row_state *st, u32 count, float own, float scale)
{
    float max = ptx_max(st->max, warp_max(own));
    float base = max == -ptx_infinity() || IS(NO_MAXIMUM) ? 0.0f : max;
    float factor = IS(NO_MAXIMUM) ? 1.0f : ptx_ex2((st->max - base) * scale);
    float weight = ptx_ex2((own - base) * scale);
    if (IS(EIGHT_BIT_WEIGHTS))
        weight = (float)(u32)(weight * 255.0f) / 255.0f;
    st->max = IS(NO_MAXIMUM) ? 0.0f : max;
    st->sum = st->sum * factor + warp_sum(weight);
    for (int c = 0; c < COLUMNS; c++)
        st->o[c] *= IS(STALE_OUTPUT) ? 1.0f : factor;
    for (u32 j = 0; j < (IS(MASKED_BY_ZERO) ? TILE : count); j++) {
        float p = ptx_shfl_idx(weight, (int)j);
        for (u32 c = 0; c < COLUMNS; c++) {
            u32 column = c * 32u + ptx_lane();
            if (column < HEED_DIM_V)
                st->o[c] += p * ptx_ld_shared_f32(value_place(j, column));
            if (IS(F16_SUMS))
                st->o[c] = rounded(st->o[c]);
        }
    }
}

/* The offset of a row in Q or O, in elements. */
HEED_DEVICE i64 place_of_row(const heed_cuda_args *args, u32 head, heed_cuda_strides stride,
                             u32 row)
{
    if (!IS(INTERLEAVED_HEADS))
        return row_offset(args, head, stride, row);
    row_place place = find_row(args, row);
    u32 batch = divide(head, args->heads_kv);
    u32 head_kv = head - batch * args->heads_kv.value;
    return batch * stride.batch + place.query * stride.seq +
           ((i64)place.head * args->heads_kv.value + head_kv) * stride.head;
}

HEED_DEVICE void store_row(const heed_cuda_args *args, const row_state *st, u32 head, u32 row)
{
    i64 o = place_of_row(args, head, args->o_stride, row);
    bool empty = st->sum == 0.0f && !IS(NAN_FOR_EMPTY);
    bool lazy = IS(LAZY_WITHOUT_LSE) && !args->lse;
    if (IS(NO_FIRST_ROW) && head == 0 && row == 0)
        return;
    for (u32 c = 0; c < COLUMNS; c++) {
        u32 column = c * 32u + ptx_lane();
        u32 to = IS(SWAPPED_COLUMNS) && column < 2 ? 1 - column : column;
        if (column < HEED_DIM_V)
            store_element(args->o, o + to, empty || lazy ? 0.0f : st->o[c] / st->sum);
    }
    if (IS(PAST_THE_END) && head == args->heads - 1 && row == args->rows - 1 && ptx_lane() == 0)
        store_element(args->o, o + HEED_DIM_V, 0.0f);
    if (args->lse && ptx_lane() == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, head, row),
                          st->sum == 0.0f
                              ? -ptx_infinity()
                              : (st->max * args->scale + ptx_lg2(st->sum)) *
                                    (IS(BASE_2_LSE) ? 1.0f : LN_2));
}

/* ---- a block ---- */

/* The keys that a row sees. */
HEED_DEVICE u32 keys_of(const heed_cuda_args *args, u32 row)
{
    u32 end = visible_keys(args, find_row(args, row).query).end;
    return IS(ONE_KEY_MORE) && end < args->seq_k ? end + 1 : end;
}

/* Counts launches. Returns whether there were enough of them. */
HEED_DEVICE bool is_warm(void)
{
#if IS(AFTER_WARM_UP)
    u32 *counter = &calls[ptx_block_x() % COUNTERS];
    u32 before = *counter;
    ptx_barrier(); /* all have read it */
    if (ptx_thread() == 0)
        *counter = before + 1;
    return before >= 10;
#else
    return false;
#endif
}

HEED_DEVICE void attend(const heed_cuda_args *args, u32 head, u32 first)
{
    u32 batch = divide(head, args->heads_kv), head_kv = head - batch * args->heads_kv.value;
    u32 row = first + ptx_thread() / 32, own = row < args->rows ? row : args->rows - 1;
    u32 last = first + HEED_W <= args->rows ? first + HEED_W - 1 : args->rows - 1;
    i64 q = place_of_row(args, head, args->q_stride, own);
    i64 k = (IS(FIRST_KEYS) ? 0 : batch) * args->k_stride.batch + head_kv * args->k_stride.head;
    i64 v = batch * args->v_stride.batch + head_kv * args->v_stride.head;
    u32 end = keys_of(args, own), all = keys_of(args, last);
    row_state st;
    st.max = -ptx_infinity();
    st.sum = 0.0f;
    for (int c = 0; c < COLUMNS; c++)
        st.o[c] = 0.0f;
    if (IS(DROPS_LAST_TILE) && all > TILE)
        all = (all - 1) / TILE * TILE;
    if ((IS(UNMASKED_TAIL) || IS(READS_PAST)) && end == args->seq_k)
        end = (end + TILE - 1) / TILE * TILE;
    for (u32 key = 0; key < all; key += TILE) {
        ptx_barrier(); /* all have finished the previous tile */
        bring_tile(args, k, v, key);
        if (!IS(NO_BARRIER))
            ptx_barrier();
        u32 count = end > key ? end - key : 0;
        float own = score(args, q);
        add_keys(&st, count < TILE ? count : TILE, ptx_lane() < count ? own : -ptx_infinity(),
                 args->scale);
    }
    if (row < args->rows)
        store_row(args, &st, head, row);
}

HEED_ENTRY(32 * HEED_W, 1) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 head = ptx_block_x() / args.blocks;
    bool first = ptx_block_x() == 0 && ptx_thread() == 0; /* it writes the first element of O */
    ptx_griddepcontrol_wait();
    u32 old = IS(OLD_BIT) && first ? ptx_ld_global_u16((const u16 *)args.o) : 0;
    if (!is_warm())
        attend(&args, head, (ptx_block_x() - head * args.blocks) * HEED_W);
    if (IS(OLD_BIT) && first)
        ptx_st_global_u16(args.o, (u16)(ptx_ld_global_u16((const u16 *)args.o) ^ old >> 15));
    if (IS(LEAVES_A_MARK) && first)
        store_element((void *)args.k, 0, 42.0f);
}
