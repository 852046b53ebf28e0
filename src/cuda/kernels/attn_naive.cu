/*
 * attn_naive.cu - forward attention without tricks: the readable kernel, and the GPU's own second
 * opinion
 *
 * A warp works on one row of queries. It takes the keys 32 at a time: each lane computes the logit
 * of one of them; the softmax is the online one; then all lanes together add up the values, each
 * the columns lane, lane + 32, ... Every element type, head dim, stride and mask; nothing is
 * staged, and elements are read one by one, so no address need be aligned to more than its element.
 *
 * Compile-time parameters: HEED_TYPE (0 float32, 1 float16, 2 bfloat16), HEED_CAUSAL, HEED_DIM_QK,
 * HEED_DIM_V. Columns and rows are as in args.cuh; a block has HEED_W warps. Beside them
 * HEED_ABLATE, for builds that are worse on purpose (ablate.cuh):
 *
 *     @ablate no-exp no-products divergent extra-barrier strided over-unrolled no-loads tiny-blocks
 *     @ablate delay
 *
 * Version log. TF is TFLOP/s on one H200, f16, cold.
 *
 *     1  as described
 */
#include "delay.cuh"
#include "rows.cuh"

#define COLUMNS ((HEED_DIM_V + 31) / 32) /* of a lane */

/* The compiler unrolls as it sees fit, or far too much. */
#if HEED_ABLATE == ABLATE_UNROLLED
#define HEED_KEY_LOOP HEED_MAIN_LOOP
#else
#define HEED_KEY_LOOP
#endif

HEED_DEVICE float load_element(const void *tensor, i64 index)
{
#if HEED_TYPE == 0
    return ptx_ld_global_f32((const float *)tensor + index);
#elif HEED_TYPE == 1
    return ptx_f16_to_f32(ptx_ld_global_u16((const u16 *)tensor + index));
#else
    return ptx_bf16_to_f32(ptx_ld_global_u16((const u16 *)tensor + index));
#endif
}

HEED_DEVICE void store_element(void *tensor, i64 index, float x)
{
#if HEED_TYPE == 0
    ptx_st_global_f32((float *)tensor + index, x);
#elif HEED_TYPE == 1
    ptx_st_global_u16((u16 *)tensor + index, ptx_f32_to_f16(x));
#else
    ptx_st_global_u16((u16 *)tensor + index, ptx_f32_to_bf16(x));
#endif
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

/* An element of K or V; without loads, one that is made up. */
HEED_DEVICE float load_key(const void *tensor, i64 index)
{
    return ABLATED(ABLATE_NO_LOADS) ? (float)((u32)index & 15) : load_element(tensor, index);
}

/* 2^x, of which weights are made. */
HEED_DEVICE float power_of_two(float x)
{
    if (ABLATED(ABLATE_NO_EXP))
        return x;
    if (ABLATED(ABLATE_DIVERGENT) && ptx_lane() % 2 == 1)
        return 2.0f * ptx_ex2(x - 1.0f);
    return ptx_ex2(x);
}

/* Column number @c of the lane's. */
HEED_DEVICE u32 own_column(u32 c)
{
    return ABLATED(ABLATE_STRIDED) ? ptx_lane() * COLUMNS + c : c * 32 + ptx_lane();
}

/* The logit of a key, to base 2. */
HEED_DEVICE float logit(const heed_cuda_args *args, i64 q, i64 k)
{
    float sum = 0.0f;
    for (int d = 0; d < HEED_DIM_QK; d++) {
        float x = load_element(args->q, q + d), y = load_key(args->k, k + d);
        sum = ABLATED(ABLATE_NO_PRODUCTS) ? ptx_max(x, y) : sum + x * y;
    }
    return sum * (args->negate ? -args->scale : args->scale);
}

/* What a warp knows of its row so far. */
typedef struct row_state {
    float o[COLUMNS];
    float max; /* of the logits */
    float sum; /* of exponentials relative to it */
} row_state;

/* Takes the 32 keys from @key on, of which the row sees those below @end. @logit2 is the lane's. */
HEED_DEVICE void add_keys(const heed_cuda_args *args, row_state *st, i64 v, u32 key, u32 end,
                          float logit2)
{
    float max = ptx_max(st->max, warp_max(logit2));
    float base = max == -ptx_infinity() ? 0.0f : max;
    float factor = ptx_ex2(st->max - base);
    float weight = power_of_two(logit2 - base);
    st->max = max;
    st->sum = st->sum * factor + warp_sum(weight);
    HEED_UNROLL
    for (int c = 0; c < COLUMNS; c++)
        st->o[c] *= factor;
    for (u32 j = 0; j < 32 && key + j < end; j++) {
        float p = ptx_shfl_idx(weight, (int)j);
        i64 row = v + (i64)(key + j) * args->v_stride.seq;
        HEED_UNROLL
        for (int c = 0; c < COLUMNS; c++) {
            u32 column = own_column(c);
            if (column >= HEED_DIM_V)
                continue;
            float x = load_key(args->v, row + column);
            st->o[c] = ABLATED(ABLATE_NO_PRODUCTS) ? ptx_max(st->o[c], x) : st->o[c] + p * x;
        }
    }
}

HEED_DEVICE void attend_row(const heed_cuda_args *args, u32 head, u32 row)
{
    u32 batch = divide(head, args->heads_kv), head_kv = head - batch * args->heads_kv.value;
    i64 q = row_offset(args, head, args->q_stride, row);
    i64 k = batch * args->k_stride.batch + head_kv * args->k_stride.head;
    i64 v = batch * args->v_stride.batch + head_kv * args->v_stride.head;
    u32 end = visible_keys(args, find_row(args, row).query);
    row_state st;
    st.max = -ptx_infinity();
    st.sum = 0.0f;
    for (int c = 0; c < COLUMNS; c++)
        st.o[c] = 0.0f;
    HEED_KEY_LOOP
    for (u32 key = 0; key < end; key += 32) {
        u32 own = key + ptx_lane();
        if (ABLATED(ABLATE_EXTRA_BARRIER))
            ptx_warp_barrier();
        float logit2 = own < end ? logit(args, q, k + (i64)own * args->k_stride.seq)
                                 : -ptx_infinity();
        add_keys(args, &st, v, key, end, logit2);
    }
    i64 o = row_offset(args, head, args->o_stride, row);
    for (int c = 0; c < COLUMNS; c++) {
        u32 column = own_column(c);
        if (column < HEED_DIM_V)
            store_element(args->o, o + column, st.sum == 0.0f ? 0.0f : st.o[c] / st.sum);
    }
    if (args->lse && ptx_lane() == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, head, row),
                          st.sum == 0.0f ? -ptx_infinity() : (st.max + ptx_lg2(st.sum)) * LN_2);
}

HEED_ENTRY(32 * HEED_W, 1) heed_attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 head = ptx_block_x() / args.blocks;
    u32 row = (ptx_block_x() - head * args.blocks) * HEED_W + ptx_thread() / 32;
    ptx_griddepcontrol_wait();
    u32 begin = delay_begin();
    if (row < args.rows)
        attend_row(&args, head, row);
    delay_end(begin);
}
