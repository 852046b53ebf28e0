/*
 * kernel.h - attention kernels that are compiled for the emulator, one per config
 */
#ifndef EMULATOR_KERNEL_H
#define EMULATOR_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* The entries take a heed_cuda_args. */
typedef struct emulated_kernel {
    const char *name; /* its parameters, for people */
    bool bf16;
    bool causal;
    int dim_qk, dim_v;
    uint32_t rows; /* of a block */
    uint32_t threads;
    uint32_t shared_bytes;
    void (*aligned)(const void *args);
    void (*unaligned)(const void *args);
} emulated_kernel;

/* Ends with NULL. */
extern const emulated_kernel *const emulated_kernels[];

#endif /* EMULATOR_KERNEL_H */
