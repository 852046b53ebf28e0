/*
 * test_fresh.c - fresh values keep the character of a tensor, and nothing else of it
 */
#include "run_tests.h"

#include <math.h>
#include <string.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"

enum {
    COUNT = 1001 /* not divisible by any number of lanes */
};

static const heed_type types[] = { HEED_F32, HEED_F16, HEED_BF16 };
#define TYPES (sizeof types / sizeof *types)

/* Values that must be kept, and numbers of many magnitudes. */
static void make(heed_type type, void *values)
{
    static const double special[] = { 0, -0.0, INFINITY, -INFINITY, NAN };

    for (int i = 0; i < COUNT; i++)
        lab_element_set(type, values, i,
                        i < 5 ? special[i] : ldexp(lab_random_normal(3, (uint64_t)i), i % 12 - 6));
}

static void test_character(void **state)
{
    float from[COUNT], to[COUNT];
    lab_fresh fresh;

    for (size_t t = 0; t < TYPES; t++) {
        int changed = 0;
        make(types[t], from);
        assert_true(lab_fresh_begin(&fresh));
        lab_fresh_copy(&fresh, types[t], from, to, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double old = lab_element_get(types[t], from, i);
            double new = lab_element_get(types[t], to, i);
            bool normal = isfinite(old) && old != 0;
            assert_int_equal(signbit(old), signbit(new));
            assert_true(normal ? ilogb(old) == ilogb(new) : isnan(old) ? isnan(new) : old == new);
            changed += normal && old != new;
        }
        assert_true(changed > COUNT * 9 / 10);
    }
}

/* Memory past @count elements is not touched, and the elements before are copied completely. */
static void test_ends(void **state)
{
    uint16_t from[COUNT], to[COUNT];
    lab_fresh fresh;

    memset(from, 0, sizeof from);
    assert_true(lab_fresh_begin(&fresh));
    for (int64_t count = 0; count < 100; count++) {
        memset(to, 0x55, sizeof to);
        lab_fresh_copy(&fresh, HEED_F16, from, to, count);
        for (int64_t i = 0; i < COUNT; i++)
            assert_int_equal(to[i], i < count ? 0 : 0x5555);
    }
}

/* No two copies have an element in common at any place, except by chance; nor do two beginnings. */
static void test_no_two_alike(void **state)
{
    static float one[COUNT], copies[4][COUNT];
    lab_fresh fresh;
    int same = 0;

    for (int i = 0; i < COUNT; i++)
        one[i] = 1;
    for (int copy = 0; copy < 4; copy++) {
        if (copy % 2 == 0)
            assert_true(lab_fresh_begin(&fresh));
        lab_fresh_copy(&fresh, HEED_F32, one, copies[copy], COUNT);
    }
    for (int copy = 1; copy < 4; copy++)
        for (int i = 0; i < COUNT; i++)
            for (int j = 0; j < COUNT; j++)
                same += copies[0][i] == copies[copy][j];
    assert_true(same < 10); /* 3e6 pairs of 2^23 numbers: 0.36 expected by chance */
}

RUN_TESTS(test_character, test_ends, test_no_two_alike)
