/*
 * observe.c - blocks per multiprocessor of a launch, and a timeline of calls
 */
#include <stdlib.h>

#include "handle.h"

int heed_cuda_resident(heed_cuda *cuda, const heed_cuda_function *function, unsigned threads,
                       size_t smem)
{
    const heed_driver *driver = cuda->driver;
    int blocks = 0;
    if (heed_cuda_enter(cuda) != HEED_OK)
        return 0;
    if (driver->occupancy(&blocks, heed_cuda_function_handle(function), (int)threads, smem) !=
        CU_SUCCESS)
        blocks = 0;
    heed_cuda_leave(cuda);
    return blocks;
}

/* A stream, and a timer before and after each call. */
typedef struct watch {
    cu_stream *stream; /* separate, not ordered with the default one */
    cu_event **events; /* 2 * calls */
    int made;
} watch;

static int make_watch(const heed_driver *driver, watch *it, int calls)
{
    int result = driver->stream_create(&it->stream, CU_STREAM_APART);
    for (; result == CU_SUCCESS && it->made < 2 * calls; it->made += result == CU_SUCCESS)
        result = driver->event_create(&it->events[it->made], 0);
    return result;
}

static void end_watch(const heed_driver *driver, watch *it)
{
    for (int i = 0; i < it->made; i++)
        driver->event_destroy(it->events[i]);
    if (it->stream)
        driver->stream_destroy(it->stream);
    free(it->events);
}

static heed_status watch_call(heed_cuda *cuda, const watch *it, int index, heed_work_fn *work,
                              void *data)
{
    const heed_driver *driver = cuda->driver;
    int result = driver->event_record(it->events[2 * index], it->stream);
    heed_status status = heed_cuda_result(cuda, result, "starting a timer");
    if (status == HEED_OK)
        status = work(data, index, it->stream);
    if (status != HEED_OK)
        return status;
    result = driver->event_record(it->events[2 * index + 1], it->stream);
    return heed_cuda_result(cuda, result, "stopping a timer");
}

/* Reads the seconds from the first timer to number @event. */
static int read_timer(const heed_driver *driver, const watch *it, int event, double *seconds)
{
    float milliseconds = 0;
    int result = event ? driver->event_elapsed(&milliseconds, it->events[0], it->events[event])
                       : CU_SUCCESS;
    *seconds = (double)milliseconds * 1e-3;
    return result;
}

static int read_timers(const heed_driver *driver, const watch *it, int calls,
                       heed_call_times *times)
{
    int result = driver->event_wait(it->events[2 * calls - 1]);
    for (int i = 0; i < calls && result == CU_SUCCESS; i++) {
        result = read_timer(driver, it, 2 * i, &times[i].device_start);
        if (result == CU_SUCCESS)
            result = read_timer(driver, it, 2 * i + 1, &times[i].device_end);
    }
    return result;
}

heed_status heed_cuda_timeline(heed_cuda *cuda, heed_work_fn *work, void *data, int calls,
                               heed_call_times *times)
{
    const heed_driver *driver = cuda->driver;
    watch it = { .events = calloc((size_t)calls * 2, sizeof *it.events) };
    if (!it.events)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %d timers", 2 * calls);
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK) {
        free(it.events);
        return status;
    }
    status = heed_cuda_result(cuda, make_watch(driver, &it, calls), "making a stream's timers");
    for (int i = 0; i < calls && status == HEED_OK; i++)
        status = watch_call(cuda, &it, i, work, data);
    if (status == HEED_OK)
        status = heed_cuda_result(cuda, read_timers(driver, &it, calls, times),
                                  "reading a stream's timers");
    end_watch(driver, &it);
    heed_cuda_leave(cuda);
    return status;
}
