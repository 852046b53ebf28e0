/*
 * test_ablate_cuda.c - ablations of CUDA kernels with the fake driver (fake_cuda.h): which ones
 * exist, and that they are launched like the kernel
 */
#include "run_tests.h"

#include <string.h>

#include "cuda/driver/driver.h"
#include "cuda/maps.h"
#include "cuda_trial.h"
#include "device.h"
#include "lab/ablate/ablate.h"
#include "message.h"

/* The parsed command line. */
typedef struct told {
    lab_ablate_run run;
    lab_ablate_subject subject;
} told;

static void tell(told *it, const trial *t, const char *only)
{
    memset(it, 0, sizeof *it);
    it->run = (lab_ablate_run){ .only = only, .bench = { .context = t->context } };
    it->subject.problem = *heed_plan_problem(t->plan);
    snprintf(it->subject.kernel, sizeof it->subject.kernel, "%s", heed_plan_name(t->plan));
    assert_int_equal(lab_ablate_find_cases(&it->run, &it->subject), HEED_OK);
}

static void forget(told *it)
{
    lab_ablate_subject_free(&it->subject);
}

static const lab_ablate_case *find(const told *it, const char *name)
{
    for (size_t i = 0; i < it->subject.count; i++)
        if (strcmp(it->subject.cases[i].it->name, name) == 0)
            return &it->subject.cases[i];
    return NULL;
}

/* Ablations that the kernel cannot have are listed with the reason. */
static void expect_absent(const told *it, const char *name, const char *why)
{
    size_t all = 0;
    while (lab_ablation_at(all))
        all++;
    assert_int_equal(it->subject.count + it->subject.absent_count, all);
    for (size_t i = 0; i < it->subject.absent_count; i++)
        if (strcmp(it->subject.absent[i].it->name, name) == 0) {
            assert_string_equal(it->subject.absent[i].why, why);
            return;
        }
    fail_msg("%s is not listed as impossible for %s", name, it->subject.kernel);
}

/* Executes @plan in place of the trial's plan, destroys it, and returns its launch. */
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
    static const char *const there[] = { "no-exp",     "no-products",   "no-loads",
                                         "divergent",  "extra-barrier", "strided",
                                         "unswizzled", "no-staging",    "no-overlap",
                                         "masked",     "tiny-blocks",   "over-unrolled" };
    trial t = trial_make(PLAIN);
    told all, some;
    tell(&all, &t, NULL);
    tell(&some, &t, "no-exp,strided");
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (!find(&all, there[i]))
            fail_msg("no %s for %s", there[i], all.subject.kernel);
    assert_null(find(&all, LAB_ABLATE_ONE_THREAD));
    expect_absent(&all, LAB_ABLATE_ONE_THREAD, "is for a CPU");
    assert_int_equal(some.subject.absent_count, 0);
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
    assert_int_equal(lab_ablate_plan(&it.run, &it.subject, NULL, &plan), HEED_OK);
    fake_launch intact = launch_of(&t, plan);
    assert_int_equal(lab_ablate_plan_delayed(&it.run, &it.subject, 0.05, &plan), HEED_OK);
    assert_memory_equal(launch_of(&t, plan).grid, intact.grid, sizeof intact.grid);
    for (size_t i = 0; i < it.subject.count; i++) {
        const lab_ablate_case *what = &it.subject.cases[i];
        bool config = strcmp(what->kernel, it.subject.kernel) != 0;
        assert_int_equal(lab_ablate_plan(&it.run, &it.subject, what, &plan), HEED_OK);
        fake_launch made = launch_of(&t, plan);
        assert_int_equal(memcmp(made.grid, intact.grid, sizeof made.grid) == 0, !config);
        if (!config)
            assert_int_equal(made.smem, intact.smem);
    }
    forget(&it);
    trial_end(&t);
}

/* Builds compiled in advance are the ones that would have been compiled on demand: once each,
 * including those that were not requested. */
static void test_compiled_beside(void **state)
{
    trial t = trial_make(PLAIN);
    told it;
    heed_plan *plan;
    tell(&it, &t, NULL);
    it.run.planted = true;
    it.run.pool = lab_ablate_pool_start(t.context, 4);
    assert_non_null(it.run.pool);
    lab_ablate_want_cases(&it.run, &it.subject);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < it.subject.count; i++) {
            assert_int_equal(lab_ablate_plan(&it.run, &it.subject, &it.subject.cases[i], &plan),
                             HEED_OK);
            launch_of(&t, plan);
        }
    lab_ablate_want_delay(&it.run, &it.subject, 0.02);
    static const double shares[] = { 0, 0.02, 0.05 };
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        assert_int_equal(lab_ablate_plan_delayed(&it.run, &it.subject, shares[i], &plan), HEED_OK);
        launch_of(&t, plan);
    }
    lab_ablate_pool_stop(it.run.pool);
    lab_ablate_pool_stop(NULL);
    forget(&it);
    trial_end(&t);
}

/* Each build is stored separately, and once; a source that does not compile reports it each
 * time. */
