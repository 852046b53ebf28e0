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

/* A row of a table: a text, and the text that it leads to. */
typedef struct text_pair {
    const char *given, *wanted;
} text_pair;

/* The same with a code: a status, a verdict or an exit status. */
typedef struct text_code {
    const char *given;
    int code;
    const char *wanted;
} text_code;

/* A text with a number. */
typedef struct text_integer {
    const char *text;
    int64_t value;
} text_integer;

typedef struct text_real {
    const char *text;
    double value;
} text_real;

/* Functions that are tests, and their names in the same order, separated by commas. */
typedef struct test_list {
    const CMUnitTestFunction *functions;
    const char *names;
    CMFixtureFunction setup, teardown; /* before and after each test, or NULL */
    void *state;                       /* each test's *state if no setup changes it */
} test_list;

/* A list of the functions that are named. */
#define TEST_LIST(...) TEST_LIST_EACH(NULL, NULL, __VA_ARGS__)

/* The same with @before and @after each test. */
#define TEST_LIST_EACH(before, after, ...)                                                     \
    (test_list)                                                                                \
    {                                                                                          \
        .functions = (const CMUnitTestFunction[]){ __VA_ARGS__, NULL }, .names = #__VA_ARGS__, \
        .setup = (before), .teardown = (after),                                                \
    }

/* run_test_list() runs @tests between @begin and @end, which may be NULL, and returns how many
 * failed, which is an exit status. HEED_TEST_ONLY names the tests to run, or HEED_TEST_SKIP those
 * to leave out, separated by spaces; without either, all run. An unknown name is a failure, so that
 * a renamed test cannot be missing from both parts. */
int run_test_list(test_list tests, CMFixtureFunction begin, CMFixtureFunction end);

/* The main() of a program that runs the functions that are named. */
#define RUN_TESTS(...) RUN_TESTS_WITHIN(NULL, NULL, __VA_ARGS__)

/* The same between @begin and @end. */
#define RUN_TESTS_WITHIN(begin, end, ...)                             \
    int main(void)                                                    \
    {                                                                 \
        return run_test_list(TEST_LIST(__VA_ARGS__), (begin), (end)); \
    }

/* The same with @before and @after each test. */
#define RUN_TESTS_EACH(before, after, ...)                                                \
    int main(void)                                                                        \
    {                                                                                     \
        return run_test_list(TEST_LIST_EACH((before), (after), __VA_ARGS__), NULL, NULL); \
    }

#endif /* HEED_TESTS_RUN_TESTS_H */
