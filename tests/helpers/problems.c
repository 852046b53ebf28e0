/*
 * problems.c - problems for tests
 */
#include "problems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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
