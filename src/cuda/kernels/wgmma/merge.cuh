/*
 * wgmma/merge.cuh - the epilogue of teams of row groups that share their rows: each stores its sums
 * in shared memory, of this block or of the other one of a pair; then every thread merges columns
 * of one row from all teams, divides by the sum of the weights, and stores them, in O or in a part
 * for heed_combine
 *
 * Each block of a pair merges half of the rows. Sums stored in the other block's shared memory are
 * counted by that block's barrier, so neither waits for the other to end.
 */
#ifndef HEED_WGMMA_MERGE_CUH
#define HEED_WGMMA_MERGE_CUH

#include "rows.cuh"
#include "wgmma/products.cuh"

#if HEED_SPLIT
#define COMBINE_SHARE(args) (args)->share
#include "combine.cuh"
#endif

/* Four columns, 16 bytes of the stored sums; and the number of these in a row that a thread
 * merges. */
#define QUADS (V_COLUMNS / 4)
#define ROW_THREADS (CONSUMER_THREADS / LEFT_ROWS)
#define ROW_QUADS ((QUADS + ROW_THREADS - 1) / ROW_THREADS)

/* The address where a team stores its sums of a row, */
HEED_DEVICE u32 left_sums(u32 team, u32 row)
{
    return ptx_shared_base() + LEFT_AT + (team * LEFT_ROWS + row) * LEFT_ROW;
}

/* and the row's maximum and sum of weights. */
HEED_DEVICE u32 left_weights(u32 team, u32 row)
{
    return left_sums(TEAMS, 0) + (team * LEFT_ROWS + row) * 8;
}

/* ---- Leaving ---- */

/* Stores two numbers at @smem, in block @to of the pair. */
HEED_DEVICE void leave_pair(const place *at, u32 smem, float first, float second, u32 to)
{
    heed_u32x2 x = { { ptx_as_u32(first), ptx_as_u32(second) } };
    if (PAIR == 1 || to == at->rank)
        ptx_st_shared_8(smem, x);
    else
        ptx_st_async_8(ptx_mapa(smem, to), x, ptx_mapa(left_barrier(), to));
}

/* Stores the warp's rows. */
HEED_DEVICE void leave_sums(const place *at, const state *st)
{
    u32 first = at->row_group * GROUP_ROWS + at->warp * 16, to = first / LEFT_ROWS;
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        u32 row = first % LEFT_ROWS + h * 8 + at->lane / 4;
        float sum = st->sum[0][h];
        sum += ptx_shfl_xor(sum, 1);
        sum += ptx_shfl_xor(sum, 2);
        if (at->lane % 4 == 0)
            leave_pair(at, left_weights(at->team, row), st->max[0][h], sum, to);
        HEED_UNROLL
        for (u32 dt = 0; dt < V8; dt++)
            leave_pair(at, left_sums(at->team, row) + dt * 32 + at->lane % 4 * 8,
                       st->o[0][dt][2 * h], st->o[0][dt][2 * h + 1], to);
    }
}

/* Expects the data that the other block of a pair sends: the sums of its teams, and the first bad
 * key. */
HEED_DEVICE void expect_left(void)
{
    ptx_mbarrier_arrive_expect(left_barrier(), HEED_KEY_GROUPS * LEFT_ROWS * (V_COLUMNS * 4 + 8) +
                                                   (HEED_MASKED ? 8 : 0));
}

/* ---- Merging ---- */

/* A row of all teams, for one of the threads that merge it. */
typedef struct team_row {
    u8 *o;      /* the thread's first columns; NULL: the row does not exist */
    float *lse; /* for pairs and parts: the address of the LSE */
    u32 limit;  /* the first key that the row does not see, if needed */
} team_row;

/* The thread's row among those that the block merges. Threads that read at the same time have rows
 * in different banks. */
HEED_DEVICE u32 merged_row(void)
{
    u32 row = ptx_thread() / ROW_THREADS;
    return ROW_THREADS >= 8 ? row : (row & ~3u) + (row & 1) * 2 + (row >> 1 & 1);
}

/* Its first quad; the next one is ROW_THREADS further on. */
HEED_DEVICE u32 merged_quad(void)
{
    return ptx_thread() % ROW_THREADS;
}

/* The row, as numbered in args.cuh. */
HEED_DEVICE u32 merged_at(const place *at)
{
    return at->row - at->row_group * GROUP_ROWS + at->rank * LEFT_ROWS + merged_row();
}

