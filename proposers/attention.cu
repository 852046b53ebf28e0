/*
 * attention.cu - a plain CUDA kernel, the default start of `heed evolve` on a GPU
 *
 * A thread computes one query row, which it keeps in registers with its row of O. The block loads
 * the keys into shared memory tile by tile, as float32, where all threads read the same element at
 * the same time. The softmax is online. It supports any length, stride and mask, and reads elements
 * one by one.
 *
 * Marked regions have alternative texts, from which heed-propose-regions chooses; a region that is
 * named after the purpose of a knob (docs/proposers.md) has them in ascending order. A program that
 * writes code may change anything, but must declare the launch of the kernel.
 */
/* heed:launch entry=attend threads=ROWS rows=ROWS registers=CAP
 * smem=4*KEYS*(HEED_DIM_QK+HEED_DIM_V) */

/* The compiler's limit of registers per thread; 0: none. */
/* heed:region registers */
#define CAP 0
/* heed:or
#define CAP 96
*/
/* heed:or
#define CAP 128
*/
/* heed:or
#define CAP 168
*/
/* heed:end */
#if CAP > 0
#define HEED_CAPPED 1
#endif

#include "rows.cuh"

/* Rows of a block, one for each thread. */
/* heed:region rows */
#define ROWS 64
/* heed:or
#define ROWS 32
*/
/* heed:or
#define ROWS 128
*/
/* heed:or
#define ROWS 256
*/
/* heed:end */

/* Keys of a tile. */
/* heed:region keys */
#define KEYS 32
/* heed:or
#define KEYS 8
*/
/* heed:or
#define KEYS 16
*/
/* heed:or
#define KEYS 64
*/
/* heed:end */

#define V_AT (4 * KEYS * HEED_DIM_QK) /* of the tile of V, after that of K */

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

/* A thread's partial result of its row. */
typedef struct row_state {
    float q[HEED_DIM_QK]; /* times the scale */
    float o[HEED_DIM_V];
    float max; /* of the logits, to base 2 */
    float sum; /* of exponentials relative to it */
} row_state;

/* All threads together copy @keys rows of @dim elements to shared memory. */
HEED_DEVICE void load_tile(u32 to, const void *tensor, i64 from, i64 stride, u32 keys, u32 dim)
{
    for (u32 i = ptx_thread(); i < keys * dim; i += ROWS) {
        u32 key = i / dim;
        ptx_st_shared_f32(to + 4 * i, load_element(tensor, from + key * stride + (i - key * dim)));
    }
}

/* The product of the row of Q and a key. */
/* heed:region dot */
HEED_DEVICE float dot(const row_state *st, u32 k)
{
    float sum = 0.0f;
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_QK; d++)
        sum += st->q[d] * ptx_ld_shared_f32(k + 4 * d);
    return sum;
}
/* heed:or
HEED_DEVICE float dot(const row_state *st, u32 k)
{
    float even = 0.0f, odd = 0.0f;
    HEED_UNROLL
    for (int d = 0; d + 1 < HEED_DIM_QK; d += 2) {
        even += st->q[d] * ptx_ld_shared_f32(k + 4 * d);
        odd += st->q[d + 1] * ptx_ld_shared_f32(k + 4 * d + 4);
    }
    if (HEED_DIM_QK % 2)
        even += st->q[HEED_DIM_QK - 1] * ptx_ld_shared_f32(k + 4 * (HEED_DIM_QK - 1));
    return even + odd;
}
*/
/* heed:or
HEED_DEVICE float dot(const row_state *st, u32 k)
{
    float sums[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_QK; d++)
        sums[d % 4] += st->q[d] * ptx_ld_shared_f32(k + 4 * d);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
*/
/* heed:end */

