/*
 * test_number.c - numbers are parsed strictly and printed in a form that reads back exactly
 */
#include "run_tests.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "lab/tensor/random.h"
#include "number.h"

static bool reads(const char *text)
{
    double value = 0;
    float narrow = 0;
    bool wide_ok = heed_number_double(text, strlen(text), &value);
    assert_int_equal(heed_number_float(text, strlen(text), &narrow), wide_ok);
    return wide_ok;
}

static void test_accepts_decimal_numbers(void **state)
{
    static const text_real cases[] = {
        { "0", 0 },          { "1", 1 },           { "-1", -1 },    { "+2.5", 2.5 },
        { ".5", 0.5 },       { "5.", 5 },          { "1e3", 1000 }, { "1E+3", 1000 },
        { "125e-3", 0.125 }, { "-0.125", -0.125 }, { "00012", 12 }, { "0.1e1", 1 },
        { "1e00001", 10 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = NAN;
        float narrow = NAN;
        size_t length = strlen(cases[i].text);
        assert_true(heed_number_double(cases[i].text, length, &value));
        assert_true(heed_number_float(cases[i].text, length, &narrow));
        assert_true(value == cases[i].value);
        assert_true((double)narrow == cases[i].value);
    }
}

static void test_refuses_everything_else(void **state)
{
    static const char *const cases[] = {
        "",     " 1", "1 ",   "nan", "inf",   "-inf",     "infinity", "0x10",   "1e",
        "1e+",  "e5", ".",    "-",   "+",     "1.2.3",    "1,5",      "1_000",  "--1",
        "1e5x", "1f", "1e 5", "\t1", "1e1.5", "1e000001", "1e400",    "-1e400",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (reads(cases[i]))
            fail_msg("\"%s\" was parsed as a number", cases[i]);
}

static void test_refuses_what_a_float_cannot_hold(void **state)
{
    float value = 7;
    assert_true(heed_number_float("3.4028235e38", 12, &value));
    assert_true(value == FLT_MAX);
    assert_false(heed_number_float("3.4028236e38", 12, &value));
    assert_true(value == FLT_MAX);
}

static void test_refuses_long_numbers(void **state)
{
    char text[HEED_NUMBER_SIZE + 1];
    memset(text, '1', sizeof text);
    double value = 7;
    assert_true(heed_number_double(text, HEED_NUMBER_SIZE - 1, &value));
    value = 7;
    assert_false(heed_number_double(text, HEED_NUMBER_SIZE, &value));
    assert_true(value == 7);
}

/* Just above the midpoint of two floats, but a double rounds it to the midpoint: parsed in two
 * steps, it would become the even float below. */
static void test_rounds_once(void **state)
{
    const char *text = "1.000000059604644775390626";
    float value = 0;
    assert_true(heed_number_float(text, strlen(text), &value));
    assert_true(value == nextafterf(1, 2));
}

static void test_floats_read_back(void **state)
{
    const uint64_t seed = 1;
    for (uint64_t i = 0; i < 50000; i++) {
        uint32_t bits = (uint32_t)lab_random_bits(seed, i);
        float value, back = 0;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        char text[HEED_NUMBER_SIZE];
        heed_number_print_float(text, value);
        if (!heed_number_float(text, strlen(text), &back) || back != value)
            fail_msg("%.9g printed as %s", (double)value, text);
    }
}

static void test_doubles_read_back(void **state)
{
    const uint64_t seed = 2;
    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t bits = lab_random_bits(seed, i);
        double value, back = 0;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        char text[HEED_NUMBER_SIZE];
        heed_number_print_double(text, value);
        if (!heed_number_double(text, strlen(text), &back) || back != value)
            fail_msg("%.17g printed as %s", value, text);
    }
}

static void test_prints_no_more_digits_than_needed(void **state)
{
    char text[HEED_NUMBER_SIZE];
    heed_number_print_float(text, 0.1F);
    assert_string_equal(text, "0.1");
    heed_number_print_float(text, -2);
    assert_string_equal(text, "-2");
    heed_number_print_double(text, 0.000125);
    assert_string_equal(text, "0.000125");
}

static void test_whole_numbers(void **state)
{
    int64_t value = 7;
    assert_int_equal(heed_number_int("", &value), 0);
    assert_int_equal(heed_number_int("-1", &value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(heed_number_int("42/7", &value), 2);
    assert_int_equal(value, 42);
    assert_int_equal(heed_number_int("9223372036854775807", &value), 19);
    assert_true(value == INT64_MAX);
    assert_int_equal(heed_number_int("9223372036854775806", &value), 19);
    assert_true(value == INT64_MAX - 1);
    assert_int_equal(heed_number_int("9223372036854775808", &value), 19);
    assert_true(value == INT64_MAX);
    assert_int_equal(heed_number_int("100000000000000000000000000000007", &value), 33);
    assert_true(value == INT64_MAX);
}

/* Only where a locale with a decimal comma is installed. */
static void test_locale_makes_no_difference(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8", "de_DE" };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_ALL, names[i]);
    if (!found)
        skip();
    char text[HEED_NUMBER_SIZE];
    heed_number_print_float(text, 0.1F);
    float value = 0;
    bool read = heed_number_float("0.25", 4, &value);
    bool comma = reads("0,25");
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "0.1");
    assert_true(read);
    assert_true(value == 0.25F);
    assert_false(comma);
}

RUN_TESTS(test_accepts_decimal_numbers, test_refuses_everything_else,
          test_refuses_what_a_float_cannot_hold, test_refuses_long_numbers, test_rounds_once,
          test_floats_read_back, test_doubles_read_back, test_prints_no_more_digits_than_needed,
          test_whole_numbers, test_locale_makes_no_difference)
