/*
 * attn_naive.c - attn_naive.cu for the emulator, configured by macros; EMULATED_KERNEL is the name
 * of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "src/cuda/kernels/attn_naive.cu"

#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    .name = EMULATED_NAME,
    .type = HEED_TYPE,
    .masked = HEED_MASKED,
    .hides_first = HEED_HIDES_FIRST,
    .dim_qk = HEED_DIM_QK,
    .dim_v = HEED_DIM_V,
    .rows = HEED_W,
    .threads = 32 * HEED_W,
    .run = run,
};
