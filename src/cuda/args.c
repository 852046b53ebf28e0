/*
 * args.c - what a CUDA kernel is told of a problem
 */
#include <limits.h>
#include <math.h>

#include "backend.h"

#define LOG2_E 1.4426950408889634

heed_cuda_divisor heed_cuda_divide_by(unsigned value)
{
    heed_cuda_divisor by = { .value = value };
    if (value <= 1)
        return by;
    while ((uint64_t)2 << by.shift < value)
        by.shift++;
    by.multiplier = (unsigned)((((uint64_t)1 << (32 + by.shift)) + value - 1) / value);
    return by;
}

static int64_t group_of(const heed_problem *problem)
{
    return problem->heads_q / problem->heads_kv;
}

bool heed_cuda_fits(const heed_problem *problem, int64_t rows, int64_t splits, const char **why)
{
    int64_t heads, all_rows, grid;
    *why = "more rows, heads or blocks than 32 bits count";
    if (__builtin_mul_overflow(problem->batch, problem->heads_kv, &heads) ||
        __builtin_mul_overflow(problem->seq_q, group_of(problem), &all_rows) || heads > INT_MAX ||
        all_rows > INT_MAX - rows || problem->seq_k > INT_MAX)
        return false;
    if (__builtin_mul_overflow(heads, heed_div_up(all_rows, rows), &grid) ||
        __builtin_mul_overflow(grid, splits, &grid) || grid > INT_MAX)
        return false;
    return splits == 1 || heads <= INT_MAX / all_rows;
}

static heed_cuda_strides strides_of(const heed_strides *strides)
{
    return (heed_cuda_strides){ strides->batch, strides->seq, strides->head };
}

/* Query i sees the keys j < i + this. */
static int64_t visible_of(const heed_problem *problem)
{
    return problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT ? problem->seq_k - problem->seq_q + 1 : 1;
}

/* ---- Sections ---- */

/* Key/value heads that may be worked on at the same time. Without a mask one after another, so that
 * the blocks of a head share its K and V in the L2. Under a mask the longest blocks of all heads
 * should come first; but a device whose memory is slow for its arithmetic needs some sharing then
 * too: a block computes as many operations per byte as it has rows, times the blocks of a head that
 * run at the same time. Kernels that copy boxes wait for them all the more, twice as fast and with
 * a block for each multiprocessor: on an H200, 16 of 64 heads of 4096 keys of 128 take 8 % less
 * than all. */
static int64_t most_heads(const heed_problem *problem, const heed_gpu *gpu,
                          const heed_cuda_cut *cut)
{
    int64_t heads = problem->batch * problem->heads_kv;
    if (problem->mask == HEED_MASK_NONE)
        return 1;
    const heed_order_costs *costs = gpu->costs->order;
    double flops = gpu->multiprocessors * gpu->clock * costs->operations;
    double running = costs->running * gpu->multiprocessors;
    double most = (double)cut->rows * running * gpu->bandwidth /
                  (2 * flops * (cut->mapped ? costs->mapped_reuse : 1));
    double bytes = (double)(problem->seq_k * (problem->dim_qk + problem->dim_v) * 2);
    double in_cache = (double)gpu->l2 / 2 / bytes;
    most = most > in_cache ? most : in_cache;
    return most >= (double)heads ? heads : most < 1 ? 1 : (int64_t)most;
}

#define BLOCKS_MAX 1024 /* that are looked at, and items: enough to see what repeats */
#define ITEMS_MAX 4096
#define SECTIONS_MAX 32
#define SECTIONS_SMALL 8 /* all up to here are looked at */

/* Tiles of keys that the @block-th block of rows looks at. */
static int64_t tiles_of(const heed_problem *problem, const heed_cuda_cut *cut, int64_t block)
{
    int64_t last = ((block + 1) * cut->rows - 1) / group_of(problem);
    int64_t seen = (last < problem->seq_q ? last : problem->seq_q - 1) + visible_of(problem);
    seen = seen < 0 ? 0 : seen < problem->seq_k ? seen : problem->seq_k;
    return heed_div_up(seen, cut->mapped);
}

/* Tiles of the block that has most to do, over those of one that has its share, where sections are
 * of @section heads and blocks take items as order.cuh and item_number() say. */
