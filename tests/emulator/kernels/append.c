/*
 * append.c - append.cu for the emulator, configured by macros; EMULATED_KERNEL is the name of the
 * table that it defines
 */
#include "emulator/kernels/append.h"
#include "emulator/ptx.cuh"

#define HEED_MASKED 0
#include "src/cuda/kernels/append.cu"

static void run_wide(const void *args)
{
    heed_append_wide(*(const heed_cuda_append_args *)args);
}

static void run_any(const void *args)
{
    heed_append_any(*(const heed_cuda_append_args *)args);
}

extern const emulated_append EMULATED_KERNEL;
const emulated_append EMULATED_KERNEL = {
    .name = EMULATED_NAME,
    .type = HEED_TYPE,
#ifdef HEED_TURNS
    .turns = HEED_TURNS,
#else
    .turns = -1,
#endif
    .interleaved = HEED_INTERLEAVED,
    .varlen = HEED_VARLEN,
    .wide = run_wide,
    .any = run_any,
};