/* Adds a key whose logit is @x. */
/* heed:region rescale */
HEED_DEVICE void add_key(row_state *st, u32 v, float x)
{
    float max = ptx_max(st->max, x);
    float factor = ptx_ex2(st->max - max), weight = ptx_ex2(x - max);
    st->max = max;
    st->sum = st->sum * factor + weight;
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_V; d++)
        st->o[d] = st->o[d] * factor + weight * ptx_ld_shared_f32(v + 4 * d);
}
/* heed:or
HEED_DEVICE void add_key(row_state *st, u32 v, float x)
{
    if (x > st->max) {
        float factor = ptx_ex2(st->max - x);
        st->max = x;
        st->sum *= factor;
        HEED_UNROLL
        for (int d = 0; d < HEED_DIM_V; d++)
            st->o[d] *= factor;
    }
    float weight = ptx_ex2(x - st->max);
    st->sum += weight;
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_V; d++)
        st->o[d] += weight * ptx_ld_shared_f32(v + 4 * d);
}
*/
/* heed:end */

/* Adds the keys of a tile that the row sees, from @first up to but not including @end. NaN stays
 * NaN; a key of zero weight, with the logit -infinity, changes nothing, even while there is no
 * maximum yet. */
HEED_DEVICE void add_tile(row_state *st, u32 first, u32 end)
{
    u32 shared = ptx_shared_base();
    for (u32 key = first; key < end; key++) {
        float x = dot(st, shared + 4 * HEED_DIM_QK * key);
        if (x != -ptx_infinity())
            add_key(st, shared + V_AT + 4 * HEED_DIM_V * key, x);
    }
}

HEED_DEVICE void begin_row(const heed_cuda_args *args, row_state *st, u32 head, u32 row)
{
    float scale = args->negate ? -args->scale : args->scale;
    i64 q = row_offset(args, head, args->q_stride, row);
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_QK; d++)
        st->q[d] = load_element(args->q, q + d) * scale;
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_V; d++)
        st->o[d] = 0.0f;
    st->max = -ptx_infinity();
    st->sum = 0.0f;
}

HEED_DEVICE void end_row(const heed_cuda_args *args, const row_state *st, u32 head, u32 row)
{
    i64 o = row_offset(args, head, args->o_stride, row);
    float factor = st->sum == 0.0f ? 0.0f : 1.0f / st->sum;
    HEED_UNROLL
    for (int d = 0; d < HEED_DIM_V; d++)
        store_element(args->o, o + d, st->o[d] * factor);
    if (args->lse)
        ptx_st_global_f32(args->lse + lse_offset(args, head, row),
                          st->sum == 0.0f ? -ptx_infinity() : (st->max + ptx_lg2(st->sum)) * LN_2);
}

HEED_ENTRY(ROWS, 1) attend(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 head = ptx_block_x() / args.blocks;
    u32 first = (ptx_block_x() - head * args.blocks) * ROWS, row = first + ptx_thread();
    u32 last = first + ROWS <= args.rows ? first + ROWS - 1 : args.rows - 1;
    u32 batch = divide(head, args.heads_kv), head_kv = head - batch * args.heads_kv.value;
    u32 begin = visible_keys(&args, find_row(&args, first).query).begin / KEYS * KEYS;
    u32 end = visible_keys(&args, find_row(&args, last).query).end;
    key_range own;
    i64 k = batch * args.k_stride.batch + head_kv * args.k_stride.head;
    i64 v = batch * args.v_stride.batch + head_kv * args.v_stride.head;
    row_state st;
    own.begin = own.end = 0;
    ptx_griddepcontrol_wait();
    if (row < args.rows) {
        begin_row(&args, &st, head, row);
        own = visible_keys(&args, find_row(&args, row).query);
    }
    for (u32 key = begin; key < end; key += KEYS) {
        u32 keys = end - key < KEYS ? end - key : KEYS;
        load_tile(ptx_shared_base(), args.k, k + (i64)key * args.k_stride.seq, args.k_stride.seq,
                  keys, HEED_DIM_QK);
        load_tile(ptx_shared_base() + V_AT, args.v, v + (i64)key * args.v_stride.seq,
                  args.v_stride.seq, keys, HEED_DIM_V);
        ptx_barrier();
        if (key < own.end && key + keys > own.begin)
            add_tile(&st, own.begin > key ? own.begin - key : 0,
                     own.end - key < keys ? own.end - key : keys);
        ptx_barrier();
    }
    if (row < args.rows)
        end_row(&args, &st, head, row);
}
