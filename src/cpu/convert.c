/*
 * convert.c - convert rows between float32 and binary16 or bfloat16, in portable C
 *
 * Both narrow formats round to nearest, ties to even. The conversions of binary16 shift the fields
 * into place as integers and let one float operation renormalize subnormals.
 */
#include <string.h>

#include "cpu.h"

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = (uint32_t)(half & 0x7fff)
                    << 13;     /* exponent and mantissa, exponent biased by 15 */
    if (rest >= 0x7c00u << 13) /* infinity, NaN */
        return float_of(sign | 0x7f800000 | rest);
    float magnitude = float_of(rest) * 0x1p112f; /* bias 127 - 15; exact, also for subnormals */
    return float_of(sign | bits_of(magnitude));
}

static inline uint16_t to_f16(float value)
{
    uint32_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) /* NaN, made quiet */
        return (uint16_t)(sign | 0x7e00);
    if (bits >= 0x477ff000) /* rounds past 65504 */
        return (uint16_t)(sign | 0x7c00);
    if (bits <
        0x38800000) /* below 2^-14: adding 0.5 leaves the subnormal in the low bits, rounded */
        return (uint16_t)(sign | (bits_of(float_of(bits) + 0.5f) - bits_of(0.5f)));
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits - 0x38000000) >> 13));
}

static inline uint16_t to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void heed_load_row(float *to, const void *from, int64_t count, heed_type type)
{
    const uint16_t *half = from;
    if (type == HEED_F32)
        memcpy(to, from, (size_t)count * sizeof *to);
    else if (type == HEED_F16)
        for (int64_t i = 0; i < count; i++)
            to[i] = from_f16(half[i]);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = float_of((uint32_t)half[i] << 16);
}

void heed_store_row(void *to, const float *from, int64_t count, heed_type type)
{
    uint16_t *half = to;
    if (type == HEED_F32)
        memcpy(to, from, (size_t)count * sizeof *from);
    else if (type == HEED_F16)
        for (int64_t i = 0; i < count; i++)
            half[i] = to_f16(from[i]);
    else
        for (int64_t i = 0; i < count; i++)
            half[i] = to_bf16(from[i]);
}
