/*
 * attn_wgmma_cost.c - cost model of attn_wgmma.cu
 *
 * A multiprocessor has one block or two, whose warpgroups share its tensor cores and special
 * function units.
 */
#include "../backend.h"
#include "../gpu.h"
#include "../maps.h"
#include "../score/score.h"
#include "attn_wgmma.h"

#define LANES 128.0 /* of a multiprocessor, each of which issues one instruction per clock */
#define LOOKED_UP 8 /* elements of a bias per lookup */

/* Seconds of a warpgroup's tile: its products, and its softmax, each running alone on the
 * multiprocessor. */
typedef struct tile_cost {
    double products, softmax;
    double steps; /* the part of the softmax for changes of logits */
} tile_cost;

static tile_cost cost_of_tile(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    double columns = (double)heed_div_up(problem->dim_qk, 16) * 16 +
                     heed_wgmma_value_columns(problem);
    double scores = (double)HEED_WGMMA_ROWS * v[TILE_KEYS];
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    double instructions = needs.instructions - needs.packed -
                          (v[BIAS_TILES] == 2 ? costs->staged : 0);
    double special = needs.exponentials / costs->exps_per_clock, other = instructions / LANES;
    double steps = scores * (special > other ? special : other) / (costs->clock_share * gpu->clock);
    return (tile_cost){
        .products = 2 * scores * columns * gpu->multiprocessors / gpu->matrix,
        .softmax = scores / costs->exps_per_clock / (costs->clock_share * gpu->clock) + steps,
        .steps = steps
    };
}

/* Seconds of a tile of keys for all row groups of a block, with @beside blocks on the same
 * multiprocessor. */
static double block_tile_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                                 int beside)
{
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    tile_cost tile = cost_of_tile(problem, gpu, v);
    bool products_longer = tile.products > tile.softmax;
    double longer = products_longer ? tile.products : tile.softmax;
    double shorter = products_longer ? tile.softmax : tile.products;
    double busy = beside * v[ROW_GROUPS] *
                  (longer + costs->order[v[STEP_ORDER]].hindrance[v[TURNS] > 1] * shorter);
    double alone = costs->order[v[STEP_ORDER]].wait + (v[TURNS] > 1 ? costs->wait : 0) +
                   costs->order[v[STEP_ORDER]].stretch * (longer + shorter - tile.steps) +
                   costs->order[v[STEP_ORDER]].steps * tile.steps;
    double bytes = 2.0 * v[TILE_KEYS] * (double)(problem->dim_qk + problem->dim_v);
    double loads = bytes / (costs->l2_bytes * costs->clock_share * gpu->clock);
    double seconds = busy > alone / v[KEY_GROUPS] ? busy : alone / v[KEY_GROUPS];
    return seconds > loads ? seconds : loads;
}

double heed_wgmma_items(const heed_problem *problem, const int *v)
{
    const heed_problem seen = heed_cuda_mapped_problem(problem);
    int64_t rows = seen.seq_q * heed_problem_group(&seen);
    return (double)heed_div_up(rows, (int64_t)HEED_WGMMA_ROWS * v[ROW_GROUPS]) *
           (double)seen.batch * (double)seen.heads_kv;
}

/* Tiles per block: of an average one, and of the longest. */
typedef struct item_tiles {
    double middle, longest;
    bool equal; /* all items have the same number */
} item_tiles;

static item_tiles tiles_of_item(const heed_problem *problem, const heed_problem *seen,
                                const heed_wgmma_costs *costs, const int *v)
{
    double tiles = (double)heed_div_up(problem->seq_k, v[TILE_KEYS]);
    double most = (double)heed_div_up(heed_problem_most_keys(problem), v[TILE_KEYS]);
    double share = heed_problem_share(problem);
    int64_t rows = (int64_t)HEED_WGMMA_ROWS *
                   (v[OWN_TILES] == 2 ? 1 : v[ROW_GROUPS]); /* masked together */
    int64_t queries = heed_div_up(rows, heed_problem_group(seen));
    int edges = heed_problem_hides_first(problem) ? 2 : 1;
    double cut_through = share < 1 ? edges * (double)heed_div_up(queries, v[TILE_KEYS]) : 0;
    double idle = 0.5 *
                  (v[KEY_GROUPS] * heed_wgmma_pair(v) - 1); /* uneven distribution among teams */
    double middle = tiles * share + cut_through * (0.5 + costs->order[v[STEP_ORDER]].mask);
    double longest = most + cut_through * costs->order[v[STEP_ORDER]].mask;
    return (item_tiles){ .middle = (middle / v[SPLITS] + idle) / heed_wgmma_pair(v),
                         .longest = (longest / v[SPLITS] + idle) / heed_wgmma_pair(v),
                         .equal = share >= 1 };
}

static double compute_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                              double items)
{
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    heed_problem seen = heed_cuda_mapped_problem(problem);
    item_tiles tiles = tiles_of_item(problem, &seen, costs, v);
    items *= heed_wgmma_pair(v) * v[SPLITS];
    int beside = items > gpu->multiprocessors ? heed_wgmma_resident(v) : 1;
    double tile = block_tile_seconds(problem, gpu, v, beside);
    double at_once = (double)beside * gpu->multiprocessors;
    double next = items > at_once ? costs->item : 0;
    double each = (v[SCHEDULE] == 2 ? next : costs->block) + costs->order[v[STEP_ORDER]].item +
                  (v[TURNS] > 1 ? costs->turn : 0) + costs->merge * (v[KEY_GROUPS] - 1) +
                  costs->pair * (heed_wgmma_pair(v) - 1);
    double rounds = (double)(int64_t)(items / at_once);
    double rest = items - rounds * at_once;
    double seconds = rounds * (tiles.middle * tile + each);
    if (rest > 0) /* if items are unequal, the short ones come last, for blocks that had long
                     ones */
        seconds += (rounds > 0 && !tiles.equal ? tiles.middle * rest / at_once : tiles.longest) *
                       tile +
                   each;
    return seconds + (v[SCHEDULE] == 2 ? costs->block : 0);
}

