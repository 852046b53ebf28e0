/*
 * pair.h - the host half shared by attn_mla, attn_wide and attn_wide32, whose blocks have 64 rows;
 * in the first two, which also share kernels/pair/, two consumer warpgroups compute the same rows
 */
#ifndef HEED_CUDA_PAIR_H
#define HEED_CUDA_PAIR_H

#include "../gpu.h"

#define HEED_PAIR_ARCH 90 /* sm_90a code only runs on this architecture */
#define HEED_PAIR_ROWS 64
#define HEED_PAIR_THREADS 384
#define HEED_PAIR_DIM_UNIT 8

/* heed_pair_splits are the values of the knob SPLITS: blocks that share the keys of the same
 * rows. */
#define HEED_PAIR_SPLITS                      \
    {                                         \
        1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128 \
    }
#define HEED_PAIR_SPLIT_VALUES 11
extern const int heed_pair_splits[HEED_PAIR_SPLIT_VALUES];

/* heed_pair_unfit() returns why they cannot run @problem, normalized, for any head dims and pages;
 * NULL: they can. */
const char *heed_pair_unfit(const heed_problem *problem);

/* heed_pair_items() returns the number of blocks with different rows. */
double heed_pair_items(const heed_problem *problem);

/* heed_pair_seconds() predicts the time of a launch of attn_wide or attn_wide32, and of the merge:
 * @blocks blocks of @clocks clocks each run in rounds, one per multiprocessor. */
double heed_pair_seconds(const heed_problem *problem, const heed_gpu *gpu,
                         const heed_wide_costs *costs, double blocks, double clocks, int splits);

#endif /* HEED_CUDA_PAIR_H */
