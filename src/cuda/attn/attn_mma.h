/*
 * attn_mma.h - a config of attn_mma.cu, for attn_mma.c and attn_mma_cost.c alone
 */
#ifndef HEED_CUDA_ATTN_MMA_H
#define HEED_CUDA_ATTN_MMA_H

#include "../score/score.h"
#include "internal.h"

#define HEED_MMA_WARP 32
#define HEED_MMA_CAP_MIN 64 /* of registers */

/* The knobs, in the order in which a config has them; those that are compiled in are macros,
 * HEED_BLOCK_ROWS and so on. */
enum {
    BLOCK_ROWS,    /* rows of a block */
    TILE_KEYS,     /* keys of a tile */
    GROUP_WARPS,   /* warps of a group */
    KEY_GROUPS,    /* groups */
    STAGES,        /* stages */
    Q_PLACE,       /* 2: Q in registers */
    STEP_ORDER,    /* 2: the scores of the next tile along with the softmax of this one */
    BLOCKS_PER_SM, /* blocks per multiprocessor that registers are allotted for; from
                      HEED_MMA_CAP_MIN on, registers that a thread may have: a cap, beyond which the
                      compiler spills */
    SPLITS,        /* splits: blocks that share the keys of the same rows */
    L2_WINDOW,     /* 2: K and V should stay in the L2 */
    HALF_SUMS,     /* 2: sums in half precision, where the problem permits it */
    VALUE_WARPS,   /* warps that share rows, each with a slice of the columns of V */
    KNOBS
};

/* Head dims as they are computed. */
typedef struct heed_mma_dims {
    int qk, v;
    int slice;  /* of v: columns of a warp */
    int staged; /* columns of a key in a stage */
    int bytes;  /* of an element */
} heed_mma_dims;

heed_mma_dims heed_mma_dims_of(const heed_problem *problem, const int *v);

/* Is V, which is a part of K, taken from the tiles of K? Else it is loaded like any other V. */
static inline bool heed_mma_shares(const heed_problem *problem, const int *v)
{
    return problem->shared && v[STEP_ORDER] == 1;
}

/* HEED_PRODUCTS: how products of float32 are made; 0 for elements of 16 bits. */
static inline int heed_mma_products(const heed_problem *problem)
{
    return problem->type == HEED_F32 ? heed_cuda_products(problem) : 0;
}

/* The rows of a warp. */
static inline int heed_mma_rows(const int *v)
{
    return v[BLOCK_ROWS] / (v[GROUP_WARPS] / v[VALUE_WARPS]);
}

/* Parts of a tile's keys: a warp makes the scores of one. */
static inline int heed_mma_parts(const int *v)
{
    int parts = v[VALUE_WARPS];
    while (v[TILE_KEYS] / 16 % parts != 0)
        parts /= 2;
    return parts;
}

static inline int heed_mma_threads(const int *v)
{
    return HEED_MMA_WARP * v[GROUP_WARPS] * v[KEY_GROUPS];
}

/* The cap on registers that is given to the compiler; 0: none. */
static inline int heed_mma_cap(const int *v)
{
    return v[BLOCKS_PER_SM] >= HEED_MMA_CAP_MIN ? v[BLOCKS_PER_SM] : 0;
}

/* Shared memory of a block, laid out as mma/sizes.cuh says. */
int64_t heed_mma_smem(const heed_problem *problem, const int *v);

/* Registers of a thread, about: sums, scores, Q, weights, and what addresses and loops take. */
int heed_mma_registers(const heed_problem *problem, const int *v);

/* Are keys split by shares of equal size (spread.cuh)? */
bool heed_mma_spreads(const heed_problem *problem, const int *v);

/* attn_mma_cost.c: predicted seconds of one execution. */
double heed_mma_cost(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config);

#endif /* HEED_CUDA_ATTN_MMA_H */
