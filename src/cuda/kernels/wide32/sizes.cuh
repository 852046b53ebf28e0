/*
 * wide32/sizes.cuh - constants of attn_wide32.cu: threads, fragments, and the layout of shared
 * memory
 */
#ifndef HEED_WIDE32_SIZES_CUH
#define HEED_WIDE32_SIZES_CUH

#include "types.cuh"

#define HEED_TYPE 0 /* float32 (element.cuh) */

#define BLOCK_ROWS 64
#define ROWS16 4
#define WARPS 8
#define THREADS (32 * WARPS)

/* Under a mask the last rows have the most work. */
#define LONGEST_FIRST HEED_MASKED

/* Panels are 32 columns, the 128 bytes of a row of a page (tile.cuh). Scores are computed for
 * PASS_KEYS keys at a time, one panel of Q and K after another; each warp has a share of the
 * keys. */
#define PANEL 32
#define PANEL_ROW 128
#define QK_PANELS ((HEED_DIM_QK + PANEL - 1) / PANEL)
#define PASS_KEYS (HEED_TILE_KEYS < 256 ? HEED_TILE_KEYS : 256)
#define WARP_KEYS (PASS_KEYS / WARPS)
#define KEYS8 (WARP_KEYS / 8)

/* Values are accumulated for SLICE columns at a time, in parts of PART_KEYS keys; each warp has a
 * panel of them. */
#define SLICE (WARPS * PANEL)
#define SLICES ((HEED_DIM_V + SLICE - 1) / SLICE)
#define PART_KEYS 32

/* A stage has a panel of Q and of K, or a part of a slice of V. */
#define SCORE_BYTES ((BLOCK_ROWS + PASS_KEYS) * PANEL_ROW)
#define VALUE_BYTES (PART_KEYS * SLICE * 4)
#define STAGE_BYTES (SCORE_BYTES > VALUE_BYTES ? SCORE_BYTES : VALUE_BYTES)
#define STAGES 2

/* Shared memory: the scores of the tile, which become weights; the stages; for each row the
 * maximum, the sum of weights, a flag whether its results are kept or recomputed, and its offset in
 * Q. */
#define WEIGHTS_AT 0
#define STAGES_AT (WEIGHTS_AT + BLOCK_ROWS * HEED_TILE_KEYS * 4)
#define MAX_AT (STAGES_AT + STAGES * STAGE_BYTES)
#define SUM_AT (MAX_AT + BLOCK_ROWS * 4)
#define KEPT_AT (SUM_AT + BLOCK_ROWS * 4)
#define ROWS_AT (KEPT_AT + BLOCK_ROWS * 4)
#define SHARED_BYTES (ROWS_AT + BLOCK_ROWS * 8)

#if HEED_TILE_KEYS != 128 && HEED_TILE_KEYS != 256 && HEED_TILE_KEYS != 512
#error "HEED_TILE_KEYS must be 128, 256 or 512"
#endif
#if HEED_DIM_QK % 4 != 0 || HEED_DIM_V % 4 != 0
#error "HEED_DIM_QK and HEED_DIM_V must be multiples of 4"
#endif

#endif /* HEED_WIDE32_SIZES_CUH */
