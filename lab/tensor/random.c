/*
 * random.c - counter-based random numbers, and fresh values with the character of given ones
 */
#include "lab/tensor/random.h"

#include <string.h>
#include <unistd.h>

#include "lab/tensor/convert.h"

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

/* ---------------------------------------------------------------------------------------------- */
/* Fresh values                                                                                   */
/* ---------------------------------------------------------------------------------------------- */

/* They are made while a process waits to be timed, many megabytes at a time, with integer
 * arithmetic in lanes that compilers vectorize. */
#define LANES LAB_FRESH_LANES
#define PIECE (LANES * sizeof(uint32_t))

/* The bits of the elements in a word. */
typedef struct layout {
    int sign_shift; /* from an element's sign to its lowest bit */
    uint32_t sign;
    uint32_t exponent;
    uint32_t fraction;
} layout;

static layout layout_of(heed_type type)
{
    int bits = 8 * (int)heed_type_size(type);
    uint32_t ones = 0; /* the lowest bit of each element */
    for (int i = 0; i < 32; i += bits)
        ones |= (uint32_t)1 << i;
    layout all = { .sign_shift = bits - 1, .sign = ones << (bits - 1) };
    all.fraction = ones * lab_type_fraction(type);
    all.exponent = ~(all.sign | all.fraction);
    return all;
}

bool lab_fresh_begin(lab_fresh *fresh)
{
    uint64_t words[LANES / 2];
    bool drawn = lab_random_secret(words, LANES / 2);

    memcpy(fresh->lane, words, sizeof words);
    for (int i = 0; i < LANES; i++)
        fresh->lane[i] |= fresh->lane[i] == 0; /* 0 would only be followed by 0 */
    return drawn;
}

/* Computes the next random words (G. Marsaglia, "Xorshift RNGs", 2003), a stream in each lane. */
static void step(lab_fresh *fresh)
{
    for (int i = 0; i < LANES; i++) {
        uint32_t x = fresh->lane[i];
        x ^= x << 13;
        x ^= x >> 17;
        fresh->lane[i] = x ^ x << 5;
    }
}

/* Changes the fractions of normal numbers, and no bits of others. The sum of an element without its
 * sign and the largest such element carries into its sign, and no further, unless it is zero. */
static void renew(const lab_fresh *fresh, layout bits, uint32_t word[LANES])
{
    const uint32_t most = ~bits.sign;
    for (int i = 0; i < LANES; i++) {
        uint32_t exponent = word[i] & bits.exponent, rest = exponent ^ bits.exponent;
        uint32_t normal = (exponent + most) & (rest + most) & bits.sign;
        uint32_t mask = normal - (normal >> bits.sign_shift);
        word[i] ^= fresh->lane[i] & mask & bits.fraction;
    }
}

void lab_fresh_copy(lab_fresh *fresh, heed_type type, const void *from, void *to, int64_t count)
{
    size_t size = (size_t)count * heed_type_size(type);
    const layout bits = layout_of(type);

    for (size_t done = 0; done < size; done += PIECE) {
        uint32_t word[LANES];
        size_t piece = size - done < PIECE ? size - done : PIECE;
        memcpy(word, (const char *)from + done, piece);
        step(fresh);
        renew(fresh, bits, word);
        memcpy((char *)to + done, word, piece);
    }
}
