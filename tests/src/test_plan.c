/*
 * test_plan.c - the planner: its candidates, its choice, and the times that it learns
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "contexts.h"
#include "expect.h"
#include "heed.h"
#include "lab/base/planner.h"
#include "problems.h"
#include "src/device.h"
#include "src/measure.h"
#include "src/wisdom_line.h"

static heed_plan *make_plan(heed_context *context, const char *spec, heed_effort effort)
{
    heed_problem problem = parsed(spec);
    heed_plan *plan = NULL;
    if (heed_plan_create(&plan, context, &problem, effort) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    return plan;
}

/* Returns the candidate that the plan executes; there must be exactly one. */
static heed_candidate chosen_of(const heed_plan *plan)
{
    heed_candidate candidate;
    int count = 0;
    for (size_t i = 0; heed_plan_candidate(plan, i, &candidate) == HEED_OK; i++)
        count += candidate.chosen != 0;
    assert_int_equal(count, 1);
    return lab_plan_chosen(plan);
}

/* -------------------------------------------------------------------------- */
/* Estimate                                                                   */
/* -------------------------------------------------------------------------- */

static const char *const cpus[] = { "scalar", "avx2", "avx512", "avx512bf16", "amx" };

static const char *const specs[] = {
    "b1 h8 s512 d64 f32",         "b1 h8 s512 d64 bf16 causal",       "b1 h1 s1 d64 f16",
    "b1 h32/8 s1/65536 d128 f16", "b2 h3 s77/5 d1/512 f32 causal=br",
};

/* Every kernel is considered once, and the applicable one with the least predicted time is
 * chosen. */
static void expect_good_estimate(const heed_plan *plan)
{
    heed_candidate candidate;
    heed_candidate chosen = chosen_of(plan);
    size_t count = 0;
    assert_string_equal(chosen.name, heed_plan_name(plan));
    assert_null(chosen.rejected);
    for (; heed_plan_candidate(plan, count, &candidate) == HEED_OK; count++) {
        const char *kernel = heed_kernel_name(count);
        assert_memory_equal(candidate.name, kernel, strlen(kernel));
        assert_true(candidate.measured < 0);
        if (candidate.rejected) {
            assert_true(candidate.predicted < 0);
            assert_string_equal(candidate.name, kernel);
        } else {
            assert_true(candidate.predicted >= chosen.predicted);
        }
    }
    assert_null(heed_kernel_name(count));
}

static void test_estimate(void **state)
{
    for (size_t i = 0; i < COUNT(cpus); i++) {
        heed_context *context = host_context_of(2, cpus[i]);
        heed_context *other = host_context_of(2, cpus[i]);
        for (size_t j = 0; j < COUNT(specs); j++) {
            heed_plan *plan = make_plan(context, specs[j], HEED_ESTIMATE);
            heed_plan *again = make_plan(other, specs[j], HEED_ESTIMATE);
            expect_good_estimate(plan);
            assert_string_equal(heed_plan_name(plan), heed_plan_name(again));
            heed_plan_destroy(plan);
            heed_plan_destroy(again);
        }
        heed_context_destroy(context);
        heed_context_destroy(other);
    }
}

/* The problem of a plan is the given one, normalized, whatever the caller later does to the
 * original. */
