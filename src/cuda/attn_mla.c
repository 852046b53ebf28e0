/*
 * attn_mla.c - attn_mla.cu as the planner sees it: its configs, what is legal, how long they take
 */
#include <math.h>

#include "backend.h"
#include "gpu.h"
#include "maps.h"
#include "score/score.h"

#define ARCH 90 /* no later device runs what is compiled for sm_90a */
#define ROWS 64
#define TILE_KEYS 64
#define THREADS 384
#define DIM_UNIT 8
#define QK_MIN 520
#define QK_MAX 576
#define V_MIN 264
#define V_MAX 512
#define SMEM 225568 /* as mla_sizes.cuh counts it */

/* The knobs, in the order in which a config has them. */
enum {
    SPLITS, /* splits: blocks that share the keys of the same rows */
    KNOBS
};

static const int split_values[] = { 1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128 };
#define SPLIT_VALUES ((int)(sizeof split_values / sizeof *split_values))

static void config_at(int index, heed_config *config)
{
    config->value[SPLITS] = split_values[index];
}

/* Where addresses are not aligned the simple kernel takes over. */
static heed_cuda_cut cut(const heed_problem *problem, const heed_config *config)
{
    (void)problem;
    return (heed_cuda_cut){ .launch = { .rows = ROWS,
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
    if (problem->dim_qk < QK_MIN || problem->dim_qk > QK_MAX || problem->dim_qk % DIM_UNIT)
        return "dim_qk is not a multiple of 8 from 520 to 576";
    if (problem->dim_v < V_MIN || problem->dim_v > V_MAX || problem->dim_v % DIM_UNIT)
        return "dim_v is not a multiple of 8 from 264 to 512";
    return NULL;
}

static const char *unfit_words(const heed_problem *problem)
{
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    if (needs.modifies || needs.hides || needs.sinks)
        return "logits are changed, keys hidden by steps, or sinks added";
    if (heed_problem_hides_first(problem) || needs.starts || problem->chunk != 0)
        return "the mask hides first keys";
    if (needs.packed_q || needs.packed_k)
        return "sequences are packed";
    if (problem->page % DIM_UNIT)
        return "a page has no multiple of 8 keys";
    if (problem->page > 0 && TILE_KEYS % problem->page != 0 && problem->page % TILE_KEYS != 0)
        return "tiles of 64 keys are neither of whole pages nor parts of one";
    return NULL;
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    *why = machine->gpu->arch != ARCH ? "is for compute capability 9.0 alone" : NULL;
    if (!*why)
        *why = unfit_dims(problem);
    if (!*why)
        *why = unfit_words(problem);
    if (!*why && SMEM > machine->gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    return !*why && heed_cuda_can_map(problem, why) &&
           heed_cuda_fits(problem, ROWS, config->value[SPLITS], why);
}

/* Blocks that do not share keys. */
static double items_of(const heed_problem *problem)
{
    int64_t rows = problem->seq_q * heed_problem_group(problem);
    return (double)heed_div_up(rows, ROWS) * (double)problem->batch * (double)problem->heads_kv;
}

static bool worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config, const char **why)
{
    int splits = config->value[SPLITS];
    (void)kernel;
    *why = NULL;
    if (splits > heed_div_up(problem->seq_k, TILE_KEYS))
        *why = "not worthwhile: more splits than key tiles";
    else if (splits > 1 && !heed_problem_varies_k(problem) &&
             items_of(problem) >= machine->gpu->multiprocessors)
        *why = "not worthwhile: enough blocks without splitting keys";
    return !*why;
}

/* ---- Cost ---- */

/* Blocks go on in rounds, one on a multiprocessor; each loads its keys beside their products. */
static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const heed_mla_costs *costs = gpu->costs->mla;
    int splits = config->value[SPLITS];
    (void)kernel;
    double seen = (double)heed_problem_pairs(problem) /
                  ((double)problem->seq_q * (double)problem->seq_k);
    double tiles = (double)heed_div_up(heed_div_up(problem->seq_k, TILE_KEYS), splits) * seen;
    double tile = 2.0 * ROWS * TILE_KEYS * (QK_MAX + V_MAX) * gpu->multiprocessors /
                  (costs->matrix_share * gpu->matrix);
    double blocks = items_of(problem) * splits, rounds = ceil(blocks / gpu->multiprocessors);
    double running = blocks < gpu->multiprocessors ? blocks : gpu->multiprocessors;
    double loading = heed_gpu_memory_seconds(gpu, problem, running * costs->block_bytes);
    double seconds = heed_gpu_beside(gpu, rounds * tiles * tile, loading) + rounds * costs->block;
    seconds *= heed_cuda_unequal(problem, rounds);
    return seconds + costs->launch + heed_cuda_merge_apart_seconds(problem, gpu, splits);
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
    result->launch.entry = "heed_attend";
    result->launch.threads = THREADS;
    result->launch.smem = SMEM;
    return heed_cuda_facts_define(result, problem, defines, sizeof defines / sizeof *defines);
}

const heed_algorithm heed_algorithm_cuda_mla = {
    .knobs = { { 'p', "SPLITS", { 1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128 } } },
    .config_at = config_at,
    .config_count = SPLIT_VALUES,
    .modifies = true,
    .legal = legal,
    .worthwhile = worthwhile,
    .cost = cost,
    .workspace = heed_cuda_workspace,
    .prepare = heed_cuda_prepare,
    .release = heed_cuda_release_plan,
    .execute = heed_cuda_execute,
    .facts = facts,
};
