/*
 * prefix.c - merge attention over a prefix with that over the remaining keys, on a CUDA device: a
 * launch after both
 *
 * The head dim, sizes and strides are arguments, so compiled code is shared by all problems of a
 * type.
 */
#include "prefix.h"

#include <limits.h>
#include <stdlib.h>

#include "backend.h"
#include "beside.h"

/* plan->prefix->code */
typedef struct merge_code {
    heed_cuda_beside code;
    heed_cuda_merge_args args; /* without addresses */
} merge_code;

int heed_cuda_merge_defines(heed_type type, heed_define defines[HEED_MERGE_DEFINES])
{
    int count = 0;
    defines[count++] = (heed_define){ "HEED_TYPE", (int)type };
    defines[count++] = (heed_define){ "HEED_MASKED", 0 };
    return count;
}

heed_status heed_cuda_merge_fill(heed_cuda_merge_args *args, const heed_merge *merge)
{
    const heed_merge *m = merge;
    int64_t rows;
    if (__builtin_mul_overflow(m->batch * m->seq, m->heads, &rows) || rows > INT_MAX)
        return heed_fail(
            HEED_ERR_UNSUPPORTED,
            "with a prefix there are %lld x %lld queries of %lld heads: more rows than "
            "31 bits count",
            (long long)m->batch, (long long)m->seq, (long long)m->heads);
    *args = (heed_cuda_merge_args){ .o_stride = heed_cuda_strides_of(&m->o),
                                    .part_stride = heed_cuda_strides_of(&m->part),
                                    .lse_stride = heed_cuda_strides_of(&m->lse),
                                    .part_lse_stride = heed_cuda_strides_of(&m->part_lse),
                                    .seq = heed_cuda_divide_by((unsigned)m->seq),
                                    .heads = heed_cuda_divide_by((unsigned)m->heads),
                                    .rows = (unsigned)rows,
                                    .dim = (unsigned)m->dim };
    return HEED_OK;
}

void heed_cuda_merge_place(heed_cuda_merge_args *args, const heed_merged *at, const void *cu_q,
                           heed_data type, int64_t batch)
{
    args->o = at->o;
    args->part = at->part;
    args->rest_lse = at->rest_lse;
    args->part_lse = at->part_lse;
    args->lse = at->lse;
    args->end = NULL;
    if (cu_q) /* the lower word comes first */
        args->end = (const int *)cu_q + batch * (type == HEED_DATA_I64 ? 2 : 1);
}

unsigned heed_cuda_merge_grid(const heed_cuda_merge_args *args)
{
    return (unsigned)heed_div_up(args->rows, HEED_MERGE_ROWS);
}

bool heed_cuda_merge_wide(const heed_merge *merge)
{
    const int64_t unit = HEED_BESIDE_BYTES / (int64_t)heed_type_size(merge->type);
    const heed_strides *const all[] = { &merge->o, &merge->part };
    bool fit = merge->dim % unit == 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fit = fit && heed_cuda_beside_fits(all[i], unit);
    return fit;
}

bool heed_cuda_merge_aligned(const heed_cuda_merge_args *args)
{
    return ((uintptr_t)args->o | (uintptr_t)args->part) % HEED_BESIDE_BYTES == 0;
}

/* ---- Plans ---- */

heed_status heed_prefix_prepare_cuda(heed_plan *plan)
{
    const heed_merge *merge = &plan->prefix->merge;
    heed_define defines[HEED_MERGE_DEFINES];
    const heed_build build = { .source = "merge.cu",
                               .defines = defines,
                               .define_count = heed_cuda_merge_defines(merge->type, defines) };
    merge_code *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a plan");
    plan->prefix->code = made;
    heed_status status = heed_cuda_merge_fill(&made->args, merge);
    if (status != HEED_OK)
        return status;
    return heed_cuda_beside_load(&made->code, plan->context, build, "heed_merge_any",
                                 heed_cuda_merge_wide(merge) ? "heed_merge_wide" : NULL);
}

void heed_prefix_release_cuda(heed_plan *plan)
{
    merge_code *made = plan->prefix->code;
    if (made)
        heed_cuda_beside_unload(&made->code, plan->context);
    free(made);
    plan->prefix->code = NULL;
}

/* ---- Executions ---- */

heed_status heed_prefix_check_cuda(const heed_plan *plan, const heed_buffers *buffers)
{
    if (heed_cuda_trusts(plan, buffers))
        return HEED_OK;
    heed_cuda *cuda = plan->context->cuda;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_check_buffers(plan, buffers);
    if (status == HEED_OK)
        status = heed_cuda_check_pointer(cuda, "workspace", buffers->workspace);
    heed_cuda_leave(cuda);
    return status;
}

heed_status heed_prefix_on_cuda(const heed_plan *plan, const heed_buffers *buffers,
                                const heed_merged *at)
{
    const merge_code *made = plan->prefix->code;
    const heed_problem *p = &plan->problem;
    heed_cuda *cuda = plan->context->cuda;
    heed_cuda_merge_args args = made->args;
    heed_cuda_merge_place(&args, at, p->tokens_q > 0 ? buffers->cu_seqlens_q : NULL,
                          p->cu_seqlens_q.type, p->batch);
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_beside_start(&made->code, plan->context, heed_cuda_merge_grid(&args),
                                    HEED_MERGE_ROWS * 32, &args, heed_cuda_merge_aligned(&args),
                                    buffers->stream);
    heed_cuda_leave(cuda);
    return status;
}
