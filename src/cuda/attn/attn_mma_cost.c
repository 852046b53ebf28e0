/*
 * attn_mma_cost.c - cost model of attn_mma.cu
 */
#include <math.h>

#include "../backend.h"
#include "../gpu.h"
#include "../score/score.h"
#include "attn_mma.h"

#define MMA_OPERATIONS 4096.0 /* of an mma.m16n8k16, or of two tf32 ones in twice the time */
#define SCHEDULERS 4          /* of a multiprocessor */

/* Approximate instructions of the kernel: for each score of a warp, load of a fragment, and
 * step. */
#define SCORE_INSTRUCTIONS 4.5
#define LOAD_INSTRUCTIONS 4
#define STEP_INSTRUCTIONS 60
#define PAGE_INSTRUCTIONS 12  /* for a row in a page */
#define SHARE_INSTRUCTIONS 50 /* to exchange maxima and weights */
#define SPLIT_INSTRUCTIONS 3  /* to split a float32 element into two parts */

/* As in combine.cuh. */
#define COMBINE_LONG 256 /* columns of a row above which a separate launch merges its parts, */
#define COMBINE_PARTS 16 /* and parts in flight per block of it */

#define SPREAD_ROWS 16  /* few rows, */
#define SPREAD_GROUPS 4 /* and groups that are enough for them */

/* Number of mma instructions for 16 columns, by HEED_PRODUCTS. */
static const int mma_count[] = { 1, 2, 3, 6 };

/* Clocks of one step of one warp: @own when alone, @busy on its scheduler. */
typedef struct step_cost {
    double own;
    double busy;
} step_cost;

/* Slower tensor cores keep their schedulers waiting. */
static double mma_clocks(const heed_gpu *gpu)
{
    double clocks = MMA_OPERATIONS * SCHEDULERS * gpu->multiprocessors * gpu->clock / gpu->matrix;
    return clocks > gpu->costs->mma->mma_clocks ? clocks : gpu->costs->mma->mma_clocks;
}

/* Estimated registers above a cap. */
static int spilled_of(const heed_problem *problem, const int *v)
{
    int missing = heed_mma_registers(problem, v) - 8 - heed_mma_cap(v);
    return heed_mma_cap(v) && missing > 0 ? missing : 0;
}

/* Rows of K and V that a thread copies from pages in a step. */
static double rows_from_pages(const heed_problem *problem, const int *v)
{
    double tensors = heed_mma_shares(problem, v) ? 1 : 2;
    return problem->page > 0 ? tensors * (double)heed_div_up(v[TILE_KEYS], 4 * v[GROUP_WARPS]) : 0;
}

static step_cost cost_of_step(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    const heed_mma_costs *costs = gpu->costs->mma;
    const heed_mma_dims dims = heed_mma_dims_of(problem, v);
    int rows16 = heed_mma_rows(v) / 16, parts = heed_mma_parts(v);
    int products = heed_mma_products(problem);
    double qk16 = dims.qk / 16.0, v8 = dims.slice / 8.0, keys = v[TILE_KEYS] / (double)parts;
    double tiles = rows16 * (keys / 8 * qk16 + v[TILE_KEYS] / 16.0 * v8); /* of 16 by 8 by 16 */
    double mma = tiles * mma_count[products];
    double scores = rows16 * keys / 2;
    double loads = keys / 16 * qk16 + v[TILE_KEYS] / 16.0 * v8 / 2 +
                   (v[Q_PLACE] == 1 ? qk16 * rows16 : 0) +
                   (parts > 1 ? rows16 * v[TILE_KEYS] / 16.0 : 0);
    if (products) /* 8 at a time; values are not transposed, */
        loads = 2 * (loads + v[TILE_KEYS] / 16.0 * v8 / 2);
    double spilled = spilled_of(problem, v);
    const heed_cuda_needs needs = heed_cuda_needs_of(problem);
    double others = (SCORE_INSTRUCTIONS + needs.instructions) * scores + LOAD_INSTRUCTIONS * loads +
                    STEP_INSTRUCTIONS + costs->spill_instructions * spilled +
                    PAGE_INSTRUCTIONS * rows_from_pages(problem, v) +
                    (parts > 1 ? SHARE_INSTRUCTIONS : 0);
    if (products) /* elements are split, and sums added up */
        others += SPLIT_INSTRUCTIONS * (keys / 4 * qk16 * 2 + v[TILE_KEYS] / 4.0 * v8 +
                                        rows16 * (qk16 * 8 + v[TILE_KEYS] / 2.0)) +
                  rows16 * (keys * qk16 / 4 + 8 * v8);
    if (v[HALF_SUMS] == 2) /* conversions and additions; no known device has a faster mma for it */
        others += scores + 8 * rows16 * v8;
    double busy = mma_clocks(gpu) * mma + costs->other_clocks * others;
    double exps = costs->exp_clocks * scores * (1 + needs.exponentials);
    busy = busy < exps ? exps : busy;
    double latency = costs->chain_clocks * qk16 + costs->key_clocks * keys +
                     (parts > 1 ? costs->share_clocks : 0) +
                     (problem->page > 0 ? costs->page_clocks : 0);
    return (step_cost){ .own = busy + latency / v[STEP_ORDER] + costs->spill_clocks * spilled,
                        .busy = busy };
}

