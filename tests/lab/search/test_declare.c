/*
 * test_declare.c - launch declarations in a CUDA source
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "lab/search/declare.h"

static heed_problem problem;

static void test_fields(void **state)
{
    static const char source[] = "/* heed:launch entry=attend threads=32*WARPS rows=16*WARPS\n"
                                 " * smem=KEYS*HEED_DIM_QK*2 splits=HEED_CAUSAL?2:4 aligned=1 */\n"
                                 "#define WARPS 4\n"
                                 "#define KEYS 64 /* of a tile */\n"
                                 "/* heed:or\n"
                                 "#define KEYS 128\n"
                                 "*/\n"
                                 "#define SUM (KEYS + 1)\n";
    lab_declared it;
    lab_error error;
    lab_trial_outcome outcome;
    assert_int_equal(lab_declare_read(source, &problem, &it, &error), HEED_OK);
    assert_string_equal(it.launch.entry, "attend");
    assert_int_equal(it.launch.threads, 128);
    assert_int_equal(it.launch.rows, 64);
    assert_int_equal(it.launch.smem, 64 * 96 * 2);
    assert_int_equal(it.launch.splits, 2);
    assert_true(it.launch.aligned);
    assert_int_equal(it.launch.mapped, 0);
    assert_int_equal(it.launch.registers, 0);
    assert_string_equal(it.knobs[0].name, "HEED_TYPE");
    assert_int_equal(it.knobs[0].value, HEED_F16);
    assert_int_equal(it.knobs[3].value, 64);
    const lab_candidate candidate = { .name = "it",
                                      .language = LAB_LANGUAGE_CUDA,
                                      .source = source,
                                      .source_size = sizeof source - 1,
                                      .knobs = it.knobs,
                                      .knob_count = LAB_DECLARED_KNOBS,
                                      .launch = it.launch };
    assert_true(lab_candidate_check(&candidate, &outcome));
}

/* Impossible values are errors that name the word. */
static void test_refusals(void **state)
{
    static const text_pair rows[] = {
        { "int x;", "does not say how it is launched" },
        { "/* heed:launch threads=1 rows=1 */", "entry is missing" },
        { "/* heed:launch entry=a rows=1 */", "threads is missing" },
        { "/* heed:launch entry=a threads=1 */", "rows is missing" },
        { "/* heed:launch entry=a threads=1 rows=1 speed=9 */", "'speed=9'" },
        { "/* heed:launch entry=a threads rows=1 */", "'threads'" },
        { "/* heed:launch entry=a threads=WARPS rows=1 */", "threads: " },
        { "#define WARPS (2)\n/* heed:launch entry=a threads=WARPS rows=1 */", "WARPS" },
        { "/* heed:launch entry=a threads=1/0 rows=1 */", "threads: " },
        { "/* heed:launch entry=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
          "40 letters" },
    };
    lab_declared it;
    lab_error error;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (lab_declare_read(rows[i].given, &problem, &it, &error) != HEED_ERR_INVALID ||
            !strstr(error.text, rows[i].wanted))
            fail_msg("%s: %s", rows[i].given, error.text);
}

/* Values that exceed the limits of a launch are parsed, and refused by the launch check. */
static void test_large(void **state)
{
    lab_declared it;
    lab_error error;
    assert_int_equal(
        lab_declare_read("/* heed:launch entry=a threads=9223372036854775807 rows=1 */", &problem,
                         &it, &error),
        HEED_OK);
    assert_true(it.launch.threads > 1024);
    assert_int_equal(lab_declare_read("/* heed:launch entry=a threads=0-5000000000 rows=1 */",
                                      &problem, &it, &error),
                     HEED_OK);
    assert_true(it.launch.threads < 0);
}

/* The example source shipped with heed. */
static void test_example(void **state)
{
    static char source[1 << 16];
    FILE *file = fopen(HEED_SOURCE_DIR "/proposers/attention.cu", "r");
    lab_declared it;
    lab_error error = { "" };
    assert_non_null(file);
    assert_true(fread(source, 1, sizeof source - 1, file) > 0);
    fclose(file);
    if (lab_declare_read(source, &problem, &it, &error) != HEED_OK)
        fail_msg("%s", error.text);
    assert_string_equal(it.launch.entry, "attend");
    assert_int_equal(it.launch.threads, 64);
    assert_int_equal(it.launch.rows, 64);
    assert_int_equal(it.launch.registers, 0);
    assert_int_equal(it.launch.smem, 4 * 32 * (96 + 64));
}

/* Every field of a launch can be declared, the columns of boxes too. */
static void test_all_fields(void **state)
{
    static const char source[] =
        "/* heed:launch entry=a threads=384 rows=128 smem=5 registers=168 splits=2 mapped=64\n"
        " * aligned=1 window=1 in_turn=1 paired=1 resident=2 map_columns=16 apart=1 */";
    lab_declared it;
    lab_error error;
    assert_int_equal(lab_declare_read(source, &problem, &it, &error), HEED_OK);
    const heed_launch_facts *launch = &it.launch;
    assert_true(launch->threads == 384 && launch->rows == 128 && launch->smem == 5);
    assert_true(launch->registers == 168 && launch->splits == 2 && launch->mapped == 64);
    assert_true(launch->aligned && launch->window && launch->persistent && launch->cluster);
    assert_true(launch->resident == 2 && launch->map_columns == 16 && launch->apart);
}

int main(void)
{
    if (heed_problem_parse(&problem, "b1 h1 s8 dqk=96 dv=64 f16 causal") != HEED_OK &&
        heed_problem_parse(&problem, "b1 h1 s8 d96/64 f16 causal") != HEED_OK)
        return 1;
    return run_test_list(
        TEST_LIST(test_fields, test_refusals, test_large, test_all_fields, test_example), NULL,
        NULL);
}
