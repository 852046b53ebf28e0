/*
 * attend.c - attend.cu for the emulator, with the mistake selected by macros; EMULATED_KERNEL is
 * the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "lab/verify/mutants/attend.cu"

#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    .name = EMULATED_NAME,
    .type = 1,
    .masked = HEED_CAUSAL,
    .hides_first = HEED_HIDES_FIRST,
    .dim_qk = HEED_DIM_QK,
    .dim_v = HEED_DIM_V,
    .rows = HEED_W,
    .threads = 32 * HEED_W,
    .shared_bytes = 32 * (HEED_DIM_QK + HEED_DIM_V) * 4,
    .run = run,
};
