/*
 * attn_wgmma.c - attn_wgmma.cu for the emulator, with a config given by macros; EMULATED_KERNEL is
 * the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"

#include "src/cuda/kernels/attn_wgmma.cu"

#define KERNEL_ARGS heed_cuda_mapped_args
#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    EMULATED_BUILD,
    .pairs = HEED_PAIRS,
    .rows = BLOCK_ROWS,
    .threads = THREADS,
    .shared_bytes = SHARED_BYTES,
    .cluster = PAIR,
    .mapped = HEED_TILE_KEYS,
    .columns = PANEL_COLUMNS,
    .bias_tiles = HEED_BIAS_TILES,
    .persistent = HEED_SCHEDULE == 2,
    .list = LIST,
    .list_keys = HEED_TILE_KEYS,
#if HEED_SPLIT
    .combine = combine,
    .parts_only = true,
#endif
};
