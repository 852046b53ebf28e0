/*
 * wgmma/sizes.cuh - constants of attn_wgmma.cu that follow from its knobs: threads, registers,
 * fragments, and the layout of shared memory
 */
#ifndef HEED_WGMMA_SIZES_CUH
#define HEED_WGMMA_SIZES_CUH

#include "panels.cuh"

/* Tiles of the bias that are copied along with those of K. */
#ifndef HEED_BIAS_TILES
#define HEED_BIAS_TILES 0
#endif

/* Threads: HEED_ROW_GROUPS * HEED_KEY_GROUPS consumer warpgroups, then a producer. */
#define GROUP_ROWS 64
#define GROUP_THREADS 128
#define CONSUMERS (HEED_ROW_GROUPS * HEED_KEY_GROUPS)
#define CONSUMER_THREADS (CONSUMERS * GROUP_THREADS)
#define THREADS (CONSUMER_THREADS + GROUP_THREADS)
#define BLOCK_ROWS (HEED_ROW_GROUPS * GROUP_ROWS)

/* The warps of the last warpgroup: one with the thread that loads K, one with that for Q and V, and
 * the first of two that clean. */
#define K_WARP (CONSUMER_THREADS / 32)
#define V_WARP (K_WARP + 1)
#define CLEAN_WARP (K_WARP + 2)

/* Resident blocks per multiprocessor; blocks that share an item, a cluster; and teams of row groups
 * that share its rows, HEED_KEY_GROUPS of them in a block. */
#define RESIDENT (HEED_SCHEDULE >= 3 ? 2 : 1)
#define PAIR (HEED_SCHEDULE == 4 ? 2 : 1)
#define TEAMS (PAIR * HEED_KEY_GROUPS)
#if defined HEED_SCHEDULE && HEED_SCHEDULE == 4
#define ENTRY HEED_ENTRY_PAIR
#else
#define ENTRY HEED_ENTRY
#endif

/* Registers per thread after the warpgroups have redistributed those that the block began with,
 * which are the same for all threads: 168, 128 or 96, or 80 if two blocks must fit. Producers need
 * more if they clean, or look up pages. A single consumer group has enough without
 * redistribution. */
#if defined HEED_PAGED && HEED_PAGED
#define FEW_LEFT 1
#else
#define FEW_LEFT HEED_MASKED
#endif
#define LOADER_REGISTERS (CONSUMERS != 2 || RESIDENT > 1 ? 32 : FEW_LEFT ? 40 : 24)
#define CONSUMER_REGISTERS \
    (RESIDENT > 1 ? 104 : CONSUMERS == 2 ? (FEW_LEFT ? 232 : 240) : CONSUMERS == 3 ? 160 : 112)

#define QK_PANELS ((HEED_DIM_QK + 63) / 64 * (64 / PANEL_COLUMNS))
#define V_PANELS ((HEED_DIM_V + 63) / 64 * (64 / PANEL_COLUMNS))

#define O_PANELS (QK_PANELS > V_PANELS ? QK_PANELS : V_PANELS)

/* Columns of V that are computed: those of the instruction. */
#define V_COLUMNS              \
    (HEED_DIM_V <= 64    ? 64  \
     : HEED_DIM_V <= 96  ? 96  \
     : HEED_DIM_V <= 128 ? 128 \
     : HEED_DIM_V <= 192 ? 192 \
                         : 256)

#define QK16 ((HEED_DIM_QK + 15) / 16) /* parts of 16 columns */
#define ROWS16 1                       /* tiles of 16 rows per warp */
#define WARP_ROWS 16
#define KEYS8 (HEED_TILE_KEYS / 8)
#define KEYS16 (HEED_TILE_KEYS / 16)
#define V8 (V_COLUMNS / 8)

/* Rows that a block merges of those that teams share, and the bytes that a team stores for one: 32
 * more than its sums, so rows are in different banks. After all rows come the maximum and sum of
 * weights of each. */
#define LEFT_ROWS (BLOCK_ROWS / PAIR)
#define LEFT_ROW (V_COLUMNS * 4 + 32)
#define LEFT_BYTES (TEAMS == 1 ? 0 : TEAMS * LEFT_ROWS * (LEFT_ROW + 8))

/* Shared memory: the stages of K and V, and of the bias if its tiles are copied, which later hold
 * the sums that teams store; Q of each row group, which later holds O; the first bad key; barriers.
 * Sums from another block may arrive while tiles are processed, so they have separate memory. */
#define K_BYTES (HEED_TILE_KEYS * QK_PANELS * PANEL_ROW)
#define V_BYTES (HEED_TILE_KEYS * V_PANELS * PANEL_ROW)
#define BIAS_PANELS (HEED_TILE_KEYS / PANEL_COLUMNS)
#define BIAS_GROUP_BYTES (GROUP_ROWS * BIAS_PANELS * PANEL_ROW) /* of a row group */
#define BIAS_BYTES (HEED_BIAS_TILES ? HEED_ROW_GROUPS * BIAS_GROUP_BYTES : 0)
#define STAGE_BYTES (K_BYTES + V_BYTES + BIAS_BYTES)
#define STAGES_BYTES (HEED_STAGES * STAGE_BYTES)
#define MERGE_BYTES (PAIR == 1 ? LEFT_BYTES : 0)
#define Q_AT ((STAGES_BYTES > MERGE_BYTES ? STAGES_BYTES : MERGE_BYTES + 1023) / 1024 * 1024)
#define Q_BYTES (GROUP_ROWS * QK_PANELS * PANEL_ROW) /* of a row group */
#define Q_GROUP_BYTES (GROUP_ROWS * O_PANELS * PANEL_ROW)
#define Q_BUFFERS (HEED_SCHEDULE == 2 ? 2 : 1) /* to load Q of the next item meanwhile */
#define BAD_AT (Q_AT + Q_BUFFERS * HEED_ROW_GROUPS * Q_GROUP_BYTES)
#define BAD_BYTES (HEED_MASKED ? 16 : 0)
#define BARRIERS_AT (BAD_AT + BAD_BYTES)
#define BARRIERS_BYTES 512
#define LEFT_AT (PAIR == 1 ? 0 : BARRIERS_AT + BARRIERS_BYTES)
#define OTHER_BAD_AT (LEFT_AT + LEFT_BYTES) /* of a pair's other block */
#define SHARED_BYTES (BARRIERS_AT + BARRIERS_BYTES + (PAIR == 1 ? 0 : LEFT_BYTES + BAD_BYTES))

#if HEED_BIAS_TILES && HEED_TILE_KEYS % 64 != 0
#error "tiles of a bias have panels of 64 columns"
#endif
#if HEED_TILE_KEYS % 16 != 0 || HEED_TILE_KEYS < 64 || HEED_TILE_KEYS > 256 || CONSUMERS > 4
#error "HEED_TILE_KEYS must be a multiple of 16 from 64 to 256, and all groups 4 at most"
#endif

#endif /* HEED_WGMMA_SIZES_CUH */