HEED_DEVICE float *merged_lse(const heed_cuda_args *args, const place *at)
{
    return args->lse + lse_offset(args, at->head, merged_at(at));
}

HEED_DEVICE void find_merged(const heed_cuda_args *args, const place *at, team_row *m)
{
    u32 row = merged_at(at);
    m->o = 0;
    m->lse = 0;
    m->limit = 0;
    if (row >= rows_of(args, at))
        return;
#if HEED_SPLIT
    i64 part = part_offset(args, at->head, at->split) + row;
    m->o = (u8 *)(args->partial + part * HEED_DIM_V) + merged_quad() * 16;
    m->lse = args->partial_lse + part;
#else
    m->o = (u8 *)args->o + 2 * row_offset(args, at->head, args->o_stride, row) + merged_quad() * 8;
    if (PAIR > 1)
        m->lse = merged_lse(args, at);
#endif
    if (HEED_MASKED && CLEANED(at) > 0)
        m->limit = batch_keys(args, at->batch, divide(row, args->group)).end;
}

/* Computes the weights of the teams' sums, and the row's maximum and sum of weights. */
HEED_DEVICE void weigh_teams(float counts[TEAMS], float *top, float *sum)
{
    heed_u32x2 left[TEAMS];
    *top = NO_MAX;
    *sum = 0.0f;
    HEED_UNROLL
    for (u32 k = 0; k < TEAMS; k++) {
        left[k] = ptx_ld_shared_8(left_weights(k, merged_row()));
        *top = ptx_max(*top, ptx_as_f32(left[k].v[0]));
    }
    HEED_UNROLL
    for (u32 k = 0; k < TEAMS; k++) {
        counts[k] = ptx_ex2(ptx_as_f32(left[k].v[0]) - *top);
        *sum += counts[k] * ptx_as_f32(left[k].v[1]);
    }
    float factor = HEED_SPLIT && *sum == 0.0f ? 0.0f : ptx_rcp(*sum);
    HEED_UNROLL
    for (u32 k = 0; k < TEAMS; k++)
        counts[k] *= factor;
}

/* True if the row sees a bad key of this block or of the other one of a pair. */
HEED_DEVICE int sees_bad(const team_row *m)
{
    return HEED_MASKED && m->limit > 0 &&
           (bad_key(BAD_AT) < m->limit || (PAIR > 1 && bad_key(OTHER_BAD_AT) < m->limit));
}

/* The teams' sums of a thread's columns: all read at once, before the weights are known, so the
 * latencies overlap. */
typedef struct quads {
    heed_u32x4 left[ROW_QUADS][TEAMS];
} quads;

HEED_DEVICE void take_quads(quads *all)
{
    HEED_UNROLL
    for (u32 i = 0; i < ROW_QUADS; i++) {
        u32 quad = i * ROW_THREADS + merged_quad();
        if (quad >= QUADS)
            continue;
        HEED_UNROLL
        for (u32 k = 0; k < TEAMS; k++)
            all->left[i][k] = ptx_ld_shared_16(left_sums(k, merged_row()) + quad * 16);
    }
}

/* Merges four columns of the row. */
HEED_DEVICE void merge_quad(const float counts[TEAMS], const heed_u32x4 left[TEAMS], float o[4])
{
    HEED_UNROLL
    for (u32 i = 0; i < 4; i++) {
        o[i] = 0.0f;
        HEED_UNROLL
        for (u32 k = 0; k < TEAMS; k++)
            o[i] += counts[k] * ptx_as_f32(left[k].v[i]);
    }
}

/* True if rows are recomputed at the very end of the kernel, and not in a call: short rows without
 * a mask then take 2 % less time (see the log). With one block per multiprocessor registers would
 * spill. */
#define ANEW_LAST (HEED_SCHEDULE == 3 && !HEED_MASKED)

/* Recomputes rows of the warp's threads; @own is true if the thread's must be. */
HEED_DEVICE void remake_merged(const heed_cuda_mapped_args *m, int own)
{
    place at;
    at.rank = PAIR == 1 ? 0 : ptx_cluster_rank();
    at.row_group = 0;
    find_place(m, &at, item_number(0));
    ptx_griddepcontrol_wait(); /* others have waited, but now this warp reads tensors itself */
    ptx_warp_barrier();        /* rows and LSEs have been stored */
    HEED_NO_UNROLL
    for (u32 thread = 0; thread < 32; thread += ROW_THREADS) {
        u32 next = ptx_shfl_idx_u32(own ? merged_at(&at) + 1 : 0, (int)thread);
        if (next > 0)
            plain_make(&m->args, at.head, next - 1, at.batch, at.head_kv);
    }
}

