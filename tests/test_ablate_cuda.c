/*
 * test_ablate_cuda.c - ablations of CUDA kernels behind the fake driver (fake_cuda.h): which there
 * are, and that they are launched as the kernel is
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "ablate.h"
#include "cuda_trial.h"

/* What the command line would say. */
typedef struct told {
    ablate_run run;
    ablate_subject subject;
} told;

static void tell(told *it, const trial *t, const char *only)
{
    memset(it, 0, sizeof *it);
    it->run = (ablate_run){ .only = only, .bench = { .context = t->context } };
    it->subject.problem = *heed_plan_problem(t->plan);
    snprintf(it->subject.kernel, sizeof it->subject.kernel, "%s", heed_plan_name(t->plan));
    assert_int_equal(ablate_find_cases(&it->run, &it->subject), HEED_OK);
}

static void forget(told *it)
{
    ablate_subject_free(&it->subject);
}

static const ablate_case *find(const told *it, const char *name)
{
    for (size_t i = 0; i < it->subject.count; i++)
        if (strcmp(it->subject.cases[i].it->name, name) == 0)
            return &it->subject.cases[i];
    return NULL;
}

/* Launches what the trial plans with @plan in its place, which is given back. */
static fake_launch launch_of(trial *t, heed_plan *plan)
{
    heed_plan *own = t->plan;
    t->plan = plan;
    assert_int_equal(trial_execute(t, &t->buffers), 1);
    t->plan = own;
    heed_plan_destroy(plan);
    return trial_launches[0];
}

static void test_found(void **state)
{
    static const char *const there[] = { "no-exp",        "no-products", "no-loads",   "divergent",
                                         "extra-barrier", "strided",     "unswizzled", "no-overlap",
                                         "over-unrolled", "tiny-blocks" };
    trial t = trial_make(PLAIN);
    told all, some;
    tell(&all, &t, NULL);
    tell(&some, &t, "no-exp,strided");
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (!find(&all, there[i]))
            fail_msg("no %s for %s", there[i], all.subject.kernel);
    assert_null(find(&all, LAB_ABLATE_ONE_THREAD));
    assert_null(find(&all, "masked"));
    assert_non_null(strstr(all.subject.without, "masked"));
    assert_int_equal(some.subject.count, 2);
    assert_string_not_equal(find(&all, "tiny-blocks")->kernel, all.subject.kernel);
    forget(&all);
    forget(&some);
    trial_end(&t);
}

static void test_launched_alike(void **state)
{
    trial t = trial_make(PLAIN);
    told it;
    heed_plan *plan;
    tell(&it, &t, NULL);
    assert_int_equal(ablate_plan_intact(&it.run, &it.subject, &plan), HEED_OK);
    fake_launch intact = launch_of(&t, plan);
    assert_int_equal(ablate_plan_delayed(&it.run, &it.subject, 0.05, &plan), HEED_OK);
    assert_memory_equal(launch_of(&t, plan).grid, intact.grid, sizeof intact.grid);
    for (size_t i = 0; i < it.subject.count; i++) {
        const ablate_case *what = &it.subject.cases[i];
        bool config = strcmp(what->kernel, it.subject.kernel) != 0;
        assert_int_equal(ablate_plan(&it.run, &it.subject, what, &plan), HEED_OK);
        fake_launch made = launch_of(&t, plan);
        assert_int_equal(memcmp(made.grid, intact.grid, sizeof made.grid) == 0, !config);
        if (!config)
            assert_int_equal(made.smem, intact.smem);
    }
    forget(&it);
    trial_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_found, scene_reset, scene_check),
        cmocka_unit_test_setup_teardown(test_launched_alike, scene_reset, scene_check),
    };
    if (!scene_begin())
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
