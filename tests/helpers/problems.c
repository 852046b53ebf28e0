/*
 * problems.c - problems and buffers for tests
 */
#include "problems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

heed_problem parsed(const char *spec)
{
    heed_problem problem;
    if (heed_problem_parse(&problem, spec) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    return problem;
}

heed_problem plain_problem(void)
{
    return (heed_problem){ .size = sizeof(heed_problem),
                           .type = HEED_F32,
                           .batch = 2,
                           .heads_q = 4,
                           .heads_kv = 2,
                           .seq_q = 5,
                           .seq_k = 7,
                           .dim_qk = 3,
                           .dim_v = 6 };
}

heed_buffers plain_buffers(const void *q, const void *k, const void *v, void *o)
{
    return (heed_buffers){ .size = sizeof(heed_buffers), .q = q, .k = k, .v = v, .o = o };
}

void expect_refused(const bad_spec *specs, size_t count)
{
    heed_problem problem;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(heed_problem_parse(&problem, specs[i].spec), HEED_ERR_INVALID);
        if (!strstr(heed_message(), specs[i].fault))
            fail_msg("%s: %s", specs[i].spec, heed_message());
    }
}

void expect_printed(const char *const specs[][2], size_t count)
{
    char text[HEED_SPEC_SIZE];
    for (size_t i = 0; i < count; i++) {
        const heed_problem problem = parsed(specs[i][0]);
        heed_problem_print(&problem, text, sizeof text);
        assert_string_equal(text, specs[i][1]);
    }
}
