/*
 * mma/sizes.cuh - constants of attn_mma.cu that follow from its knobs: threads, fragments, and the
 * layout of shared memory
 */
#ifndef HEED_MMA_SIZES_CUH
#define HEED_MMA_SIZES_CUH

#include "half.cuh"

/* Warps that share rows, each with a slice of the columns of V (mma/wide.cuh). */
#ifndef HEED_VALUE_WARPS
#define HEED_VALUE_WARPS 1
#endif

/* True if V is the first columns of K. Then a stage only has K. */
#ifndef HEED_SHARED_V
#define HEED_SHARED_V 0
#endif

/* Slices begin at pages of tiles, and so do K and V in one tile. */
#define WIDE (HEED_VALUE_WARPS > 1 || HEED_SHARED_V)

/* With WIDE and in float32, rows whose results are not finite are recomputed, and V is not cleaned:
 * with WIDE it may be K, and in float32 the parts of an infinity have different products. */
#define REMAKES (WIDE || HEED_F32)
#define CLEANS (HEED_MASKED && !HEED_HIDES && !REMAKES)

/* Rows of Q and K, and of V and O, in tiles: in units of 16 bits, padded. Lanes read float32 values
 * from pages of 64. */
#define QK_HALVES (WORDS * HEED_DIM_QK)
#define V_HALVES (WORDS * HEED_DIM_V)
#define V_UNIT (WIDE ? 64 * HEED_VALUE_WARPS : 32 * WORDS)
#define V_PAD ((V_HALVES + V_UNIT - 1) / V_UNIT * V_UNIT)
#define QK_UNIT (WIDE ? 64 : 32)
#define QK_ROUND ((QK_HALVES + QK_UNIT - 1) / QK_UNIT * QK_UNIT)
#define QK_PAD (HEED_SHARED_V && V_PAD > QK_ROUND ? V_PAD : QK_ROUND)

#define GROUP_THREADS (32 * HEED_GROUP_WARPS)
#define THREADS (GROUP_THREADS * HEED_KEY_GROUPS)
#define ROW_WARPS (HEED_GROUP_WARPS / HEED_VALUE_WARPS)
#define WARP_ROWS (HEED_BLOCK_ROWS / ROW_WARPS)
#define ROWS16 (WARP_ROWS / 16) /* tiles of 16 rows per warp */
#define TILE16 (HEED_TILE_KEYS / 16)

/* Parts of a tile's keys: a warp computes the scores of one. The largest power of two that divides
 * both the tile's 16-key groups and the warps that share rows. */
#define SCORE_PARTS                                     \
    (HEED_VALUE_WARPS % 8 == 0 && TILE16 % 8 == 0   ? 8 \
     : HEED_VALUE_WARPS % 4 == 0 && TILE16 % 4 == 0 ? 4 \
     : HEED_VALUE_WARPS % 2 == 0 && TILE16 % 2 == 0 ? 2 \
                                                    : 1)
#define PART_KEYS (HEED_TILE_KEYS / SCORE_PARTS)
#define KEYS8 (PART_KEYS / 8) /* of 8 keys per part */
#define KEYS16 (PART_KEYS / 16)
#define KEY_STEPS (KEYS16 * WORDS) /* of a product with V */
#define QK16 (QK_PAD / 16)
#define V8 (V_PAD / WORDS / HEED_VALUE_WARPS / 8) /* of 8 columns per warp */
#define V_PAGES (V8 * WORDS / 8)                  /* of tiles, per warp, if it has a slice */

/* For steps that change scores, a part is a tile. */
#if HEED_VALUE_WARPS > 1
#define STEP_TILE PART_KEYS
#endif

/* Shared memory: Q, which later holds O; the first bad key of each column of V; values that warps
 * with the same rows exchange, one per row; their weights; the stages of every group, which later
 * hold the states that groups merge. */
#define O_PAD (QK_PAD > V_PAD ? QK_PAD : V_PAD)
#define Q_BYTES (HEED_BLOCK_ROWS * O_PAD * 2)
#define BAD_BYTES (HEED_MASKED && !REMAKES ? V_PAD * 4 : 0)
#define SHARED_AT (Q_BYTES + BAD_BYTES)
#define SHARED_BYTES (HEED_VALUE_WARPS > 1 ? HEED_VALUE_WARPS * HEED_BLOCK_ROWS * 4 : 0)
#define WEIGHTS_AT (SHARED_AT + SHARED_BYTES)
#define WEIGHTS_BYTES (SCORE_PARTS > 1 ? HEED_BLOCK_ROWS * HEED_TILE_KEYS * ELEMENT_BYTES : 0)
#define K_BYTES (HEED_TILE_KEYS * QK_PAD * 2)
#define V_BYTES (HEED_SHARED_V ? 0 : HEED_TILE_KEYS * V_PAD * 2)
#define V_AT (HEED_SHARED_V ? 0 : K_BYTES) /* in a stage */
#define STAGE_BYTES (K_BYTES + V_BYTES)

/* In float32 the sums of every FOLD_TILES tiles are accumulated separately, and then added to those
 * stored here: thousands of equal numbers added one by one would all be rounded in the same
 * direction. */
#define FOLD_AT (WEIGHTS_AT + WEIGHTS_BYTES)
#define FOLD_BYTES (HEED_F32 ? ROWS16 * STATE_WORDS * THREADS * 4 : 0)
#define FOLD_TILES ((511 + HEED_TILE_KEYS) / HEED_TILE_KEYS)
#define STATE_WORDS (V8 * 4 + 4) /* of a lane, for 16 rows */
#define STAGES_AT (FOLD_AT + FOLD_BYTES)

/* True if registers are scarce. Then a thread's place is computed again after the main loop, and at
 * the end, so no registers hold it meanwhile; otherwise that would only take time. */
#if HEED_F32
#define SCARCE (ROWS16 * (V8 * 4 + TILE16 * 16 + 32) >= 128)
#else
#define SCARCE (ROWS16 * (V8 * 4 + KEYS8 * 4 * HEED_STEP_ORDER) >= 160)
#endif

/* The stage of K runs this far ahead of that of V. */
#define K_AHEAD (HEED_STEP_ORDER == 2)

/* True if the rows of O are where other warps may still read Q. */
#define O_MOVES ((QK_PAD % 64 == 0) != (V_PAD % 64 == 0))

#if HEED_BLOCK_ROWS % (16 * ROW_WARPS) != 0 || HEED_TILE_KEYS % 16 != 0 || HEED_STAGES < 2
#error "rows of a warp and HEED_TILE_KEYS must be multiples of 16, and HEED_STAGES 2 or more"
#endif
#if HEED_ACC16 && (HEED_BF16 || HEED_F32 || HEED_STEP_ORDER != 1)
#error "HEED_ACC16 is for float16 and HEED_STEP_ORDER 1"
#endif

#if HEED_VALUE_WARPS > 1 && (HEED_KEY_GROUPS > 1 || HEED_UNALIGNED || HEED_ACC16 || \
                             HEED_GROUP_WARPS % HEED_VALUE_WARPS != 0)
#error "HEED_VALUE_WARPS is for one group, aligned addresses and float32 sums"
#endif
#if REMAKES && HEED_STEP_ORDER != 1
#error "shared V, HEED_VALUE_WARPS and float32 are for HEED_STEP_ORDER 1"
#endif

#endif /* HEED_MMA_SIZES_CUH */
