/*
 * pair.c - the host half shared by attn_mla, attn_wide and attn_wide32
 */
#include "pair.h"

#include <math.h>

#include "../backend.h"
#include "../costs.h"
#include "../score/score.h"

const int heed_pair_splits[HEED_PAIR_SPLIT_VALUES] = HEED_PAIR_SPLITS;

const char *heed_pair_unfit(const heed_problem *problem)
{
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    if (needs.modifies || needs.hides || needs.sinks)
        return "logits are changed, keys hidden by steps, or sinks added";
    if (heed_problem_hides_first(problem) || needs.starts || problem->chunk != 0)
        return "the mask hides first keys";
    if (needs.packed_q || needs.packed_k)
        return "sequences are packed";
    return NULL;
}

double heed_pair_items(const heed_problem *problem)
{
    int64_t rows = problem->seq_q * heed_problem_group(problem);
    return (double)heed_div_up(rows, HEED_PAIR_ROWS) * (double)problem->batch *
           (double)problem->heads_kv;
}

double heed_pair_seconds(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_wide_costs *costs, double blocks, double clocks, int splits)
{
    double rounds = ceil(blocks / gpu->multiprocessors);
    double running = blocks < gpu->multiprocessors ? blocks : gpu->multiprocessors;
    double block = clocks / (costs->clock_share * gpu->clock) + costs->block;
    double loading = heed_gpu_memory_seconds(gpu, problem, running * costs->block_bytes);
    return heed_gpu_beside(gpu, rounds * block, loading) + costs->launch +
           heed_cuda_merge_apart_seconds(problem, gpu, splits);
}
