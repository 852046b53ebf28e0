/*
 * test_reference.c - the float64 reference and the naive implementation on cases worked by hand
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/tensor/view.h"
#include "lab/verify/reference/reference.h"
#include "problems.h"

#define KEYS_MAX 16

/* One row computed by both implementations. */
typedef struct both {
    double o[HEED_DIM_MAX];
    double lse;
    double naive_o[HEED_DIM_MAX];
    double naive_lse;
    double weights[KEYS_MAX];
} both;

static both compute(const heed_problem *problem, const void *q, const void *k, const void *v,
                    lab_row row)
{
    both result;
    float weights[KEYS_MAX];
    heed_buffers data = { .size = sizeof data, .q = q, .k = k, .v = v };
    lab_reference_row(problem, &data, row, result.weights, result.o, &result.lse);
    lab_naive_row(problem, &data, row, INT64_MAX, false, weights, result.naive_o,
                  &result.naive_lse);
    return result;
}

static void assert_close(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-12 * (1 + fabs(expected)));
}

static void assert_row(const both *result, int64_t dim, const double *o, double lse)
{
    assert_close(result->lse, lse);
    assert_true(fabs(result->naive_lse - lse) <= 1e-6);
    for (int64_t c = 0; c < dim; c++) {
        assert_close(result->o[c], o[c]);
        assert_true(fabs(result->naive_o[c] - o[c]) <= 1e-6 * (1 + fabs(o[c])));
    }
}

static const lab_row first = { 0, 0, 0 };

static void test_one_key_gives_its_value(void **state)
{
    heed_problem problem = parsed("b1 h1 s1 d2/3 f32 scale=0.5");
    float q[] = { 3, 4 }, k[] = { 2, -1 }, v[] = { 1, -2, 7 };
    both result = compute(&problem, q, k, v, first);
    assert_row(&result, 3, (double[]){ 1, -2, 7 }, 0.5 * (3 * 2 - 4 * 1));
}

static void test_weights_of_one_and_three_quarters(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/2 d1/2 f32 scale=1");
    float q[] = { 1 }, k[] = { 0, 1.0986123F }, v[] = { 8, 0, 0, 4 };
    double three = exp(k[1]); /* 3, but for the rounding of its logarithm */
    both result = compute(&problem, q, k, v, first);
    assert_row(&result, 2, (double[]){ 8 / (1 + three), 4 * three / (1 + three) }, log(1 + three));
    assert_close(result.weights[0] + result.weights[1], 1);
}

static void test_default_scale(void **state)
{
    heed_problem problem = parsed("b1 h1 s1 d4 f32");
    float q[] = { 1, 2, 3, 4 }, k[] = { 1, 1, 1, 1 }, v[] = { 5, 6, 7, 8 };
    both result = compute(&problem, q, k, v, first);
    assert_row(&result, 4, (double[]){ 5, 6, 7, 8 }, 5);
}

/* Keys of equal logits; v[j] = 2^j, so that the mean reveals which keys were seen. */
static void assert_sees(const char *spec, int64_t query, int64_t keys)
{
    heed_problem problem = parsed(spec);
    float q[KEYS_MAX] = { 0 }, k[KEYS_MAX] = { 0 }, v[KEYS_MAX];
    for (int j = 0; j < KEYS_MAX; j++) { /* hidden keys are traps */
        k[j] = j < keys ? 1 : NAN;
        v[j] = j < keys ? ldexpf(1, j) : NAN;
    }
    both result = compute(&problem, q, k, v, (lab_row){ 0, 0, query });
    assert_int_equal(lab_visible(&problem, query).begin, 0);
    assert_int_equal(lab_visible_count(&problem, query), keys);
    double mean = keys ? (ldexp(1, (int)keys) - 1) / (double)keys : 0;
    if (keys) {
        assert_row(&result, 1, &mean, log((double)keys));
    } else {
        assert_true(result.o[0] == 0 && result.naive_o[0] == 0);
        assert_true(result.lse == -INFINITY && result.naive_lse == -INFINITY);
    }
}

static void test_masks(void **state)
{
    assert_sees("b1 h1 s3/5 d1 f32", 0, 5);
    assert_sees("b1 h1 s4 d1 f32 causal", 0, 1);
    assert_sees("b1 h1 s4 d1 f32 causal", 3, 4);
    assert_sees("b1 h1 s3/5 d1 f32 causal=tl", 0, 1);
    assert_sees("b1 h1 s3/5 d1 f32 causal=tl", 2, 3);
    assert_sees("b1 h1 s3/5 d1 f32 causal=br", 0, 3);
    assert_sees("b1 h1 s3/5 d1 f32 causal=br", 2, 5);
    assert_sees("b1 h1 s5/3 d1 f32 causal=tl", 4, 3);
    assert_sees("b1 h1 s5/3 d1 f32 causal=br", 1, 0);
    assert_sees("b1 h1 s5/3 d1 f32 causal=br", 2, 1);
    assert_sees("b1 h1 s5/3 d1 f32 causal=br", 4, 3);
}

