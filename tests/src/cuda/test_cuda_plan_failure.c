/*
 * test_cuda_plan_failure.c - plans for a CUDA device, and executions, that are invalid or fail
 * partway (fake_cuda.h)
 */
#include "run_tests.h"

#include <stdio.h>

#include "cuda_trial.h"
#include "device.h"
#include "expect.h"
#include "internal.h"

/* Puts @pointer into each field one after another; @extra is another word that the message must
 * have. */
static void expect_refusals(const trial *t, void *pointer, const char *extra)
{
    static const char *const names[] = { "q", "k", "v", "o", "lse", "workspace" };
    for (int i = 0; i < 6; i++) {
        heed_buffers bad = t->buffers;
        const void **fields[] = { &bad.q,
                                  &bad.k,
                                  &bad.v,
                                  (const void **)&bad.o,
                                  (const void **)&bad.lse,
                                  (const void **)&bad.workspace };
        char start[32];
        snprintf(start, sizeof start, "%s is 0x", names[i]);
        const char *const words[] = { start, extra, "cuda:0", NULL };
        *fields[i] = pointer;
        trial_launch_count = 0;
        assert_true(is_refused(names[i], heed_execute(t->plan, &bad), HEED_ERR_INVALID, words));
        assert_int_equal(trial_launch_count, 0);
        assert_int_equal(fake->depth, 0);
    }
}

static void test_host_pointers(void **state)
{
    static _Alignas(HEED_ALIGNMENT) char host[64];
    trial t = trial_make(DECODING);
    expect_refusals(&t, host, "host memory");
    fake->pin(host, sizeof host); /* accessible from the device */
    heed_buffers pinned = t.buffers;
    pinned.lse = (float *)(void *)host;
    assert_int_equal(trial_execute(&t, &pinned), 1);
    fake->pin(host, 0);
    trial_end(&t);
}

/* A plan for one device, executed with memory of another. */
static void test_another_device(void **state)
{
    trial t = trial_make(DECODING);
    heed_context *other = scene_open("cuda:1");
    void *memory = trial_room(other, 64);
    expect_refusals(&t, memory, "memory of cuda:1");
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    heed_device_free(other, memory);
    heed_context_destroy(other);
    trial_end(&t);
}

static void test_odd_addresses(void **state)
{
    static const char *const odd[] = { "k is 0x", "aligned to its element, 2 bytes", NULL };
    static const char *const half[] = { "workspace is 0x", "aligned to 64 bytes", NULL };
    trial t = trial_make(DECODING);
    heed_buffers bad = t.buffers;
    bad.k = (const char *)bad.k + 1;
    assert_true(is_refused("k", heed_execute(t.plan, &bad), HEED_ERR_INVALID, odd));
    bad = t.buffers;
    bad.workspace = (char *)bad.workspace + 32;
    assert_true(is_refused("workspace", heed_execute(t.plan, &bad), HEED_ERR_INVALID, half));
    trial_end(&t);
}

static void test_compile_error(void **state)
{
    static const char *const words[] = { "attn_mma.cu does not compile for sm_90",
                                         "line 3: error: no such thing", "log", NULL };
    heed_context *context = scene_open("cuda");
    heed_problem problem = parsed(PLAIN);
    heed_plan *plan = NULL;
    fake->compile_error = "a warning\nline 3: error: no such thing\nanother";
    assert_true(is_refused("a plan", heed_plan_create(&plan, context, &problem, HEED_ESTIMATE),
                           HEED_ERR_DEVICE, words));
    assert_null(plan);
    fake->compile_error = NULL;
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_OK);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* No CUDA kernel supports sizes that do not fit 32 bits. */
static void test_too_large(void **state)
{
    static const char *const words[] = { "no kernel", "fwd_any_sm80_naive", "than 32 bits count",
                                         NULL };
    static const char *const specs[] = { "b1 h1 s8/2147483648 d1 f16", "b65536 h32768 s1 d1 f16",
                                         "b1 h1 s2147483648/8 d1 f32" };
    heed_context *context = scene_open("cuda");
    for (int i = 0; i < 3; i++) {
        heed_problem problem = parsed(specs[i]);
        heed_plan *plan;
        assert_true(is_refused(specs[i], heed_plan_create(&plan, context, &problem, HEED_ESTIMATE),
                               HEED_ERR_UNSUPPORTED, words));
        assert_null(plan);
    }
    heed_context_destroy(context);
}

