/*
 * ceiling.cuh - arguments and operands of the kernels that measure a device
 *
 * It is prepended to each of them, and included by the host.
 */
#ifndef HEED_CEILING_CUH
#define HEED_CEILING_CUH

typedef struct heed_ceiling_args {
    unsigned long long rounds; /* of the loop */
    unsigned long long units;  /* of memory, 16 bytes each */
    const void *from;
    void *to;         /* for copies, and for results that equal never */
    float factors[2]; /* near 1 and 0, unknown to the compiler */
    unsigned never;   /* no result has this value: keeps results alive without a store */
} heed_ceiling_args;

#ifdef __CUDACC__
#include "ptx.cuh"

/* Two 16-bit elements of either sign between 1/2 and 1: the power of a product depends on its
 * operands, and zeros would be measured faster than any real data. */
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
