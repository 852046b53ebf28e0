/*
 * attn_wide.c - host half of attn_wide.cu: configs, limits and cost model
 */
#include "../backend.h"
#include "../gpu.h"
#include "../maps.h"
#include "pair.h"

#define DIM_MIN 264
#define DIM_MAX 1024
#define PANEL 64      /* columns loaded at once, */
#define PANEL_ROW 128 /* and their bytes */
#define SLICE 512     /* maximum columns of V */
#define WHOLE 512     /* keys of the tile of a block that has only one */
#define WEIGHT 2      /* bytes */

/* The knobs, in the order of a config's values. */
enum {
    TILE_KEYS, /* n */
    SPLITS,    /* p: blocks that share the keys of the same rows */
    KNOBS
};

static const int tile_values[] = { 128, WHOLE };
#define TILE_VALUES ((int)(sizeof tile_values / sizeof *tile_values))

static void config_at(int index, heed_config *config)
{
    config->value[TILE_KEYS] = tile_values[index / HEED_PAIR_SPLIT_VALUES];
    config->value[SPLITS] = heed_pair_splits[index % HEED_PAIR_SPLIT_VALUES];
}

/* ---- Sizes, as in wide/sizes.cuh ---- */

typedef struct sizes {
    int64_t qk_panels;
    int64_t slices, half_panels; /* of V */
    int64_t value_keys;          /* of a piece of V, and of a box */
    int64_t smem;
} sizes;

static sizes sizes_of(const heed_problem *problem, const int *v)
{
    const bool whole = v[TILE_KEYS] == WHOLE;
    sizes s = { .qk_panels = heed_div_up(problem->dim_qk, PANEL),
                .slices = heed_div_up(problem->dim_v, SLICE) };
    s.half_panels = heed_div_up(problem->dim_v, 2 * PANEL * s.slices);
    s.value_keys = !whole && s.qk_panels > 12 ? 16 : 32;
    int64_t q = HEED_PAIR_ROWS * s.qk_panels * PANEL_ROW;
    int64_t weights = HEED_PAIR_ROWS * v[TILE_KEYS] * WEIGHT;
    int64_t over = (whole ? weights : q) + 2 * HEED_PAIR_ROWS * PANEL_ROW;
    int64_t rings = q > over ? q : over, left = 2048, most = 227 << 10;
    int64_t piece = s.value_keys * 4 * PANEL_ROW, slots_max = 8, barriers = 32; /* of a slot */
    int64_t slots = (most - rings - left - barriers * slots_max) / (2 * piece);
    slots = slots < slots_max ? slots : slots_max;
    s.smem = rings + 2 * slots * piece + left + barriers * slots;
    return s;
}

/* The fallback for unaligned addresses is the simple kernel. */
static heed_cuda_cut cut(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_config *config)
{
    (void)gpu;
    return (heed_cuda_cut){ .launch = { .rows = HEED_PAIR_ROWS,
                                        .splits = config->value[SPLITS],
                                        .aligned = true,
                                        .mapped = sizes_of(problem, config->value).value_keys,
                                        .rows_apart = true },
                            .fallback_kernel = heed_kernel_of(&heed_cuda_naive_code) };
}

const heed_cuda_code heed_cuda_wide_code = { .cut = cut };

/* ---- Legal configs ---- */

static bool has_dim(int64_t dim)
{
    return dim >= DIM_MIN && dim <= DIM_MAX && dim % HEED_PAIR_DIM_UNIT == 0;
}

static const char *unfit(const heed_problem *problem, const int *v)
{
    if (!has_dim(problem->dim_qk) || !has_dim(problem->dim_v))
        return "dim_qk and dim_v are not multiples of 8 from 264 to 1024";
    if (problem->shared)
        return "V is a part of K";
    if (problem->page > 0 || heed_problem_varies_k(problem))
        return "keys are in pages, or batch elements have lengths";
    if (v[TILE_KEYS] == WHOLE && heed_div_up(problem->seq_k, WHOLE) > v[SPLITS])
        return "a block has one tile of 512 keys, and there are more for each split";
    return heed_pair_unfit(problem);
}