static void test_problem_is_copied(void **state)
{
    heed_context *context = host_context_of(1, "scalar");
    heed_problem problem = parsed("b2 h4/2 s7 d8 f32 causal=br");
    heed_problem normal;
    heed_plan *plan = NULL;
    problem.scale = 0;
    assert_int_equal(heed_problem_normalize(&normal, &problem), HEED_OK);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    memset(&problem, 0, sizeof problem);
    char wanted[HEED_SPEC_SIZE];
    char got[HEED_SPEC_SIZE];
    heed_problem_print(&normal, wanted, sizeof wanted);
    heed_problem_print(heed_plan_problem(plan), got, sizeof got);
    assert_string_equal(got, wanted);
    assert_true(heed_plan_problem(plan)->scale > 0);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Kernels and configs by name                                                */
/* -------------------------------------------------------------------------- */

/* No two configs of a kernel have the same name. */
static void test_configs_differ(void **state)
{
    for (size_t i = 0; heed_kernel_name(i); i++) {
        char a[HEED_NAME_SIZE];
        char b[HEED_NAME_SIZE];
        for (size_t j = 0; heed_kernel_config(i, j, a, sizeof a) == HEED_OK; j++)
            for (size_t k = 0; k < j && heed_kernel_config(i, k, b, sizeof b) == HEED_OK; k++)
                assert_string_not_equal(a, b);
    }
}

/* Each letter of a config's name has a knob with a distinct name, in the same order. After the last
 * letter there may be knobs that are named only if they differ from their first value. */
static void test_knobs(void **state)
{
    for (size_t i = 0; heed_kernel_name(i); i++) {
        char config[HEED_NAME_SIZE], letter = 0;
        assert_int_equal(heed_kernel_config(i, 0, config, sizeof config), HEED_OK);
        const char *at = strstr(config, "__"), *name;
        at += at ? 2 : 0;
        for (size_t j = 0; (name = heed_kernel_knob(i, j, &letter)); j++) {
            assert_true(at && (*at == letter || !*at));
            at += *at ? 1 + strspn(at + 1, "0123456789") : 0;
            assert_true(strlen(name) > 3 && heed_kernel_knob(i, j, NULL) == name);
            for (size_t k = 0; k < j; k++)
                assert_string_not_equal(heed_kernel_knob(i, k, NULL), name);
        }
        assert_true(!at || !*at);
    }
    assert_null(heed_kernel_knob(SIZE_MAX, 0, NULL));
    assert_null(heed_kernel_knob(0, SIZE_MAX, NULL));
}

/* Every listed name makes a plan of that name or is refused with a reason. */
static void test_every_config(void **state)
{
    heed_context *context = host_context(2);
    heed_problem problem = parsed("b1 h2 s300 d64 bf16");
    int made = 0;
    for (size_t i = 0; heed_kernel_name(i); i++) {
        char name[HEED_NAME_SIZE];
        for (size_t j = 0; heed_kernel_config(i, j, name, sizeof name) == HEED_OK; j++) {
            heed_plan *plan = NULL;
            heed_status status = heed_plan_create_named(&plan, context, &problem, name);
            if (status == HEED_OK) {
                assert_string_equal(heed_plan_name(plan), name);
                assert_string_equal(chosen_of(plan).name, name);
                made++;
            } else {
                assert_int_equal(status, HEED_ERR_UNSUPPORTED);
                assert_non_null(strstr(heed_message(), heed_kernel_name(i)));
            }
            heed_plan_destroy(plan);
        }
    }
    assert_true(made > 0);
    heed_context_destroy(context);
}

/* Buffers for a small problem; Q, K and V are drawn by position. */
#define ELEMENTS 60000

typedef struct tensors {
    float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], o[ELEMENTS];
} tensors;

static void draw(tensors *all)
{
    for (int i = 0; i < ELEMENTS; i++) {
        all->q[i] = (float)(i * 37 % 101) / 50 - 1;
        all->k[i] = (float)(i * 53 % 103) / 51 - 1;
        all->v[i] = (float)(i * 71 % 107) / 53 - 1;
    }
}

static void execute(const heed_plan *plan, tensors *all)
{
    memset(all->o, 0xff, sizeof all->o);
    host_execute(plan, (heed_buffers){ .q = all->q, .k = all->k, .v = all->v, .o = all->o });
}

/* Counts in *@unworthy the configs that planning would not choose; all results must be close to
 * @right. */
