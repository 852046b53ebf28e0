/*
 * attn_mla.c - attn_mla.cu for the emulator, with a config given by macros; EMULATED_KERNEL is the
 * name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"

#include "src/cuda/kernels/attn_mla.cu"

static void run(const void *args)
{
    heed_attend(*(const heed_cuda_mapped_args *)args);
}

static void combine(const void *args)
{
    heed_combine(*(const heed_cuda_args *)args);
}

extern const emulated_kernel EMULATED_KERNEL;
const emulated_kernel EMULATED_KERNEL = {
    .name = EMULATED_NAME,
    .type = HEED_BF16 ? 2 : 1,
    .masked = HEED_MASKED,
    .shared_v = true,
    .dim_qk = HEED_DIM_QK,
    .dim_v = HEED_DIM_V,
    .rows = GROUP_ROWS,
    .threads = THREADS,
    .shared_bytes = SHARED_BYTES,
    .mapped = HEED_TILE_KEYS,
    .columns = PANEL_COLUMNS,
    .rows_apart = true,
    .run = run,
    .combine = combine,
    .combine_threads = COMBINE_THREADS,
    .combine_rows = COMBINE_THREADS / 32 / COMBINE_SHARES,
    .apart = true,
};