static bool legal(const heed_kernel *kernel, const heed_problem *problem,
                  const heed_machine *machine, const heed_config *config, const char **why)
{
    (void)kernel;
    *why = machine->gpu->arch != HEED_PAIR_ARCH ? "is only for compute capability 9.0" : NULL;
    if (!*why)
        *why = unfit(problem, config->value);
    if (!*why && sizes_of(problem, config->value).smem > machine->gpu->smem_block)
        *why = "needs more shared memory than a block can have";
    return !*why && heed_cuda_can_map(problem, why) &&
           heed_cuda_fits(problem, HEED_PAIR_ROWS, config->value[SPLITS], why);
}

/* Splits that a tile of all keys requires are always worthwhile. */
static bool worthwhile(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config, const char **why)
{
    const int *v = config->value;
    (void)kernel;
    *why = NULL;
    if (v[TILE_KEYS] == WHOLE && v[SPLITS] > 1)
        *why = heed_div_up(problem->seq_k, WHOLE) < v[SPLITS]
                   ? "not worthwhile: more splits than key tiles"
                   : NULL;
    else
        *why = heed_cuda_idle_splits(problem, machine->gpu, heed_pair_items(problem), v[SPLITS],
                                     v[TILE_KEYS]);
    return !*why;
}

/* ---- Cost ---- */

/* Clocks of a multiprocessor for the tiles of a block: of its tensor cores or of their loads from
 * the L2, and for the weights, which do not overlap with anything. */
static double tile_clocks(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                          double tiles)
{
    const heed_wide_costs *costs = gpu->costs->wide;
    const sizes s = sizes_of(problem, v);
    double score_panels = (double)s.qk_panels, value_panels = 2.0 * (double)s.half_panels;
    double passes = v[TILE_KEYS] == WHOLE ? 1 : (double)s.slices; /* of scores */
    double panels = score_panels * passes + value_panels * (double)s.slices;
    double bytes = panels * PANEL_ROW * v[TILE_KEYS];
    double products = 2.0 * panels * PANEL * HEED_PAIR_ROWS * v[TILE_KEYS] /
                      (costs->matrix_share * heed_gpu_get_rates(gpu->arch).matrix);
    double loads = bytes / costs->l2_bytes;
    double weights = passes * (costs->tile + costs->key * v[TILE_KEYS]);
    return tiles * ((products > loads ? products : loads) + weights);
}

static double cost(const heed_kernel *kernel, const heed_problem *problem,
                   const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    double seen = heed_problem_share(problem);
    double tiles = v[TILE_KEYS] == WHOLE
                       ? 1
                       : (double)heed_div_up(heed_div_up(problem->seq_k, v[TILE_KEYS]), v[SPLITS]) *
                             seen;
    double blocks = heed_pair_items(problem) * v[SPLITS];
    double clocks = tile_clocks(problem, gpu, v, tiles);
    return heed_pair_seconds(problem, gpu, gpu->costs->wide, blocks, clocks, v[SPLITS]);
}

/* ---- Code ---- */

static heed_status facts(const heed_kernel *kernel, const heed_problem *problem,
                         const heed_machine *machine, const heed_config *config,
                         heed_cuda_facts *result)
{
    const heed_define defines[] = { { "HEED_BF16", problem->type == HEED_BF16 },
                                    { "HEED_TILE_KEYS", config->value[TILE_KEYS] } };
    (void)kernel;
    (void)machine;
    result->source = "attn_wide.cu";
    result->launch.threads = HEED_PAIR_THREADS;
    result->launch.smem = sizes_of(problem, config->value).smem;
    return heed_cuda_facts_define(result, problem, defines, sizeof defines / sizeof *defines);
}

const heed_algorithm heed_algorithm_cuda_wide = {
    .knobs = { { 'n', "TILE_KEYS", { 128, WHOLE } }, { 'p', "SPLITS", HEED_PAIR_SPLITS } },
    .config_at = config_at,
    .config_count = TILE_VALUES * HEED_PAIR_SPLIT_VALUES,
    .legal = legal,
    .worthwhile = worthwhile,
    .cost = cost,
    .plans = &heed_cuda_plans,
    .facts = facts,
};
