/*
 * measure.c - the clock and the sampler
 */
#include "measure.h"

#include <time.h>

int64_t heed_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static heed_status repeat(heed_sample_fn *fn, void *data, int64_t calls)
{
    heed_status status = HEED_OK;
    for (int64_t i = 0; i < calls && status == HEED_OK; i++)
        status = fn(data);
    return status;
}

/* Runs untimed, and finds how many calls make a sample long enough: the count doubles, so that even
 * a call much shorter than the clock's resolution needs few clock reads. */
static heed_status warm_up(heed_sample_fn *fn, void *data, const heed_sampling *sampling,
                           int64_t *calls)
{
    int64_t start = heed_clock_ns();
    *calls = 1;
    for (;;) {
        int64_t before = heed_clock_ns();
        heed_status status = repeat(fn, data, *calls);
        int64_t after = heed_clock_ns();
        if (status != HEED_OK)
            return status;
        if (after - before < sampling->sample_ns && *calls < INT64_MAX / 2)
            *calls *= 2;
        else if (after - start >= sampling->warmup_ns)
            return HEED_OK;
    }
}

heed_status heed_sample(heed_sample_fn *fn, void *data, const heed_sampling *sampling,
                        double *seconds, int *count)
{
    int64_t calls;
    *count = 0;
    heed_status status = warm_up(fn, data, sampling, &calls);
    int64_t start = heed_clock_ns();
    while (status == HEED_OK && *count < sampling->samples_max) {
        int64_t before = heed_clock_ns();
        if (*count >= sampling->samples_min && before - start >= sampling->budget_ns)
            break;
        status = repeat(fn, data, calls);
        if (status == HEED_OK)
            seconds[(*count)++] = (double)(heed_clock_ns() - before) * 1e-9 / (double)calls;
    }
    return status;
}
