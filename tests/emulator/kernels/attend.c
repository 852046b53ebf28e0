/*
 * attend.c - attend.cu for the emulator, with the mistake selected by macros; EMULATED_KERNEL is
 * the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "lab/verify/mutants/attend.cu"

#define HEED_TYPE 1
#define HEED_MASKED HEED_CAUSAL
#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    EMULATED_BUILD,
    .rows = HEED_W,
    .threads = 32 * HEED_W,
    .shared_bytes = 32 * (HEED_DIM_QK + HEED_DIM_V) * 4,
};
