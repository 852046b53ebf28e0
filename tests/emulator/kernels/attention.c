/*
 * attention.c - proposers/attention.cu for the emulator, configured by macros; EMULATED_KERNEL is
 * the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "proposers/attention.cu"

static void run(const void *args)
{
    attend(*(const heed_cuda_args *)args);
}

extern const emulated_kernel EMULATED_KERNEL;
const emulated_kernel EMULATED_KERNEL = {
    .name = EMULATED_NAME,
    .type = HEED_TYPE,
    .masked = HEED_CAUSAL,
    .hides_first = HEED_HIDES_FIRST,
    .dim_qk = HEED_DIM_QK,
    .dim_v = HEED_DIM_V,
    .rows = ROWS,
    .threads = ROWS,
    .shared_bytes = 4 * KEYS * (HEED_DIM_QK + HEED_DIM_V),
    .run = run,
};
