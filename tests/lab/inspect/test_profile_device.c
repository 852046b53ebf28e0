/*
 * test_profile_device.c - the resources of a launch, and a timeline of calls (fake_cuda.h)
 */
#include "run_tests.h"

#include "cuda_trial.h"
#include "device.h"
#include "internal.h"

#define CALLS 4

static void test_launch(void **state)
{
    trial t = trial_make(PLAIN);
    heed_device_launch launch = heed_device_launch_of(t.plan);
    assert_int_equal(trial_execute(&t, &t.buffers), 1);
    assert_int_equal(launch.blocks, trial_launches[0].grid[0]);
    assert_int_equal(launch.threads, trial_launches[0].block[0]);
    assert_int_equal(launch.smem, trial_launches[0].smem);
    assert_true(launch.resident > 0);
    /* a driver without this figure is not a failure */
    scene_fail_at("cuOccupancyMaxActiveBlocksPerMultiprocessor", 1, 1);
    assert_int_equal(heed_device_launch_of(t.plan).resident, 0);
    scene_fail_at(NULL, 0, 0);
    trial_end(&t);
}

static void test_timeline(void **state)
{
    scene s = scene_make(0);
    scene_job j = { .scene = &s, .bad_at = -1 };
    heed_call_times times[CALLS];
    assert_int_equal(heed_device_timeline(s.context, scene_do_job, &j, CALLS, times), HEED_OK);
    assert_int_equal(fake->launches, CALLS);
    assert_true(times[0].host_start == 0 && times[0].device_start == 0);
    for (int i = 0; i < CALLS; i++) {
        assert_true(times[i].host_end >= times[i].host_start);
        assert_true(times[i].device_end >= times[i].device_start);
        assert_true(i == 0 || times[i].host_start >= times[i - 1].host_end);
        assert_true(i == 0 || times[i].device_start >= times[i - 1].device_end);
    }
    assert_int_equal(heed_device_timeline(s.context, scene_do_job, &j, 0, times), HEED_ERR_INVALID);
    scene_end(&s);
}

/* Failing work, and a failure of each driver call: all objects are released (scene_check()). */
static void test_failures(void **state)
{
    heed_call_times times[CALLS];
    scene s = scene_make(0);
    scene_job bad = { .scene = &s, .bad_at = 2, .failure = HEED_ERR_UNSUPPORTED };
    assert_int_equal(heed_device_timeline(s.context, scene_do_job, &bad, CALLS, times),
                     HEED_ERR_UNSUPPORTED);
    static const char *const entries[] = { "cuStreamCreate", "cuEventCreate", "cuEventRecord",
                                           "cuEventSynchronize", "cuLaunchKernelEx" };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        scene_job j = { .scene = &s, .bad_at = -1 };
        scene_fail_at(entries[i], 1, 2); /* out of memory */
        assert_int_equal(heed_device_timeline(s.context, scene_do_job, &j, CALLS, times),
                         HEED_ERR_NO_MEMORY);
        scene_fail_at(NULL, 0, 0);
    }
    scene_end(&s);
}

RUN_SCENE_TESTS(scene_begin, test_launch, test_timeline, test_failures)
