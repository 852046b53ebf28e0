/*
 * attn_mla.c - host half of attn_mla.cu: configs, limits and cost model
 */
#include <math.h>

#include "../backend.h"
#include "../gpu.h"
#include "../maps.h"
#include "pair.h"

#define TILE_KEYS 64
#define QK_MIN 520
#define QK_MAX 576
#define V_MIN 264
#define V_MAX 512
#define SMEM 225568 /* as in mla/sizes.cuh */

/* The knobs, in the order of a config's values. */
enum {
    SPLITS, /* splits: blocks that share the keys of the same rows */
    KNOBS
};

static void config_at(int index, heed_config *config)
{
    config->value[SPLITS] = heed_pair_splits[index];
}

/* The fallback for unaligned addresses is the simple kernel. */
static heed_cuda_cut cut(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config)
{
    (void)gpu;
    (void)problem;
    return (heed_cuda_cut){ .launch = { .rows = HEED_PAIR_ROWS,
                                        .splits = config->value[SPLITS],
                                        .aligned = true,
                                        .mapped = TILE_KEYS,
                                        .rows_apart = true },
                            .fallback_kernel = heed_kernel_of(&heed_cuda_naive_code) };
}

const heed_cuda_code heed_cuda_mla_code = { .cut = cut };

/* ---- Legal configs ---- */

static const char *unfit_dims(const heed_problem *problem)
{
    if (!problem->shared)
        return "V is not a part of K";
    if (problem->dim_qk < QK_MIN || problem->dim_qk > QK_MAX ||
        problem->dim_qk % HEED_PAIR_DIM_UNIT)
        return "dim_qk is not a multiple of 8 from 520 to 576";
    if (problem->dim_v < V_MIN || problem->dim_v > V_MAX || problem->dim_v % HEED_PAIR_DIM_UNIT)
        return "dim_v is not a multiple of 8 from 264 to 512";
    return NULL;
}

static const char *unfit_pages(const heed_problem *problem)
{
    if (problem->page % HEED_PAIR_DIM_UNIT)
        return "page is not a multiple of 8";
    if (problem->page > 0 && TILE_KEYS % problem->page != 0 && problem->page % TILE_KEYS != 0)
        return "tiles of 64 keys are neither whole pages nor part of one";
    return NULL;
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    *why = machine->gpu->arch != HEED_PAIR_ARCH ? "is only for compute capability 9.0" : NULL;
    if (!*why)
        *why = unfit_dims(problem);
    if (!*why)
        *why = heed_pair_unfit(problem);
    if (!*why)
        *why = unfit_pages(problem);
    if (!*why && SMEM > machine->gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    return !*why && heed_cuda_can_map(problem, why) &&
           heed_cuda_fits(problem, HEED_PAIR_ROWS, config->value[SPLITS], why);
}

static bool worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    *why = heed_cuda_idle_splits(problem, machine->gpu, heed_pair_items(problem),
                                 config->value[SPLITS], TILE_KEYS);
    return !*why;
}

/* ---- Cost ---- */

/* Blocks run in rounds, one per multiprocessor; each overlaps the loads of its keys with their
 * products. */
static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const heed_mla_costs *costs = gpu->costs->mla;
    int splits = config->value[SPLITS];
    (void)kernel;
    double seen = heed_problem_share(problem);
    double tiles = (double)heed_div_up(heed_div_up(problem->seq_k, TILE_KEYS), splits) * seen;
    double tile = 2.0 * HEED_PAIR_ROWS * TILE_KEYS * (QK_MAX + V_MAX) * gpu->multiprocessors /
                  (costs->matrix_share * gpu->matrix);
    double blocks = heed_pair_items(problem) * splits, rounds = ceil(blocks / gpu->multiprocessors);
    double running = blocks < gpu->multiprocessors ? blocks : gpu->multiprocessors;
    double loading = heed_gpu_memory_seconds(gpu, problem, running * costs->block_bytes);
    double seconds = heed_gpu_beside(gpu, rounds * tiles * tile, loading) + rounds * costs->block;
    seconds *= heed_cuda_unequal(problem, gpu, rounds);
    return seconds + costs->launch +
           costs->merge_share * heed_cuda_merge_apart_seconds(problem, gpu, splits);
}

/* ---- Code ---- */

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const heed_define defines[] = { { "HEED_BF16", problem->type == HEED_BF16 } };
    (void)kernel;
    (void)machine;
    (void)config;
    result->source = "attn_mla.cu";
    result->launch.threads = HEED_PAIR_THREADS;
    result->launch.smem = SMEM;
    return heed_cuda_facts_define(result, problem, defines, sizeof defines / sizeof *defines);
}

const heed_algorithm heed_algorithm_cuda_mla = {
    .knobs = { { 'p', "SPLITS", HEED_PAIR_SPLITS } },
    .config_at = config_at,
    .config_count = HEED_PAIR_SPLIT_VALUES,
    .modifies = true,
    .legal = legal,
    .worthwhile = worthwhile,
    .cost = cost,
    .plans = &heed_cuda_plans,
    .facts = facts,
};
