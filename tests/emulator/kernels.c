/*
 * kernels.c - the kernels that CMakeLists.txt compiles for the emulator
 */
#include "emulator/kernel.h"

#include <stddef.h>

extern const emulated_kernel mma_d1, mma_d32, mma_d40_80, mma_d64, mma_d64_groups, mma_d96_40,
    mma_d128, mma_d128_groups, mma_d192_128, mma_d256;

const emulated_kernel *const emulated_kernels[] = {
    &mma_d1,          &mma_d32,      &mma_d40_80, &mma_d64, &mma_d64_groups, &mma_d96_40, &mma_d128,
    &mma_d128_groups, &mma_d192_128, &mma_d256,   NULL,
};
