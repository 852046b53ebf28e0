/*
 * mla_store.cuh - the epilogue of attn_mla.cu: the blocks of a cluster leave their sums of a row in
 * the shared memory of the one that merges it, which stores O and LSE, or leaves them as a part
 * that heed_combine merges
 *
 * Each block of a cluster merges as many rows. Sums lie where Q and the stages were, of which all
 * blocks must have taken leave. Those from other blocks come with bytes that a barrier expects, so
 * that no block waits for another one's end.
 */
#ifndef HEED_MLA_STORE_CUH
#define HEED_MLA_STORE_CUH

#include "combine.cuh"
#include "mla_walk.cuh"

/* Threads that merge a row, and of its quads, four columns each, how many one of them takes. */
#define ROW_THREADS (CONSUMER_THREADS / LEFT_ROWS)
#define ROW_QUADS (2 * HALF_COLUMNS / 4 / ROW_THREADS)

/* Where the block @rank of the cluster leaves its sums of a row, */
HEED_DEVICE u32 left_sums(u32 rank, u32 row)
{
    return ptx_shared_base() + LEFT_AT + (rank * LEFT_ROWS + row) * LEFT_ROW;
}

/* and the row's maximum and sum of weights. */
HEED_DEVICE u32 left_weights(u32 rank, u32 row)
{
    return left_sums(HEED_CLUSTER, 0) + (rank * LEFT_ROWS + row) * 8;
}

/* Expects what the other blocks leave. */
HEED_DEVICE void expect_left(void)
{
    ptx_mbarrier_arrive_expect(left_barrier(),
                               (HEED_CLUSTER - 1) * LEFT_ROWS * (HEED_DIM_V * 4 + 8));
}

/* ---- Leaving ---- */

/* Adds up the weights of both warpgroups' tiles. A sum that is NaN for one is for both. */
HEED_DEVICE void share_sums(const place *at, state *st)
{
    heed_u32x2 own;
    HEED_UNROLL
    for (int h = 0; h < 2; h++) {
        st->sum[0][h] += ptx_shfl_xor(st->sum[0][h], 1);
        st->sum[0][h] += ptx_shfl_xor(st->sum[0][h], 2);
        own.v[h] = ptx_as_u32(st->sum[0][h]);
    }
    ptx_st_shared_8(left_at(at, SUM_AT, at->half), own);
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS); /* and all have read Q and the stages */
    heed_u32x2 other = ptx_ld_shared_8(left_at(at, SUM_AT, 1 - at->half));
    HEED_UNROLL
    for (int h = 0; h < 2; h++)
        st->sum[0][h] += ptx_as_f32(other.v[h]);
}

/* Leaves two numbers at @smem, in the block @to of the cluster. */
HEED_DEVICE void leave_pair(const place *at, u32 smem, float first, float second, u32 to)
{
    heed_u32x2 x = { { ptx_as_u32(first), ptx_as_u32(second) } };
    if (HEED_CLUSTER == 1 || to == at->rank)
        ptx_st_shared_8(smem, x);
    else
        ptx_st_async_8(ptx_mapa(smem, to), x, ptx_mapa(left_barrier(), to));
}

/* Leaves the warp's rows. */
HEED_DEVICE void leave_rows(const place *at, const state *st)
{
    u32 first = at->half * HALF_COLUMNS + at->lane % 4 * 2;
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        u32 begin = at->warp * 16 + h * 8, to = begin / LEFT_ROWS;
        u32 row = begin % LEFT_ROWS + at->lane / 4, sums = left_sums(at->rank, row) + first * 4;
        if (at->half == 0 && at->lane % 4 == 0)
            leave_pair(at, left_weights(at->rank, row), st->max[0][h], st->sum[0][h], to);
        HEED_UNROLL
        for (u32 i = 0; i < V8; i++)
            if (first + i * 8 < HEED_DIM_V)
                leave_pair(at, sums + i * 32, st->o[0][i][2 * h], st->o[0][i][2 * h + 1], to);
    }
}

/* ---- Merging ---- */

/* A row, for one of the threads that merge it. */
typedef struct merged_row {
    u32 left;   /* which one it is of those that are left in the block */
    u32 number; /* as args.cuh counts rows */
    u32 quad;   /* the thread's first; ROW_THREADS further is the next */
    float counts[HEED_CLUSTER]; /* weights of the blocks' sums */
    float max, sum;             /* of the row's weights */
} merged_row;

HEED_DEVICE void find_merged(const place *at, merged_row *m)
{
    m->left = ptx_thread() / ROW_THREADS;
    m->number = at->row + at->rank * LEFT_ROWS + m->left;
    m->quad = ptx_thread() % ROW_THREADS;
}

/* Weighs the blocks' sums, and adds up those of their weights. A row that saw no key, or none with
 * a weight, becomes zero. */
