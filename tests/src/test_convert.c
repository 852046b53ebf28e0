/*
 * test_convert.c - elements to doubles and back, for all 65536 values of both half types
 */
#include "run_tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"

static const heed_type halves[] = { HEED_F16, HEED_BF16 };

static uint16_t narrowed(heed_type type, double value)
{
    uint16_t half = 0xdead;
    lab_element_set(type, &half, 0, value);
    return half;
}

/* The largest finite number. */
static double largest(heed_type type)
{
    return type == HEED_F16 ? 65504.0 : ldexp(255.0, 120);
}

static void test_every_half_survives(void **state)
{
    for (int t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < 65536; i++) {
            uint16_t half = (uint16_t)i;
            double value = lab_element_get(halves[t], &half, 0);
            if (isnan(value))
                assert_true(isnan(lab_element_round(halves[t], value)));
            else
                assert_int_equal(narrowed(halves[t], value), half);
        }
    }
}

/* Between two neighbours: below the midpoint to the lower one, above it to the upper one, at the
 * midpoint to the even one. Rounding to float32 first would move points next to the midpoint onto
 * it. */
static void test_every_gap_rounds_to_nearest_even(void **state)
{
    for (int t = 0; t < 2; t++) {
        heed_type type = halves[t];
        for (uint16_t half = 0; lab_element_get(type, &half, 0) < largest(type); half++) {
            uint16_t next = (uint16_t)(half + 1);
            double middle = (lab_element_get(type, &half, 0) + lab_element_get(type, &next, 0)) / 2;
            uint16_t even = half & 1 ? next : half;
            assert_int_equal(narrowed(type, middle), even);
            assert_int_equal(narrowed(type, -middle), even | 0x8000);
            assert_int_equal(narrowed(type, nextafter(middle, 0)), half);
            assert_int_equal(narrowed(type, nextafter(middle, INFINITY)), next);
        }
    }
}

static void test_known_values(void **state)
{
    static const struct {
        heed_type type;
        uint16_t half;
        double value;
    } known[] = {
        { HEED_F16, 0x3c00, 1.0 },        { HEED_F16, 0xc000, -2.0 },
        { HEED_F16, 0x7bff, 65504.0 },    { HEED_F16, 0x0400, 0x1p-14 },
        { HEED_F16, 0x0001, 0x1p-24 },    { HEED_F16, 0x7c00, INFINITY },
        { HEED_BF16, 0x3f80, 1.0 },       { HEED_BF16, 0xc000, -2.0 },
        { HEED_BF16, 0x0001, 0x1p-133 },  { HEED_BF16, 0x0080, 0x1p-126 },
        { HEED_BF16, 0xff80, -INFINITY },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_true(lab_element_get(known[i].type, &known[i].half, 0) == known[i].value);
        assert_int_equal(narrowed(known[i].type, known[i].value), known[i].half);
    }
}

static void test_the_ends_of_the_range(void **state)
{
    for (int t = 0; t < 2; t++) {
        heed_type type = halves[t];
        double unit = lab_type_unit(type), quantum = lab_type_quantum(type), large = largest(type);
        double exponent = floor(log2(large));
        double over = large +
                      unit * exp2(exponent); /* midpoint to the next number, if there were one */
        assert_true(lab_element_round(type, nextafter(over, 0)) == large);
        assert_true(lab_element_round(type, over) == INFINITY);
        assert_true(lab_element_round(type, -1e300) == -INFINITY);
        assert_true(lab_element_round(type, quantum) == quantum);
        assert_true(lab_element_round(type, quantum / 2) == 0);
        assert_true(lab_element_round(type, quantum * 0.500001) == quantum);
        assert_true(lab_element_round(type, quantum * 0.499999) == 0);
        assert_true(signbit(lab_element_round(type, -1e-300)));
        assert_true(lab_element_round(type, 1 + unit) == 1);
        assert_true(lab_element_round(type, 1 + 3 * unit) == 1 + 4 * unit);
    }
    assert_true(lab_type_unit(HEED_F32) == 0x1p-24);
    assert_true(lab_type_quantum(HEED_F32) == 0x1p-149);
}