static void expect_right(heed_context *context, const char *spec, const float *right,
                         size_t outputs, tensors *all, int *unworthy)
{
    char name[HEED_NAME_SIZE], text[8192];
    heed_problem problem = parsed(spec);
    for (size_t i = 0; heed_kernel_name(i); i++)
        for (size_t j = 0; heed_kernel_config(i, j, name, sizeof name) == HEED_OK; j++) {
            heed_plan *plan = NULL;
            if (heed_plan_create_named(&plan, context, &problem, name) != HEED_OK) {
                assert_null(strstr(heed_message(), "worthwhile"));
                continue;
            }
            heed_candidate chosen = chosen_of(plan);
            bool slow = chosen.rejected && strncmp(chosen.rejected, "not worthwhile: ", 16) == 0;
            *unworthy += slow;
            assert_true(slow || !chosen.rejected);
            heed_plan_explain(plan, text, sizeof text);
            assert_true((strstr(text, "by name: not worthwhile: ") != NULL) == slow);
            execute(plan, all);
            for (size_t e = 0; e < outputs; e++)
                if (!(fabsf(all->o[e] - right[e]) < 1e-5f))
                    fail_msg("%s for %s: element %zu is %g, not %g", name, spec, e,
                             (double)all->o[e], (double)right[e]);
            heed_plan_destroy(plan);
        }
}

/* A config that planning would not choose runs if it is requested by name, and its result is right:
 * keys split although there are enough blocks, or into more parts than there are tiles. */
