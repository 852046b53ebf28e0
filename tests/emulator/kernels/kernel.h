/*
 * kernel.h - attention kernels that are compiled for the emulator, one per config
 */
#ifndef EMULATOR_KERNEL_H
#define EMULATOR_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emulated_kernel {
    const char *name; /* its parameters, for people */
    int type;         /* a heed_type */
    bool half;        /* sums of products in half precision */
    int products;     /* of tensor cores, for one of float32; 0: its elements are others */
    bool masked;
    bool shared_v;    /* V is a part of K */
    bool hides_first; /* compiled for windows and chunks */
    int pairs;        /* of heed_cuda_needs, that it is compiled for */
    int dim_qk, dim_v;
    uint32_t rows; /* of a block */
    uint32_t threads;
    uint32_t shared_bytes;
    int keys;         /* that a block can have; 0: any number */
    uint32_t cluster; /* blocks that share an item; 0: one has it for itself */
    int mapped;       /* it takes a heed_cuda_mapped_args, with boxes of so many keys; 0: no */
    int columns;      /* of those boxes */
    bool rows_apart;  /* only K and V are mapped */
    bool in_turn;     /* blocks take several items in turn */
    void (*run)(const void *args);     /* takes a heed_cuda_args */
    void (*list)(const void *args);    /* lists tiles ahead of it; NULL: it has no use for lists */
    int list_keys;                     /* of those tiles */
    void (*combine)(const void *args); /* merges what blocks that share keys have left, ... */
    uint32_t combine_threads;          /* ... NULL: blocks share none, */
    uint32_t combine_rows;             /* so many rows for each of its blocks; */
    bool apart;                        /* the last block does not do so too */
} emulated_kernel;

/* A config, for tensors whose rows all begin at multiples of 16 bytes and for others; of a kernel
 * that does not care the same twice. */
typedef struct emulated_config {
    const emulated_kernel *aligned;
    const emulated_kernel *unaligned;
    const emulated_kernel *negative; /* aligned, where the scale is; NULL: the same */
} emulated_config;

/* A config for problems with these words of a spec, whose program.cuh is in the folder @name. */
typedef struct emulated_change {
    emulated_config config;
    const char *name;
    const char *words;
} emulated_change;
extern const emulated_change emulated_changed[]; /* ends with NULLs */

/* The kernels as they are, and degraded builds (ablate.cuh). Both end with NULLs. */
extern const emulated_config emulated_configs[];
extern const emulated_config emulated_ablated[];

#endif /* EMULATOR_KERNEL_H */
