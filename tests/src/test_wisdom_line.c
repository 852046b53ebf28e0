/*
 * test_wisdom_line.c - wisdom line by line, and choices measured elsewhere
 */
#include "run_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contexts.h"
#include "problems.h"
#include "wisdom_line.h"

/* The first config of the kernel whose name contains @part. */
static const char *config_of(const char *part, char name[HEED_NAME_SIZE])
{
    *name = '\0';
    for (size_t i = 0; heed_kernel_name(i); i++)
        if (strstr(heed_kernel_name(i), part))
            assert_int_equal(heed_kernel_config(i, 0, name, HEED_NAME_SIZE), HEED_OK);
    assert_true(*name);
    return name;
}

/* A config that every CPU supports. */
static const char *scalar_name(void)
{
    static char name[HEED_NAME_SIZE];
    return config_of("scalar", name);
}

static void learns(void **state)
{
    heed_context *context = host_context(1);
    heed_problem problem = parsed("b1 h1 s64 d64 f32");
    heed_plan *plan;
    assert_int_equal(heed_wisdom_learn(context, &problem, scalar_name(), 0.5), HEED_OK);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY), HEED_OK);
    assert_string_equal(heed_plan_name(plan), scalar_name());
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void refuses(void **state)
{
    heed_context *context = host_context(1);
    heed_problem problem = parsed("b1 h1 s64 d64 f32"), bad = problem;
    char other[HEED_NAME_SIZE];
    bad.batch = 0;
    const struct {
        const heed_problem *problem;
        const char *kernel;
        double seconds;
        heed_status status;
        const char *part;
    } cases[] = {
        { &problem, "no_kernel__m1", 1, HEED_ERR_INVALID, "no_kernel__m1" },
        { &problem, "fwd_any_scalar_row", 1, HEED_ERR_INVALID, "fwd_any_scalar" },
        { &problem, NULL, 1, HEED_ERR_INVALID, "NULL" },
        { &problem, scalar_name(), 0, HEED_ERR_INVALID, "seconds is 0" },
        { &problem, scalar_name(), (double)NAN, HEED_ERR_INVALID, "seconds" },
        { &problem, scalar_name(), (double)INFINITY, HEED_ERR_INVALID, "seconds" },
        { &bad, scalar_name(), 1, HEED_ERR_INVALID, "batch" },
        { &problem, config_of("sm80_mma", other), 1, HEED_ERR_UNSUPPORTED,
          "another kind of device" },
        { &problem, "fwd_any_sm80_naive", 1, HEED_ERR_UNSUPPORTED, "another kind of device" },
        { &problem, "fwd_any_sm80_naive__m1", 1, HEED_ERR_INVALID, "does not have" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_status status = heed_wisdom_learn(context, cases[i].problem, cases[i].kernel,
                                               cases[i].seconds);
        if (status != cases[i].status || !strstr(heed_message(), cases[i].part))
            fail_msg("case %zu: %s: %s", i, heed_status_name(status), heed_message());
    }
    assert_int_equal(heed_wisdom_learn(NULL, &problem, scalar_name(), 1), HEED_ERR_INVALID);
    heed_context_destroy(context);
}

/* The lines seen in a text. */
typedef struct seen {
    size_t lines, used;
    char why[512], build[128];
} seen;

static void look(void *data, const heed_wisdom_line *line)
{
    seen *s = data;
    s->lines++;
    s->used += line->why_not == NULL;
    assert_int_equal(line->number, s->lines + 1);
    assert_int_equal(line->problem->seq_q, 63 + s->lines);
    assert_true(line->seconds == 0.5 && line->effort == HEED_PATIENT);
    assert_string_equal(line->kernel, scalar_name());
    snprintf(s->why, sizeof s->why, "%s", line->why_not ? line->why_not : "");
    snprintf(s->build, sizeof s->build, "%s", line->build);
}

static void visits(void **state)
{
    static char text[4096];
    heed_context *writer = host_context(1), *other = host_context(2);
    for (int i = 0; i < 2; i++) {
        heed_problem problem = parsed(i ? "b1 h1 s65 d64 f32" : "b1 h1 s64 d64 f32");
        assert_int_equal(heed_wisdom_learn(writer, &problem, scalar_name(), 0.5), HEED_OK);
    }
    size_t length = heed_wisdom_export(writer, text, sizeof text);
    seen here = { 0 }, there = { 0 }, none = { 0 };
    assert_int_equal(heed_wisdom_visit(writer, "w", text, length, look, &here), HEED_OK);
    assert_true(here.lines == 2 && here.used == 2);
    assert_string_equal(here.build, heed_wisdom_build());
    assert_int_equal(heed_wisdom_visit(other, "w", text, length, look, &there), HEED_OK);
    assert_true(there.lines == 2 && there.used == 0);
    assert_string_equal(there.why, "threads is \"1\", here it is \"2\"");
    text[length / 2] ^= 1;
    assert_int_equal(heed_wisdom_visit(writer, "w", text, length, look, &none), HEED_ERR_CORRUPT);
    assert_int_equal(none.lines, 0);
    assert_non_null(strstr(heed_message(), "w: line "));
    heed_context_destroy(writer);
    heed_context_destroy(other);
}

RUN_TESTS(learns, refuses, visits)
