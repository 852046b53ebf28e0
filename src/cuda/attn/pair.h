/*
 * pair.h - the host half shared by the kernels of kernels/pair/: blocks of two consumer warpgroups
 * that have the same 64 rows
 */
#ifndef HEED_CUDA_PAIR_H
#define HEED_CUDA_PAIR_H

#include "../gpu.h"

#define HEED_PAIR_ARCH 90 /* no later device runs what is compiled for sm_90a */
#define HEED_PAIR_ROWS 64
#define HEED_PAIR_THREADS 384
#define HEED_PAIR_DIM_UNIT 8

/* heed_pair_splits are the values of their knob SPLITS: blocks that share the keys of the same
 * rows. */
#define HEED_PAIR_SPLITS                      \
    {                                         \
        1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128 \
    }
#define HEED_PAIR_SPLIT_VALUES 11
extern const int heed_pair_splits[HEED_PAIR_SPLIT_VALUES];

/* heed_pair_unfit() says why they cannot run @problem, normalized, whatever its head dims and
 * pages; NULL: they can. */
const char *heed_pair_unfit(const heed_problem *problem);

/* heed_pair_items() returns how many blocks there are that do not share rows. */
double heed_pair_items(const heed_problem *problem);

/* heed_pair_idle_splits() says why planning should not look at so many splits of tiles of
 * @tile_keys keys; NULL: it should. */
const char *heed_pair_idle_splits(const heed_problem *problem, const heed_gpu *gpu, int splits,
                                  int tile_keys);

#endif /* HEED_CUDA_PAIR_H */
