/*
 * random.c - counter-based random numbers
 */
#include "lab/tensor/random.h"

#include <unistd.h>

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014): every bit of the result depends on every
 * bit of @x. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

uint64_t lab_random_bits(uint64_t seed, uint64_t index)
{
    return mix(seed + (index + 1) * 0x9e3779b97f4a7c15);
}

uint64_t lab_random_stream(uint64_t seed, uint64_t index)
{
    /* Hashed twice, so that streams are not shifted copies of each other. */
    return mix(lab_random_bits(mix(seed), index));
}

int64_t lab_random_below(uint64_t seed, uint64_t index, int64_t limit)
{
    /* The modulo bias is under 2^-32 for the limits of a problem. */
    return (int64_t)(lab_random_bits(seed, index) % (uint64_t)limit);
}

double lab_random_normal(uint64_t seed, uint64_t index)
{
    uint64_t bits = lab_random_bits(seed, index);
    uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    /* Each part is uniform on 0 .. 65535: mean 32767.5, variance (65536^2 - 1) / 12. */
    return ((double)sum - 4 * 32767.5) * (1.7320508075688772 / 65536.0);
}

bool lab_random_secret(uint64_t *words, size_t count)
{
    return getentropy(words, count * sizeof *words) == 0;
}

bool lab_random_hidden(uint64_t *seed)
{
    bool drawn = lab_random_secret(seed, 1);

    *seed &= (UINT64_C(1) << 53) - 1;
    return drawn;
}