static void test_not_worthwhile_but_right(void **state)
{
    static const char *const all_specs[] = { "b2 h3 s300/150 d16 f32", "b1 h2 s9/1 d16 f32",
                                             "b1 h4/2 s40/700 d8/16 f32 causal=br" };
    static tensors all, right;
    heed_context *context = host_context(1);
    for (size_t i = 0; i < COUNT(all_specs); i++) {
        heed_problem problem = parsed(all_specs[i]);
        heed_plan *plan = NULL;
        int unworthy = 0;
        draw(&all);
        draw(&right);
        assert_int_equal(heed_plan_create_named(&plan, context, &problem, "fwd_any_scalar_row__s1"),
                         HEED_OK);
        execute(plan, &right);
        heed_plan_destroy(plan);
        expect_right(context, all_specs[i], right.o,
                     (size_t)(problem.batch * problem.heads_q * problem.seq_q * problem.dim_v),
                     &all, &unworthy);
        assert_true(unworthy > 0);
    }
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Measuring and wisdom                                                       */
/* -------------------------------------------------------------------------- */

static void expect_from_wisdom(heed_context *context, const char *spec, heed_effort effort,
                               const char *name)
{
    heed_plan *plan = make_plan(context, spec, effort);
    char text[4096];
    assert_string_equal(heed_plan_name(plan), name);
    assert_true(chosen_of(plan).measured > 0);
    assert_true(heed_plan_explain(plan, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "wisdom"));
    heed_plan_destroy(plan);
}

/* The fastest measured candidate is chosen, and the choice is remembered. */
static void expect_learns(heed_effort effort)
{
    static const char *const spec = "b1 h2 s33 d16 f32";
    heed_context *context = host_context(1);
    heed_problem problem = parsed(spec);
    heed_plan *none = NULL;
    assert_int_equal(heed_plan_create(&none, context, &problem, HEED_WISDOM_ONLY),
                     HEED_ERR_NO_WISDOM);
    heed_plan *plan = make_plan(context, spec, effort);
    heed_candidate candidate;
    heed_candidate chosen = chosen_of(plan);
    assert_true(chosen.measured > 0);
    for (size_t i = 0; heed_plan_candidate(plan, i, &candidate) == HEED_OK; i++)
        assert_true(candidate.measured < 0 || candidate.measured >= chosen.measured);
    for (heed_effort least = HEED_ESTIMATE; least <= effort; least++)
        expect_from_wisdom(context, spec, least, heed_plan_name(plan));
    expect_from_wisdom(context, spec, HEED_WISDOM_ONLY, heed_plan_name(plan));
    heed_plan_destroy(plan);

    heed_wisdom_forget(context);
    assert_int_equal(heed_plan_create(&none, context, &problem, HEED_WISDOM_ONLY),
                     HEED_ERR_NO_WISDOM);
    heed_context_destroy(context);
}

static void test_measure(void **state)
{
    expect_learns(HEED_MEASURE);
}

static void test_patient(void **state)
{
    expect_learns(HEED_PATIENT);
}

/* Trials have the operands and arrays that a problem names. */
static void test_measure_changed_logits(void **state)
{
    heed_context *context = host_context(1);
    heed_plan *plan = make_plan(context,
                                "b2 h2 s33 d16 f32 softcap=9 bias=bf16:bhq alibi sinks starts "
                                "align=tl shown=bytes:q array=t:i32:33 array=w:f32:2x33 "
                                "visible=t[q]==t[k] score=s*w[head,k]",
                                HEED_MEASURE);
    assert_true(chosen_of(plan).measured > 0);
    heed_plan_destroy(plan);
    plan = make_plan(context, "b1 h2 s33 d16 f32 shown=bits:hq", HEED_PATIENT);
    assert_true(chosen_of(plan).measured > 0);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* Trials have the tensors that a problem names, and no others. */
static void test_measure_caches(void **state)
{
    static const char *const caches[] = {
        "b2 h2/1 s3/32 d24/16 bf16 shared",
        "b2 h2/1 s3/32 d24/16 f16 shared causal=br lengths paged=4 prefix=8 append=1 rotary=8",
        "b2 h2 s3/32 d16 f32 causal=br lengths varlen=5/0 append=3:packed",
        "b2 h2 s3/32 d16 f32 varlen=5/40 cu_k=i64",
    };
    heed_context *context = host_context(1);
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        heed_plan *plan = make_plan(context, caches[i], HEED_MEASURE);
        assert_true(chosen_of(plan).measured > 0);
        heed_plan_destroy(plan);
    }
    heed_context_destroy(context);
}

static int64_t stop_at_ns;

static bool is_time(void)
{
    return heed_clock_ns() >= stop_at_ns;
}

/* An execution that would take minutes is cut short, and nothing is learnt from it. */
static void test_stopped_within_a_call(void **state)
{
    heed_context *context = host_context_of(1, "scalar");
    heed_problem problem = parsed("b1 h4 s65536 d128 f32");
    heed_plan *plan = NULL;
    int64_t start = heed_clock_ns();
    stop_at_ns = start + 500000000;
    heed_context_stop(context, is_time);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_PATIENT), HEED_ERR_SYSTEM);
    assert_null(plan);
    assert_non_null(strstr(heed_message(), "interrupted"));
    assert_true(heed_clock_ns() - start < INT64_C(60) * 1000000000);
    heed_context_stop(context, NULL);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_WISDOM_ONLY),
                     HEED_ERR_NO_WISDOM);
    heed_context_destroy(context);
}

