/*
 * parts.c - runs a part of the tests in a program
 *
 * HEED_TEST_ONLY names the tests to run, or HEED_TEST_SKIP those to leave out, separated by spaces;
 * without either, all run. An unknown name fails the program, so that a renamed test cannot be
 * missing from both parts. This replaces cmocka's function, which its macro calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TESTS_MAX 128

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

/* The first occurrence of @name in @list as a whole word, or NULL. */
static const char *find_name(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return at;
    return NULL;
}

static size_t words_in(const char *list)
{
    size_t count = 0;
    for (; *list; list++)
        count += *list != ' ' && (list[1] == ' ' || list[1] == '\0');
    return count;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct CMUnitTest part[TESTS_MAX];
    const char *only = getenv("HEED_TEST_ONLY");
    const char *list = only ? only : getenv("HEED_TEST_SKIP");
    size_t size = 0, named = 0;
    if (!list)
        return __real__cmocka_run_group_tests(name, tests, count, setup, teardown);
    for (size_t i = 0; i < count && size < TESTS_MAX; i++) {
        bool is_named = find_name(list, tests[i].name) != NULL;
        named += is_named;
        if (is_named == (only != NULL))
            part[size++] = tests[i];
    }
    if (named != words_in(list) || size == 0 || size == TESTS_MAX) {
        fprintf(stderr, "%zu of the %zu tests '%s' are in this program\n", named, words_in(list),
                list);
        return 1;
    }
    return __real__cmocka_run_group_tests(name, part, size, setup, teardown);
}
