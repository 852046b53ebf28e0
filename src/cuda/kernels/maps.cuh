/*
 * maps.cuh - arguments of a kernel that copies with the tensor memory accelerator; included by host
 * and device code alike
 *
 * A map describes a tensor to the accelerator: four dimensions, which are column, head, row of the
 * sequence and batch, and the box that one copy moves. Boxes are 64 columns wide, 128 bytes, and
 * lie in shared memory swizzled (128-byte mode), rows of heads within those of the sequence;
 * columns and rows that are not there read as zeros and are not written. Ablations have narrower
 * boxes (wgmma/sizes.cuh).
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

/* A CUtensorMap. Only the driver knows what is in it. */
typedef struct heed_cuda_map {
    HEED_MAP_ALIGN unsigned long long word[16];
} heed_cuda_map;

/*
 * Boxes of q and o are of 64 rows as args.cuh defines them: of all heads of a group, if the size of
 * a group divides 64; else each query head is a group of its own, args says so, and @share query
 * heads in succession read the same key/value head. Boxes of k and v are of one tile of keys.
 */
typedef struct heed_cuda_mapped_args {
    heed_cuda_map q, k, v, o;
    heed_cuda_divisor share; /* 1 where groups are whole */
    unsigned ahead;          /* 1: blocks begin while the launch ahead of this one still works */
    heed_cuda_args args;     /* last: its own end is not always there */
} heed_cuda_mapped_args;

#endif /* HEED_MAPS_CUH */