static void test_minus_infinity_for_every_key_is_an_empty_row(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/2 d1 f32");
    float q[] = { 1 }, k[] = { -INFINITY, -INFINITY }, v[] = { 3, 4 };
    both result = compute(&problem, q, k, v, first);
    assert_true(result.o[0] == 0 && result.naive_o[0] == 0);
    assert_true(result.lse == -INFINITY && result.naive_lse == -INFINITY);
    k[1] = 2;
    result = compute(&problem, q, k, v, first);
    assert_row(&result, 1, (double[]){ 4 }, 2);
}

static void test_visible_nan_reaches_the_output(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/2 d1/2 f32");
    float q[] = { 1 }, k[] = { 0, NAN }, v[] = { 1, 2, 3, 4 };
    both result = compute(&problem, q, k, v, first);
    assert_true(isnan(result.o[0]) && isnan(result.naive_o[1]) && isnan(result.lse));
    k[1] = 0;
    v[3] = NAN;
    result = compute(&problem, q, k, v, first);
    assert_true(result.o[0] == 2 && isnan(result.o[1]) && isnan(result.naive_o[1]));
    k[0] = INFINITY;
    result = compute(&problem, q, k, v, first);
    assert_true(isnan(result.o[0]) && isnan(result.naive_o[0]));
}

static void test_large_logits_do_not_overflow(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/2 d1 f32 scale=1");
    float q[] = { 100 }, k[] = { 100, 99 }, v[] = { 1, 2 };
    both result = compute(&problem, q, k, v, first);
    assert_row(&result, 1, (double[]){ 1 }, 10000);
}

/* Every element encodes its position, in a layout with gaps; equal logits and two keys. */
static void test_strides_and_grouped_heads(void **state)
{
    heed_problem problem = parsed("b2 h4/2 s3/2 d1/2 f32 q=100:20:3 k=90:30:7 v=50:25:9");
    static float q[256], k[256], v[256];
    const lab_view view = lab_view_of(&problem, LAB_V);
    for (int i = 0; i < 256; i++)
        q[i] = k[i] = v[i] = NAN;
    for (int64_t n = 0; n < 24; n++)
        q[n / 12 * 100 + n / 4 % 3 * 20 + n % 4 * 3] = 0;
    for (int64_t n = 0; n < 8; n++) {
        k[n / 4 * 90 + n / 2 % 2 * 30 + n % 2 * 7] = 1;
        for (int64_t c = 0; c < 2; c++)
            v[lab_view_at(&view, n / 4, n / 2 % 2, n % 2) + c] = (float)(n / 4 * 1000 +
                                                                         n % 2 * 100 + c);
    }
    for (int64_t n = 0; n < lab_rows(&problem); n++) {
        lab_row row = lab_row_at(&problem, n);
        assert_int_equal(n, (row.batch * 4 + row.head) * 3 + row.query);
        both result = compute(&problem, q, k, v, row);
        double expected = (double)(row.batch * 1000 + row.head / 2 * 100);
        assert_row(&result, 2, (double[]){ expected, expected + 1 }, log(2));
    }
}

static void test_naive_rounds_weights_and_output(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/2 d1 bf16 scale=1");
    uint16_t q[1], k[2], v[2];
    lab_element_set(HEED_BF16, q, 0, 1);
    lab_element_set(HEED_BF16, k, 0, 0);
    lab_element_set(HEED_BF16, k, 1, -0.625); /* a weight whose rounding is visible in the output */
    lab_element_set(HEED_BF16, v, 0, 0);
    lab_element_set(HEED_BF16, v, 1, 1);
    both result = compute(&problem, q, k, v, first);
    double weight = lab_element_round(HEED_BF16, exp(-0.625));
    double expected = lab_element_round(HEED_BF16, (double)((float)weight / (1 + expf(-0.625F))));
    assert_true(result.naive_o[0] == expected);
    assert_true(fabs(result.naive_lse - log(1 + exp(-0.625))) <
                1e-7); /* sums of unrounded weights */
}

static void test_random_numbers(void **state)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double x = lab_random_normal(7, i);
        sum += x;
        squares += x * x;
        assert_in_range(lab_random_below(7, i, 10), 0, 9);
    }
    assert_true(fabs(sum / 1e5) < 0.02 && fabs(squares / 1e5 - 1) < 0.02);
    assert_true(lab_random_bits(1, 2) != lab_random_bits(2, 1));
    assert_true(lab_random_stream(1, 0) != lab_random_stream(1, 1));
}

