/*
 * convert.c - conversion of f32, f16 and bf16 elements from and to double
 */
#include "lab/tensor/convert.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A floating-point format: a sign, exponent bits, fraction bits. */
typedef struct format {
    int fraction_bits;
    int bias; /* also the exponent of the largest numbers */
    heed_data kind;
} format;

static const format formats[HEED_TYPE_COUNT] = {
    [HEED_F32] = { 23, 127, HEED_DATA_F32 },
    [HEED_F16] = { 10, 15, HEED_DATA_F16 },
    [HEED_BF16] = { 7, 127, HEED_DATA_BF16 },
};

#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS 1023

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The exponent and fraction of a half, shifted to their places in a float, give a number too small
 * by the difference of the biases, also for subnormals; a multiplication corrects and normalizes
 * it. Infinities and NaNs, which become large numbers, get the exponent of infinity and keep the
 * fraction. Without branches, so loops vectorize. */
static double widen_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t number = bits_of_float(float_of(magnitude) * 0x1p112F);
    uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return (double)float_of(sign | number | special);
}

static double widen_bf16(uint16_t half)
{
    return (double)float_of((uint32_t)half << 16);
}

/* @significand without its lowest @shift bits, 1 to 63, rounded to nearest, ties to even. */
static uint64_t shift_rounded(uint64_t significand, int shift)
{
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint16_t narrow(format to, double value)
{
    uint64_t bits = bits_of(value);
    uint64_t magnitude = bits & INT64_MAX; /* without the sign */
    uint16_t sign = (uint16_t)(bits >> 63 << 15);
    uint16_t infinity = (uint16_t)(0x7fff >> to.fraction_bits << to.fraction_bits);
    int exponent = (int)(magnitude >> DOUBLE_FRACTION_BITS) - DOUBLE_BIAS;
    int least = 1 - to.bias; /* exponent of the smallest normal number and of the subnormals */
    int shift = DOUBLE_FRACTION_BITS - to.fraction_bits;

    if (isnan(value))
        return (uint16_t)(sign | infinity | 1U << (to.fraction_bits - 1));
    if (exponent > to.bias)
        return (uint16_t)(sign | infinity);
    if (exponent >= least) {
        /* A carry from the fraction goes into the exponent, up to infinity. */
        uint64_t rebias = (uint64_t)(DOUBLE_BIAS - to.bias) << to.fraction_bits;
        return (uint16_t)(sign | (shift_rounded(magnitude, shift) - rebias));
    }
    shift += least - exponent;
    if (shift > DOUBLE_FRACTION_BITS + 1) /* less than half of the smallest subnormal */
        return sign;
    uint64_t leading = (uint64_t)1 << DOUBLE_FRACTION_BITS;
    uint64_t significand = (magnitude & (leading - 1)) | leading;
    return (uint16_t)(sign | shift_rounded(significand, shift));
}

double lab_element_get(heed_type type, const void *base, int64_t index)
{
    if (type == HEED_F32)
        return ((const float *)base)[index];
    uint16_t half = ((const uint16_t *)base)[index];
    return type == HEED_F16 ? widen_f16(half) : widen_bf16(half);
}

void lab_element_set(heed_type type, void *base, int64_t index, double value)
{
    if (type == HEED_F32)
        ((float *)base)[index] = (float)value;
    else
        ((uint16_t *)base)[index] = narrow(formats[type], value);
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

/* Separate loops, so the compiler can optimize each. */
void lab_elements_load(heed_type type, const void *base, int64_t index, int64_t count,
                       double *values)
{
    const float *singles = (const float *)base + index;
    const uint16_t *halves = (const uint16_t *)base + index;
    if (type == HEED_F32)
        for (int64_t i = 0; i < count; i++)
            values[i] = singles[i];
    else if (type == HEED_F16)
        for (int64_t i = 0; i < count; i++)
            values[i] = widen_f16(halves[i]);
    else
        for (int64_t i = 0; i < count; i++)
            values[i] = widen_bf16(halves[i]);
}

double lab_type_unit(heed_type type)
{
    return ldexp(0.5, -formats[type].fraction_bits);
}

double lab_type_quantum(heed_type type)
{
    return ldexp(1, 1 - formats[type].bias - formats[type].fraction_bits);
}

double lab_type_normal(heed_type type)
{
    return ldexp(1, 1 - formats[type].bias);
}

double lab_type_largest(heed_type type)
{
    return ldexp(2 - 2 * lab_type_unit(type), formats[type].bias);
}

uint32_t lab_type_bits(heed_type type, bool negative, uint32_t random)
{
    const format form = formats[type];
    uint32_t sign = (uint32_t)negative << (8 * heed_type_size(type) - 1);
    uint32_t exponent = (uint32_t)(form.bias - 1) << form.fraction_bits;
    return sign | exponent | (random & lab_type_fraction(type));
}

uint32_t lab_type_fraction(heed_type type)
{
    return ((uint32_t)1 << formats[type].fraction_bits) - 1;
}

bool lab_type_is_narrow(heed_type type)
{
    return formats[type].bias < formats[HEED_F32].bias;
}

/* ---------------------------------------------------------------------------------------------- */
/* Operands                                                                                       */
/* ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t size;
    heed_type type; /* of floating-point kinds */
} kinds[] = {
    [HEED_DATA_NONE] = { "none", 0, HEED_F32 }, [HEED_DATA_F32] = { "f32", 4, HEED_F32 },
    [HEED_DATA_F16] = { "f16", 2, HEED_F16 },   [HEED_DATA_BF16] = { "bf16", 2, HEED_BF16 },
    [HEED_DATA_I32] = { "i32", 4, HEED_F32 },   [HEED_DATA_BYTES] = { "bytes", 1, HEED_F32 },
    [HEED_DATA_BITS] = { "bits", 4, HEED_F32 }, [HEED_DATA_I64] = { "i64", 8, HEED_F32 },
};

size_t lab_data_size(heed_data kind)
{
    return kinds[kind].size;
}

const char *lab_data_name(heed_data kind)
{
    return kinds[kind].name;
}

heed_data lab_data_of(heed_type type)
{
    return formats[type].kind;
}

heed_type lab_data_type(heed_data kind)
{
    return kinds[kind].type;
}

bool lab_data_is_element(heed_data kind)
{
    return formats[kinds[kind].type].kind == kind;
}

double lab_data_get(heed_data kind, const void *base, int64_t index)
{
    switch (kind) {
    case HEED_DATA_I32:
        return ((const int32_t *)base)[index];
    case HEED_DATA_I64:
        return (double)((const int64_t *)base)[index];
    case HEED_DATA_BYTES:
        return ((const unsigned char *)base)[index] != 0;
    case HEED_DATA_BITS:
        return ((const uint32_t *)base)[index / 32] >> (index % 32) & 1;
    default:
        return lab_element_get(kinds[kind].type, base, index);
    }
}

void lab_data_set(heed_data kind, void *base, int64_t index, double value)
{
    uint32_t *words = base;
    switch (kind) {
    case HEED_DATA_I32:
        ((int32_t *)base)[index] = (int32_t)value;
        break;
    case HEED_DATA_I64:
        ((int64_t *)base)[index] = (int64_t)value;
        break;
    case HEED_DATA_BYTES:
        ((unsigned char *)base)[index] = value != 0;
        break;
    case HEED_DATA_BITS:
        words[index / 32] &= ~(UINT32_C(1) << (index % 32));
        words[index / 32] |= (uint32_t)(value != 0) << (index % 32);
        break;
    default:
        lab_element_set(kinds[kind].type, base, index, value);
    }
}
