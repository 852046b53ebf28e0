/*
 * test_machine.c - the laboratory's view of the machine: environment and ceilings. No test here
 * asserts a speed.
 */
#include "run_tests.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "lab/measure/ceiling.h"
#include "lab/measure/environment.h"

static void test_environment(void **state)
{
    static const char *const members[] = { "cpu",      "cores_online", "cores_allowed", "governor",
                                           "load",     "clock_mhz",    "memory_gib",    "kernel",
                                           "compiler", "heed",         "commit",        "time" };
    lab_environment environment;

    lab_environment_read(&environment);
    assert_true(environment.cores_online >= 1);
    assert_true(environment.cores_allowed >= 1);
    assert_true(environment.memory_gib > 0);
    assert_string_not_equal(environment.cpu, "");
    assert_string_not_equal(environment.commit, "");
    assert_non_null(strstr(environment.kernel, "Linux"));
    assert_string_equal(environment.heed, heed_version());
    assert_int_equal(strlen(environment.time), 20);

    json_t *json = lab_environment_json(&environment);
    assert_int_equal(json_object_size(json), sizeof members / sizeof members[0]);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        assert_non_null(json_object_get(json, members[i]));
    json_decref(json);
}

/* A fact that the system does not report is null, never an invented value. */
static void test_unknown_is_null(void **state)
{
    lab_environment environment = { .cpu = "unknown",
                                    .governor = "unknown",
                                    .load = -1,
                                    .kernel = "unknown",
                                    .commit = "unknown",
                                    .time = "unknown",
                                    .compiler = "unknown",
                                    .cores_online = 1 };
    json_t *json = lab_environment_json(&environment);

    assert_true(json_is_null(json_object_get(json, "cpu")));
    assert_true(json_is_null(json_object_get(json, "governor")));
    assert_true(json_is_null(json_object_get(json, "load")));
    assert_true(json_is_null(json_object_get(json, "clock_mhz")));
    assert_true(json_is_null(json_object_get(json, "cores_allowed")));
    json_decref(json);
}

static void test_ceilings(void **state)
{
    static const char *const levels[] = { "scalar", "avx2", "avx512", "avx512bf16", "amx" };
    heed_context *context;
    lab_ceiling ceiling;
    double bandwidth;

    assert_int_equal(heed_context_create(&context, NULL), HEED_OK);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        for (int type = HEED_F32; type <= HEED_BF16; type++) {
            assert_int_equal(lab_ceiling_flops(&ceiling, (heed_type)type, 2, levels[i]), HEED_OK);
            assert_true(ceiling.flops > 0);
            assert_int_equal(ceiling.threads, 2);
            assert_string_not_equal(ceiling.loop, "");
        }
        /* A product of two words has the loop of the better one; so do exponentials. */
        lab_ceiling joined;
        char word[64];
        snprintf(word, sizeof word, "%s+scalar", levels[i]);
        assert_int_equal(lab_ceiling_flops(&ceiling, HEED_F32, 1, levels[i]), HEED_OK);
        assert_int_equal(lab_ceiling_flops(&joined, HEED_F32, 1, word), HEED_OK);
        assert_string_equal(joined.loop, ceiling.loop);
        assert_int_equal(lab_ceiling_exp(&ceiling, 1, levels[i]), HEED_OK);
        assert_int_equal(lab_ceiling_exp(&joined, 1, word), HEED_OK);
        assert_string_equal(joined.loop, ceiling.loop);
        if (strcmp(levels[i], heed_context_cpu(context)) == 0)
            break; /* the machine has nothing better */
    }
    assert_int_equal(lab_ceiling_copy(&bandwidth, 3), HEED_OK);
    assert_true(bandwidth > 0);
    heed_context_destroy(context);
}

static void test_bad_arguments(void **state)
{
    lab_ceiling ceiling;
    double bandwidth;

    assert_int_equal(lab_ceiling_flops(&ceiling, HEED_F32, 0, "scalar"), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_flops(&ceiling, HEED_F32, 1, "mmx"), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_flops(&ceiling, HEED_F32, 1, "scalar+mmx"), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_flops(&ceiling, HEED_F32, 1, NULL), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_copy(&bandwidth, 0), HEED_ERR_INVALID);
}

RUN_TESTS(test_environment, test_unknown_is_null, test_ceilings, test_bad_arguments)
