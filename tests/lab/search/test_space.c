/*
 * test_space.c - search spaces: files, expressions and points
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"
#include "internal.h"
#include "lab/search/space.h"
#include "scratch.h"

/* ---- Expressions ---- */

static void test_expressions(void **state)
{
    static const lab_named names[] = { { "a", 7 }, { "zero", 0 }, { "tile_2", 64 } };
    static const lab_scope scope = { names, 3 };
    static const text_integer rows[] = {
        { "1 + 2 * 3", 7 },
        { "(1 + 2) * 3", 9 },
        { "10 - 4 - 3", 3 },
        { "100 / 10 / 5", 2 },
        { "17 % 5 == 2", 1 },
        { "1 < 2 == 1", 1 },
        { "!zero && !!a", 1 },
        { "-(-3)", 3 },
        { "zero || a && zero", 0 },
        { "zero ? 1 / zero : 5", 5 },
        { "zero && 1 / zero", 0 },
        { "a || 1 / zero", 1 },
        { "a == 7 ? tile_2 == 64 ? 3 : 4 : 5", 3 },
        { "min(a, 3) + max(a, tile_2)", 67 },
        { "2 >= 2 && 2 <= 2 && 3 > 2 && 2 < 3 && 2 != 3", 1 },
        { "9223372036854775807", INT64_MAX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value;
        lab_error error;
        assert_int_equal(lab_expression_value(rows[i].text, &scope, &value, &error), HEED_OK);
        if (value != rows[i].value)
            fail_msg("%s gave %lld", rows[i].text, (long long)value);
    }
}

static void test_bad_expressions(void **state)
{
    static const lab_named names[] = { { "a", 7 }, { "zero", 0 } };
    static const lab_scope scope = { names, 2 };
    static const text_code rows[] = {
        { "", HEED_ERR_INVALID, "it ends where a value is expected" },
        { "1 +", HEED_ERR_INVALID, "column 4" },
        { "(1", HEED_ERR_INVALID, ") expected" },
        { "1 2", HEED_ERR_INVALID, "an operator expected" },
        { "b + 1", HEED_ERR_INVALID, "there is no 'b'" },
        { "zero ? b : 1", HEED_ERR_INVALID, "there is no 'b'" },
        { "1 ? 2", HEED_ERR_INVALID, ": expected" },
        { "2x", HEED_ERR_INVALID, "a letter after a number" },
        { "99999999999999999999", HEED_ERR_INVALID, "beyond 64 bits" },
        { "min(1)", HEED_ERR_INVALID, ", expected" },
        { "a / zero", HEED_ERR_UNSUPPORTED, "divides by zero" },
        { "a % zero", HEED_ERR_UNSUPPORTED, "divides by zero" },
        { "9223372036854775807 + a", HEED_ERR_UNSUPPORTED, "passes 64 bits" },
        { "(-9223372036854775807 - 1) / -1", HEED_ERR_UNSUPPORTED, "passes 64 bits" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value;
        lab_error error;
        assert_int_equal(lab_expression_value(rows[i].given, &scope, &value, &error), rows[i].code);
        if (!strstr(error.text, rows[i].wanted))
            fail_msg("%s: the message is \"%s\"", rows[i].given, error.text);
    }
    char deep[4096];
    int64_t value;
    lab_error error;
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(lab_expression_value(deep, &scope, &value, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "nested too deeply"));
}

/* ---- Files ---- */

static const char small[] = "# a space\n"
                            "kernel fwd_x fwd_y # the first of them\n"
                            "\n"
                            "knob registers 64 72 96 as registers\r\n"
                            "knob threads 128 192\n"
                            "let warps = threads / 32\n"
                            "let odd = warps % 4 != 0\n"
                            "require !odd || registers < 96 because six warps need room\n"
                            "config w = warps\n"
                            "config b = registers + odd\n"
                            "limit spills 256\n"
                            "limit blocks none\n";

static void test_file(void **state)
{
    lab_space space;
    lab_error error;
    lab_point point;
    char text[LAB_POINT_TEXT], name[HEED_NAME_SIZE];
    assert_int_equal(lab_space_parse(&space, small, "x/small.txt", &error), HEED_OK);
    assert_string_equal(space.name, "small");
    assert_int_equal(space.kernel_count, 2);
    assert_string_equal(space.kernels[1], "fwd_y");
    assert_int_equal(space.knobs[0].role, LAB_KNOB_REGISTERS);
    assert_int_equal(space.knobs[1].role, LAB_KNOB_OTHER);
    assert_int_equal(lab_space_count(&space), 6);
    assert_int_equal(space.limits.value[LAB_FACT_SPILLS], 256);
    assert_int_equal(space.limits.value[LAB_FACT_BLOCKS], -1);
    assert_int_equal(space.limits.value[LAB_FACT_REGISTERS], -1);
    int allowed = 0;
    for (int64_t i = 0; i < 6; i++) {
        point = lab_space_at(&space, i);
        assert_int_equal(lab_space_index(&space, &point), i);
        allowed += lab_space_allows(&space, &point, &error);
        lab_point_print(&space, &point, text);
        assert_int_equal(lab_point_parse(&space, text, &point, &error), HEED_OK);
        assert_int_equal(lab_space_index(&space, &point), i);
    }
    assert_int_equal(allowed, 5);
    point = (lab_point){ { 2, 1 } };
    assert_false(lab_space_allows(&space, &point, &error));
    assert_string_equal(error.text, "six warps need room");
    assert_int_equal(lab_space_name(&space, &point, "fwd_x", name, &error), HEED_OK);
    assert_string_equal(name, "fwd_x__w6b97");
    lab_space_free(&space);
}

static void test_points(void **state)
{
    const char *const *bad = WORDS("registers=64", "registers=64 threads=100",
                                   "registers=64 registers=64", "registers=64 threads=128 x=1",
                                   "registers=64 threads=128x", "registers= threads=128", "");
    lab_space space;
    lab_error error;
    lab_point point;
    assert_int_equal(lab_space_parse(&space, small, "small", &error), HEED_OK);
    for (size_t i = 0; bad[i]; i++)
        assert_int_equal(lab_point_parse(&space, bad[i], &point, &error), HEED_ERR_INVALID);
    assert_int_equal(lab_point_parse(&space, "  threads=192  registers=72 ", &point, &error),
                     HEED_OK);
    assert_int_equal(point.at[0], 1);
    assert_int_equal(point.at[1], 1);
    lab_space_free(&space);
}

/* Each is refused with the line and the word in question. */
static void test_bad_files(void **state)
{
    static const text_pair rows[] = {
        { "", "no kernel line" },
        { "kernel k\n", "no knob line" },
        { "kernel\n", ":1: a kernel's name expected" },
        { "kernel k\nkernel l\n", ":2: a second kernel line" },
        { "kernel k\nnob x 1\n", ":2: not kernel, knob, let, require, config or limit: \"nob\"" },
        { "knob x\n", ":1: no values for knob \"x\"" },
        { "knob x 1 y\n", ":1: not an integer: \"y\"" },
        { "knob x 1 1\n", ":1: a value for the second time: \"1\"" },
        { "knob x 1 as queen\n", "not a role of a knob" },
        { "knob x 1 as rows 2\n", "nothing may follow" },
        { "knob 3 1\n", "not a name" },
        { "knob x 1\nknob x 2\n", ":2: there is a knob of that name: \"x\"" },
        { "knob x 1\nlet x = 2\n", ":2: there is a knob of that name: \"x\"" },
        { "let x = 1\nknob x 2\n", ":2: there is a let of that name: \"x\"" },
        { "knob x 1\nlet y = x +\n", ":2: column 4" },
        { "knob x 1\nlet y x\n", ":2: NAME = EXPRESSION expected" },
        { "knob x 1\nrequire z > 1\n", ":2: column 1 of \"z > 1\": there is no 'z'" },
        { "knob x 1\nconfig M = x\n", ":2: not the letter of a kernel's knob: \"M\"" },
        { "knob x 1\nconfig m = y\n", "there is no 'y'" },
        { "knob x 99999999999999999999\n", "not an integer" },
        { "limit spell 1\n", ":1: not registers, spills, smem, blocks or warps: \"spell\"" },
        { "limit spills\n", ":1: not a number of 0 or more" },
        { "limit spills -1\n", ":1: not a number of 0 or more" },
        { "limit spills 1 2\n", ":1: nothing may follow" },
        { "knob a 1 2 3 4 5 6 7 8 9 10 11\nknob b 1 2 3 4 5 6 7 8 9 10 11\n"
          "knob c 1 2 3 4 5 6 7 8 9 10 11\nknob d 1 2 3 4 5 6 7 8 9 10 11\n"
          "knob e 1 2 3 4 5 6 7 8 9 10 11\nknob f 1 2 3 4 5 6 7 8 9 10 11\n",
          ":6: more than 2^20 points" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lab_space space;
        lab_error error;
        assert_int_equal(lab_space_parse(&space, rows[i].given, "f.txt", &error), HEED_ERR_INVALID);
        if (!strstr(error.text, rows[i].wanted))
            fail_msg("\"%s\": the message is \"%s\"", rows[i].given, error.text);
        assert_null(space.lets);
    }
}

static void test_long_lines(void **state)
{
    char text[1200] = "kernel k\nknob x 1\nlet y = ";
    lab_space space;
    lab_error error;
    size_t length = strlen(text);
    memset(text + length, '1', 300);
    assert_int_equal(lab_space_parse(&space, text, "f", &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "f:3: too long"));
    memset(text + length, ' ', 1000);
    assert_int_equal(lab_space_parse(&space, text, "f", &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "f:3: longer than"));
}

static void test_loading(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    lab_space space;
    lab_error error;
    assert_int_equal(lab_space_load(&space, scratch_path(state, "none", path), &error),
                     HEED_ERR_SYSTEM);
    scratch_write(scratch_path(state, "null.txt", path), "kernel k\0x", 10);
    assert_int_equal(lab_space_load(&space, path, &error), HEED_ERR_INVALID);
    scratch_write(scratch_path(state, "good.txt", path), small, strlen(small));
    assert_int_equal(lab_space_load(&space, path, &error), HEED_OK);
    assert_string_equal(space.name, "good");
    lab_space_free(&space);
}

/* ---- Facts known before running ---- */

static lab_point_facts facts(int64_t registers, int64_t spills, int64_t smem, int64_t warps)
{
    return (lab_point_facts){ { [LAB_FACT_REGISTERS] = registers,
                                [LAB_FACT_SPILLS] = spills,
                                [LAB_FACT_SMEM] = smem,
                                [LAB_FACT_BLOCKS] = warps < 0 ? -1 : warps / 4,
                                [LAB_FACT_WARPS] = warps } };
}

static void test_pruning(void **state)
{
    lab_bounds limits = lab_bounds_standard();
    lab_error why;
    lab_point_facts one = facts(96, 0, 1024, 16);
    assert_true(lab_point_facts_within(&one, &limits, &why));
    one = facts(96, 8, 1024, 16);
    assert_false(lab_point_facts_within(&one, &limits, &why));
    assert_string_equal(why.text, "8 bytes of spills a thread; the limit is at most 0");
    limits.value[LAB_FACT_SPILLS] = 8;
    assert_true(lab_point_facts_within(&one, &limits, &why));
    one = facts(96, 0, 1024, 0);
    assert_false(lab_point_facts_within(&one, &limits, &why));
    assert_string_equal(why.text, "0 blocks a multiprocessor; the limit is at least 1");
    limits.value[LAB_FACT_REGISTERS] = 80;
    one = facts(96, 0, 1024, 16);
    assert_false(lab_point_facts_within(&one, &limits, NULL));
    one = lab_point_facts_unknown();
    assert_true(lab_point_facts_within(&one, &limits, &why));
    const lab_point_facts other = facts(64, 4, -1, 8);
    lab_point_facts_worsen(&one, &other);
    assert_memory_equal(&one, &other, sizeof one);
    const lab_point_facts third = facts(70, 0, 10, 16);
    lab_point_facts_worsen(&one, &third);
    assert_int_equal(one.value[LAB_FACT_REGISTERS], 70);
    assert_int_equal(one.value[LAB_FACT_SPILLS], 4);
    assert_int_equal(one.value[LAB_FACT_SMEM], 10);
    assert_int_equal(one.value[LAB_FACT_WARPS], 8);
}

static void test_front(void **state)
{
    const lab_standing all[] = {
        { 1.0, facts(128, 0, 8000, 8) },  /* the fastest */
        { 1.1, facts(128, 0, 8000, 8) },  /* beaten by it */
        { 1.1, facts(96, 0, 8000, 8) },   /* fewer registers */
        { 2.0, facts(96, 0, 4000, 4) },   /* less shared memory */
        { 2.0, facts(96, 0, 4000, 4) },   /* the same again */
        { 3.0, facts(128, 0, 8000, 16) }, /* more warps */
        { INFINITY, facts(1, 0, 1, 64) }, /* did not run */
        { 3.0, facts(96, 0, 4001, 4) },   /* beaten */
    };
    static const bool expected[] = { true, false, true, true, true, true, false, false };
    bool front[8];
    lab_point_facts_front(all, 8, front);
    assert_memory_equal(front, expected, sizeof front);
}

/* ---- The spaces shipped with heed ---- */

/* Returns whether @name is a kernel with a config. */
static bool is_config(const char *name)
{
    const char *config = NULL;
    heed_config values;
    const heed_kernel *kernel = heed_kernel_find(name, &config);
    return kernel && config && heed_config_parse(kernel->algorithm, config, &values);
}

static void test_shipped(void **state)
{
    static const char *const files[] = { "sweep90", "mma", "wgmma", "cpu_tile", "cpu_few" };
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[512], name[HEED_NAME_SIZE];
        lab_space space;
        lab_error error;
        int64_t tried = 0;
        snprintf(path, sizeof path, HEED_SOURCE_DIR "/spaces/%s.txt", files[f]);
        if (lab_space_load(&space, path, &error) != HEED_OK)
            fail_msg("%s", error.text);
        if (f == 0)
            assert_int_equal(lab_space_count(&space), 90);
        int64_t step = lab_space_count(&space) / 100 + 1;
        for (int64_t i = 0; i < lab_space_count(&space); i += step) {
            const lab_point point = lab_space_at(&space, i);
            if (!lab_space_allows(&space, &point, NULL))
                continue;
            assert_int_equal(lab_space_name(&space, &point, space.kernels[0], name, &error),
                             HEED_OK);
            if (!is_config(name))
                fail_msg("%s: there is no %s", files[f], name);
            tried++;
        }
        assert_true(tried > 3);
        lab_space_free(&space);
    }
}

RUN_TESTS_EACH(scratch_open, scratch_close, test_expressions, test_bad_expressions, test_file,
               test_points, test_bad_files, test_long_lines, test_pruning, test_front, test_shipped,
               test_loading)
