/*
 * launch.h - how the code of a CUDA kernel is launched
 *
 * One block for each @rows rows of each key/value head (args.cuh says what rows are), times @splits
 * that share the keys, in one dimension. Kernels that are built in and those that are not, plans,
 * trials and records all say it by this struct.
 */
#ifndef HEED_CUDA_LAUNCH_H
#define HEED_CUDA_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct heed_launch_facts {
    const char *entry; /* name of the kernel, extern "C" */
    int threads;       /* per block, 1 to 1024 */
    int registers;     /* cap per thread for the compiler; 0: none */
    int64_t smem;      /* dynamic shared memory per block, bytes */
    int64_t rows;      /* of a block, 1 or more */
    int64_t splits; /* blocks that share the keys of the same rows; 1: none. If more, it merges them
                       by args.arrived, and the code has heed_combine() (combine.cuh) too */
    int64_t mapped; /* it takes a heed_cuda_mapped_args (maps.cuh), with boxes of so many keys; 0: a
                       heed_cuda_args */
    int map_columns;   /* of its boxes, if mapped: 8, 16, 32, or 64, which 0 stands for */
    int resident;      /* if mapped: blocks that a multiprocessor has room for; 0: not known */
    bool rows_apart;   /* if mapped: only k and v are; it finds rows of any heads by itself */
    bool spread;       /* keys are split by shares of equal size (spread.cuh) */
    int64_t list_keys; /* heed_list(), which is in the code too, runs first and lists tiles of so
                          many keys (tile_list.cuh); 0: it does not */
    bool aligned; /* it reads and writes 16 bytes at a time: tensors and strides must be multiples
                     of 16 bytes, or a built-in kernel takes over. Splits and maps need that */
    bool window;  /* K and V should stay in the L2 */
    bool in_turn; /* no more blocks than multiprocessors: each takes several items in turn */
    bool paired;  /* two blocks, a cluster, do what else one does */
} heed_launch_facts;

#endif /* HEED_CUDA_LAUNCH_H */
