/*
 * combine.cuh - the merge of split-KV: the partial results of blocks that split the keys of a row
 *
 * Each block has stored its part of O, normalized, and the LSE of its keys; one that saw no key has
 * stored zeros and -infinity. The result is the mean of the parts, weighted by the exponentials of
 * their LSEs. A kernel may call combine_rows() when all parts have been stored, in the last block
 * to finish; otherwise heed_combine is a second launch. Both add the same numbers in the same
 * order.
 *
 * A warp merges COMBINE_ROWS rows at a time; its lanes take every 32nd column. The time goes into
 * waiting for memory, so the loads of COMBINE_BATCH parts of each row are in flight at once, and
 * those of their LSEs, one per lane, with the first of them. Rows of more than 256 columns are only
 * merged by the heed_combine of combine_long.cuh.
 */
#ifndef HEED_COMBINE_CUH
#define HEED_COMBINE_CUH

#include "half.cuh"
#include "plain.cuh"
#include "spread.cuh"

#define COMBINE_THREADS 128
#define COMBINE_COLUMNS ((HEED_DIM_V + 31) / 32)

/* True if only a separate launch merges parts. */
#define COMBINE_APART (HEED_DIM_V > 256)

/* A kernel whose warps merge many rows may define this as 4 first. */
#ifndef COMBINE_ROWS
#define COMBINE_ROWS 1
#endif

/* Heads that share one of K and V: a kernel with maps may define it as args->share first. */
#ifndef COMBINE_SHARE
#define COMBINE_SHARE(args) 1
#endif

/* A lane has loads to up to 64 registers in flight: those of the sums are free by then. */
#define COMBINE_ACROSS (COMBINE_ROWS * COMBINE_COLUMNS)
#define COMBINE_BATCH \
    (COMBINE_ACROSS <= 4 ? 16 : COMBINE_ACROSS <= 8 ? 8 : COMBINE_ACROSS <= 16 ? 4 : 2)

/* The location of the parts of some rows. */
typedef struct parts {
    const float *o; /* of the first split and row */
    const float *lse;
    i64 step; /* rows from one split to the next */
    u32 splits;
    u32 rows; /* up to COMBINE_ROWS */
} parts;

/* Those of @rows rows from @row on. */
HEED_DEVICE parts parts_of(const heed_cuda_args *args, const part_place *at, u32 row, u32 rows)
{
    i64 first = at->first + row;
    parts from;
    from.o = args->partial + first * HEED_DIM_V;
    from.lse = args->partial_lse + first;
    from.step = at->step;
    from.splits = at->splits;
    from.rows = rows;
    return from;
}

/* The LSE of a part, to base 2, which saw keys of up to @max with @sum as sum of weights. Far above
 * zero all weights may be rounded to zero: the LSE is then the maximum, so that the row is
 * recomputed. */
HEED_DEVICE float lse_of_part(float max, float sum)
{
    if (sum == 0.0f)
        return max < FAR_MAX ? -ptx_infinity() : max;
    return max + ptx_lg2(sum);
}

typedef float part_batch[COMBINE_BATCH][COMBINE_ROWS][COMBINE_COLUMNS];

/* The rows so far: sums relative to @top, and each lane's weight of one split. */
typedef struct merged {
    float top[COMBINE_ROWS]; /* the largest LSE */
    float weight[COMBINE_ROWS];
    float sum[COMBINE_ROWS]; /* of weights */
    float o[COMBINE_ROWS][COMBINE_COLUMNS];
} merged;

/* The LSE of row @r in split @first + lane; -infinity if there is none. */
HEED_DEVICE float part_lse(const parts *from, u32 r, u32 first)
{
    u32 split = first + ptx_lane();
    if (r >= from->rows || split >= from->splits)
        return -ptx_infinity();
    return ptx_ld_global_f32(from->lse + split * from->step + r);
}

/* The largest LSE of row @r; each lane starts with @top, its first one. */
HEED_DEVICE float largest_lse(const parts *from, u32 r, float top)
{
    HEED_NO_UNROLL
    for (u32 i = 32; i < from->splits; i += 32)
        top = ptx_max(top, part_lse(from, r, i));
    for (int turn = 1; turn < 32; turn *= 2)
        top = ptx_max(top, ptx_shfl_xor(top, turn));
    return top;
}

/* Loads the splits from @first on; zeros where there is none. */
HEED_DEVICE void load_parts(const parts *from, u32 first, part_batch part)
{
    const float *o = from->o + first * from->step * HEED_DIM_V + ptx_lane();
    HEED_UNROLL
    for (u32 s = 0; s < COMBINE_BATCH; s++, o += from->step * HEED_DIM_V) {
        HEED_UNROLL
        for (u32 r = 0; r < COMBINE_ROWS; r++) {
            HEED_UNROLL
            for (u32 c = 0; c < COMBINE_COLUMNS; c++) {
                part[s][r][c] = 0.0f;
                if (first + s < from->splits && r < from->rows && c * 32 + ptx_lane() < HEED_DIM_V)
                    part[s][r][c] = ptx_ld_global_f32(o + r * HEED_DIM_V + c * 32);
            }
        }
    }
}

