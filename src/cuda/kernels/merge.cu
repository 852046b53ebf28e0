/*
 * merge.cu - merges two attention results over different keys by their LSEs
 *
 * A warp merges one row, in place of one of the results. Each is the mean of its values, so the
 * merged row is their mean, weighted by the exponentials of the LSEs.
 *
 * Macros: HEED_TYPE as in element.cuh.
 */
#include "merge_args.cuh"
#include "unit.cuh"

#define LOG2_E 1.44269504088896341f

/* The weights of both results, and the merged LSE. */
typedef struct weights {
    float rest, part, lse;
} weights;

/* Relative to the larger one; a NaN of either makes everything NaN. */
HEED_DEVICE weights weigh(float rest, float part)
{
    const float none = -ptx_infinity();
    const float top = ptx_max(rest, part);
    const float a = rest == none ? 0.0f : ptx_ex2((rest - top) * LOG2_E);
    const float b = part == none ? 0.0f : ptx_ex2((part - top) * LOG2_E);
    const float sum = a + b, factor = sum == 0.0f ? 0.0f : ptx_rcp(sum);
    weights w;
    w.rest = a * factor;
    w.part = b * factor;
    w.lse = sum == 0.0f ? none : top + ptx_lg2(sum) * LN_2;
    return w;
}

HEED_DEVICE void merge_columns(u8 *o, const u8 *part, const weights *w, u32 dim, const int unit)
{
    unit_of a, b;
    for (u32 c = ptx_lane() * unit; c < dim; c += 32 * unit) {
        load_unit(&a, o + bytes_of(c), unit);
        load_unit(&b, part + bytes_of(c), unit);
        HEED_UNROLL
        for (int i = 0; i < unit; i++)
            a.x[i] = w->rest * a.x[i] + w->part * b.x[i];
        store_unit(o + bytes_of(c), &a, unit);
    }
}

HEED_DEVICE i64 number_at(const heed_cuda_strides *s, i64 batch, i64 seq, i64 head)
{
    return batch * s->batch + seq * s->seq + head * s->head;
}

HEED_DEVICE void merge_row(const heed_cuda_merge_args *args, const int unit)
{
    const u32 row = ptx_block_x() * HEED_MERGE_ROWS + ptx_thread() / 32;
    ptx_griddepcontrol_wait();
    ptx_griddepcontrol_launch();
    if (row >= args->rows)
        return;
    const u32 query = divide(row, args->heads), head = row - query * args->heads.value;
    const u32 batch = divide(query, args->seq), i = query - batch * args->seq.value;
    if (args->end && query >= ptx_ld_ahead_4(args->end))
        return;
    const i64 lse = number_at(&args->lse_stride, batch, i, head);
    const weights w = weigh(
        ptx_ld_global_f32(args->rest_lse + lse),
        ptx_ld_global_f32(args->part_lse + number_at(&args->part_lse_stride, batch, i, head)));
    merge_columns((u8 *)args->o + at_strides(&args->o_stride, batch, i, head),
                  (const u8 *)args->part + at_strides(&args->part_stride, batch, i, head), &w,
                  args->dim, unit);
    ptx_warp_barrier(); /* all lanes have read the LSE that may be overwritten */
    if (args->lse && ptx_lane() == 0)
        ptx_st_global_f32(args->lse + lse, w.lse);
}

/* For tensors, strides and a dim that are multiples of 16 bytes, and for any. */
HEED_ENTRY_BESIDE(HEED_MERGE_ROWS * 32)
heed_merge_wide(HEED_GRID_CONSTANT const heed_cuda_merge_args args)
{
    merge_row(&args, UNIT_WIDE);
}

HEED_ENTRY_BESIDE(HEED_MERGE_ROWS * 32)
heed_merge_any(HEED_GRID_CONSTANT const heed_cuda_merge_args args)
{
    merge_row(&args, 1);
}
