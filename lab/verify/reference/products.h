/*
 * products.h - products of float32 as a problem may permit them: of operands rounded to TF32, or of
 * sums of two bfloat16 without the product of their low parts
 *
 * @products is one of heed_products.
 */
#ifndef LAB_PRODUCTS_H
#define LAB_PRODUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

/* lab_product_operand() returns @x as an operand: for TF32 it is rounded to nearest, or towards
 * zero if @cut. lab_product() returns the product of two operands. Numbers that are not finite stay
 * as they are. The other two functions are their parts. */
float lab_product_rounded(int64_t products, float x, bool cut);
float lab_product_of_pairs(float a, float b);

static inline float lab_product_operand(int64_t products, float x, bool cut)
{
    return products == HEED_PRODUCTS_FULL ? x : lab_product_rounded(products, x, cut);
}

static inline float lab_product(int64_t products, float a, float b)
{
    return products == HEED_PRODUCTS_BF16X3 ? lab_product_of_pairs(a, b) : a * b;
}

/* lab_products_unit() returns the unit roundoff of an operand that is rounded to nearest, 0 where
 * none is rounded; lab_products_errors() returns how many such errors a product has. */
double lab_products_unit(int64_t products);
double lab_products_errors(int64_t products);

#endif /* LAB_PRODUCTS_H */