HEED_DEVICE void add_parts(merged *m, u32 first, part_batch part)
{
    HEED_UNROLL
    for (u32 s = 0; s < COMBINE_BATCH; s++) {
        HEED_UNROLL
        for (u32 r = 0; r < COMBINE_ROWS; r++) {
            float weight = ptx_shfl_idx(m->weight[r], (int)((first + s) % 32));
            m->sum[r] += weight;
            HEED_UNROLL
            for (u32 c = 0; c < COMBINE_COLUMNS; c++)
                m->o[r][c] += weight * part[s][r][c];
        }
    }
}

/* Computes the weights of the 32 splits from @first on, whose LSEs the lanes have. */
HEED_DEVICE void weigh_parts(const parts *from, merged *m, const float lse[COMBINE_ROWS], u32 first)
{
    HEED_UNROLL
    for (u32 r = 0; r < COMBINE_ROWS; r++) {
        if (first == 0)
            m->top[r] = largest_lse(from, r, lse[r]);
        m->weight[r] = lse[r] == -ptx_infinity() ? 0.0f : ptx_ex2(lse[r] - m->top[r]);
    }
}

HEED_DEVICE void store_combined(const heed_cuda_args *args, u32 head, u32 row, const merged *m,
                                u32 r)
{
    float factor = m->sum[r] == 0.0f ? 0.0f : ptx_rcp(m->sum[r]), top = m->top[r], sum = m->sum[r];
#if HEED_SINKS
    factor *= add_sink(args, head, row, &top, &sum);
#endif
    u8 *to = (u8 *)args->o + ELEMENT_BYTES * row_offset(args, head, args->o_stride, row);
    HEED_UNROLL
    for (u32 c = 0; c < COMBINE_COLUMNS; c++) {
        u32 column = c * 32 + ptx_lane();
        if (column < HEED_DIM_V)
            half_store(to + ELEMENT_BYTES * column, m->o[r][c] * factor);
    }
    if (args->lse && ptx_lane() == 0)
        ptx_st_global_f32(args->lse + lse_offset(args, head, row),
                          sum == 0.0f ? -ptx_infinity() : (top + ptx_lg2(sum)) * LN_2);
}

/* Recomputes the rows of @head whose bits are set in @anew. Called by the whole warp, whose lanes
 * have stored them before. The first COMBINE_ROWS bits are for rows from @row on, the next ones for
 * those @step further on, and so on. */
HEED_RARE void remake_rows(const heed_cuda_args *args, u32 head, u32 row, u32 step, u32 anew)
{
    u32 batch = divide(head, args->heads_kv);
    ptx_warp_barrier(); /* other lanes may have stored elements of a row */
    HEED_NO_UNROLL
    for (u32 i = 0; anew != 0; i++, anew >>= 1)
        if (anew & 1)
            plain_make(args, head, row + i / COMBINE_ROWS * step + i % COMBINE_ROWS, batch,
                       (head - batch * args->heads_kv.value) / COMBINE_SHARE(args));
}

/* Merges @rows rows of @head, up to COMBINE_ROWS, from @row on, whose parts are at @at. Called by
 * the whole warp. Returns which of them must be recomputed, a bit for each; this is determined
 * after they have been stored, off the critical path. */
HEED_DEVICE u32 combine_rows(const heed_cuda_args *args, const part_place *at, u32 head, u32 row,
                             u32 rows)
{
    part_batch part;
    float lse[COMBINE_ROWS];
    merged m;
    const parts from = parts_of(args, at, row, rows);
    HEED_UNROLL
    for (u32 r = 0; r < COMBINE_ROWS; r++) {
        m.sum[r] = 0.0f;
        HEED_UNROLL
        for (u32 c = 0; c < COMBINE_COLUMNS; c++)
            m.o[r][c] = 0.0f;
    }
    HEED_NO_UNROLL
    for (u32 i = ptx_keep(0); i < from.splits; i += COMBINE_BATCH) { /* one copy of the code for all
                                                                        iterations */
        HEED_UNROLL
        for (u32 r = 0; r < COMBINE_ROWS && i % 32 == 0; r++)
            lse[r] = part_lse(&from, r, i);
        load_parts(&from, i, part);
        if (i % 32 == 0)
            weigh_parts(&from, &m, lse, i);
        add_parts(&m, i, part);
    }
    HEED_UNROLL
    for (u32 r = 0; r < COMBINE_ROWS; r++)
        if (r < rows)
            store_combined(args, head, row + r, &m, r);
    u32 anew = 0;
    HEED_UNROLL
    for (u32 r = 0; r < COMBINE_ROWS; r++)
        if (r < rows && is_given_up(m.sum[r], ptx_abs(m.top[r]), FAR_LSE))
            anew |= 1u << r;
    return anew;
}

#if COMBINE_APART

#include "combine_long.cuh"

#else

HEED_ENTRY(COMBINE_THREADS, 1) heed_combine(HEED_GRID_CONSTANT const heed_cuda_args args)
{
    u32 item = ptx_block_x() * (COMBINE_THREADS / 32) + ptx_thread() / 32;
    u32 head = item / args.rows;
    ptx_griddepcontrol_wait();
    if (head >= args.heads)
        return;
    u32 row = item - head * args.rows;
    if (HEED_PACKED_Q && row >= batch_rows(&args, divide(head, args.heads_kv)))
        return;
    part_place at = find_parts(&args, head);
    if (HEED_SPREAD && at.splits == 1)
        return;
    u32 anew = combine_rows(&args, &at, head, row, 1);
    if (anew)
        remake_rows(&args, head, row, 0, anew);
}

#endif

#endif /* HEED_COMBINE_CUH */
