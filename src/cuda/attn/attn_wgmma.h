/*
 * attn_wgmma.h - configs of attn_wgmma.cu, shared by attn_wgmma.c and attn_wgmma_cost.c
 */
#ifndef HEED_CUDA_ATTN_WGMMA_H
#define HEED_CUDA_ATTN_WGMMA_H

#include "internal.h"

#define HEED_WGMMA_ROWS 64 /* of a warpgroup */

/* The knobs, in the order of a config's values; each is a macro, HEED_ROW_GROUPS and so on. */
enum {
    ROW_GROUPS, /* row groups: warpgroups with separate rows */
    KEY_GROUPS, /* key groups: warpgroups that alternate between the tiles of the same rows */
    TILE_KEYS,  /* keys of a tile */
    STAGES,     /* stages */
    STEP_ORDER, /* 1: the maxima of each tile first; 2: the scores of the next tile along with the
                   values of this one; 3: as 1, but new maxima only when needed */
    TURNS,      /* turns: 1 none, 2 of row groups at starting products, 3 at exponentials */
    OWN_TILES,  /* 2: row groups skip the tiles that their rows do not see */
    SCHEDULE,   /* 2: persistent, as many blocks as multiprocessors; 3: two blocks fit on one; 4:
                   and two share an item */
    SPLITS,     /* splits: blocks that share the keys of the same rows */
    BIAS_TILES, /* 2: the bias of a tile of keys is copied along with it; 1: lanes read it */
    KNOBS
};

/* Resident blocks per multiprocessor. */
static inline int heed_wgmma_resident(const int *v)
{
    return v[SCHEDULE] >= 3 ? 2 : 1;
}

/* Blocks that share an item. */
static inline int heed_wgmma_pair(const int *v)
{
    return v[SCHEDULE] == 4 ? 2 : 1;
}

/* Blocks, or pairs of them, with different rows. */
double heed_wgmma_items(const heed_problem *problem, const int *v);

/* Columns of V that are computed. */
int heed_wgmma_value_columns(const heed_problem *problem);

/* attn_wgmma_cost.c: predicted seconds of one execution. */
double heed_wgmma_cost(const heed_kernel *kernel, const heed_problem *problem,
                       const heed_machine *machine, const heed_config *config);

#endif /* HEED_CUDA_ATTN_WGMMA_H */
