/*
 * attn_wide32.c - host half of attn_wide32.cu: configs, limits and cost model
 */
#include <math.h>

#include "../backend.h"
#include "../gpu.h"
#include "../score/score.h"
#include "pair.h"

#define DIM_UNIT 4 /* elements of 16 bytes */
#define DIM_MAX 1024
#define NARROW_MAX 256 /* limit of attn_mma without shared rows */
#define MERGED_DIM 256 /* up to here splits are merged within the launch */
#define ROWS 64
#define THREADS 256
#define PANEL 32 /* columns, */
#define PANEL_ROW 128
#define PASS 256 /* keys, */
#define PART 32
#define SLICE 256 /* and maximum columns of V that are processed at once */
#define STAGES 2
#define STATS 5 /* words of a row */

/* The knobs, in the order of a config's values. */
enum {
    TILE_KEYS, /* n: keys of a block */
    SPLITS,    /* p: blocks that share the keys of the same rows */
    KNOBS
};

static const int tile_values[] = { 128, 256, 512 };
#define TILE_VALUES ((int)(sizeof tile_values / sizeof *tile_values))

static void config_at(int index, heed_config *config)
{
    config->value[TILE_KEYS] = tile_values[index / HEED_PAIR_SPLIT_VALUES];
    config->value[SPLITS] = heed_pair_splits[index % HEED_PAIR_SPLIT_VALUES];
}

/* As in wide32/sizes.cuh. */
static int64_t smem_of(const int *v)
{
    int64_t pass = v[TILE_KEYS] < PASS ? v[TILE_KEYS] : PASS;
    int64_t score = (ROWS + pass) * PANEL_ROW, value = (int64_t)PART * SLICE * 4;
    return (int64_t)ROWS * v[TILE_KEYS] * 4 + STAGES * (score > value ? score : value) +
           (int64_t)ROWS * STATS * 4;
}

/* The fallback for unaligned addresses is the simple kernel. */
static heed_cuda_cut cut(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config)
{
    (void)gpu;
    (void)problem;
    return (heed_cuda_cut){ .launch = { .rows = ROWS,
                                        .splits = config->value[SPLITS],
                                        .aligned = true,
                                        .rows_apart = true },
                            .fallback_kernel = heed_kernel_of(&heed_cuda_naive_code) };
}

const heed_cuda_code heed_cuda_wide32_code = { .cut = cut };

/* ---- Legal configs ---- */

static bool has_dim(int64_t dim)
{
    return dim <= DIM_MAX && dim % DIM_UNIT == 0;
}

static int64_t tiles_of(const heed_problem *problem, const int *v)
{
    return heed_div_up(problem->seq_k, v[TILE_KEYS]);
}

static const char *unfit(const heed_problem *problem, const int *v)
{
    if (!has_dim(problem->dim_qk) || !has_dim(problem->dim_v))
        return "dim_qk and dim_v are not multiples of 4 up to 1024";
    if (problem->page > 0 || heed_problem_varies_k(problem))
        return "keys are in pages, or batch elements have lengths";
    if (v[SPLITS] > 1 && problem->dim_v <= MERGED_DIM)
        return "splits are for a dim_v above 256";
    if (tiles_of(problem, v) > v[SPLITS])
        return "a block has one tile of keys, and there are more tiles than splits";
    return heed_pair_unfit(problem);
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    *why = unfit(problem, config->value);
    if (!*why && smem_of(config->value) > machine->gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    return !*why && heed_cuda_fits(problem, ROWS, config->value[SPLITS], why);
}

static bool worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    (void)machine;
    *why = NULL;
    if (problem->dim_qk <= NARROW_MAX && problem->dim_v <= NARROW_MAX)
        *why = "not worthwhile: is for other head dims";
    else if (tiles_of(problem, config->value) <= config->value[SPLITS] / 2)
        *why = "not worthwhile: more splits than key tiles";
    return !*why;
}

/* ---- Cost ---- */

/* Clocks of a multiprocessor for a block: of its tensor cores or of their loads from the L2, and
 * for the softmax, which does not overlap with anything. */
static double block_clocks(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    static const double times[] = { [1] = 2, [2] = 3, [3] = 6 }; /* relative to a 16-bit product */
    const heed_wide_costs *costs = gpu->costs->wide32;
    double qk = PANEL * (double)heed_div_up(problem->dim_qk, PANEL);
    double dim_v = SLICE * (double)heed_div_up(problem->dim_v, SLICE);
    double keys = v[TILE_KEYS], passes = ceil(keys / PASS);
    double products = 2.0 * times[heed_cuda_products(problem)] * ROWS * keys * (qk + dim_v) /
                      (costs->matrix_share * heed_gpu_get_rates(gpu->arch).matrix);
    double loads = 4 * (keys * (qk + dim_v) + passes * ROWS * qk) / costs->l2_bytes;
    return (products > loads ? products : loads) + costs->tile + costs->key * keys;
}

static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    double seen = heed_problem_share(problem);
    double tiles = (double)tiles_of(problem, v);
    double blocks = heed_pair_items(problem) * (tiles > 1 ? tiles * seen : 1);
    double clocks = block_clocks(problem, gpu, v);
    return heed_pair_seconds(problem, gpu, gpu->costs->wide32, blocks, clocks, v[SPLITS]);
}

/* ---- Code ---- */

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const heed_define defines[] = { { "HEED_PRODUCTS", heed_cuda_products(problem) },
                                    { "HEED_TILE_KEYS", config->value[TILE_KEYS] } };
    (void)kernel;
    (void)machine;
    result->source = "attn_wide32.cu";
    result->launch.threads = THREADS;
    result->launch.smem = smem_of(config->value);
    return heed_cuda_facts_define(result, problem, defines, sizeof defines / sizeof *defines);
}

const heed_algorithm heed_algorithm_cuda_wide32 = {
    .knobs = { { 'n', "TILE_KEYS", { 128, 256, 512 } }, { 'p', "SPLITS", HEED_PAIR_SPLITS } },
    .config_at = config_at,
    .config_count = TILE_VALUES * HEED_PAIR_SPLIT_VALUES,
    .legal = legal,
    .worthwhile = worthwhile,
    .cost = cost,
    .plans = &heed_cuda_plans,
    .facts = facts,
};
