/*
 * replay.c - calls captured into a graph, and timed by the device
 */
#include <stdlib.h>

#include "handle.h"

/* heed_replay.captured */
typedef struct recording {
    cu_stream *stream; /* separate, not ordered with the default one */
    cu_event *start;
    cu_event *stop;
    cu_graph_exec *exec;
} recording;

static int make_capture(const heed_driver *driver, recording *capture)
{
    int result = driver->stream_create(&capture->stream, CU_STREAM_APART);
    if (result == CU_SUCCESS)
        result = driver->event_create(&capture->start, 0);
    if (result == CU_SUCCESS)
        result = driver->event_create(&capture->stop, 0);
    return result;
}

/* Captures the work on the stream. The capture ends even if the work fails. */
static heed_status take_notes(const heed_replay *replay, heed_cuda *cuda, recording *capture,
                              cu_graph **graph)
{
    const heed_driver *driver = cuda->driver;
    int result = driver->capture_begin(capture->stream, CU_CAPTURE_THREAD_LOCAL);
    heed_status status = heed_cuda_result(cuda, result, "beginning to capture a stream");
    if (status != HEED_OK)
        return status;
    for (int i = 0; i < replay->calls && status == HEED_OK; i++)
        status = replay->work(replay->data, i, capture->stream);
    result = driver->capture_end(capture->stream, graph);
    return status == HEED_OK ? heed_cuda_result(cuda, result, "capturing a stream") : status;
}

static heed_status make_graph(const heed_replay *replay, heed_cuda *cuda, recording *capture)
{
    const heed_driver *driver = cuda->driver;
    cu_graph *graph = NULL;
    heed_status status = take_notes(replay, cuda, capture, &graph);
    if (status == HEED_OK) {
        int result = driver->graph_instantiate(&capture->exec, graph, 0);
        if (result == CU_SUCCESS)
            result = driver->graph_upload(capture->exec, capture->stream);
        if (result == CU_SUCCESS)
            result = driver->stream_wait(capture->stream);
        status = heed_cuda_result(cuda, result, "making a graph of a captured stream");
    }
    if (graph)
        driver->graph_destroy(graph);
    return status;
}

heed_status heed_cuda_replay_create(heed_replay *replay, heed_cuda *cuda)
{
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    recording *made = calloc(1, sizeof *made);
    replay->captured = made;
    if (!made) {
        status = heed_fail(HEED_ERR_NO_MEMORY, "no memory for a replay");
    } else {
        status = heed_cuda_result(cuda, make_capture(cuda->driver, made),
                                  "making a stream and its timers");
        if (status == HEED_OK)
            status = make_graph(replay, cuda, made);
        if (status != HEED_OK)
            heed_cuda_replay_destroy(replay, cuda);
    }
    heed_cuda_leave(cuda);
    return status;
}

static int launch(const heed_driver *driver, const recording *capture, int times)
{
    int result = CU_SUCCESS;
    for (int i = 0; i < times && result == CU_SUCCESS; i++)
        result = driver->graph_launch(capture->exec, capture->stream);
    return result;
}

heed_status heed_cuda_replay_repeat(heed_replay *replay, heed_cuda *cuda, int warmup, int runs,
                                    double *seconds)
{
    const heed_driver *driver = cuda->driver;
    const recording *capture = replay->captured;
    float milliseconds = 0;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    int result = launch(driver, capture, warmup);
    if (result == CU_SUCCESS)
        result = driver->event_record(capture->start, capture->stream);
    if (result == CU_SUCCESS)
        result = launch(driver, capture, runs);
    if (result == CU_SUCCESS)
        result = driver->event_record(capture->stop, capture->stream);
    if (result == CU_SUCCESS)
        result = driver->event_wait(capture->stop);
    if (result == CU_SUCCESS)
        result = driver->event_elapsed(&milliseconds, capture->start, capture->stop);
    status = heed_cuda_result(cuda, result, "replaying a graph");
    heed_cuda_leave(cuda);
    *seconds = (double)milliseconds * 1e-3 / ((double)replay->calls * runs);
    return status;
}

heed_status heed_cuda_replay_start(heed_replay *replay, heed_cuda *cuda, void *stream)
{
    const recording *capture = replay->captured;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    int result = cuda->driver->graph_launch(capture->exec, stream);
    status = heed_cuda_result(cuda, result, "launching a graph");
    heed_cuda_leave(cuda);
    return status;
}

/* Nothing is freed on a lost device: it is lost with it. */
void heed_cuda_replay_destroy(heed_replay *replay, heed_cuda *cuda)
{
    const heed_driver *driver = cuda->driver;
    recording *capture = replay->captured;
    replay->captured = NULL;
    if (!capture)
        return;
    if (heed_cuda_enter(cuda) == HEED_OK) {
        if (capture->exec)
            driver->graph_exec_destroy(capture->exec);
        if (capture->stop)
            driver->event_destroy(capture->stop);
        if (capture->start)
            driver->event_destroy(capture->start);
        if (capture->stream)
            driver->stream_destroy(capture->stream);
        heed_cuda_leave(cuda);
    }
    free(capture);
}