static void test_nan_is_quiet(void **state)
{
    assert_int_equal(narrowed(HEED_F16, NAN) & 0x7fff, 0x7e00);
    assert_int_equal(narrowed(HEED_BF16, NAN) & 0x7fff, 0x7fc0);
    /* A NaN whose payload is only in the dropped bits must not become an infinity. */
    uint64_t bits = 0x7ff0000000000001;
    double value;
    memcpy(&value, &bits, sizeof value);
    assert_true(isnan(lab_element_round(HEED_F16, value)));
    assert_true(isnan(lab_element_round(HEED_BF16, value)));
}

static void test_load_is_get(void **state)
{
    static uint16_t array[65536];
    static double values[65533];
    for (uint32_t i = 0; i < 65536; i++)
        array[i] = (uint16_t)i;
    for (int t = 0; t < 2; t++) {
        lab_elements_load(halves[t], array, 3, 65533, values);
        for (int i = 0; i < 65533; i++) {
            double value = lab_element_get(halves[t], array, i + 3);
            assert_memory_equal(&values[i], &value, sizeof value);
        }
    }
    float single[2] = { 1.5F, -0x1p-149F };
    lab_elements_load(HEED_F32, single, 0, 2, values);
    assert_true(values[0] == 1.5 && values[1] == -0x1p-149);
}

/* The compiler's conversions, where it has them. */
static void test_compiler_agrees(void **state)
{
#ifdef __FLT16_MAX__
    __extension__ typedef _Float16 compiler_half;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t bits = (uint16_t)i;
        compiler_half half;
        memcpy(&half, &bits, sizeof half);
        double value = lab_element_get(HEED_F16, &bits, 0);
        assert_true(value == (double)half || (isnan(value) && half != half));
    }
    for (uint64_t i = 0; i < 200000; i++) {
        double exponent = (double)lab_random_below(2, i, 48) - 30;
        double value = lab_random_normal(3, i) * exp2(exponent);
        compiler_half half = (compiler_half)value;
        uint16_t bits;
        memcpy(&bits, &half, sizeof bits);
        assert_int_equal(narrowed(HEED_F16, value), bits);
    }
#else
    skip();
#endif
}

static void test_facts_of_types(void **state)
{
    static const struct {
        double unit, quantum, largest;
        bool narrow;
    } wanted[HEED_TYPE_COUNT] = {
        [HEED_F32] = { 0x1p-24, 0x1p-149, 0x1.fffffep127, false },
        [HEED_F16] = { 0x1p-11, 0x1p-24, 65504, true },
        [HEED_BF16] = { 0x1p-8, 0x1p-133, 0x1.fep127, false },
    };
    for (int i = 0; i < HEED_TYPE_COUNT; i++) {
        const heed_type type = (heed_type)i;
        const uint32_t bits[] = { lab_type_bits(type, false, 0), lab_type_bits(type, true, 0),
                                  lab_type_bits(type, false, UINT32_MAX) };
        double values[3];
        assert_true(lab_type_unit(type) == wanted[i].unit);
        assert_true(lab_type_quantum(type) == wanted[i].quantum);
        assert_true(lab_type_normal(type) == wanted[i].quantum / wanted[i].unit / 2);
        assert_true(lab_type_largest(type) == wanted[i].largest);
        assert_true(lab_element_round(type, wanted[i].largest) == wanted[i].largest);
        assert_int_equal(lab_type_is_narrow(type), wanted[i].narrow);
        for (size_t j = 0; j < 3; j++)
            values[j] = lab_element_get(type, &bits[j], 0);
        assert_true(values[0] == 0.5 && values[1] == -0.5);
        assert_true(values[2] == 1 - lab_type_unit(type));
    }
    (void)state;
}

RUN_TESTS(test_every_half_survives, test_every_gap_rounds_to_nearest_even, test_known_values,
          test_the_ends_of_the_range, test_nan_is_quiet, test_load_is_get, test_compiler_agrees,
          test_facts_of_types)
