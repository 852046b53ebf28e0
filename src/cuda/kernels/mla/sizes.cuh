/*
 * mla/sizes.cuh - constants of attn_mla.cu: threads, fragments, and the layout of shared memory
 */
#ifndef HEED_MLA_SIZES_CUH
#define HEED_MLA_SIZES_CUH

#include "panels.cuh"
#include "rows.cuh"

/* Threads: two consumer warpgroups, then a producer. */
#define GROUP_ROWS 64
#define GROUP_THREADS 128
#define CONSUMER_THREADS (2 * GROUP_THREADS)
#define THREADS (CONSUMER_THREADS + GROUP_THREADS)
#define LOADER_REGISTERS 24
#define CONSUMER_REGISTERS 240

/* The warps of the last warpgroup: one loader per stage, then the one that cleans. */
#define CLEAN_WARP STAGES

/* True if keys may be loaded that no row of a block sees. */
#define CLEANS (HEED_MASKED || HEED_PAGED)

/* Fragments: those of a tile's scores, and of the columns of V that a warpgroup accumulates. */
#define HEED_TILE_KEYS 64
#define HEED_ACC16 0 /* products are summed in float32 */
#define ROWS16 1
#define KEYS8 (HEED_TILE_KEYS / 8)
#define KEYS16 (HEED_TILE_KEYS / 16)
#define HALF_COLUMNS 256
#define V8 (HALF_COLUMNS / 8)

/* A tile of K is two halves of four panels each, whose columns are those of V, and a tail of one.
 * Once the scores of a tile are computed, its tail holds its weights. */
#define HALF_PANELS (HALF_COLUMNS / PANEL_COLUMNS)
#define TAIL (2 * HALF_PANELS) /* index of the tail's panel, */
#define PANELS (TAIL + 1)      /* and number of panels */
#define TAIL_PART 2            /* index of the part after the halves, */
#define PARTS 3                /* and number of parts */
#define PANEL_BYTES (HEED_TILE_KEYS * PANEL_ROW)

/* O is stored in one slice, which the warps stage in shared memory as a whole. */
#define SLICES 1
#define O_PANELS HALF_PANELS
#define O_AT 0
#define LONGEST_FIRST 0

/* Shared memory: Q, which later holds O; the stages; the maxima of the rows, which each warpgroup
 * stores for the other, and the sums of their weights, likewise; barriers. */
#define STAGES 2
#define Q_COLUMNS (PANELS * PANEL_COLUMNS)
#define Q_BYTES (GROUP_ROWS * Q_COLUMNS * 2)
#define STAGE_BYTES (PANELS * PANEL_BYTES)
#define STAGES_AT Q_BYTES
#define LEFT_BYTES (2 * GROUP_THREADS * 8)
#define MAX_AT (STAGES_AT + STAGES * STAGE_BYTES)
#define SUM_AT (MAX_AT + LEFT_BYTES)
#define BARRIERS_AT (SUM_AT + LEFT_BYTES)
#define BARRIERS (STAGES * (PANELS + PARTS) + PANELS + PARTS)
#define SHARED_BYTES (BARRIERS_AT + BARRIERS * 8)

#if HEED_DIM_QK <= 2 * HALF_COLUMNS || HEED_DIM_QK > PANELS * PANEL_COLUMNS || HEED_DIM_QK % 8 != 0
#error "HEED_DIM_QK must be a multiple of 8 from 520 to 576"
#endif
#if HEED_DIM_V <= HALF_COLUMNS || HEED_DIM_V > 2 * HALF_COLUMNS || HEED_DIM_V % 8 != 0
#error "HEED_DIM_V must be a multiple of 8 from 264 to 512"
#endif

#endif /* HEED_MLA_SIZES_CUH */
