/*
 * kernel.h - attention kernels that are compiled for the emulator, one per config
 */
#ifndef EMULATOR_KERNEL_H
#define EMULATOR_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emulated_kernel {
    const char *name; /* its parameters, for messages */
    int type;         /* a heed_type */
    bool half;        /* accumulates in half precision */
    int products;     /* the heed_products of tensor cores for float32; 0: other element types */
    bool masked;
    bool shared_v;    /* V is a part of K */
    bool hides_first; /* compiled for windows and chunks */
    int pairs;        /* the heed_cuda_needs that it is compiled for */
    int dim_qk, dim_v;
    uint32_t rows; /* per block */
    uint32_t threads;
    uint32_t shared_bytes;
    int keys;         /* maximum per block; 0: no limit */
    uint32_t cluster; /* blocks that share an item; 0: one block per item */
    int mapped;       /* takes a heed_cuda_mapped_args, with boxes of this many keys; 0: no maps */
    int columns;      /* per box */
    bool bias_tiles;  /* takes tiles of the bias */
    bool rows_apart;  /* only K and V are mapped */
    bool persistent;  /* blocks take several items in turn */
    void (*run)(const void *args);     /* takes a heed_cuda_args */
    void (*list)(const void *args);    /* lists tiles before; NULL: does not use lists */
    int list_keys;                     /* per listed tile */
    void (*combine)(const void *args); /* merges partial results of blocks that share keys; NULL:
                                          keys are not shared */
    bool parts_only; /* always stores parts, which it does not merge: two or more blocks share
                        keys */
} emulated_kernel;

/* A config, for tensors whose rows all start at multiples of 16 bytes and for others; a kernel that
 * supports both is given twice. */
typedef struct emulated_config {
    const emulated_kernel *aligned;
    const emulated_kernel *unaligned;
    const emulated_kernel *negative; /* aligned, for negative scales; NULL: the same */
    const char *name;                /* of the first */
    const char *words;               /* of the specs that it is for */
} emulated_config;

/* The tables that emulated.cmake writes. Each ends with NULLs. */
extern const emulated_config emulated_configs[];
extern const emulated_config emulated_ablated[]; /* degraded builds (ablation.h) */
extern const emulated_config emulated_changed[]; /* program.cuh is in the directory @name */

#endif /* EMULATOR_KERNEL_H */
