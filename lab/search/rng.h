/*
 * rng.h - a stream of random numbers whose whole state is two integers, so that it can be kept
 */
#ifndef LAB_RNG_H
#define LAB_RNG_H

#include <stdint.h>

#include "lab/tensor/random.h"

typedef struct lab_rng {
    uint64_t seed;
    uint64_t drawn;
} lab_rng;

/* lab_rng_below() returns an integer in 0 .. @limit - 1; @limit is 1 or more. */
static inline int64_t lab_rng_below(lab_rng *rng, int64_t limit)
{
    return lab_random_below(rng->seed, rng->drawn++, limit);
}

/* lab_rng_real() returns a number in [0, 1). */
static inline double lab_rng_real(lab_rng *rng)
{
    return (double)(lab_random_bits(rng->seed, rng->drawn++) >> 11) * 0x1p-53;
}

#endif /* LAB_RNG_H */
