/*
 * costs.c - constants of the cost models, fitted to devices
 *
 * So far all are fitted to one NVIDIA H200; other devices are predicted with its constants and
 * their own data sheets. docs/roofline.md has the accuracy of the models, and
 * tests/src/cuda/test_costs.c compares them with the recorded times in tests/data/times-h200.txt.
 */
#include "costs.h"

#include <stddef.h>
#include <string.h>

/* Fitted to the times of attn_mma below. */
static const heed_memory_costs h200_memory = { .latency = 1.1e-6,
                                               .share = 0.87,
                                               .hindrance = 0.03 };

/* b16 h16 s1024 d128 takes 147 us with 32 items in a section, 152 with 8. For 64 heads of 4096 keys
 * of 128, sections of 16 take 8 % less than a single one: copies of boxes need ten times the
 * reuse. Lengths: an H100 takes 53 us for b16 h32/8 s1/4096 d128 with lengths from 1 to all keys
 * in one round, 88 with all keys; lengths that differ by a factor of 40 cost about a third more
 * there. An H200 takes 6 to 9 % more than for equal lengths in eight rounds. Lists: with them and
 * without, it takes 16.9 and 12.8 us for documents in b1 h16 s1024 d64 causal (4.3 by the data
 * sheet, without the mask), and 33.2 and 37.9 in s2048 d128. */
static const heed_order_costs h200_order = { .operations = 2048,
                                             .running = 2,
                                             .mapped_reuse = 10,
                                             .section_items = 32,
                                             .worth = 0.04,
                                             .item_tiles = 1.5,
                                             .unequal = 0.6,
                                             .listed = 5e-6 };

/* The share of the bandwidth was not measured. */
static const heed_naive_costs h200_naive = { .flops_per_clock = 12,
                                             .launch = 4e-6,
                                             .bandwidth_share = 0.5 };

/* Clocks of instructions were measured separately. Those of steps and spills are fitted to the
 * recorded sweep of 90 points (tests/lab/inspect/test_roofline.c); those of splits and masks, and
 * the last two, to 1400 times of 146 problems. Those of spreading are from the times of version 18
 * (docs/kernels/attn_mma.md), and those of sharing rows and of a merge launch are estimates. */
static const heed_mma_costs h200_mma = { .mma_clocks = 7,
                                         .other_clocks = 1.1,
                                         .exp_clocks = 8,
                                         .chain_clocks = 29,
                                         .key_clocks = 6,
                                         .spill_instructions = 3,
                                         .spill_clocks = 4,
                                         .page_clocks = 1800,
                                         .share_clocks = 150,
                                         .spread = 2e-6,
                                         .spread_unsure = 0.1,
                                         .spread_thin = 0.1,
                                         .block_clocks = 3000,
                                         .merge_clocks = 500,
                                         .clock_share = 0.9,
                                         .launch = 2.2e-6,
                                         .overlap = 1e-6,
                                         .combine = 1.5e-6,
                                         .round = 1.7e-6,
                                         .batch = 0.6e-6,
                                         .merge_launch = 2e-6,
                                         .merge_blocks = 8,
                                         .parts_rate = 0.24,
                                         .mask_steps = 0.4,
                                         .masked = 1.14,
                                         .hidden = 0.01,
                                         .first_tile = 0.22 };

/* Fitted to 6900 times of 252 problems, for changed logits to 900 times of 25, and those of split
 * keys to 260 times of 20. Free multiprocessors: 84 to 112 blocks on 132; measured, not
 * understood. */
static const heed_wgmma_costs h200_wgmma = {
    .clock_share = 0.9,
    .exps_per_clock = 16,
    .l2_bytes = 39.5,
    .memory_longer = 1.1,
    .all_bytes = 720e3,
    .block_bytes = 36e3,
    .meeting = 1.7,
    .launch = 0.35e-6,
    .block = 2.65e-6,
    .item = 0.49e-6,
    .turn = 0.62e-6,
    .wait = 0.07e-6,
    .merge = 0.13e-6,
    .pair = 0.76e-6,
    .ahead = 1.45e-6,
    .combine = 2.8e-6,
    .parts_rate = 0.95,
    .exposed = 0.4,
    .lookups = 0.25,
    .staged = 1.5,
    .spare = 0.93,
    .spare_from = 0.6,
    .spare_to = 0.9,
    .order = { [1] = { 0.20e-6, 1.45, 1.45, 0.92, 0, { 0.78, 0.71 } },
               [2] = { 0.025e-6, 1.65, 1.3, 0.70, 0.32e-6, { 0.89, 0.62 } },
               [3] = { 0, 1.94, 0.6, 0.98, 0, { 0.74, 0.62 } } },
};

/* Fitted to seven times (docs/kernels/attn_mla.md), four of which are 0.85 to 1.08 times the
 * prediction. */
static const heed_mla_costs h200_mla = {
    .matrix_share = 0.73, .block_bytes = 90e3, .block = 5.5e-6, .launch = 1e-6, .merge_share = 0.4
};

/* Not fitted: the L2's figure is from attn_wgmma's times, the others are estimates. Three times
 * measured since are 0.79 to 1.24 times the prediction (docs/kernels/attn_wide.md). */
static const heed_wide_costs h200_wide = { .clock_share = 0.9,
                                           .matrix_share = 0.8,
                                           .l2_bytes = 39.5,
                                           .tile = 400,
                                           .key = 5,
                                           .block_bytes = 64e3,
                                           .block = 4e-6,
                                           .launch = 1e-6 };

/* Not fitted. The share is of the rate of a 16-bit wgmma: float32 products take three mma.sync,
 * each at half the 16-bit rate. */
static const heed_wide_costs h200_wide32 = { .clock_share = 0.9,
                                             .matrix_share = 0.55,
                                             .l2_bytes = 39.5,
                                             .tile = 6000,
                                             .key = 30,
                                             .block_bytes = 40e3,
                                             .block = 4e-6,
                                             .launch = 1e-6 };

/* Uneven threes of blocks were only observed on the H200 (docs/roofline.md), so that flag is for
 * its architecture; everything else is for all. */
const heed_costs heed_cost_rows[] = {
    { NULL, 90, true, &h200_memory, &h200_order, &h200_naive, &h200_mma, &h200_wgmma, &h200_mla,
      &h200_wide, &h200_wide32 },
    { NULL, 0, false, &h200_memory, &h200_order, &h200_naive, &h200_mma, &h200_wgmma, &h200_mla,
      &h200_wide, &h200_wide32 },
};

const heed_costs *heed_costs_find(const heed_costs *rows, const char *device, int arch)
{
    while ((rows->device && strcmp(rows->device, device) != 0) ||
           (rows->arch && rows->arch != arch))
        rows++;
    return rows;
}
