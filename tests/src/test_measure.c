/*
 * test_measure.c - the clock and the sampler
 */
#include "run_tests.h"

#include <stdint.h>

#include "heed.h"
#include "measure.h"

/* A function to be timed. It counts its calls, takes @ns, and fails from call number @fails_at
 * on. */
typedef struct subject {
    int64_t calls;
    int64_t ns;
    int64_t fails_at;
} subject;

static heed_status run(void *data)
{
    subject *self = data;
    int64_t start = heed_clock_ns();
    if (++self->calls == self->fails_at)
        return HEED_ERR_SYSTEM;
    while (heed_clock_ns() - start < self->ns)
        continue;
    return HEED_OK;
}

static void test_clock(void **state)
{
    int64_t before = heed_clock_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = heed_clock_ns();
        assert_true(now >= before);
        before = now;
    }
}

/* Every call is a sample. There are as many as requested, after at least one untimed call. */
static void test_single_calls(void **state)
{
    double seconds[8] = { 0 };
    int count = -1;
    subject it = { .ns = 1000 };
    heed_sampling sampling = { .samples_min = 5, .samples_max = 8 };
    assert_int_equal(heed_sample(run, &it, &sampling, seconds, &count), HEED_OK);
    assert_int_equal(count, 5);
    assert_true(it.calls >= 6);
    for (int i = 0; i < count; i++)
        assert_true(seconds[i] >= 1e-6);
    assert_true(seconds[5] == 0);
}

static void test_budget_ends_at_the_room(void **state)
{
    double seconds[4] = { 0 };
    int count = -1;
    subject it = { .ns = 0 };
    heed_sampling sampling = { .budget_ns = INT64_MAX / 2, .samples_min = 1, .samples_max = 3 };
    assert_int_equal(heed_sample(run, &it, &sampling, seconds, &count), HEED_OK);
    assert_int_equal(count, 3);
    assert_true(seconds[3] == 0);
}

/* Short calls are repeated within a sample, and the time is per call. Other processes may take the
 * CPU while the sampler estimates the duration, but not ten times in a row. */
static void test_repeats(void **state)
{
    subject it = { .ns = 2000 };
    for (int i = 0; i < 10 && it.calls < 3 * 8; i++) {
        double seconds[3];
        int count = -1;
        it.calls = 0;
        heed_sampling sampling = { .sample_ns = 200000, .samples_min = 3, .samples_max = 3 };
        assert_int_equal(heed_sample(run, &it, &sampling, seconds, &count), HEED_OK);
        assert_int_equal(count, 3);
        for (int j = 0; j < count; j++)
            assert_true(seconds[j] >= 2e-6);
    }
    assert_true(it.calls >= 3 * 8);
}

static void test_warms_up(void **state)
{
    double seconds[1];
    int count = -1;
    subject it = { .ns = 1000 };
    heed_sampling sampling = { .warmup_ns = 3000000, .samples_min = 1, .samples_max = 1 };
    int64_t start = heed_clock_ns();
    assert_int_equal(heed_sample(run, &it, &sampling, seconds, &count), HEED_OK);
    assert_true(heed_clock_ns() - start >= 3000000);
    assert_int_equal(count, 1);
}

/* A failure during warm-up leaves no samples; a later one leaves those before it. */
static void test_failure(void **state)
{
    for (int64_t fails_at = 1; fails_at <= 4; fails_at++) {
        double seconds[8];
        int count = -1;
        subject it = { .fails_at = fails_at };
        heed_sampling sampling = { .samples_min = 8, .samples_max = 8 };
        assert_int_equal(heed_sample(run, &it, &sampling, seconds, &count), HEED_ERR_SYSTEM);
        assert_int_equal(it.calls, fails_at);
        assert_int_equal(count, fails_at < 2 ? 0 : fails_at - 2);
    }
}

RUN_TESTS(test_clock, test_single_calls, test_budget_ends_at_the_room, test_repeats, test_warms_up,
          test_failure)
