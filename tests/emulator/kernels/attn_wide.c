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
    EMULATED_BUILD,       .rows = GROUP_ROWS,
    .threads = THREADS,   .shared_bytes = SHARED_BYTES,
    .mapped = VALUE_KEYS, .columns = PANEL_COLUMNS,
    .rows_apart = true,   .combine = combine,
};