/* Too little memory for the tensors of measurements, for code, for a launch. */
static void test_too_little_memory(void **state)
{
    static const char *const words[] = { "bytes", "cuda:0", "out of memory", NULL };
    static const char *const launch[] = { "launching heed_attend", "out of memory", NULL };
    trial t = trial_make(PLAIN);
    heed_problem problem = parsed(PLAIN);
    heed_plan *plan = NULL;
    fake->memory = fake->used + (1 << 20);
    assert_true(is_refused("measuring", heed_plan_create(&plan, t.context, &problem, HEED_MEASURE),
                           HEED_ERR_NO_MEMORY, words));
    assert_null(plan);
    problem = parsed("b2 h4 s1024 d128 f16");
    scene_fail_at("cuModuleLoadDataEx", 1, 2);
    assert_int_equal(heed_plan_create(&plan, t.context, &problem, HEED_ESTIMATE),
                     HEED_ERR_NO_MEMORY);
    assert_null(plan);
    scene_fail_at("cuLaunchKernelEx", 1, 2);
    assert_true(
        is_refused("a launch", heed_execute(t.plan, &t.buffers), HEED_ERR_NO_MEMORY, launch));
    scene_fail_at(NULL, 0, 0);
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    trial_end(&t);
}

/* Makes a plan that uses every feature, and executes it once. */
static heed_status lead_life(heed_context *context, const heed_problem *problem,
                             const heed_buffers *buffers)
{
    heed_plan *plan;
    heed_status status = heed_plan_create(&plan, context, problem, HEED_ESTIMATE);
    if (status == HEED_OK)
        status = heed_execute(plan, buffers);
    heed_plan_destroy(plan);
    return status;
}

/* Every driver call fails once: nothing leaks, and the next plan works. */
static void test_every_call_fails_once(void **state)
{
    static const char *const counters[] = { "allocating", "bytes on cuda:0", "out of memory",
                                            NULL };
    trial t = trial_make(DECODING);
    heed_problem problem = parsed(DECODING);
    int blocks = fake->blocks, modules = fake->modules, failures = 0;
    scene_fail_at(NULL, 0, 0);
    assert_int_equal(lead_life(t.context, &problem, &t.buffers), HEED_OK);
    int calls = fake->calls;
    assert_true(calls > 20);
    for (int call = 1; call <= calls; call++) {
        scene_fail_at(NULL, call, 2);
        heed_status status = lead_life(t.context, &problem, &t.buffers);
        if (status != HEED_OK)
            assert_int_equal(status, HEED_ERR_NO_MEMORY);
        failures += status != HEED_OK;
        assert_int_equal(fake->depth, 0);
        /* calls that release something may fail silently, without releasing it */
        if (status != HEED_OK) {
            assert_int_equal(fake->blocks, blocks);
            assert_int_equal(fake->modules, modules);
        }
        blocks = fake->blocks;
        modules = fake->modules;
    }
    assert_true(failures > calls / 2);
    scene_fail_at("cuMemAlloc", 1, 2);
    assert_true(is_refused("the counters", lead_life(t.context, &problem, &t.buffers),
                           HEED_ERR_NO_MEMORY, counters));
    scene_fail_at("cuMemsetD8Async", 1, 2);
    assert_int_equal(lead_life(t.context, &problem, &t.buffers), HEED_ERR_NO_MEMORY);
    scene_fail_at(NULL, 0, 0);
    assert_int_equal(lead_life(t.context, &problem, &t.buffers), HEED_OK);
    trial_end(&t);
    fake->renew();
}

/* Trials have operands in device memory, so pointers that are refused elsewhere are not used. */
static void test_measure_changed_logits(void **state)
{
    heed_context *context = scene_open("cuda");
    heed_problem problem = parsed("b1 h2 s64 d64 f16 alibi bias=f32:hq shown=bits:q sinks "
                                  "array=t:i32:64 visible=t[q]==t[k]");
    heed_plan *plan = NULL;
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_MEASURE), HEED_OK);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* If the device is lost during planning, this is reported, not a lack of memory. */
static void test_lost_while_measuring(void **state)
{
    heed_context *context = scene_open("cuda");
    heed_problem problem = parsed(PLAIN);
    heed_plan *plan = NULL;
    scene_fail_at("cuMemAlloc", 1, 700);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_MEASURE), HEED_ERR_LOST);
    assert_null(plan);
    scene_fail_at(NULL, 0, 0);
    assert_int_equal(heed_plan_create(&plan, context, &problem, HEED_ESTIMATE), HEED_ERR_LOST);
    heed_context_destroy(context);
    fake->renew();
}

RUN_SCENE_TESTS(scene_begin_uncached, test_host_pointers, test_another_device, test_odd_addresses,
                test_compile_error, test_too_large, test_too_little_memory,
                test_every_call_fails_once, test_measure_changed_logits, test_lost_while_measuring)
