/*
 * test_models.c - every line of tests/external/models.txt is planned, on all kinds of CPUs and on a
 * CUDA device (fake_cuda.h), and the number of families is as documented there
 */
#include "run_tests.h"

#include <stdio.h>
#include <string.h>

#include "cuda_scene.h"

#define FILE_NAME HEED_SOURCE_DIR "/tests/external/models.txt"
#define LINES_MAX 64

static char specs[LINES_MAX][512];
static int lines, families, said;

/* cmocka's setup of the group. */
static int begin(void **state)
{
    FILE *file = fopen(FILE_NAME, "r");
    char line[512], before = '\n';
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file) && lines < LINES_MAX) {
        if (said == 0)
            sscanf(line, "# Attention of %d families", &said);
        if (line[0] != '#' && line[0] != '\n') {
            families += before == '#';
            line[strcspn(line, "\n")] = '\0';
            snprintf(specs[lines++], sizeof specs[0], "%s", line);
        }
        before = line[0];
    }
    fclose(file);
    return scene_begin(state);
}

static void test_families_are_counted(void **state)
{
    (void)state;
    assert_true(said > 0 && lines >= families && lines < LINES_MAX);
    assert_int_equal(families, said);
}

static void plan_all(heed_context *context)
{
    for (int i = 0; i < lines; i++) {
        heed_problem problem;
        heed_plan *plan = NULL;
        if (heed_problem_parse(&problem, specs[i]) != HEED_OK ||
            heed_plan_create(&plan, context, &problem, HEED_ESTIMATE) != HEED_OK)
            fail_msg("%s, %s: %s", heed_context_device(context), specs[i], heed_message());
        heed_plan_destroy(plan);
    }
}

static void test_cpu_plans_each(void **state)
{
    static const char *const levels[] = { "scalar", "avx2", "avx512" };
    int tried = 0;
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const heed_options options = {
            .size = sizeof options, .device = "cpu", .threads = 2, .cpu = levels[i]
        };
        heed_context *context;
        if (heed_context_create(&context, &options) != HEED_OK)
            continue; /* this CPU lacks the features */
        plan_all(context);
        heed_context_destroy(context);
        tried++;
    }
    assert_true(tried > 0);
}

static void test_gpu_plans_each(void **state)
{
    (void)state;
    heed_context *context = scene_open("cuda");
    plan_all(context);
    heed_context_destroy(context);
}

RUN_SCENE_TESTS(begin, test_families_are_counted, test_cpu_plans_each, test_gpu_plans_each)