int heed_mma_resident(const heed_problem *problem, const heed_gpu *gpu, const int *v)
{
    int64_t by_smem = gpu->smem / (heed_mma_smem(problem, v) + gpu->smem_reserved);
    int by_threads = gpu->threads / heed_mma_threads(v);
    int resident = by_smem < by_threads ? (int)by_smem : by_threads;
    int registers = heed_mma_registers(problem, v) + 16;
    if (heed_mma_cap(v) && registers > heed_mma_cap(v))
        registers = heed_mma_cap(v);
    int by_registers = gpu->registers / (heed_mma_threads(v) * (registers > 255 ? 255 : registers));
    if (!heed_mma_cap(v) && by_registers < v[BLOCKS_PER_SM])
        by_registers = v[BLOCKS_PER_SM]; /* the compiler leaves room for them */
    resident = resident < by_registers ? resident : by_registers;
    return resident < 1 ? 1 : resident;
}

/* Clocks of @blocks blocks of @steps steps each on one multiprocessor, @resident at a time. */
static double clocks_of_blocks(const heed_mma_costs *costs, const int *v, step_cost step,
                               double steps, double blocks, int resident)
{
    double warps = resident * v[GROUP_WARPS] * v[KEY_GROUPS] / (double)SCHEDULERS;
    double each = step.own > warps * step.busy ? step.own : warps * step.busy;
    double block = steps * each + costs->block_clocks + costs->merge_clocks * (v[KEY_GROUPS] - 1);
    return blocks / resident * block;
}

/* Bytes that @running blocks keep in flight: all stages except the one being processed. */
static double in_flight(const heed_problem *problem, const int *v, double running)
{
    const heed_mma_dims dims = heed_mma_dims_of(problem, v);
    double stage = (double)dims.bytes * v[TILE_KEYS] * dims.staged;
    return running * v[KEY_GROUPS] * (v[STAGES] - 1) * stage;
}

/* Time of the loads of @blocks blocks, @slots at a time: the blocks of the last round may be few
 * and keep less in flight. */
static double loading_seconds(const heed_gpu *gpu, const heed_problem *problem, const int *v,
                              double blocks, double slots)
{
    double rest = fmod(blocks, slots), seconds = 0;
    if (blocks > rest)
        seconds += (blocks - rest) / blocks *
                   heed_gpu_memory_seconds(gpu, problem, in_flight(problem, v, slots));
    if (rest > 0)
        seconds += rest / blocks *
                   heed_gpu_memory_seconds(gpu, problem, in_flight(problem, v, rest));
    return seconds;
}

/* Computing and loading overlapped, @tiles for all keys; but the end of the last blocks does not
 * overlap with any loads, which is why fewer groups are better when memory-bound: b16 h32/8 s1/8192
 * d128 takes 121 us on an H200 with two groups, 123 with four, which compute in half the time. */
static double beside_loading(const heed_gpu *gpu, const int *v, double tiles, double computing,
                             double loading)
{
    const heed_mma_costs *costs = gpu->costs->mma;
    double clocks = costs->block_clocks + costs->merge_clocks * (v[KEY_GROUPS] - 1);
    double end = clocks / (costs->clock_share * gpu->clock);
    double longer = computing > loading + end ? computing : loading + end;
    double share = costs->hidden + costs->first_tile / tiles; /* of the shorter one */
    return longer + share * (computing + loading + end - longer);
}

/* Time to write and read all parts of the rows, in single precision. */
static double moving_seconds(const heed_problem *problem, const heed_gpu *gpu, int splits)
{
    double parts = 4.0 * splits * (double)problem->dim_v * (double)problem->batch *
                   (double)problem->heads_q * (double)problem->seq_q;
    return 2 * parts / (gpu->costs->mma->parts_rate * gpu->bandwidth);
}

double heed_cuda_merge_apart_seconds(const heed_problem *problem, const heed_gpu *gpu, int splits)
{
    if (splits == 1)
        return 0;
    const heed_mma_costs *costs = gpu->costs->mma;
    int64_t rows = problem->batch * problem->heads_q * problem->seq_q;
    int64_t turns = heed_div_up(rows, (int64_t)costs->merge_blocks * gpu->multiprocessors);
    double waiting = costs->batch * (double)(turns * heed_div_up(splits, COMBINE_PARTS));
    double moving = moving_seconds(problem, gpu, splits);
    return costs->merge_launch + (waiting > moving ? waiting : moving);
}

/* Time of the last block of @rows rows to merge the parts, and of all blocks, in @rounds, to store
 * them. A warp merges one or four rows at a time, and as many of their parts as combine.cuh has
 * room for. It takes at least as long as writing and reading all parts. */
