/*
 * merge.c - merge.cu for the emulator, configured by macros; EMULATED_KERNEL is the name of the
 * table that it defines
 */
#include "emulator/kernels/merge.h"
#include "emulator/ptx.cuh"

#define HEED_MASKED 0
#include "src/cuda/kernels/merge.cu"

static void run_wide(const void *args)
{
    heed_merge_wide(*(const heed_cuda_merge_args *)args);
}

static void run_any(const void *args)
{
    heed_merge_any(*(const heed_cuda_merge_args *)args);
}

extern const emulated_merge EMULATED_KERNEL;
const emulated_merge EMULATED_KERNEL = { .name = EMULATED_NAME, .wide = run_wide, .any = run_any };
