/*
 * ceiling.cuh - arguments and operands of the kernels that measure a device
 *
 * It stands in front of each of them, for the host and the device.
 */
#ifndef HEED_CEILING_CUH
#define HEED_CEILING_CUH

typedef struct heed_ceiling_args {
    unsigned long long rounds; /* of the loop */
    unsigned long long units;  /* of memory, 16 bytes each */
    const void *from;
    void *to;         /* copies go here, and results that are `never` */
    float factors[2]; /* near 1 and 0: no compiler knows them */
    unsigned never;   /* no result has this value: all are needed, and none is stored */
} heed_ceiling_args;

#ifdef __CUDACC__
#include "ptx.cuh"

/* Two 16-bit elements of either sign between 1/2 and 1: the power that a product draws depends
 * on its operands, and zeros would be measured faster than any data are multiplied. */
HEED_DEVICE __attribute__((unused)) u32 operand(u32 seed)
{
    u32 x = (seed + 1) * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    x ^= x >> 13;
#if HEED_BF16
    return (x & 0x807f807fu) | 0x3f003f00u;
#else
    return (x & 0x83ff83ffu) | 0x38003800u;
#endif
}

#endif

#endif /* HEED_CEILING_CUH */
