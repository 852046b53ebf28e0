/*
 * attn_wgmma_cost.c - how long attn_wgmma.cu may take
 *
 * A multiprocessor has one block or two, whose warpgroups share its tensor cores and special
 * function units.
 *
 * Constants are fitted to 6900 times of 252 problems on an H200; tests/test_costs.c says how far
 * they are off.
 */
#include "attn_wgmma.h"
#include "gpu.h"
#include "maps.h"

#define CLOCK_SHARE 0.9     /* of the highest clock, under load */
#define EXPS_PER_CLOCK 16.0 /* of the special function units of a multiprocessor */
#define L2_BYTES 39.5       /* per clock and multiprocessor */
#define MEMORY_LONGER 1.1   /* than attn_mma's small blocks, where memory binds */
#define ALL_BYTES 720e3     /* in flight from memory: of all blocks together, */
#define BLOCK_BYTES 36e3    /* and of each besides */
#define MEETING 1.7         /* where blocks that load keys of their own meet on a multiprocessor */
#define LAUNCH_SECONDS 0.35e-6
#define BLOCK_SECONDS 2.65e-6 /* to begin and end a block, */
#define ITEM_SECONDS 0.49e-6  /* and to go on to its next item */
#define TURN_SECONDS 0.62e-6  /* of an item until row groups that take turns are a turn apart, */
#define WAIT_SECONDS 0.07e-6  /* and of a tile for its turn */
#define MERGE_SECONDS 0.13e-6 /* per key group but the first */
#define PAIR_SECONDS 0.76e-6  /* for two blocks to share an item */
#define AHEAD_SECONDS 1.45e-6 /* saved where a block begins while the launch ahead still works */

/* By the order: seconds that a warpgroup waits in a tile; how much longer than alone its products
 * and softmax take; tiles that a mask adds to one that it cuts through; seconds of an item before
 * and behind its tiles; and what the shorter of products and softmax still adds to the longer,
 * where row groups take no turns and where they do. */
static const struct {
    double wait, stretch, mask, item, hindrance[2];
} orders[] = { { 0, 0, 0, 0, { 0, 0 } },
               { 0.20e-6, 1.45, 0.86, 0, { 0.78, 0.71 } },
               { 0.02e-6, 1.65, 0.70, 0.32e-6, { 0.89, 0.64 } },
               { 0, 1.94, 0.98, 0, { 0.74, 0.62 } } };

/* Seconds of a warpgroup's tile: its products, and its softmax, each if it had the multiprocessor
 * to itself. */
typedef struct tile_cost {
    double products, softmax;
} tile_cost;

static tile_cost cost_of_tile(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    double columns = (double)heed_div_up(problem->dim_qk, 16) * 16 +
                     heed_wgmma_value_columns(problem);
    double scores = (double)HEED_WGMMA_ROWS * v[N];
    return (tile_cost){ .products = 2 * scores * columns * gpu->multiprocessors / gpu->matrix,
                        .softmax = scores / (EXPS_PER_CLOCK * CLOCK_SHARE * gpu->clock) };
}

/* Seconds of a tile of keys with all row groups of a block, and of @beside blocks on the same
 * multiprocessor. */
static double block_tile_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                                 int beside)
{
    tile_cost tile = cost_of_tile(problem, gpu, v);
    bool products_longer = tile.products > tile.softmax;
    double longer = products_longer ? tile.products : tile.softmax;
    double shorter = products_longer ? tile.softmax : tile.products;
    double busy = beside * v[R] * (longer + orders[v[O]].hindrance[v[T] > 1] * shorter);
    double alone = orders[v[O]].wait + (v[T] > 1 ? WAIT_SECONDS : 0) +
                   orders[v[O]].stretch * (longer + shorter);
    double bytes = 2.0 * v[N] * (double)(problem->dim_qk + problem->dim_v);
    double loads = bytes / (L2_BYTES * CLOCK_SHARE * gpu->clock);
    double seconds = busy > alone / v[K] ? busy : alone / v[K];
    return seconds > loads ? seconds : loads;
}

/* Tiles of an item: of one in the middle, and of the longest. */
typedef struct item_tiles {
    double middle, longest;
    bool equal; /* all items have as many */
} item_tiles;

