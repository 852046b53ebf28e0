/*
 * wide/sizes.cuh - constants of attn_wide.cu: threads, fragments, and the layout of shared memory
 */
#ifndef HEED_WIDE_SIZES_CUH
#define HEED_WIDE_SIZES_CUH

#include "panels.cuh"
#include "rows.cuh"

/* Threads: two consumer warpgroups, then a producer whose first two warps load, each for one of
 * them. */
#define GROUP_ROWS 64
#define GROUP_THREADS 128
#define CONSUMER_THREADS (2 * GROUP_THREADS)
#define THREADS (CONSUMER_THREADS + GROUP_THREADS)
#define LOADER_REGISTERS 40
#define CONSUMER_REGISTERS 232

/* Under a mask the last rows have the most work. */
#define LONGEST_FIRST HEED_MASKED

/* Columns of V: SLICES slices; each warpgroup accumulates one half of each. */
#define SLICES ((HEED_DIM_V + 511) / 512)
#define HALF_PANELS ((HEED_DIM_V + 128 * SLICES - 1) / (128 * SLICES))
#define HALF_COLUMNS (HALF_PANELS * PANEL_COLUMNS)

/* True if a block has a single tile of keys. Then it accumulates one slice of values at a time, and
 * none while it computes scores, so a tile can have more keys. */
#define WHOLE (HEED_TILE_KEYS == 512)

/* Fragments. A warpgroup computes the scores of PARTS parts of a tile, every other one. */
#define HEED_ACC16 0 /* products are summed in float32 */
#define PARTS (WHOLE ? 2 : 1)
#define PART_KEYS (HEED_TILE_KEYS / (2 * PARTS))
#define ROWS16 1
#define KEYS8 (PART_KEYS / 8)
#define KEYS16 (PART_KEYS / 16)
#define V8 (HALF_COLUMNS / 8)

/* K and V are loaded in pieces: PIECE_PANELS panels of a part of K, or half a slice of VALUE_KEYS
 * rows of V; in boxes of VALUE_KEYS keys and 64 columns. Pieces are small where Q leaves little
 * room. */
#define QK_PANELS ((HEED_DIM_QK + PANEL_COLUMNS - 1) / PANEL_COLUMNS)
#define VALUE_KEYS (!WHOLE && QK_PANELS > 12 ? 16 : 32)
#define PIECE_BYTES (VALUE_KEYS * 4 * PANEL_ROW)
#define PIECE_PANELS (PIECE_BYTES / (PART_KEYS * PANEL_ROW))
#define BOX_BYTES (VALUE_KEYS * PANEL_ROW)

/* Scores are summed in parts of this many panels, because tensor cores round each step of a sum
 * towards zero. */
#define SUM_PANELS 4

/* Shared memory: Q; the weights of a tile and the panels of O that warps store, which overlap Q if
 * there is a single tile; the ring of pieces of each warpgroup; the maxima of rows of each
 * warpgroup, or at the end the sums of their weights; barriers. */
#define Q_COLUMNS (QK_PANELS * PANEL_COLUMNS)
#define Q_BYTES (GROUP_ROWS * Q_COLUMNS * 2)
#define WEIGHTS_BYTES (GROUP_ROWS * HEED_TILE_KEYS * 2)
#define O_PANELS 1
#define O_BYTES (GROUP_ROWS * 2 * O_PANELS * PANEL_ROW)
#define WEIGHTS_AT (WHOLE ? 0 : Q_BYTES)
#define O_AT (WHOLE ? WEIGHTS_BYTES : WEIGHTS_AT)
#define OVER_BYTES (O_AT + O_BYTES)
#define RINGS_AT (Q_BYTES > OVER_BYTES ? Q_BYTES : OVER_BYTES)
#define LEFT_BYTES (2 * GROUP_THREADS * 8)
#define SLOTS_MAX 8
#define SHARED_MOST (227 * 1024) /* maximum of a block on compute capability 9.0 */
#define REST_BYTES (LEFT_BYTES + 2 * 2 * SLOTS_MAX * 8)
#define SLOTS_FIT ((SHARED_MOST - RINGS_AT - REST_BYTES) / (2 * PIECE_BYTES))
#define SLOTS (SLOTS_FIT < SLOTS_MAX ? SLOTS_FIT : SLOTS_MAX)
#define MAX_AT (RINGS_AT + 2 * SLOTS * PIECE_BYTES)
#define SUM_AT MAX_AT
#define BARRIERS_AT (MAX_AT + LEFT_BYTES)
#define SHARED_BYTES (BARRIERS_AT + 2 * 2 * SLOTS * 8)

#if HEED_TILE_KEYS != 128 && HEED_TILE_KEYS != 512
#error "HEED_TILE_KEYS must be 128 or 512"
#endif
#if HEED_DIM_QK <= 256 || HEED_DIM_QK > 1024 || HEED_DIM_QK % 8 != 0 || HEED_DIM_V <= 256 || \
    HEED_DIM_V > 1024 || HEED_DIM_V % 8 != 0
#error "HEED_DIM_QK and HEED_DIM_V must be multiples of 8 from 264 to 1024"
#endif

#endif /* HEED_WIDE_SIZES_CUH */
