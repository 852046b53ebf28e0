/*
 * measure.h - the clock and the sampler: heed's only timer on the host
 *
 * Both the planner and the laboratory time candidates with it. Statistics of the samples (medians,
 * intervals, verdicts) are computed elsewhere.
 */
#ifndef HEED_MEASURE_H
#define HEED_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

/* heed_clock_ns() returns a monotonic time in nanoseconds. */
int64_t heed_clock_ns(void);

/* One thing to time. A status other than HEED_OK stops the sampling. */
typedef heed_status heed_sample_fn(void *data);

/* How long to sample. */
typedef struct heed_sampling {
    int64_t warmup_ns; /* run untimed for at least this long, and at least once */
    int64_t sample_ns; /* repeat the call within one sample until it lasts this long; 0: every call
                          is a sample */
    int64_t budget_ns; /* take samples until this long has passed ... */
    int samples_min;   /* ... but at least this many ... */
    int samples_max;   /* ... and at most this many, which is also the room in the array */
} heed_sampling;

/* heed_sample() times fn(data) and writes seconds per call to @seconds, *@count of them. Returns
 * the status of fn; on failure @seconds has the samples taken so far. */
heed_status heed_sample(heed_sample_fn *fn, void *data, const heed_sampling *sampling,
                        double *seconds, int *count);

/* heed_context_stop() sets a callback that may end long calls with @context: a heed_plan_create()
 * that measures calls it, from any thread, before each execution, and on a CPU before each task of
 * an execution. Once it returns true, the call returns HEED_ERR_SYSTEM and adds no wisdom for that
 * problem. NULL: no callback. */
typedef bool heed_stop_fn(void);
void heed_context_stop(heed_context *context, heed_stop_fn *stop);

/* heed_context_stopped() returns the result of that callback. */
bool heed_context_stopped(const heed_context *context);

#endif /* HEED_MEASURE_H */
