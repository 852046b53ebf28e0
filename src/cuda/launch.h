/*
 * launch.h - how the code of a CUDA kernel is launched
 *
 * The grid has one dimension: a block for each @rows rows of each key/value head (args.cuh defines
 * rows), times @splits that share the keys. Built-in and other kernels, plans, trials and records
 * all use this struct.
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
    int64_t splits;    /* blocks that share the keys of the same rows; 1: no splits. If more, the
                          kernel merges them with args.arrived, and the code also has heed_combine()
                          (combine.cuh) */
    int64_t mapped;  /* the kernel takes a heed_cuda_mapped_args (maps.cuh), with boxes of this many
                        keys; 0: a heed_cuda_args */
    int map_columns; /* of its boxes, if mapped: 8, 16, 32 or 64; 0 means 64 */
    int resident;    /* if mapped: resident blocks per multiprocessor; 0: unknown */
    bool bias_tiles; /* if mapped: the bias is mapped too; only for built-in kernels */
    bool rows_apart; /* if mapped: only k and v are mapped; the kernel addresses rows of any heads
                        itself */
    int64_t spread;  /* blocks of a key/value head that share the keys of all its batch elements
                        (spread.cuh); 0: a batch element has @splits blocks of its own */
    bool apart; /* heed_combine() always runs after it, as with rows of more than 256 columns */
    int64_t list_keys; /* heed_list(), which is in the code too, runs first and lists tiles of this
                          many keys (tile_list.cuh); 0: no lists */
    bool aligned; /* it reads and writes 16 bytes at a time: tensors and strides must be multiples
                     of 16 bytes, or a built-in kernel runs instead. Required for splits and maps */
    bool window;  /* K and V should stay in the L2 */
    bool persistent; /* no more blocks than multiprocessors, each of which processes several
                        items */
    bool cluster;    /* of two blocks, which share the work of one */
} heed_launch_facts;

/* True if blocks store parts of results, which are merged. */
static inline bool heed_launch_merges(const heed_launch_facts *launch)
{
    return launch->splits > 1 || launch->spread > 0;
}

#endif /* HEED_CUDA_LAUNCH_H */
