/*
 * ceiling.cuh - what the kernels that measure a device are given
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
    unsigned never;   /* what no result is: so all are needed, and none is stored */
} heed_ceiling_args;

#endif /* HEED_CEILING_CUH */