/* From 2048 on float16 represents only even integers. */
static void test_naive_in_half_precision(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/16 d16 f16 scale=1");
    uint16_t q[16], k[16 * 16] = { 0 }, v[16 * 16];
    for (int i = 0; i < 16 * 16; i++)
        lab_element_set(HEED_F16, v, i, 0);
    lab_element_set(HEED_F16, v, 0, 2048);
    lab_element_set(HEED_F16, v, 1 * 16, 1);
    lab_element_set(HEED_F16, v, 9 * 16, 1);
    for (int c = 0; c < 16; c++) {
        lab_element_set(HEED_F16, q, c, 1);
        lab_element_set(HEED_F16, k, c, c == 0 ? 2048 : 1);
    }
    lab_row row = { 0, 0, 0 };
    problem.seq_k = 1;
    assert_true(compute(&problem, q, k, v, row).naive_lse == 2063);
    problem.accumulate = HEED_ACC_F16;
    assert_true(compute(&problem, q, k, v, row).naive_lse == 2064);
    assert_true(compute(&problem, q, k, v, row).lse == 2063);

    memset(k, 0, sizeof k); /* equal weights: O is the mean of a column that adds up to 2050 */
    problem.seq_k = 16;
    assert_true(compute(&problem, q, k, v, row).naive_o[0] == 2048.0 / 16);
    problem.accumulate = HEED_ACC_F32;
    assert_true(compute(&problem, q, k, v, row).naive_o[0] == 2050.0 / 16);
}

/* With TF32 the last bits are rounded or truncated, with two bfloat16 the product of the low parts
 * is dropped. */
static void test_naive_with_rounded_operands(void **state)
{
    heed_problem problem = parsed("b1 h1 s1 d1 f32 scale=1");
    const float q = 1 + 0x1p-9F + 0x1p-12F + 0x1p-13F, v = 3 - 0x1p-14F;
    const heed_buffers data = { .size = sizeof data, .q = &q, .k = &q, .v = &v };
    static const struct {
        int64_t products;
        bool cut;
        double query, value, left_out;
    } all[] = { { HEED_PRODUCTS_FULL, true, 1 + 0x1p-9 + 0x1p-12 + 0x1p-13, 3 - 0x1p-14, 0 },
                { HEED_PRODUCTS_TF32, false, 1 + 0x1p-9, 3, 0 },
                { HEED_PRODUCTS_TF32, true, 1 + 0x1p-9, 3 - 0x1p-9, 0 },
                { HEED_PRODUCTS_BF16X3, false, 1 + 0x1p-9 + 0x1p-12 + 0x1p-13, 3 - 0x1p-14,
                  0x1p-9 + 0x1p-12 + 0x1p-13 } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        float weight;
        double o, lse, query = all[i].query;
        problem.products = all[i].products;
        lab_naive_row(&problem, &data, first, INT64_MAX, all[i].cut, &weight, &o, &lse);
        assert_true(o == all[i].value);
        assert_true(lse == (double)(float)(query * query - all[i].left_out * all[i].left_out));
    }
}

/* A quarter turn per position: the new key (1, 2), at position 1 of the cache, becomes (-2, 1), and
 * the query (3, 4), at the same position, (-4, 3); the previous key is unchanged. The cache holds a
 * trap in the place of the new key. */
static void test_new_keys_are_rotated(void **state)
{
    heed_problem problem = parsed("b1 h1 s1/3 d2/1 f32 lengths append=1 rotary=2 scale=0.1");
    const float q[] = { 3, 4 }, k[] = { 5, 7, NAN, NAN, NAN, NAN }, v[] = { 8, NAN, NAN };
    const float k_new[] = { 1, 2 }, v_new[] = { 2 }, cosines[] = { 1, 0, -1 },
                sines[] = { 0, 1, 0 };
    const int32_t lengths[] = { 2 };
    const heed_buffers data = { .size = sizeof data,
                                .q = q,
                                .k = k,
                                .v = v,
                                .lengths = lengths,
                                .k_new = k_new,
                                .v_new = v_new,
                                .rotary_cos = cosines,
                                .rotary_sin = sines };
    both result;
    float weights[KEYS_MAX];
    lab_reference_row(&problem, &data, first, result.weights, result.o, &result.lse);
    lab_naive_row(&problem, &data, first, INT64_MAX, false, weights, result.naive_o,
                  &result.naive_lse);
    double a = exp((double)problem.scale * (-4 * 5 + 3 * 7));
    double b = exp((double)problem.scale * (-4 * -2 + 3 * 1));
    assert_row(&result, 1, (double[]){ (8 * a + 2 * b) / (a + b) }, log(a + b));
}

RUN_TESTS(test_naive_in_half_precision, test_naive_with_rounded_operands,
          test_one_key_gives_its_value, test_weights_of_one_and_three_quarters, test_default_scale,
          test_masks, test_minus_infinity_for_every_key_is_an_empty_row,
          test_visible_nan_reaches_the_output, test_large_logits_do_not_overflow,
          test_strides_and_grouped_heads, test_naive_rounds_weights_and_output, test_random_numbers,
          test_new_keys_are_rotated)
