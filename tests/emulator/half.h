/*
 * half.h - 16-bit floats for the emulator: exact conversion to float32, round to nearest even from
 * it
 */
#ifndef EMULATOR_HALF_H
#define EMULATOR_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t half_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float half_value(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Branch-free: fraction and exponent are shifted into place, and multiplied by the difference of
 * the exponent biases, which also handles subnormals. */
static inline float half_from_f16(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    return half_value(half_bits(half_value(magnitude) * 0x1p112f) | special | sign);
}

static inline float half_from_bf16(uint16_t h)
{
    return half_value((uint32_t)h << 16);
}

static inline uint16_t half_to_bf16(float x)
{
    uint32_t bits = half_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static inline uint16_t half_to_f16(float x)
{
    uint32_t bits = half_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0x7fff;
    if (magnitude >= 0x477ff000u) /* 65520, halfway to 2^16 */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000u) /* 2^-14: the sum has a float16's subnormal in its last bits */
        return (uint16_t)(sign | (half_bits(half_value(magnitude) + 0.5f) - half_bits(0.5f)));
    return (uint16_t)(sign | ((magnitude + 0xfffu + (magnitude >> 13 & 1) - 0x38000000u) >> 13));
}

#endif /* EMULATOR_HALF_H */
