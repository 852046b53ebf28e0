/*
 * test_products.c - operands of products, rounded as a problem permits
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/reference/products.h"

static float tf32(float x, bool cut)
{
    return lab_product_operand(HEED_PRODUCTS_TF32, x, cut);
}

/* TF32 has ten bits after the binary point. */
static void test_operands_of_tf32(void **state)
{
    assert_true(tf32(1 + 0x1p-10F, false) == 1 + 0x1p-10F);
    assert_true(tf32(1 + 0x1p-11F, false) == 1); /* a tie is rounded to even */
    assert_true(tf32(1 + 3 * 0x1p-11F, false) == 1 + 0x1p-9F);
    assert_true(tf32(1 + 0x1p-11F + 0x1p-23F, false) == 1 + 0x1p-10F);
    assert_true(tf32(-1 - 0x1p-11F - 0x1p-23F, false) == -1 - 0x1p-10F);
    assert_true(tf32(2 - 0x1p-23F, false) == 2);
    assert_true(tf32(2 - 0x1p-23F, true) == 2 - 0x1p-10F);
    assert_true(tf32(-2 + 0x1p-23F, true) == -2 + 0x1p-10F);
    assert_true(lab_product_operand(HEED_PRODUCTS_FULL, 2 - 0x1p-23F, true) == 2 - 0x1p-23F);
}

static void test_what_is_not_finite_stays(void **state)
{
    for (int64_t products = 0; products < HEED_PRODUCTS_COUNT; products++)
        for (int cut = 0; cut < 2; cut++) {
            float infinity = lab_product_operand(products, -INFINITY, cut);
            assert_true(infinity == -INFINITY);
            assert_true(isnan(lab_product_operand(products, NAN, cut)));
            assert_true(lab_product(products, infinity, 3) == -INFINITY);
            assert_true(isnan(lab_product(products, infinity, 0)));
        }
}

/* The high parts equal the laboratory's bfloat16 values. */
static void test_products_of_two_bfloat16(void **state)
{
    for (uint64_t i = 0; i < 100000; i++) {
        float a = (float)lab_random_normal(1, i), b = (float)lab_random_normal(2, i);
        double high_a = lab_element_round(HEED_BF16, (double)a);
        double high_b = lab_element_round(HEED_BF16, (double)b);
        double low_a = lab_element_round(HEED_BF16, (double)a - high_a);
        double low_b = lab_element_round(HEED_BF16, (double)b - high_b);
        float x = lab_product_operand(HEED_PRODUCTS_BF16X3, a, false);
        float y = lab_product_operand(HEED_PRODUCTS_BF16X3, b, false);
        assert_true((double)x == high_a + low_a && (double)y == high_b + low_b);
        if (lab_element_round(HEED_BF16, (double)x) != high_a ||
            lab_element_round(HEED_BF16, (double)y) != high_b)
            continue; /* a tie has two valid sums */
        float product = lab_product(HEED_PRODUCTS_BF16X3, x, y);
        double expected = high_a * high_b + high_a * low_b + low_a * high_b;
        assert_true(fabs((double)product - expected) <= 0x1p-24 * fabs(expected));
    }
}

/* The error is within the bound in heed.h, and nearly reaches it. */
static void test_errors_are_those_of_the_header(void **state)
{
    const struct {
        int64_t products;
        bool cut;
        double most;
    } all[] = { { HEED_PRODUCTS_TF32, false, 0x1p-10 },
                { HEED_PRODUCTS_TF32, true, 0x1p-9 },
                { HEED_PRODUCTS_BF16X3, false, 3 * 0x1p-16 } };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        const int64_t products = all[n].products;
        double worst = 0;
        for (uint64_t i = 0; i < 1000000; i++) {
            float a = 1 + (float)lab_random_below(n, 2 * i, 1 << 23) * 0x1p-23F;
            float b = 1 + (float)lab_random_below(n, 2 * i + 1, 1 << 23) * 0x1p-23F;
            float product = lab_product(products, lab_product_operand(products, a, all[n].cut),
                                        lab_product_operand(products, b, all[n].cut));
            double exact = (double)a * (double)b;
            worst = fmax(worst, fabs((double)product - exact) / exact);
        }
        assert_true(worst <= all[n].most + 0x1p-24);
        assert_true(worst > 0.5 * all[n].most);
        assert_true(lab_products_unit(products) * lab_products_errors(products) <= all[n].most);
    }
    assert_true(lab_products_unit(HEED_PRODUCTS_FULL) == 0);
}

RUN_TESTS(test_operands_of_tf32, test_what_is_not_finite_stays, test_products_of_two_bfloat16,
          test_errors_are_those_of_the_header)
