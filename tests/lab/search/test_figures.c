/*
 * test_figures.c - the final figures of a search
 */
#include "run_tests.h"

#include <math.h>

#include "lab/search/figures.h"

static void test_speedups(void **state)
{
    double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 2, 8 }, one[] = { 0.5 };
    lab_speedups s = lab_speedups_of(odd, 3);
    assert_true(s.median == 2 && s.best == 3 && s.count == 3);
    s = lab_speedups_of(even, 4);
    assert_true(s.median == 3 && s.best == 8);
    s = lab_speedups_of(one, 1);
    assert_true(s.median == 0.5 && s.best == 0.5);
    s = lab_speedups_of(NULL, 0);
    assert_true(s.count == 0 && s.best == 0);
}

/* A point that was pruned or could not be made produced no code; a wrong one did; both are
 * candidates. The figures of several searches are summed. */
static void test_counts(void **state)
{
    const lab_try tries[] = {
        { .state = LAB_STATE_TIMED, .score = -9 },
        { .state = LAB_STATE_PRUNED, .score = INFINITY },
        { .state = LAB_STATE_FAILED, .score = INFINITY },
        { .state = LAB_STATE_WRONG, .score = INFINITY },
        { .state = LAB_STATE_TIMED, .score = -8 },
    };
    const lab_search_result result = { .tries = tries, .count = sizeof tries / sizeof *tries };
    lab_figures figures = { .candidates = 0 };
    lab_figures_count(&figures, &result);
    lab_figures_count(&figures, &result);
    assert_int_equal(figures.candidates, 10);
    assert_int_equal(figures.compiled, 6);
    assert_int_equal(figures.passed, 4);
}

RUN_TESTS(test_speedups, test_counts)
