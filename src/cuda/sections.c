/*
 * sections.c - choose how many key/value heads blocks work on at a time, by simulating the schedule
 */
#include "backend.h"
#include "score/score.h"

/* Maximum number of key/value heads processed at the same time. Without a mask one after another,
 * so the blocks of a head share its K and V in the L2. With a mask the longest blocks of all heads
 * should come first; but a device with little memory bandwidth for its arithmetic needs some reuse
 * then too: the operations per byte of a block are its rows times the blocks of a head that run at
 * the same time. Kernels that copy boxes need it even more, as they are twice as fast and have one
 * block per multiprocessor: on an H200, 16 of 64 heads of 4096 keys of 128 take 8 % less than
 * all. */
static int64_t most_heads(const heed_problem *problem, const heed_gpu *gpu,
                          const heed_launch_facts *launch)
{
    int64_t heads = problem->batch * problem->heads_kv;
    if (!heed_cuda_masked(problem))
        return 1;
    const heed_order_costs *costs = gpu->costs->order;
    double flops = gpu->multiprocessors * gpu->clock * costs->operations;
    double running = costs->running * gpu->multiprocessors;
    double most = (double)launch->rows * running * gpu->bandwidth /
                  (2 * flops * (launch->mapped ? costs->mapped_reuse : 1));
    double bytes = (double)(problem->seq_k * (problem->dim_qk + problem->dim_v)) *
                   (double)heed_type_size(problem->type);
    double in_cache = (double)gpu->l2 / 2 / bytes;
    most = most > in_cache ? most : in_cache;
    return most >= (double)heads ? heads : most < 1 ? 1 : (int64_t)most;
}

#define BLOCKS_MAX 1024 /* blocks, and items, that are simulated: enough for a pattern */
#define ITEMS_MAX 4096
#define SECTIONS_MAX 32
#define SECTIONS_SMALL 8 /* all up to here are tried */

/* Number of key tiles that the @block-th block of rows processes. */
static int64_t tiles_of(const heed_problem *problem, const heed_launch_facts *launch, int64_t block)
{
    int64_t first = block * launch->rows / heed_problem_group(problem);
    int64_t last = ((block + 1) * launch->rows - 1) / heed_problem_group(problem);
    last = last < problem->seq_q ? last : problem->seq_q - 1;
    const heed_lengths lengths = heed_problem_lengths(problem);
    return heed_div_up(heed_problem_keys(problem, lengths, last).end, launch->mapped) -
           heed_problem_keys(problem, lengths, first).begin / launch->mapped;
}

/* Tiles of the busiest block relative to the average, with sections of @section heads and items
 * assigned to blocks as in order.cuh and item_number(). */
static double imbalance(const heed_problem *problem, const heed_gpu *gpu,
                        const heed_launch_facts *launch, int64_t section)
{
    double load[BLOCKS_MAX] = { 0 }, all = 0, most = 0;
    int64_t blocks = heed_div_up(problem->seq_q * heed_problem_group(problem), launch->rows);
    int64_t items = blocks * problem->batch * problem->heads_kv, takers = gpu->multiprocessors;
    for (int64_t i = 0; i < items && i < ITEMS_MAX; i++) {
        int64_t place = i % takers, block = blocks - 1 - i % (section * blocks) / section;
        double tiles = (double)tiles_of(problem, launch, block) + gpu->costs->order->item_tiles;
        double *of = &load[i / takers % 2 ? takers - 1 - place : place];
        *of += tiles;
        all += tiles;
        most = *of > most ? *of : most;
    }
    return most / (all / (double)takers);
}

/* The @i-th section size to try: small ones, all heads, and some in between. */
static int64_t candidate(int64_t i, int64_t heads)
{
    int64_t step = (heads - 1) / (SECTIONS_MAX - 1);
    if (i < SECTIONS_SMALL)
        return i + 1;
    return i == SECTIONS_SMALL ? heads : i * (step > 0 ? step : 1);
}

/* Heads of a section. Where persistent blocks process several items and a mask makes these unequal,
 * few section sizes balance the work of all blocks, and some give a few blocks half as much again:
 * b2 h16 s8192 d128 on an H200 takes 778 us with 1 head, 1099 with 2 and 834 with 7; b1 h16 s16384
 * d128 takes 1710 with 3, as many as the L2 holds, and 1537 with all 16. So the best one is chosen,
 * or a small one if it is about as good. Where all blocks run at once the longest come first; but
 * if two fit on a multiprocessor, the first blocks, which share multiprocessors, should not all be
 * long. */
int64_t heed_cuda_section(const heed_problem *problem, const heed_gpu *gpu,
                          const heed_launch_facts *launch)
{
    const heed_order_costs *costs = gpu->costs->order;
    int64_t heads = problem->batch * problem->heads_kv;
    int64_t blocks = heed_div_up(problem->seq_q * heed_problem_group(problem), launch->rows);
    bool at_once = blocks * heads <= gpu->multiprocessors;
    if (at_once && launch->resident > 1)
        return 1;
    if (!heed_cuda_masked(problem) || !launch->persistent || !launch->mapped ||
        gpu->multiprocessors > BLOCKS_MAX)
        return heed_div_up(heads, heed_div_up(heads, most_heads(problem, gpu, launch)));
    if (at_once)
        return heads;
    int64_t best = blocks < costs->section_items ? costs->section_items / blocks : 1;
    best = best < heads ? best : heads;
    double least = imbalance(problem, gpu, launch, best);
    for (int64_t i = 0; i < SECTIONS_MAX && i < heads; i++) {
        int64_t section = candidate(i, heads);
        double unequal = imbalance(problem, gpu, launch, section);
        if (unequal < least - costs->worth) {
            least = unequal;
            best = section;
        }
    }
    return best;
}
