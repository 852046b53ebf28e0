/*
 * attn_naive.c - attn_naive.cu for the emulator, configured by macros; EMULATED_KERNEL is the name
 * of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "src/cuda/kernels/attn_naive.cu"

#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    EMULATED_BUILD,
    .rows = HEED_W,
    .threads = 32 * HEED_W,
};
