/*
 * run_tests.h - cmocka with the headers that it needs, and the main() of a program of tests
 */
#ifndef HEED_TESTS_RUN_TESTS_H
#define HEED_TESTS_RUN_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The main() of a program that runs these rows of cmocka's table: cmocka_unit_test() and others. */
#define RUN_TESTS(...) RUN_TESTS_WITHIN(NULL, NULL, __VA_ARGS__)

/* The same between @setup and @teardown, cmocka's fixtures of a group; either may be NULL. */
#define RUN_TESTS_WITHIN(setup, teardown, ...)                     \
    int main(void)                                                 \
    {                                                              \
        const struct CMUnitTest tests[] = { __VA_ARGS__ };         \
        return cmocka_run_group_tests(tests, (setup), (teardown)); \
    }

#endif /* HEED_TESTS_RUN_TESTS_H */