/* A problem that needs more memory than can exist does not end the process. */
static void test_too_large_to_measure(void **state)
{
    heed_context *context = host_context(2);
    heed_problem problem = parsed("b1 h32768 s2147483648/1 d1 f32");
    heed_plan *plan = NULL;
    static const char *const words[] = { "memory", NULL };
    assert_true(is_refused("measuring", heed_plan_create(&plan, context, &problem, HEED_MEASURE),
                           HEED_ERR_NO_MEMORY, words));
    assert_null(plan);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Workspace                                                                  */
/* -------------------------------------------------------------------------- */

#define MIB ((size_t)1 << 20)

/* Largest workspace of any kernel in any config that planning may choose. */
static size_t largest_workspace(heed_context *context, const char *spec)
{
    heed_problem problem = parsed(spec);
    size_t largest = 0;
    for (size_t i = 0; heed_kernel_name(i); i++) {
        char name[HEED_NAME_SIZE];
        for (size_t j = 0; heed_kernel_config(i, j, name, sizeof name) == HEED_OK; j++) {
            heed_plan *plan = NULL;
            if (heed_plan_create_named(&plan, context, &problem, name) != HEED_OK)
                continue;
            size_t size = heed_plan_workspace_size(plan);
            largest = !chosen_of(plan).rejected && size > largest ? size : largest;
            heed_plan_destroy(plan);
        }
    }
    return largest;
}

static void test_workspace(void **state)
{
    heed_context *context = host_context(2);
    size_t small = largest_workspace(context, "b1 h8 s4096 d64 f32");
    size_t large = largest_workspace(context, "b1 h8 s65536 d64 f32");
    assert_true(small < 64 * MIB);
    assert_true(large < 64 * MIB);
    assert_true(largest_workspace(context, "b1 h8 s1/65536 d128 f16") < 64 * MIB);
    heed_context_destroy(context);
}

static void never_called(void *pool, void (*body)(void *data, int index), void *data, int count)
{
    (void)body;
    (void)data;
    fail_msg("planning ran %d pieces of %s", count, pool ? "something" : "nothing");
}

/* Extreme problems that can be described; only sizes are computed. */
static void test_extreme_problems(void **state)
{
    const char *const *extremes = WORDS(
        "b2147483648 h1 s1 d1 f32", "b1 h2147483648 s1 d1 bf16", "b1 h2147483648/1 s1 d1 f32",
        "b1 h1 s2147483648 d1 f32", "b1 h1 s1/2147483648 d1024 f32",
        "b1 h1 s2147483648/1 d1024 f16", "b32768 h1 s2147483648 d1 f32",
        "b1 h32768/1 s2147483648 d1 f16 causal", "b1 h1 s2147483648/1 d1 f32 causal=br",
        "b67108864 h1 s1 d1024 bf16");
    static const int threads[] = { 1, 2, 1024 };
    for (size_t i = 0; i < COUNT(threads); i++) {
        heed_options options = { .size = sizeof options,
                                 .threads = threads[i],
                                 .parallel = never_called };
        heed_context *context = NULL;
        assert_int_equal(heed_context_create(&context, &options), HEED_OK);
        for (size_t j = 0; extremes[j]; j++) {
            heed_plan *plan = make_plan(context, extremes[j], HEED_ESTIMATE);
            assert_true(chosen_of(plan).predicted > 0);
            assert_true(heed_plan_workspace_size(plan) < 8 * 1024 * MIB); /* for 1024 threads */
            heed_plan_destroy(plan);
            assert_true(largest_workspace(context, extremes[j]) < SIZE_MAX / 4);
        }
        heed_context_destroy(context);
    }
}

/* Planning does not choose a config that is not worthwhile, but wisdom may name it. */
static void test_not_worthwhile_but_known(void **state)
{
    static const char name[] = "fwd_any_scalar_row__s64";
    heed_context *context;
    heed_plan *plan;
    char text[8192];
    (void)state;
    assert_int_equal(heed_context_create(&context, &(heed_options){ .size = sizeof(heed_options),
                                                                    .device = "cpu" }),
                     HEED_OK);
    heed_problem problem = parsed("b8 h32 s64 d16 f32");
    assert_int_equal(heed_plan_considers_named(context, &problem, "fwd_any_scalar_row__s1"),
                     HEED_OK);
    assert_int_equal(heed_plan_considers_named(context, &problem, name), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "not worthwhile: more splits than key tiles"));
    assert_int_equal(heed_wisdom_learn(context, &problem, name, 1e-3), HEED_OK);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    assert_string_equal(heed_plan_name(plan), name);
    assert_true(heed_plan_explain(plan, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "by wisdom: not worthwhile: "));
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

RUN_TESTS(test_estimate, test_problem_is_copied, test_configs_differ, test_knobs, test_every_config,
          test_not_worthwhile_but_right, test_not_worthwhile_but_known, test_measure, test_patient,
          test_measure_changed_logits, test_measure_caches, test_stopped_within_a_call,
          test_too_large_to_measure, test_workspace, test_extreme_problems)
