/*
 * device.h - memory and timing on the device of a context
 *
 * The planner and the laboratory run kernels with these functions, which are the same for every
 * backend: on a CPU they use host memory and the clock, on a CUDA device its memory and its timers.
 */
#ifndef HEED_DEVICE_H
#define HEED_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* heed_device_parse() reads "cpu", "cuda" or "cuda:N". *@ordinal is that of the GPU, -1 for the
 * CPU. Returns false for any other text. */
bool heed_device_parse(const char *text, int *ordinal);

/* heed_device_allocate() allocates @size bytes, aligned to 256, on the device of @context. Returns
 * HEED_OK; HEED_ERR_NO_MEMORY; HEED_ERR_LOST. heed_device_free() frees them; NULL is ignored. */
heed_status heed_device_allocate(heed_context *context, size_t size, void **memory);
void heed_device_free(heed_context *context, void *memory);

/* heed_device_upload() copies @size bytes from host memory to the device, heed_device_download()
 * from the device to host memory. They return when the copy is complete, and run after all work
 * started earlier on the default stream. */
heed_status heed_device_upload(heed_context *context, void *to, const void *from, size_t size);
heed_status heed_device_download(heed_context *context, void *to, const void *from, size_t size);

/* heed_device_reserve() is like heed_device_allocate(), but the memory is between two unmapped
 * guard regions (walls), so an access just outside of it is an error: its last byte is just before
 * the upper wall if @at_end, else its first byte is just after the lower wall.
 * heed_device_release() frees @memory that was reserved with @size. */
heed_status heed_device_reserve(heed_context *context, size_t size, bool at_end, void **memory);
void heed_device_release(heed_context *context, void *memory, size_t size);

/* heed_device_wait() waits for all work on the device and returns its status. */
heed_status heed_device_wait(heed_context *context);

/* heed_device_is_host() returns true if the device of @context is the CPU: its memory is the host's
 * and heed_execute() returns when the work is done. */
bool heed_device_is_host(const heed_context *context);

/* heed_device_cache() returns the size of the last-level cache in bytes; 0: unknown. */
size_t heed_device_cache(const heed_context *context);

/* heed_device_memory() returns the device's memory in bytes; 0: unknown. */
size_t heed_device_memory(const heed_context *context);

/* heed_device_arch() returns the compute capability, 10 * major + minor; 0 for a CPU. */
int heed_device_arch(const heed_context *context);

/* heed_device_features() writes the features that code for the device depends on to @text, as in
 * wisdom: "avx512", or architecture, driver and compiler. */
void heed_device_features(const heed_context *context, char text[32]);

/* Peak rates of a device according to its data sheet; zeros where unknown, as for a CPU. */
typedef struct heed_device_limits {
    int multiprocessors;
    double clock_hz;  /* maximum clock of the multiprocessors */
    double bandwidth; /* of memory, bytes per second */
} heed_device_limits;
heed_device_limits heed_device_get_limits(const heed_context *context);

/* The current state of a device. An unknown figure is -1, an unknown text empty. */
typedef struct heed_device_state {
    double sm_clock_hz;
    double memory_clock_hz;
    double power_w;
    double temperature_c;
    char throttle[160];  /* the reasons for low clocks, such as "power cap, thermal"; "none" */
    int other_processes; /* that also compute on it */
} heed_device_state;

/* heed_device_read_state() queries the device's management library (NVML), which takes
 * milliseconds. Returns false, with all figures unknown, for a CPU and where there is no such
 * library. */
bool heed_device_read_state(heed_context *context, heed_device_state *state);

/* Starts the @index-th execution of some work on @stream, as heed_execute() does. */
typedef heed_status heed_work_fn(void *data, int index, void *stream);

/* Several executions of some work in sequence, timed as a whole. On a CUDA device they are captured
 * into a graph, so the time does not include the host's part. */
typedef struct heed_replay {
    heed_context *context;
    heed_work_fn *work;
    void *data;
    int calls;
    void *captured; /* the backend's */
} heed_replay;

/* heed_replay_create() prepares @calls executions, work(data, 0 .. calls - 1, stream). @data must
 * outlive the replay. Returns HEED_OK, or what the work or the device returned. */
heed_status heed_replay_create(heed_replay *replay, heed_context *context, heed_work_fn *work,
                               void *data, int calls);

/* heed_replay_run() runs them all, waits, and writes the seconds per call to *@seconds. */
heed_status heed_replay_run(heed_replay *replay, double *seconds);

/* heed_replay_repeat() runs them all @warmup times and then @runs times, without waiting in
 * between, and writes the seconds per call of the latter. The warm-up keeps the device busy while
 * the host starts the timed runs. */
heed_status heed_replay_repeat(heed_replay *replay, int warmup, int runs, double *seconds);

/* heed_replay_destroy() frees it; a zeroed one is ignored. */
void heed_replay_destroy(heed_replay *replay);

/* The launch configuration of a plan's kernel, with tensors that begin at multiples of 16 bytes. */
typedef struct heed_device_launch {
    int64_t blocks;
    int threads;  /* per block */
    int64_t smem; /* dynamic shared memory per block, bytes */
    int resident; /* blocks resident on a multiprocessor; 0: unknown */
} heed_device_launch;

/* heed_device_launch_of() returns the launch configuration of @plan; zeros on a CPU. */
heed_device_launch heed_device_launch_of(const heed_plan *plan);

/* When a call ran: seconds since the first call of the sequence began on the host, and since the
 * device began the first call's work. On a CPU both are the same. */
typedef struct heed_call_times {
    double host_start;
    double host_end; /* it has returned */
    double device_start;
    double device_end; /* its work is done */
} heed_call_times;

/* heed_device_timeline() starts @calls calls, work(data, 0 .. calls - 1, stream), back to back on a
 * separate stream, waits, and writes the times of each to @times. The device's timers before and
 * after each call keep calls from overlapping there. Returns HEED_OK, HEED_ERR_INVALID for no call,
 * HEED_ERR_NO_MEMORY, or what the work or the device returned. */
heed_status heed_device_timeline(heed_context *context, heed_work_fn *work, void *data, int calls,
                                 heed_call_times *times);

/* plan.c: checks whether planning would consider the kernel and config @name for @problem. Returns
 * HEED_ERR_UNSUPPORTED, with a message, if they can run it but are not worthwhile; else HEED_OK.
 * Compiles nothing. */
heed_status heed_plan_considers_named(const heed_context *context, const heed_problem *problem,
                                      const char *name);

#endif /* HEED_DEVICE_H */
