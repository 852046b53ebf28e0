/*
 * random.c - counter-based random numbers, and fresh values with the character of given ones
 */
#include "lab/tensor/random.h"

#include <string.h>
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

/* ---------------------------------------------------------------------------------------------- */
/* Fresh values                                                                                   */
/* ---------------------------------------------------------------------------------------------- */

/* They are made while a process waits to be timed, many megabytes at a time, with integer
 * arithmetic in lanes that compilers vectorize. */
#define LANES LAB_FRESH_LANES
#define PIECE (LANES * sizeof(uint32_t))

/* The bits of a type, repeated to fill a word. */
typedef struct layout {
    uint32_t exponent;
    uint32_t mantissa;
} layout;

static layout layout_of(heed_type type)
{
    static const layout layouts[HEED_TYPE_COUNT] = {
        [HEED_F32] = { 0x7f800000, 0x007fffff },
        [HEED_F16] = { 0x7c007c00, 0x03ff03ff },
        [HEED_BF16] = { 0x7f807f80, 0x007f007f },
    };

    return layouts[type];
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

/* Masks the bits that may change: the low bits of normal numbers, none of others. */
static void renew_singles(const lab_fresh *fresh, layout bits, uint32_t word[LANES])
{
    for (int i = 0; i < LANES; i++) {
        uint32_t exponent = word[i] & bits.exponent;
        uint32_t normal = -(uint32_t)(exponent != 0 && exponent != bits.exponent);
        word[i] ^= fresh->lane[i] & normal & bits.mantissa;
    }
}

static void renew_halves(const lab_fresh *fresh, layout bits, uint32_t word[LANES])
{
    uint16_t half[2 * LANES], random[2 * LANES];
    uint16_t whole = (uint16_t)bits.exponent, fraction = (uint16_t)bits.mantissa;

    memcpy(half, word, PIECE);
    memcpy(random, fresh->lane, PIECE);
    for (int i = 0; i < 2 * LANES; i++) {
        uint16_t exponent = half[i] & whole;
        uint16_t normal = (uint16_t) - (exponent != 0 && exponent != whole);
        half[i] ^= random[i] & normal & fraction;
    }
    memcpy(word, half, PIECE);
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
        if (heed_type_size(type) == sizeof *word)
            renew_singles(fresh, bits, word);
        else
            renew_halves(fresh, bits, word);
        memcpy((char *)to + done, word, piece);
    }
}