HEED_DEVICE void weigh_blocks(merged_row *m)
{
    heed_u32x2 left[HEED_CLUSTER];
    m->max = NO_MAX;
    m->sum = 0.0f;
    HEED_UNROLL
    for (u32 b = 0; b < HEED_CLUSTER; b++) {
        left[b] = ptx_ld_shared_8(left_weights(b, m->left));
        m->max = ptx_max(m->max, ptx_as_f32(left[b].v[0]));
    }
    HEED_UNROLL
    for (u32 b = 0; b < HEED_CLUSTER; b++) {
        m->counts[b] = ptx_ex2(ptx_as_f32(left[b].v[0]) - m->max);
        m->sum += m->counts[b] * ptx_as_f32(left[b].v[1]);
    }
    float factor = m->sum == 0.0f ? 0.0f : ptx_rcp(m->sum);
    HEED_UNROLL
    for (u32 b = 0; b < HEED_CLUSTER; b++)
        m->counts[b] *= factor;
}

HEED_DEVICE void merge_quad(const merged_row *m, u32 quad, float o[4])
{
    heed_u32x4 left[HEED_CLUSTER];
    HEED_UNROLL
    for (u32 b = 0; b < HEED_CLUSTER; b++)
        left[b] = ptx_ld_shared_16(left_sums(b, m->left) + quad * 16);
    HEED_UNROLL
    for (u32 i = 0; i < 4; i++) {
        o[i] = 0.0f;
        HEED_UNROLL
        for (u32 b = 0; b < HEED_CLUSTER; b++)
            o[i] += m->counts[b] * ptx_as_f32(left[b].v[i]);
    }
}

/* The logarithm of the row's sum, to base 2. */
HEED_DEVICE float row_lse(const merged_row *m)
{
    return m->sum == 0.0f ? -ptx_infinity() : m->max + ptx_lg2(m->sum);
}

HEED_DEVICE void store_part(const heed_cuda_args *args, const place *at, const merged_row *m)
{
    i64 row = part_offset(args, at->head, at->split) + m->number;
    if (m->quad == 0)
        ptx_st_global_f32(args->partial_lse + row, row_lse(m));
    HEED_UNROLL
    for (u32 i = 0; i < ROW_QUADS; i++) {
        u32 quad = i * ROW_THREADS + m->quad;
        heed_u32x4 x;
        float o[4];
        if (quad * 4 >= HEED_DIM_V)
            continue;
        merge_quad(m, quad, o);
        HEED_UNROLL
        for (u32 j = 0; j < 4; j++)
            x.v[j] = ptx_as_u32(o[j]);
        ptx_st_global_16(args->partial + row * HEED_DIM_V + quad * 4, x);
    }
}

HEED_DEVICE void store_row(const heed_cuda_args *args, const place *at, const merged_row *m)
{
    u8 *to = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, m->number);
    if (args->lse && m->quad == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, at->head, m->number), row_lse(m) * LN_2);
    HEED_UNROLL
    for (u32 i = 0; i < ROW_QUADS; i++) {
        u32 quad = i * ROW_THREADS + m->quad;
        heed_u32x2 x;
        float o[4];
        if (quad * 4 >= HEED_DIM_V)
            continue;
        merge_quad(m, quad, o);
        x.v[0] = half_pack(o[0], o[1]);
        x.v[1] = half_pack(o[2], o[3]);
        ptx_st_global_8(to + quad * 8, x);
    }
}

/* Makes rows of the warp anew of which @own says so, after they have been stored. */
HEED_RARE void remake_own(const heed_cuda_args *args, u32 own)
{
    place at;
    merged_row m;
    find_place(args, &at);
    find_merged(&at, &m);
    u32 lane = ptx_lane();
    remake_rows(args, at.head, m.number - lane / ROW_THREADS, 1,
                warp_or(own << lane / ROW_THREADS));
}

HEED_DEVICE void store(const heed_cuda_args *args, const place *at, state *st)
{
    merged_row m;
    u32 own = 0;
    if (HEED_MASKED) /* a value that is not finite, of a key that the row does not see */
        mark_not_finite(st);
    share_sums(at, st);
    if (HEED_CLUSTER > 1) { /* so have those of the other blocks */
        ptx_cluster_arrive();
        ptx_cluster_wait();
    }
    leave_rows(at, st);
    ptx_barrier_named(CONSUMERS_BARRIER, CONSUMER_THREADS);
    if (HEED_CLUSTER > 1)
        ptx_mbarrier_wait(left_barrier(), 0);
    find_merged(at, &m);
    weigh_blocks(&m);
    if (m.number < args->rows) {
        if (args->splits.value > 1)
            store_part(args, at, &m);
        else {
            store_row(args, at, &m);
            own = (u32)is_given_up(m.sum, m.max, FAR_MAX);
        }
    }
    if (ptx_vote_any(own))
        remake_own(args, own);
}

#endif /* HEED_MLA_STORE_CUH */
