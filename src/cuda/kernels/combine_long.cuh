/*
 * combine_long.cuh - the merge of split-KV for rows of more than 256 columns: heed_combine, a
 * launch with one block per row, which spreads the work over the device
 *
 * Four adjacent columns, or twice four, are a thread's. With many splits, groups of threads share
 * them: a block has 128 threads times the groups, a warp has lanes of all groups, which add up
 * their sums at the end. Only combine.cuh includes this file, whose functions it uses.
 */
#ifndef HEED_COMBINE_LONG_CUH
#define HEED_COMBINE_LONG_CUH

#define LONG_THREADS 128
#define LONG_GROUPS 4
#define LONG_QUADS ((HEED_DIM_V + 4 * LONG_THREADS - 1) / (4 * LONG_THREADS))
#define LONG_BATCH \
    ((HEED_DIM_V % 4 == 0 ? 8 : 4) / LONG_QUADS) /* splits whose loads are in flight at once */

/* A thread's place: its first column, and its group. */
typedef struct long_place {
    u32 column;
    u32 lanes; /* of a group in a warp */
    u32 group, groups;
} long_place;

HEED_DEVICE long_place find_long(void)
{
    long_place at;
    at.groups = ptx_threads() / LONG_THREADS;
    at.lanes = 32 / at.groups;
    at.group = ptx_lane() / at.lanes;
    at.column = 4 * LONG_QUADS * (ptx_thread() / 32 * at.lanes + ptx_lane() - at.group * at.lanes);
    return at;
}

/* A thread's columns of some splits, and the LSEs. */
typedef struct long_batch {
    float o[LONG_BATCH][4 * LONG_QUADS];
    float lse[LONG_BATCH];
} long_batch;

HEED_DEVICE void load_columns(const float *from, u32 column, float o[4])
{
#if HEED_DIM_V % 4 == 0
    heed_u32x4 x = { { 0, 0, 0, 0 } };
    if (column < HEED_DIM_V)
        x = ptx_ld_global_16(from + column);
    HEED_UNROLL
    for (u32 i = 0; i < 4; i++)
        o[i] = ptx_as_f32(x.v[i]);
#else
    HEED_UNROLL
    for (u32 i = 0; i < 4; i++)
        o[i] = column + i < HEED_DIM_V ? ptx_ld_global_f32(from + column + i) : 0.0f;
#endif
}

/* Loads the splits from @first on; zeros where there is none. */
HEED_DEVICE void load_long(const parts *from, const long_place *at, u32 first, long_batch *batch)
{
    HEED_UNROLL
    for (u32 s = 0; s < LONG_BATCH; s++) {
        i64 part = (first + s) * from->step;
        batch->lse[s] = -ptx_infinity();
        HEED_UNROLL
        for (u32 i = 0; i < 4 * LONG_QUADS; i++)
            batch->o[s][i] = 0.0f;
        if (first + s >= from->splits)
            continue;
        batch->lse[s] = ptx_ld_global_f32(from->lse + part);
        HEED_UNROLL
        for (u32 i = 0; i < LONG_QUADS; i++)
            load_columns(from->o + part * HEED_DIM_V, at->column + 4 * i, &batch->o[s][4 * i]);
    }
}

/* A thread's part of the row: sums relative to @top, the largest LSE. */
typedef struct long_row {
    float top;
    float sum; /* of weights */
    float o[4 * LONG_QUADS];
} long_row;

HEED_DEVICE void add_long(long_row *row, const long_batch *batch)
{
    HEED_UNROLL
    for (u32 s = 0; s < LONG_BATCH; s++) {
        float lse = batch->lse[s], weight = lse == -ptx_infinity() ? 0.0f : ptx_ex2(lse - row->top);
        row->sum += weight;
        HEED_UNROLL
        for (u32 i = 0; i < 4 * LONG_QUADS; i++)
            row->o[i] += weight * batch->o[s][i];
    }
}