static double imbalance(const heed_problem *problem, const heed_gpu *gpu, const heed_cuda_cut *cut,
                        int64_t section)
{
    double load[BLOCKS_MAX] = { 0 }, all = 0, most = 0;
    int64_t blocks = heed_div_up(problem->seq_q * group_of(problem), cut->rows);
    int64_t items = blocks * problem->batch * problem->heads_kv, takers = gpu->multiprocessors;
    for (int64_t i = 0; i < items && i < ITEMS_MAX; i++) {
        int64_t place = i % takers, block = blocks - 1 - i % (section * blocks) / section;
        double tiles = (double)tiles_of(problem, cut, block) + gpu->costs->order->item_tiles;
        double *of = &load[i / takers % 2 ? takers - 1 - place : place];
        *of += tiles;
        all += tiles;
        most = *of > most ? *of : most;
    }
    return most / (all / (double)takers);
}

/* The section that is looked at as number @i: small ones, all heads, and some between. */
static int64_t candidate(int64_t i, int64_t heads)
{
    int64_t step = (heads - 1) / (SECTIONS_MAX - 1);
    if (i < SECTIONS_SMALL)
        return i + 1;
    return i == SECTIONS_SMALL ? heads : i * (step > 0 ? step : 1);
}

/* Heads of a section. Where blocks take items in turn and a mask makes these unequal, few lengths
 * of a section let all blocks have about as much to do, and some make a few have half as much
 * again: b2 h16 s8192 d128 on an H200 takes 778 us with 1 head, 1099 with 2 and 834 with 7; b1 h16
 * s16384 d128 takes 1710 with 3, as many as the L2 holds, and 1537 with all 16. So it is the best,
 * but a small one where that is about as good. Where all blocks run at once the longest come first;
 * but those that begin two on a multiprocessor, since there is room, should not all be long. */
static int64_t section_of(const heed_problem *problem, const heed_gpu *gpu,
                          const heed_cuda_cut *cut)
{
    const heed_order_costs *costs = gpu->costs->order;
    int64_t heads = problem->batch * problem->heads_kv;
    int64_t blocks = heed_div_up(problem->seq_q * group_of(problem), cut->rows);
    bool at_once = blocks * heads <= gpu->multiprocessors;
    if (at_once && cut->resident > 1)
        return 1;
    if (problem->mask == HEED_MASK_NONE || !cut->in_turn || gpu->multiprocessors > BLOCKS_MAX)
        return heed_div_up(heads, heed_div_up(heads, most_heads(problem, gpu, cut)));
    if (at_once)
        return heads;
    int64_t best = blocks < costs->section_items ? costs->section_items / blocks : 1;
    best = best < heads ? best : heads;
    double least = imbalance(problem, gpu, cut, best);
    for (int64_t i = 0; i < SECTIONS_MAX && i < heads; i++) {
        int64_t section = candidate(i, heads);
        double unequal = imbalance(problem, gpu, cut, section);
        if (unequal < least - costs->worth) {
            least = unequal;
            best = section;
        }
    }
    return best;
}

void heed_cuda_fill_args(heed_cuda_args *args, const heed_problem *problem, const heed_gpu *gpu,
                         const heed_cuda_cut *cut)
{
    int64_t heads = problem->batch * problem->heads_kv;
    int64_t rows = problem->seq_q * group_of(problem);
    int64_t blocks = heed_div_up(rows, cut->rows);
    int64_t section = section_of(problem, gpu, cut);
    int64_t rest = heads % section ? heads % section : section;
    *args = (heed_cuda_args){
        .q_stride = strides_of(&problem->q),
        .k_stride = strides_of(&problem->k),
        .v_stride = strides_of(&problem->v),
        .o_stride = strides_of(&problem->o),
        .visible = visible_of(problem),
        .rows = (unsigned)rows,
        .seq_q = (unsigned)problem->seq_q,
        .seq_k = (unsigned)problem->seq_k,
        .heads = (unsigned)heads,
        .heads_kv = heed_cuda_divide_by((unsigned)problem->heads_kv),
        .group = heed_cuda_divide_by((unsigned)group_of(problem)),
        .splits = heed_cuda_divide_by((unsigned)cut->splits),
        .section = heed_cuda_divide_by((unsigned)section),
        .rest = heed_cuda_divide_by((unsigned)rest),
        .work = heed_cuda_divide_by((unsigned)(section * blocks)),
        .blocks = (unsigned)blocks,
        .scale = (float)(fabs((double)problem->scale) * LOG2_E),
        .negate = problem->scale < 0,
    };
}
