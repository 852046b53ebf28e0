/*
 * device.h - memory and timing on the device of a context
 *
 * The means of the planner and the laboratory to run kernels by themselves, the same for every
 * backend: on a CPU it is host memory and the clock, on a CUDA device its memory and its own
 * timers.
 */
#ifndef HEED_DEVICE_H
#define HEED_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* heed_device_allocate() makes room for @size bytes, aligned to 256, on the device of @context.
 * Returns HEED_OK; HEED_ERR_NO_MEMORY; HEED_ERR_LOST. heed_device_free() gives it back; NULL is
 * ignored. */
heed_status heed_device_allocate(heed_context *context, size_t size, void **memory);
void heed_device_free(heed_context *context, void *memory);

/* heed_device_upload() copies @size bytes from host memory to the device, heed_device_download()
 * from the device to host memory. They return when that is done, and come after all work that was
 * started before on the default stream. */
heed_status heed_device_upload(heed_context *context, void *to, const void *from, size_t size);
heed_status heed_device_download(heed_context *context, void *to, const void *from, size_t size);

/* heed_device_reserve() is like heed_device_allocate(), but the memory lies between two walls that
 * nothing is mapped to, so that an access just outside is an error: its last byte is the one before
 * the upper wall if @at_end, else its first byte the one after the lower wall.
 * heed_device_release() gives back @memory that was reserved with @size. */
heed_status heed_device_reserve(heed_context *context, size_t size, bool at_end, void **memory);
void heed_device_release(heed_context *context, void *memory, size_t size);

/* heed_device_wait() waits for all work of the device and returns how it went. */
heed_status heed_device_wait(heed_context *context);

/* heed_device_is_host() says whether the device of @context is the CPU: its memory is the host's
 * and heed_execute() returns when the work is done. */
bool heed_device_is_host(const heed_context *context);

/* heed_device_cache() returns the bytes of the last cache before memory; 0: not known. */
size_t heed_device_cache(const heed_context *context);

/* heed_device_memory() returns the bytes of memory of the device; 0: not known. */
size_t heed_device_memory(const heed_context *context);

/* heed_device_arch() returns the compute capability, 10 * major + minor; 0 for a CPU. */
int heed_device_arch(const heed_context *context);

/* heed_device_features() writes what code for the device depends on, as wisdom has it, to @text:
 * "avx512", or architecture, driver and compiler. */
void heed_device_features(const heed_context *context, char text[32]);

/* The most that a device can do, by its data sheet; zeros where that is not known, as for a CPU. */
typedef struct heed_device_limits {
    int multiprocessors;
    double clock_hz;  /* of the multiprocessors at their fastest */
    double bandwidth; /* of memory, bytes per second */
} heed_device_limits;
heed_device_limits heed_device_get_limits(const heed_context *context);

/* How a device is at the moment. A figure that it does not tell is -1, or an empty text. */
typedef struct heed_device_state {
    double sm_clock_hz;
    double memory_clock_hz;
    double power_w;
    double temperature_c;
    char throttle[160];  /* the reasons for low clocks, such as "power cap, thermal"; "none" */
    int other_processes; /* that compute on it too */
} heed_device_state;

/* heed_device_read_state() asks the management library of the device, which takes milliseconds.
 * Returns false, with all figures unknown, for a CPU and where there is no such library. */
bool heed_device_read_state(heed_context *context, heed_device_state *state);

/* Starts the @index-th execution of some work on @stream, as heed_execute() does. */
typedef heed_status heed_work_fn(void *data, int index, void *stream);

/* Several executions of some work one after another, to be timed as a whole. On a CUDA device they
 * are captured into a graph, so that the host's part is not in the time. */
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

/* heed_replay_repeat() runs them all @warmup times and then @runs times, without a wait between,
 * and writes the seconds per call of the latter. With a warm-up a device is never idle while the
 * host starts what is timed. */
heed_status heed_replay_repeat(heed_replay *replay, int warmup, int runs, double *seconds);

/* heed_replay_destroy() frees it; a zeroed one is ignored. */
void heed_replay_destroy(heed_replay *replay);

/* The launches of an execution of a plan, with tensors that begin at multiples of 16 bytes. */
typedef struct heed_device_launch {
    int64_t blocks;
    int threads;  /* per block */
    int64_t smem; /* dynamic shared memory per block, bytes */
    int resident; /* blocks that a multiprocessor holds at a time; 0: not known */
} heed_device_launch;

/* heed_device_launch_of() returns that of @plan; zeros on a CPU. */
heed_device_launch heed_device_launch_of(const heed_plan *plan);

/* When a call ran: seconds since the first of its sequence began on the host, and since the
 * device came to the first one's work. On a CPU both are the same. */
typedef struct heed_call_times {
    double host_start;
    double host_end; /* it has returned */
    double device_start;
    double device_end; /* its work is done */
} heed_call_times;

/* heed_device_timeline() starts @calls calls, work(data, 0 .. calls - 1, stream), one right after
 * another on a stream of its own, waits, and writes when each ran to @times. The device's own
 * timers before and after each call keep calls from overlapping there. Returns HEED_OK,
 * HEED_ERR_INVALID for no call, HEED_ERR_NO_MEMORY, or what the work or the device returned. */
heed_status heed_device_timeline(heed_context *context, heed_work_fn *work, void *data, int calls,
                                 heed_call_times *times);

/* plan.c: would planning look at the kernel and config @name for @problem? HEED_ERR_UNSUPPORTED,
 * with a message, where they can run it and it would not, as they are not worthwhile; else HEED_OK.
 * Compiles nothing. */
heed_status heed_plan_considers_named(const heed_context *context, const heed_problem *problem,
                                      const char *name);

#endif /* HEED_DEVICE_H */
