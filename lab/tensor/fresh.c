/*
 * fresh.c - fresh random values with the character of given ones
 *
 * It runs while a process waits to be timed, many megabytes at a time, so it uses integer
 * arithmetic in lanes that compilers vectorize.
 */
#include "lab/tensor/fresh.h"

#include <string.h>

#include "lab/tensor/random.h"

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
