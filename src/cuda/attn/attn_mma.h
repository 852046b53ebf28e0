/*
 * attn_mma.h - configs of attn_mma.cu, shared by attn_mma.c and attn_mma_cost.c
 */
#ifndef HEED_CUDA_ATTN_MMA_H
#define HEED_CUDA_ATTN_MMA_H

#include "../score/score.h"
#include "internal.h"

#define HEED_MMA_WARP 32
#define HEED_MMA_CAP_MIN 64 /* of registers */

/* The knobs, in the order of a config's values; those that are compiled in are macros,
 * HEED_BLOCK_ROWS and so on. */
enum {
    BLOCK_ROWS,    /* rows of a block */
    TILE_KEYS,     /* keys of a tile */
    GROUP_WARPS,   /* warps of a group */
    KEY_GROUPS,    /* groups */
    STAGES,        /* stages */
    Q_PLACE,       /* 2: Q in registers */
    STEP_ORDER,    /* 2: the scores of the next tile along with the softmax of this one */
    BLOCKS_PER_SM, /* blocks per multiprocessor for which registers are allocated; from
                      HEED_MMA_CAP_MIN on, a cap of registers per thread, beyond which the compiler
                      spills */
    SPLITS,        /* splits: blocks that share the keys of the same rows */
    L2_WINDOW,     /* 2: K and V should stay in the L2 */
    HALF_SUMS,     /* 2: sums in half precision, if the problem permits it */
    VALUE_WARPS,   /* warps that share rows, each with a slice of the columns of V */
    KNOBS
};

/* Head dims as computed. */
typedef struct heed_mma_dims {
    int qk, v;
    int slice;  /* of v: columns of a warp */
    int staged; /* columns of a key in a stage */
    int bytes;  /* of an element */
} heed_mma_dims;

heed_mma_dims heed_mma_dims_of(const heed_problem *problem, const int *v);

/* True if V, which is a part of K, is read from the tiles of K. Otherwise it is loaded like any
 * other V. */
static inline bool heed_mma_shares(const heed_problem *problem, const int *v)
{
    return problem->shared && v[STEP_ORDER] == 1;
}

/* HEED_PRODUCTS: how float32 products are computed; 0 for 16-bit elements. */
static inline int heed_mma_products(const heed_problem *problem)
{
    return problem->type == HEED_F32 ? heed_cuda_products(problem) : 0;
}

/* The rows of a warp. */
static inline int heed_mma_rows(const int *v)
{
    return v[BLOCK_ROWS] / (v[GROUP_WARPS] / v[VALUE_WARPS]);
}

/* Parts of a tile's keys: a warp computes the scores of one. */
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

/* The compiler's cap on registers; 0: none. */
static inline int heed_mma_cap(const int *v)
{
    return v[BLOCKS_PER_SM] >= HEED_MMA_CAP_MIN ? v[BLOCKS_PER_SM] : 0;
}

/* Shared memory of a block, with the layout of mma/sizes.cuh. */
int64_t heed_mma_smem(const heed_problem *problem, const int *v);

/* Estimated registers per thread: sums, scores, Q, weights, addresses and loops. */
int heed_mma_registers(const heed_problem *problem, const int *v);

/* Resident blocks per multiprocessor, by shared memory and the config's registers. */
int heed_mma_resident(const heed_problem *problem, const heed_gpu *gpu, const int *v);

/* True if keys are split into shares of equal size (spread.cuh). */
bool heed_mma_spreads(const heed_problem *problem, const heed_gpu *gpu, const int *v);

/* Blocks of a key/value head if keys are spread, else 0: about as many as splits of all batch
 * elements, but if that is at least half of those that the device runs at once, a multiple of
 * these: all take equally long, and a device that is not full distributes them unevenly. */
int64_t heed_mma_spread_blocks(const heed_problem *problem, const heed_gpu *gpu, const int *v);

/* attn_mma_cost.c: predicted seconds of one execution. */
double heed_mma_cost(const heed_kernel *kernel, const heed_problem *problem,
                     const heed_machine *machine, const heed_config *config);

#endif /* HEED_CUDA_ATTN_MMA_H */