HEED_RARE void call_remake_merged(const heed_cuda_mapped_args *m, int own)
{
    remake_merged(m, own);
}

#if HEED_SPLIT

/* The LSE of a part, to base 2. One that saw a bad key is NaN, so the row is recomputed. */
HEED_DEVICE float part_lse_of(float top, float sum, int bad)
{
    if (bad)
        return ptx_as_f32(0x7fffffffu);
    return lse_of_part(top, sum);
}

/* Stores the normalized rows of a row group with separate rows as a part; @bad has a bit for each
 * row of the lane that must be recomputed. */
HEED_DEVICE void store_part(const heed_cuda_args *args, const place *at, const state *st, u32 bad)
{
    HEED_UNROLL
    for (u32 h = 0; h < 2; h++) {
        u32 row = row_of(at, 0, (int)h), column = at->lane % 4 * 2;
        i64 part = part_offset(args, at->head, at->split) + row;
        if (row >= rows_of(args, at))
            continue;
        if (column == 0)
            ptx_st_global_f32(args->partial_lse + part,
                              part_lse_of(st->max[0][h], st->sum[0][h], (int)(bad >> h & 1)));
        HEED_UNROLL
        for (u32 i = 0; i < V8; i++) {
            const float *o = &st->o[0][i][2 * h];
            heed_u32x2 x = { { ptx_as_u32(o[0]), ptx_as_u32(o[1]) } };
            if (column + i * 8 < HEED_DIM_V)
                ptx_st_global_8(args->partial + part * HEED_DIM_V + column + i * 8, x);
        }
    }
}

#endif

/* Stores four columns of the row, number @i of the thread's. */
HEED_DEVICE void store_quad(const team_row *m, u32 i, const float o[4])
{
#if HEED_SPLIT
    heed_u32x4 x = { { ptx_as_u32(o[0]), ptx_as_u32(o[1]), ptx_as_u32(o[2]), ptx_as_u32(o[3]) } };
    if (m->o)
        ptx_st_global_16(m->o + i * ROW_THREADS * 16, x);
#else
    heed_u32x2 x;
    x.v[0] = half_pack(o[0], o[1]);
    x.v[1] = half_pack(o[2], o[3]);
    if (m->o)
        ptx_st_global_8(m->o + i * ROW_THREADS * 8, x);
#endif
}

/* Merges the thread's part of its row; returns true if it must be recomputed. The LSE comes last,
 * so O does not wait for its address. */
HEED_DEVICE int merge_row(const heed_cuda_args *args, const place *at, const team_row *m)
{
    float counts[TEAMS], top, sum;
    quads all;
    take_quads(&all);
    weigh_teams(counts, &top, &sum);
    int bad = sees_bad(m);
#if HEED_SINKS && !HEED_SPLIT
    bad |= is_given_up(sum, top, FAR_MAX);
    float factor = add_sink(args, at->head, merged_at(at), &top, &sum);
    HEED_UNROLL
    for (u32 k = 0; k < TEAMS; k++)
        counts[k] *= factor;
#endif
    HEED_UNROLL
    for (u32 i = 0; i < ROW_QUADS; i++) {
        u32 quad = i * ROW_THREADS + merged_quad();
        float o[4];
        if (quad * 4 >= HEED_DIM_V)
            continue;
        merge_quad(counts, all.left[i], o);
        store_quad(m, i, o);
    }
#if HEED_SPLIT
    (void)args;
    (void)at;
    if (m->o && merged_quad() == 0)
        ptx_st_global_f32(m->lse, part_lse_of(top, sum, bad));
    return 0;
#else
    if (m->o && args->lse && merged_quad() == 0)
        ptx_st_global_f32(PAIR > 1 ? m->lse : merged_lse(args, at), (top + ptx_lg2(sum)) * LN_2);
    return m->o && (bad || (!HEED_SINKS && is_given_up(sum, top, FAR_MAX)));
#endif
}

#endif /* HEED_WGMMA_MERGE_CUH */