static void test_builds_apart(void **state)
{
    trial t = trial_make(PLAIN);
    heed_cuda_facts facts;
    const heed_cubin *first, *other, *again;
    lab_ablate_pool *pool = lab_ablate_pool_start(t.context, 2);
    assert_int_equal(heed_cuda_facts_find(heed_plan_name(t.plan), heed_plan_problem(t.plan),
                                          heed_device_arch(t.context), &facts),
                     HEED_OK);
    heed_cuda_facts worse = facts;
    worse.defines[worse.define_count++] = (heed_define){ "HEED_ABLATE", 1 };
    lab_ablate_pool_want(pool, &facts);
    lab_ablate_pool_want(pool, &worse);
    assert_int_equal(lab_ablate_pool_get(pool, &facts, &first), HEED_OK);
    assert_int_equal(lab_ablate_pool_get(pool, &worse, &other), HEED_OK);
    assert_int_equal(lab_ablate_pool_get(pool, &facts, &again), HEED_OK);
    assert_ptr_equal(first, again);
    assert_string_not_equal(first->key, other->key);
    worse.source = "nothing.cu";
    worse.defines[0].value += 1000;
    lab_ablate_pool_want(pool, &worse);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(lab_ablate_pool_get(pool, &worse, &again), HEED_ERR_INVALID);
        assert_non_null(strstr(heed_message(), "nothing.cu"));
    }
    lab_ablate_pool_stop(pool);
    trial_end(&t);
}

/* Columns and swizzle of the map of K in the launch of the ablation @name; "" is the unchanged
 * kernel. */
static fake_map map_of(trial *t, const told *it, const char *name)
{
    heed_plan *plan;
    fake_map seen;
    heed_status status = lab_ablate_plan(&it->run, &it->subject, *name ? find(it, name) : NULL,
                                         &plan);
    if (status != HEED_OK)
        fail_msg("%s: %s", name, heed_message());
    fake_launch launch = launch_of(t, plan);
    memcpy(&seen, launch.kept + offsetof(heed_cuda_mapped_args, k), sizeof seen);
    assert_true(seen.mark == FAKE_MAP_MARK);
    return seen;
}

/* If tiles are stored in narrow panels, copies use narrow boxes. */
static void test_panels(void **state)
{
    static const struct {
        const char *name;
        unsigned columns;
        int swizzle;
    } cases[] = { { "", 64, CU_MAP_SWIZZLE_128 },
                  { "strided", 16, CU_MAP_SWIZZLE_32 },
                  { "unswizzled", 8, CU_MAP_SWIZZLE_NONE },
                  { "no-overlap", 64, CU_MAP_SWIZZLE_128 },
                  { "half-stages", 64, CU_MAP_SWIZZLE_128 } };
    trial t = trial_make(PLAIN);
    told it;
    fake->args_size = sizeof(heed_cuda_mapped_args);
    memset(&it, 0, sizeof it);
    it.run = (lab_ablate_run){ .bench = { .context = t.context } };
    it.subject.problem = *heed_plan_problem(t.plan);
    snprintf(it.subject.kernel, sizeof it.subject.kernel,
             "fwd_16bit_sm90_wgmma__r2k1n128s4o3t2c1g2");
    assert_int_equal(lab_ablate_find_cases(&it.run, &it.subject), HEED_OK);
    expect_absent(&it, "no-staging",
                  "its tensor instruction reads keys and values in shared memory alone");
    expect_absent(&it, "in-order",
                  "its products and softmax are one after the other in this config");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_map seen = map_of(&t, &it, cases[i].name);
        assert_int_equal(seen.box[0], cases[i].columns);
        assert_int_equal(seen.swizzle, cases[i].swizzle);
    }
    forget(&it);
    trial_end(&t);
}

/* A block of the simple kernel has one row per warp; a tiny one has one row. */
static void test_tiny(void **state)
{
    trial t = trial_make(PLAIN);
    told it;
    heed_plan *plan;
    tell(&it, &t, "tiny-blocks");
    forget(&it);
    it.subject.count = it.subject.absent_count = 0;
    snprintf(it.subject.kernel, sizeof it.subject.kernel, "fwd_any_sm80_naive");
    assert_int_equal(lab_ablate_find_cases(&it.run, &it.subject), HEED_OK);
    assert_int_equal(it.subject.count, 1);
    assert_int_equal(lab_ablate_plan(&it.run, &it.subject, NULL, &plan), HEED_OK);
    fake_launch intact = launch_of(&t, plan);
    assert_int_equal(lab_ablate_plan(&it.run, &it.subject, &it.subject.cases[0], &plan), HEED_OK);
    fake_launch tiny = launch_of(&t, plan);
    assert_int_equal(intact.block[0], 4 * tiny.block[0]);
    assert_int_equal(4 * intact.grid[0], tiny.grid[0]);
    forget(&it);
    trial_end(&t);
}

RUN_SCENE_TESTS(scene_begin, test_compiled_beside, test_builds_apart, test_panels, test_tiny,
                test_found, test_launched_alike)
