/*
 * maps.cuh - arguments of a kernel that copies with the tensor memory accelerator (TMA), for host
 * and device code
 *
 * A map describes a tensor to the accelerator: four dimensions, which are column, head, row of the
 * sequence and batch, and the box that one copy moves. Boxes are 64 columns (128 bytes) wide, and
 * swizzled in shared memory (128-byte mode), with rows of heads within those of the sequence;
 * columns and rows out of bounds read as zeros and are not written. Ablations have narrower boxes
 * (wgmma/sizes.cuh).
 */
#ifndef HEED_MAPS_CUH
#define HEED_MAPS_CUH

#include "args.cuh"

#ifdef __cplusplus
#define HEED_MAP_ALIGN alignas(64)
#else
#define HEED_MAP_ALIGN _Alignas(64)
#endif

/* Columns of a box. */
#define HEED_MAP_COLUMNS 64

/* A CUtensorMap, which is opaque. */
typedef struct heed_cuda_map {
    HEED_MAP_ALIGN unsigned long long word[16];
} heed_cuda_map;

/*
 * Boxes of q and o are of 64 rows as args.cuh defines them: of all heads of a group, if the size of
 * a group divides 64; else args has each query head as a separate group, and @share consecutive
 * query heads read the same key/value head. Boxes of k and v have one tile of keys. The bias has a
 * column for each key and boxes like those of q; a dimension that it does not have is of size 1.
 */
typedef struct heed_cuda_mapped_args {
    heed_cuda_map q, k, v, o;
    heed_cuda_divisor share; /* 1 where groups are whole */
    unsigned ahead;          /* 1: blocks begin while the preceding launch still runs */
    heed_cuda_args args;     /* which may be truncated */
#if !defined __CUDACC__ || HEED_BIAS_TILES
    heed_cuda_map bias; /* only for code that reads tiles of it */
#endif
} heed_cuda_mapped_args;

#endif /* HEED_MAPS_CUH */
