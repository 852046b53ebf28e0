/*
 * attn_wide32.c - attn_wide32.cu for the emulator, with a config given by macros; EMULATED_KERNEL
 * is the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "src/cuda/kernels/attn_wide32.cu"

#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    EMULATED_BUILD,         .rows = BLOCK_ROWS, .threads = THREADS, .shared_bytes = SHARED_BYTES,
    .keys = HEED_TILE_KEYS, .combine = combine,
};
