/*
 * mma_sizes.cuh - constants of attn_mma.cu that follow from its knobs: threads, fragments, and the
 * layout of shared memory
 */
#ifndef HEED_MMA_SIZES_CUH
#define HEED_MMA_SIZES_CUH

#include "types.cuh"

#define QK_PAD ((HEED_DIM_QK + 31) / 32 * 32)
#define V_PAD ((HEED_DIM_V + 31) / 32 * 32)

#define GROUP_THREADS (32 * HEED_W)
#define THREADS (GROUP_THREADS * HEED_K)
#define WARP_ROWS (HEED_M / HEED_W)
#define ROWS16 (WARP_ROWS / 16) /* tiles of 16 rows per warp */
#define KEYS8 (HEED_N / 8)      /* of 8 keys per tile */
#define KEYS16 (HEED_N / 16)
#define QK16 (QK_PAD / 16)
#define V8 (V_PAD / 8)

/* Shared memory: Q, which later holds O; the first bad key of each column of V; the stages of every
 * group, which later hold what the groups merge. */
#define O_PAD (QK_PAD > V_PAD ? QK_PAD : V_PAD)
#define Q_BYTES (HEED_M * O_PAD * 2)
#define BAD_BYTES (HEED_CAUSAL ? V_PAD * 4 : 0)
#define K_BYTES (HEED_N * QK_PAD * 2)
#define V_BYTES (HEED_N * V_PAD * 2)
#define STAGE_BYTES (K_BYTES + V_BYTES)
#define STAGES_AT (Q_BYTES + BAD_BYTES)

/* Are registers scarce? Then what a thread works on is found anew after the main loop, and at the
 * end, so that they need not keep it meanwhile; elsewhere that would only take time. */
#define SCARCE (ROWS16 * (V_PAD / 2 + HEED_N / 2 * HEED_O) >= 160)

/* The stage of K runs this far ahead of that of V. */
#define K_AHEAD (HEED_O == 2)

/* Do the rows of O lie where other warps may still read Q? */
#define O_MOVES ((QK_PAD % 64 == 0) != (V_PAD % 64 == 0))

#if HEED_M % (16 * HEED_W) != 0 || HEED_N % 16 != 0 || HEED_S < 2
#error "HEED_M must be a multiple of 16 * HEED_W, HEED_N of 16, and HEED_S 2 or more"
#endif
#if HEED_ACC16 && (HEED_BF16 || HEED_O != 1)
#error "HEED_ACC16 is for float16 and HEED_O 1"
#endif

#endif /* HEED_MMA_SIZES_CUH */