static double merge_seconds(const heed_problem *problem, const heed_gpu *gpu, const int *v,
                            int splits, int64_t rows, double rounds)
{
    const heed_mma_costs *costs = gpu->costs->mma;
    int warps = v[GROUP_WARPS] * v[KEY_GROUPS];
    int at_once = v[BLOCK_ROWS] >= 8 * warps ? 4 : 1;
    int across = at_once * (int)heed_div_up(problem->dim_v, HEED_MMA_WARP);
    int batch = across <= 4 ? 16 : across <= 8 ? 8 : across <= 16 ? 4 : 2;
    int64_t turns = heed_div_up(rows < v[BLOCK_ROWS] ? rows : v[BLOCK_ROWS],
                                (int64_t)warps * at_once);
    if (splits == 1)
        return 0;
    double waiting = costs->batch * (double)(turns * heed_div_up(splits, batch));
    double moving = moving_seconds(problem, gpu, splits);
    if (problem->dim_v > COMBINE_LONG)
        return heed_cuda_merge_apart_seconds(problem, gpu, splits);
    return costs->combine + costs->round * (rounds - 1) + (waiting > moving ? waiting : moving);
}

/* Blocks of the last round on the busiest multiprocessor. The distribution is uneven on an H200
 * with room for three: 256 blocks of b2 h8 s512 d64 take 11.0 us then, and 8.3 to 8.5 with room for
 * two or four. */
static int last_of(const heed_gpu *gpu, double rest, int resident)
{
    int last = (int)heed_div_up((int64_t)rest, gpu->multiprocessors);
    return gpu->costs->uneven_threes && resident == 3 && last == 2 ? 3 : last;
}

/* Relative increase of the time of spread keys. Blocks for few rows with fewer than four groups of
 * 16 rows were slower than the rest of the model says; not tried with float32. */
static double spread_increase(const heed_problem *problem, const heed_mma_costs *costs,
                              const int *v)
{
    bool few = problem->seq_q * heed_problem_group(problem) <= SPREAD_ROWS;
    bool thin = few && problem->type != HEED_F32 &&
                (v[BLOCK_ROWS] > SPREAD_ROWS || v[KEY_GROUPS] < SPREAD_GROUPS);
    return (problem->page > 0 ? 0 : costs->spread_unsure) + (thin ? costs->spread_thin : 0);
}

double heed_mma_cost(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config)
{
    const heed_gpu *gpu = machine->gpu;
    const heed_mma_costs *costs = gpu->costs->mma;
    const int *v = config->value;
    (void)kernel;
    double heads = (double)problem->batch * (double)problem->heads_kv;
    int64_t all_rows = problem->seq_q * heed_problem_group(problem);
    double spread = (double)heed_mma_spread_blocks(problem, gpu, v);
    double splits = spread > 0 ? spread / (double)problem->batch : v[SPLITS];
    double blocks = (double)heed_div_up(all_rows, v[BLOCK_ROWS]) * heads * splits;
    double tiles = ceil((double)heed_div_up(problem->seq_k, v[TILE_KEYS]) / splits);
    int64_t most = heed_div_up(heed_problem_most_keys(problem), v[TILE_KEYS]);
    double seen = heed_problem_share(problem);

    /* Tiles on the edge of a mask are computed in full, and take longer. */
    int edges = heed_problem_hides_first(problem) ? 2 : 1;
    double cut_through = seen < 1 ? edges * (double)heed_div_up(v[BLOCK_ROWS], v[TILE_KEYS]) : 0;
    double masked = costs->mask_steps * (double)heed_div_up((int64_t)cut_through, v[KEY_GROUPS]);
    double longest = ceil((double)most / splits) / v[KEY_GROUPS] + masked;
    double steps = (tiles * seen + cut_through / 2) / v[KEY_GROUPS] + masked;
    if (v[KEY_GROUPS] > 1)
        steps += 0.5; /* tiles are not distributed evenly among groups */

    /* Full rounds, then a last one with fewer blocks per multiprocessor. */
    step_cost step = cost_of_step(problem, gpu, v);
    int resident = heed_mma_resident(problem, gpu, v);
    double slots = (double)gpu->multiprocessors * resident;
    double rounds = (double)(int64_t)(blocks / slots);
    double rest = blocks - rounds * slots;
    int last = last_of(gpu, rest, resident);
    double clocks = clocks_of_blocks(costs, v, step, steps, rounds * resident, resident);
    if (last > 0)
        clocks += clocks_of_blocks(costs, v, step, rounds > 0 && seen < 1 ? steps / 2 : longest,
                                   last, last);
    clocks *= seen < 1 ? costs->masked : 1;
    double seconds = beside_loading(gpu, v, (double)heed_div_up(problem->seq_k, v[TILE_KEYS]),
                                    clocks / (costs->clock_share * gpu->clock),
                                    loading_seconds(gpu, problem, v, blocks, slots));
    double launch = costs->launch - (heed_gpu_overlaps(gpu) ? costs->overlap : 0);
    if (spread > 0)
        seconds = seconds * (1 + spread_increase(problem, costs, v)) +
                  costs->spread * heads / slots;
    else
        seconds *= heed_cuda_unequal(problem, gpu, blocks / slots);
    int parts = spread > 0 ? 1 + (int)ceil(splits) : v[SPLITS];
    return seconds + launch + merge_seconds(problem, gpu, v, parts, all_rows, ceil(blocks / slots));
}
