/*
 * attn_wide.c - attn_wide.cu for the emulator, with a config given by macros; EMULATED_KERNEL is
 * the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"

#include "src/cuda/kernels/attn_wide.cu"

#define KERNEL_ARGS heed_cuda_mapped_args
#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    .name = EMULATED_NAME,
    .type = HEED_BF16 ? 2 : 1,
    .masked = HEED_MASKED,
    .dim_qk = HEED_DIM_QK,
    .dim_v = HEED_DIM_V,
    .rows = GROUP_ROWS,
    .threads = THREADS,
    .shared_bytes = SHARED_BYTES,
    .mapped = VALUE_KEYS,
    .columns = PANEL_COLUMNS,
    .rows_apart = true,
    .run = run,
    .combine = combine,
};
