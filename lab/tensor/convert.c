/*
 * convert.c - elements of the types f32, f16 and bf16 as doubles
 */
#include "lab/tensor/convert.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A 16-bit floating-point format: a sign, exponent bits, fraction bits. */
typedef struct half_format {
    int fraction_bits;
    int bias;
} half_format;

static const half_format format_f16 = { 10, 15 };
static const half_format format_bf16 = { 7, 127 };

#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS 1023
#define DOUBLE_EXPONENT_MASK 0x7ff

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double widen(half_format format, uint16_t half)
{
    int exponent_mask = 0x7fff >> format.fraction_bits;
    uint64_t sign = (uint64_t)(half >> 15) << 63;
    uint64_t fraction = half & ((1U << format.fraction_bits) - 1);
    int exponent = (half & 0x7fff) >> format.fraction_bits;

    if (exponent == 0) { /* zero or subnormal */
        double magnitude = ldexp((double)fraction, 1 - format.bias - format.fraction_bits);
        return sign ? -magnitude : magnitude;
    }
    uint64_t wide = exponent == exponent_mask ? DOUBLE_EXPONENT_MASK
                                              : (uint64_t)(exponent - format.bias + DOUBLE_BIAS);
    return from_bits(sign | wide << DOUBLE_FRACTION_BITS |
                     fraction << (DOUBLE_FRACTION_BITS - format.fraction_bits));
}

/* @significand without its lowest @shift bits, 1 to 63 of them, rounded to nearest, ties to even.
 */
static uint64_t shift_rounded(uint64_t significand, int shift)
{
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint16_t narrow(half_format format, double value)
{
    uint64_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 63 << 15);
    uint16_t infinity = (uint16_t)(0x7fff >> format.fraction_bits << format.fraction_bits);
    int exponent = (int)(bits >> DOUBLE_FRACTION_BITS & DOUBLE_EXPONENT_MASK) - DOUBLE_BIAS;
    uint64_t fraction = bits & (((uint64_t)1 << DOUBLE_FRACTION_BITS) - 1);

    if (isnan(value))
        return (uint16_t)(sign | infinity | 1U << (format.fraction_bits - 1));
    if (exponent > format.bias)
        return (uint16_t)(sign | infinity);

    int least = 1 - format.bias; /* exponent of the smallest normal number and of the subnormals */
    int shift = DOUBLE_FRACTION_BITS - format.fraction_bits;
    if (exponent < least)
        shift += least - exponent;
    if (shift > DOUBLE_FRACTION_BITS + 1) /* less than half of the smallest subnormal */
        return sign;
    uint64_t rounded = shift_rounded(fraction | (uint64_t)1 << DOUBLE_FRACTION_BITS, shift);
    /* The leading one of @rounded adds 1 to the exponent field, and so does a carry out of the
     * fraction: up to the next binade, to the smallest normal number, to infinity. */
    uint64_t field = exponent < least ? 0 : (uint64_t)(exponent - least);
    return (uint16_t)(sign | ((field << format.fraction_bits) + rounded));
}

double lab_element_get(heed_type type, const void *base, int64_t index)
{
    if (type == HEED_F32)
        return ((const float *)base)[index];
    return widen(type == HEED_F16 ? format_f16 : format_bf16, ((const uint16_t *)base)[index]);
}

void lab_element_set(heed_type type, void *base, int64_t index, double value)
{
    if (type == HEED_F32)
        ((float *)base)[index] = (float)value;
    else
        ((uint16_t *)base)[index] = narrow(type == HEED_F16 ? format_f16 : format_bf16, value);
}

double lab_element_round(heed_type type, double value)
{
    union {
        float single;
        uint16_t half;
    } element;
    lab_element_set(type, &element, 0, value);
    return lab_element_get(type, &element, 0);
}

void lab_elements_load(heed_type type, const void *base, int64_t index, int64_t count,
                       double *values)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = lab_element_get(type, base, index + i);
}

double lab_type_unit(heed_type type)
{
    if (type == HEED_F32)
        return FLT_EPSILON / 2;
    return ldexp(1.0, -1 - (type == HEED_F16 ? format_f16 : format_bf16).fraction_bits);
}

double lab_type_quantum(heed_type type)
{
    if (type == HEED_F32)
        return FLT_TRUE_MIN;
    half_format format = type == HEED_F16 ? format_f16 : format_bf16;
    return ldexp(1.0, 1 - format.bias - format.fraction_bits);
}
