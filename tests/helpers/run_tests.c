/*
 * run_tests.c - runs the tests of a program, or a part of them
 */
#include "run_tests.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TESTS_MAX 128

static size_t words_in(const char *list)
{
    size_t count = 0;
    for (; *list; list++)
        count += *list != ' ' && (list[1] == ' ' || list[1] == '\0');
    return count;
}

/* Returns whether @list has @name as a whole word. */
static bool has_name(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

int run_test_list(test_list tests, CMFixtureFunction begin, CMFixtureFunction end)
{
    struct CMUnitTest part[TESTS_MAX];
    const char *only = getenv("HEED_TEST_ONLY");
    const char *list = only ? only : getenv("HEED_TEST_SKIP");
    char *names = strdup(tests.names), *rest = names;
    size_t size = 0, named = 0;
    for (size_t i = 0; names && tests.functions[i] && size < TESTS_MAX; i++) {
        const char *name = strtok_r(rest, ", ", &rest);
        bool is_named = list && has_name(list, name);
        named += is_named;
        if (!list || is_named == (only != NULL))
            part[size++] = (struct CMUnitTest){ name, tests.functions[i], tests.setup,
                                                tests.teardown, tests.state };
    }
    int failed = 1;
    if (!names || size == 0 || size == TESTS_MAX || (list && named != words_in(list)))
        fprintf(stderr, "%zu of the %zu tests '%s' are in this program\n", named,
                list ? words_in(list) : size, list ? list : tests.names);
    else
        failed = _cmocka_run_group_tests("tests", part, size, begin, end);
    free(names);
    return failed;
}
