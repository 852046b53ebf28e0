/*
 * test_planner.c - the laboratory's queries to the library's planner
 */
#include "run_tests.h"

#include <stdbool.h>

#include "contexts.h"
#include "cpu/features.h"
#include "lab/base/planner.h"
#include "problems.h"

static void test_names_are_the_librarys(void **state)
{
    size_t count = 0;
    for (; heed_cpu_features[count].name; count++)
        assert_string_equal(lab_cpu_feature(count), heed_cpu_features[count].name);
    assert_null(lab_cpu_feature(count));
    assert_null(lab_cpu_feature(count + 1000));
}

static void test_words_have_what_they_imply(void **state)
{
    static const struct {
        const char *word, *name;
        bool has;
    } cases[] = {
        { "scalar", "scalar", true },
        { "scalar", "avx2", false },
        { "avx512bf16", "avx512bf16", true },
        { "avx512bf16", "avx2", true },
        { "avx512bf16", "scalar", true },
        { "avx512", "avx512bf16", false },
        { "avx2+avx512", "avx512", true },
        { "avx512+scalar", "avx2", true },
        { "avx2+scalar", "avx512", false },
        { "avx2+mmx", "avx2", false },
        { "mmx+avx2", "scalar", false },
        { "avx2", "mmx", false },
        { "avx2+", "avx2", false },
        { "", "scalar", false },
        { "avx512bf16avx512bf16avx512bf16avx512bf16", "scalar", false },
        { NULL, "scalar", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (lab_cpu_has(cases[i].word, cases[i].name) != cases[i].has)
            fail_msg("'%s' and '%s'", cases[i].word ? cases[i].word : "NULL", cases[i].name);
}

/* Exactly one candidate is chosen, the one that the plan is named after; also if the plan was
 * created by name and has only that one. */
static void test_a_plan_has_chosen(void **state)
{
    heed_context *context;
    static const char *const names[] = { NULL, "fwd_any_scalar_row" };
    context = host_context_of(1, "scalar");
    heed_problem problem = parsed("b1 h2 s16 d8 f32");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_plan *plan;
        assert_int_equal(names[i] ? heed_plan_create_named(&plan, context, &problem, names[i])
                                  : heed_plan_create(&plan, context, &problem, HEED_ESTIMATE),
                         HEED_OK);
        const heed_candidate chosen = lab_plan_chosen(plan);
        assert_true(chosen.chosen && !chosen.rejected);
        assert_string_equal(chosen.name, heed_plan_name(plan));
        assert_true(chosen.predicted > 0);
        heed_plan_destroy(plan);
    }
    heed_context_destroy(context);
}

RUN_TESTS(test_names_are_the_librarys, test_words_have_what_they_imply, test_a_plan_has_chosen)