static item_tiles tiles_of_item(const heed_problem *problem, const heed_problem *seen, const int *v)
{
    double tiles = (double)heed_div_up(problem->seq_k, v[N]);
    double pairs = heed_problem_flops(problem) /
                   (2.0 * (double)problem->batch * (double)problem->heads_q *
                    (double)(problem->dim_qk + problem->dim_v));
    double share = pairs / ((double)problem->seq_q * (double)problem->seq_k);
    int64_t rows = (int64_t)HEED_WGMMA_ROWS * (v[C] == 2 ? 1 : v[R]); /* that are masked as one */
    int64_t queries = heed_div_up(rows, seen->heads_q / seen->heads_kv);
    double cut_through = share < 1 ? (double)heed_div_up(queries, v[N]) : 0;
    double idle = 0.5 * (v[K] * heed_wgmma_pair(v) - 1); /* teams do not share out evenly */
    double middle = tiles * share + cut_through * (0.5 + orders[v[O]].mask) + idle;
    return (item_tiles){ .middle = middle / heed_wgmma_pair(v),
                         .longest = (tiles + cut_through * orders[v[O]].mask + idle) /
                                    heed_wgmma_pair(v),
                         .equal = share >= 1 };
}

static double compute_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                              double items)
{
    heed_problem seen = heed_cuda_mapped_problem(problem);
    item_tiles tiles = tiles_of_item(problem, &seen, v);
    items *= heed_wgmma_pair(v);
    int beside = items > gpu->multiprocessors ? heed_wgmma_resident(v) : 1;
    double tile = block_tile_seconds(problem, gpu, v, beside);
    double at_once = (double)beside * gpu->multiprocessors;
    double next = items > at_once ? ITEM_SECONDS : 0;
    double each = (v[G] == 2 ? next : BLOCK_SECONDS) + orders[v[O]].item +
                  (v[T] > 1 ? TURN_SECONDS : 0) + MERGE_SECONDS * (v[K] - 1) +
                  PAIR_SECONDS * (heed_wgmma_pair(v) - 1);
    double rounds = (double)(int64_t)(items / at_once);
    double rest = items - rounds * at_once;
    double seconds = rounds * (tiles.middle * tile + each);
    if (rest > 0) /* of unequal items the short ones come last, to those that have had long ones */
        seconds += (rounds > 0 && !tiles.equal ? tiles.middle * rest / at_once : tiles.longest) *
                       tile +
                   each;
    return seconds + (v[G] == 2 ? BLOCK_SECONDS : 0);
}

/* Bytes that @running blocks keep in flight: all stages but the one that is worked on, as far as
 * the memory serves so many blocks. b8 h32/8 s4/4096 d128 takes 63 us by any config. */
static double in_flight(const heed_problem *problem, const int *v, double running)
{
    double stage = 2.0 * v[N] * (double)(problem->dim_qk + problem->dim_v);
    double stages = running * (v[S] - 1) * stage, most = ALL_BYTES + running * BLOCK_BYTES;
    return stages < most ? stages : most;
}

/* Do two blocks of a launch come to the same multiprocessor though there are enough? So it seems
 * where blocks begin early, wait for stages and each read keys of their own, and therefore do not
 * end together: b4 h32 s1/2048 d64 takes 31 us then, 18 with one block for each. */
static bool meet(const heed_problem *problem, const heed_gpu *gpu, const int *v, double items,
                 double heads)
{
    double blocks = items * heed_wgmma_pair(v);
    return heed_wgmma_resident(v) > 1 && items <= heads && problem->seq_k > (int64_t)v[S] * v[N] &&
           2 * blocks > gpu->multiprocessors && blocks <= gpu->multiprocessors;
}

double heed_wgmma_cost(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const int *v = config->value;
    (void)kernel;
    heed_problem seen = heed_cuda_mapped_problem(problem);
    int64_t rows = seen.seq_q * (seen.heads_q / seen.heads_kv);
    double heads = (double)seen.batch * (double)seen.heads_kv;
    double items = (double)heed_div_up(rows, (int64_t)HEED_WGMMA_ROWS * v[R]) * heads;
    double running = items < gpu->multiprocessors ? items : gpu->multiprocessors;
    double compute = compute_seconds(problem, gpu, v, items) *
                     (meet(problem, gpu, v, items, heads) ? MEETING : 1);
    double memory = MEMORY_LONGER *
                    heed_gpu_memory_seconds(gpu, problem, in_flight(problem, v, running));
    bool ahead = 2 * heed_wgmma_pair(v) * items <=
                 (double)heed_wgmma_resident(v) * gpu->multiprocessors;
    return LAUNCH_SECONDS - (ahead ? AHEAD_SECONDS : 0) + heed_gpu_beside(compute, memory);
}
