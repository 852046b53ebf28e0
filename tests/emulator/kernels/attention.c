/*
 * attention.c - proposers/attention.cu for the emulator, configured by macros; EMULATED_KERNEL is
 * the name of the table that it defines
 */
#include "emulator/kernels/kernel.h"
#include "emulator/ptx.cuh"

#include "proposers/attention.cu"

#define heed_attend attend
#define HEED_MASKED HEED_CAUSAL
#include "emulator/kernels/entries.h"

const emulated_kernel EMULATED_KERNEL = {
    EMULATED_BUILD,
    .rows = ROWS,
    .threads = ROWS,
    .shared_bytes = 4 * KEYS * (HEED_DIM_QK + HEED_DIM_V),
};