/* Bytes that @running blocks keep in flight: all stages except the one being processed, up to a
 * limit for all blocks together. b8 h32/8 s4/4096 d128 takes 63 us with any config. */
static double in_flight(const heed_problem *problem, const heed_wgmma_costs *costs, const int *v,
                        double running)
{
    double stage = 2.0 * v[TILE_KEYS] * (double)(problem->dim_qk + problem->dim_v);
    double stages = running * (v[STAGES] - 1) * stage,
           most = costs->all_bytes + running * costs->block_bytes;
    return stages < most ? stages : most;
}

/* True if two blocks of a launch may run on the same multiprocessor although there are enough
 * multiprocessors. This seems to happen if blocks begin early, wait for stages and each read
 * separate keys, and therefore do not end together: b4 h32 s1/2048 d64 takes 31 us then, 18 with
 * one block per multiprocessor. */
static bool meet(const heed_problem *problem, const heed_gpu *gpu, const int *v, double items,
                 double heads)
{
    double blocks = items * heed_wgmma_pair(v);
    return heed_wgmma_resident(v) > 1 && items <= heads &&
           problem->seq_k > (int64_t)v[STAGES] * v[TILE_KEYS] &&
           2 * blocks > gpu->multiprocessors && blocks <= gpu->multiprocessors;
}

/* The factor by which blocks that share keys take less time if they leave some multiprocessors
 * free, but fewer than half. */
static double spare_factor(const heed_gpu *gpu, const int *v, double blocks)
{
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    double busy = blocks / gpu->multiprocessors;
    bool some_free = busy > costs->spare_from && busy < costs->spare_to;
    return v[SPLITS] > 1 && some_free ? costs->spare : 1;
}

/* Seconds of loads that nothing hides: blocks that follow others on a multiprocessor wait for their
 * first tiles, and few tiles leave little to do beside that. Persistent blocks load ahead. */
static double exposed_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                              double rounds, double memory)
{
    double tiles = (double)heed_div_up(problem->seq_k, v[TILE_KEYS]) / v[SPLITS];
    double bare = 1 - tiles / (2 * v[STAGES]);
    if (v[SCHEDULE] == 2 || rounds <= 1 || bare <= 0)
        return 0;
    return gpu->costs->wgmma->exposed * bare * (1 - 1 / rounds) * memory;
}

/* Seconds of lookups in the L1 that nothing hides: lanes that read a bias for which there could be
 * tiles read 16 bytes of a row at a time. */
static double lookup_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    if (v[BIAS_TILES] == 2 || !heed_cuda_needs_of(problem).stages ||
        !heed_cuda_bias_mapped(problem).fits)
        return 0;
    double scores = (double)problem->batch * (double)problem->heads_q * (double)problem->seq_q *
                    (double)problem->seq_k * heed_problem_share(problem);
    return costs->lookups * scores / LOOKED_UP /
           (gpu->multiprocessors * costs->clock_share * gpu->clock);
}

/* Seconds to write the parts of split keys, and of the launch that merges them. */
static double combine_seconds(const heed_problem *problem, const heed_gpu *gpu, int splits)
{
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    double rows = (double)problem->batch * (double)problem->heads_q * (double)problem->seq_q;
    double bytes = 2 * 4.0 * splits * rows * (double)problem->dim_v;
    return splits == 1 ? 0 : costs->combine + bytes / (costs->parts_rate * gpu->bandwidth);
}

double heed_wgmma_cost(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const heed_wgmma_costs *costs = gpu->costs->wgmma;
    const int *v = config->value;
    (void)kernel;
    heed_problem seen = heed_cuda_mapped_problem(problem);
    double heads = (double)seen.batch * (double)seen.heads_kv;
    double items = heed_wgmma_items(problem, v), blocks = items * v[SPLITS];
    double running = blocks < gpu->multiprocessors ? blocks : gpu->multiprocessors;
    double rounds = blocks / ((double)heed_wgmma_resident(v) * gpu->multiprocessors);
    double longer = heed_cuda_unequal(problem, gpu, rounds) * spare_factor(gpu, v, blocks);
    double compute = compute_seconds(problem, gpu, v, items) * longer *
                     (meet(problem, gpu, v, items, heads) ? costs->meeting : 1);
    double memory = costs->memory_longer * longer *
                    heed_gpu_memory_seconds(gpu, problem, in_flight(problem, costs, v, running));
    bool ahead = v[SPLITS] == 1 && 2 * heed_wgmma_pair(v) * items <=
                                       (double)heed_wgmma_resident(v) * gpu->multiprocessors;
    return costs->launch - (ahead ? costs->ahead : 0) + heed_gpu_beside(gpu, compute, memory) +
           exposed_seconds(problem, gpu, v, rounds, memory) + lookup_seconds(problem, gpu, v) +
           combine_seconds(problem, gpu, v[SPLITS]);
}
