/*
 * products.c - products of float32 as a problem may permit them: of operands rounded to TF32, or of
 * sums of two bfloat16 without the product of their low parts
 */
#include "lab/verify/reference/products.h"

#include <math.h>
#include <string.h>

/* Bits of a float32 that TF32 and bfloat16 lack. */
#define BELOW_TF32 13
#define BELOW_BF16 16

/* @x without its lowest bits, rounded to nearest, ties to even, or towards zero. */
static float without(float x, int bits, bool cut)
{
    uint32_t image;
    memcpy(&image, &x, sizeof image);
    if (!isfinite(x))
        return x;
    if (!cut)
        image += (1U << (bits - 1)) - 1 + (image >> bits & 1);
    image &= UINT32_MAX << bits;
    memcpy(&x, &image, sizeof x);
    return x;
}

/* The remainder of @x after the first bfloat16; 0 for an infinity. */
static float rest(float x)
{
    float high = without(x, BELOW_BF16, false);
    return isfinite(high) ? x - high : 0;
}

float lab_product_rounded(int64_t products, float x, bool cut)
{
    if (products == HEED_PRODUCTS_TF32)
        return without(x, BELOW_TF32, cut);
    return without(x, BELOW_BF16, false) + without(rest(x), BELOW_BF16, false);
}

/* The second bfloat16 of an operand is the remainder after the first. */
float lab_product_of_pairs(float a, float b)
{
    return (float)((double)a * (double)b - (double)rest(a) * (double)rest(b));
}

static const struct {
    double unit;
    double errors;
} rows[HEED_PRODUCTS_COUNT] = {
    [HEED_PRODUCTS_TF32] = { 0x1p-11, 2 },   /* of each operand */
    [HEED_PRODUCTS_BF16X3] = { 0x1p-16, 3 }, /* and the omitted product */
};

double lab_products_unit(int64_t products)
{
    return rows[products].unit;
}

double lab_products_errors(int64_t products)
{
    return rows[products].errors;
}
