/*
 * outline.c - a kernel launch without addresses, strides and device
 */
#include "outline.h"

#include "backend.h"
#include "maps.h"

void heed_cuda_outline_of(heed_cuda_outline *outline, const heed_problem *problem,
                          const heed_gpu *gpu, const heed_launch_facts *launch)
{
    heed_problem seen = launch->mapped && !launch->rows_apart ? heed_cuda_mapped_problem(problem)
                                                              : *problem;
    heed_cuda_args *args = &outline->args;
    heed_cuda_fill_args(args, &seen, gpu, launch);
    unsigned items = launch->spread > 0 ? (unsigned)seen.heads_kv : heed_cuda_item_count(args);
    unsigned grid = items * args->splits.value;
    grid *= launch->cluster ? 2 : 1;
    if (launch->persistent && grid > (unsigned)gpu->multiprocessors)
        grid = (unsigned)gpu->multiprocessors;
    outline->grid = grid;
    args->share = (unsigned)(seen.heads_kv / problem->heads_kv);
    outline->share = heed_cuda_divide_by(args->share);
    outline->ahead = 2 * (int64_t)grid <= (int64_t)launch->resident * gpu->multiprocessors;
    outline->heads = launch->rows_apart ? 1 : (int)heed_problem_group(&seen);
}