/* Adds the sums of all groups up, for all of their lanes. */
HEED_DEVICE void add_groups(const long_place *at, long_row *row)
{
    HEED_NO_UNROLL
    for (u32 turn = at->lanes; turn < 32; turn *= 2) {
        row->sum += ptx_shfl_xor(row->sum, (int)turn);
        HEED_UNROLL
        for (u32 i = 0; i < 4 * LONG_QUADS; i++)
            row->o[i] += ptx_shfl_xor(row->o[i], (int)turn);
    }
}

/* Stores four columns, multiplied by @factor. The launch that stored the parts has rows of O at
 * multiples of 16 bytes. */
HEED_DEVICE void store_columns(u8 *to, u32 column, const float o[4], float factor)
{
#if HEED_DIM_V % 4 == 0 && !HEED_F32
    heed_u32x2 x = { { half_pack(o[0] * factor, o[1] * factor),
                       half_pack(o[2] * factor, o[3] * factor) } };
    if (column < HEED_DIM_V)
        ptx_st_global_8(to + ELEMENT_BYTES * column, x);
#else
    HEED_UNROLL
    for (u32 i = 0; i < 4; i++)
        if (column + i < HEED_DIM_V)
            half_store(to + ELEMENT_BYTES * (column + i), o[i] * factor);
#endif
}

HEED_DEVICE void store_long(const heed_cuda_args *args, const long_place *at, u32 head, u32 number,
                            const long_row *row)
{
    float top = row->top, sum = row->sum, factor = sum == 0.0f ? 0.0f : ptx_rcp(sum);
#if HEED_SINKS
    factor *= add_sink(args, head, number, &top, &sum);
#endif
    u8 *to = (u8 *)args->o + ELEMENT_BYTES * row_offset(args, head, args->o_stride, number);
    HEED_UNROLL
    for (u32 i = 0; i < 4 * LONG_QUADS; i += 4)
        if (at->group == 0)
            store_columns(to, at->column + i, row->o + i, factor);
    if (args->lse && ptx_thread() == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, head, number),
                          sum == 0.0f ? -ptx_infinity() : (top + ptx_lg2(sum)) * LN_2);
}

/* Merges row @number of @head, whose parts are at @from. Returns true if it must be recomputed. */
HEED_DEVICE int combine_long(const heed_cuda_args *args, const parts *from, u32 head, u32 number)
{
    long_place at = find_long();
    long_row row;
    long_batch batch;
    float own = part_lse(from, 0, 0);
    row.sum = 0.0f;
    HEED_UNROLL
    for (u32 i = 0; i < 4 * LONG_QUADS; i++)
        row.o[i] = 0.0f;
    load_long(from, &at, at.group * LONG_BATCH, &batch);
    row.top = largest_lse(from, 0, own);
    HEED_NO_UNROLL
    for (u32 i = (at.group + at.groups) * LONG_BATCH;; i += at.groups * LONG_BATCH) {
        add_long(&row, &batch);
        if (i >= from->splits)
            break;
        load_long(from, &at, i, &batch);
    }
    add_groups(&at, &row);
    store_long(args, &at, head, number, &row);
    return is_given_up(row.sum, ptx_abs(row.top), FAR_LSE);
}

HEED_ENTRY(LONG_THREADS *LONG_GROUPS, 2)
heed_combine(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 head = ptx_block_x() / args.rows, row = ptx_block_x() - head * args.rows;
    ptx_griddepcontrol_wait();
    if (HEED_PACKED_Q && row >= batch_rows(&args, divide(head, args.heads_kv)))
        return;
    part_place at = find_parts(&args, head);
    if (HEED_SPREAD && at.splits == 1)
        return;
    parts from = parts_of(&args, &at, row, 1);
    int anew = combine_long(&args, &from, head, row);
    ptx_barrier(); /* the whole row is stored */
    if (ptx_thread() < 32 && ptx_vote_any(anew))
        remake_rows(&args, head, row, 0, 1);
}

#endif /* HEED_COMBINE_LONG_CUH */
