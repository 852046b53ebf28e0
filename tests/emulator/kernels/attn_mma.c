/*
 * attn_mma.c - attn_mma.cu for the emulator, with a config given by macros; EMULATED_KERNEL is the
 * name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "src/cuda/kernels/attn_mma.cu"
#include "src/cuda/kernels/combine.cuh"

#define STAGES_BYTES (HEED_KEY_GROUPS * HEED_STAGES * STAGE_BYTES)
#define MERGE_BYTES ((HEED_KEY_GROUPS - 1) * GROUP_THREADS * ROWS16 * STATE_WORDS * 4)

#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    EMULATED_BUILD,
    .half = HEED_ACC16,
    .products = HEED_PRODUCTS,
    .shared_v = HEED_SHARED_V,
    .rows = HEED_BLOCK_ROWS,
    .threads = THREADS,
    .shared_bytes = STAGES_AT + (STAGES_BYTES > MERGE_BYTES ? STAGES_BYTES : MERGE_BYTES),
    .list = LIST,
    .list_keys = HEED_TILE_KEYS,
    .combine = combine,
};
