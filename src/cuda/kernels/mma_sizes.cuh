/*
 * mma_sizes.cuh - constants of attn_mma.cu that follow from its knobs: threads, fragments, and the
 * layout of shared memory
 */
#ifndef HEED_MMA_SIZES_CUH
#define HEED_MMA_SIZES_CUH

#include "types.cuh"

#define QK_PAD ((HEED_DIM_QK + 31) / 32 * 32)
#define V_PAD ((HEED_DIM_V + 31) / 32 * 32)

#define GROUP_THREADS (32 * HEED_GROUP_WARPS)
#define THREADS (GROUP_THREADS * HEED_KEY_GROUPS)
#define WARP_ROWS (HEED_BLOCK_ROWS / HEED_GROUP_WARPS)
#define ROWS16 (WARP_ROWS / 16)    /* tiles of 16 rows per warp */
#define KEYS8 (HEED_TILE_KEYS / 8) /* of 8 keys per tile */
#define KEYS16 (HEED_TILE_KEYS / 16)
#define QK16 (QK_PAD / 16)
#define V8 (V_PAD / 8)

/* Shared memory: Q, which later holds O; the first bad key of each column of V; the stages of every
 * group, which later hold what the groups merge. */
#define O_PAD (QK_PAD > V_PAD ? QK_PAD : V_PAD)
#define Q_BYTES (HEED_BLOCK_ROWS * O_PAD * 2)
#define BAD_BYTES (HEED_MASKED ? V_PAD * 4 : 0)
#define K_BYTES (HEED_TILE_KEYS * QK_PAD * 2)
#define V_BYTES (HEED_TILE_KEYS * V_PAD * 2)
#define STAGE_BYTES (K_BYTES + V_BYTES)
#define STAGES_AT (Q_BYTES + BAD_BYTES)

/* Are registers scarce? Then what a thread works on is found anew after the main loop, and at the
 * end, so that they need not keep it meanwhile; elsewhere that would only take time. */
#define SCARCE (ROWS16 * (V_PAD / 2 + HEED_TILE_KEYS / 2 * HEED_STEP_ORDER) >= 160)

/* The stage of K runs this far ahead of that of V. */
#define K_AHEAD (HEED_STEP_ORDER == 2)

/* Do the rows of O lie where other warps may still read Q? */
#define O_MOVES ((QK_PAD % 64 == 0) != (V_PAD % 64 == 0))

#if HEED_BLOCK_ROWS % (16 * HEED_GROUP_WARPS) != 0 || HEED_TILE_KEYS % 16 != 0 || HEED_STAGES < 2
#error "rows of a warp and HEED_TILE_KEYS must be multiples of 16, and HEED_STAGES 2 or more"
#endif
#if HEED_ACC16 && (HEED_BF16 || HEED_STEP_ORDER != 1)
#error "HEED_ACC16 is for float16 and HEED_STEP_ORDER 1"
#endif

#endif /* HEED_MMA_SIZES_CUH */
