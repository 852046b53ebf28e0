/*
 * device.h - a CUDA device: its primary context, the code loaded into it, launches
 *
 * The context is the device's primary one, which the CUDA runtime uses too, so the caller's memory
 * and streams are valid in it. Every function makes it current and restores the previous one. A
 * device that has failed is latched: from then on every function returns HEED_ERR_LOST with the
 * first failure.
 *
 * A heed_cuda may be used by many threads at once.
 */
#ifndef HEED_CUDA_DEVICE_H
#define HEED_CUDA_DEVICE_H

#include <stddef.h>

#include "../../device.h"
#include "cuda/gpu.h"

typedef struct heed_cubin heed_cubin; /* jit.h */

/* heed_cuda_open() retains the primary context of device @ordinal. HEED_ERR_DEVICE if there is no
 * driver or no such device, or it is older than compute capability 8.0. */
heed_status heed_cuda_open(heed_cuda **cuda, int ordinal);
void heed_cuda_close(heed_cuda *cuda);

/* The properties of the device; owned by @cuda. */
const heed_gpu *heed_cuda_gpu(const heed_cuda *cuda);

/* Its PCI bus ID, such as "0000:18:00.0", by which NVML identifies it. */
const char *heed_cuda_bus_id(const heed_cuda *cuda);

/* A function of a loaded module, ready to launch. */
typedef struct heed_cuda_function heed_cuda_function;

/* heed_cuda_load() loads @cubin, unless it is loaded already, and finds its function @name, which
 * may then use @smem bytes of dynamic shared memory. Each load needs one heed_cuda_unload(). */
heed_status heed_cuda_load(heed_cuda *cuda, const heed_cubin *cubin, const char *name, int64_t smem,
                           heed_cuda_function **function);
void heed_cuda_unload(heed_cuda *cuda, heed_cuda_function *function);

/* One launch. */
typedef struct heed_cuda_launch {
    const heed_cuda_function *function;
    unsigned grid[3];
    unsigned threads;   /* per block, along x */
    unsigned smem;      /* dynamic shared memory, bytes */
    const void *args;   /* the kernel's only parameter, a struct */
    bool overlap;       /* may begin before the preceding one in the stream has ended: the kernel
                           waits for it itself (programmatic dependent launch) */
    const void *window; /* memory that should stay in the L2 (heed_cuda_allow_window()), or NULL ...
                         */
    size_t window_size; /* ... and its bytes */
} heed_cuda_launch;

/* heed_cuda_enter() makes the context current, or fails if the device is lost; heed_cuda_leave()
 * undoes it. Between them heed_cuda_start() starts launches on @stream. */
heed_status heed_cuda_enter(heed_cuda *cuda);
void heed_cuda_leave(heed_cuda *cuda);
heed_status heed_cuda_start(heed_cuda *cuda, const heed_cuda_launch *launch, void *stream);

/* heed_cuda_ignore_captures() lets the calling thread, from now on, load code and allocate memory
 * while other threads capture streams, in any mode. It must not capture one itself. */
heed_status heed_cuda_ignore_captures(heed_cuda *cuda);

/* heed_cuda_is_captured() sets *@captured if @stream, the caller's, is being captured. Call it
 * between enter and leave. */
heed_status heed_cuda_is_captured(heed_cuda *cuda, void *stream, bool *captured);

/* heed_cuda_allow_window() lets launches with a window keep as much of it in the L2 as the device
 * can set aside. The setting affects the whole context and is never undone. */
heed_status heed_cuda_allow_window(heed_cuda *cuda);

/* heed_cuda_check_pointer() returns HEED_OK if @pointer is memory that the device can access, else
 * HEED_ERR_INVALID with a message that names @field. Call it between enter and leave. */
heed_status heed_cuda_check_pointer(heed_cuda *cuda, const char *field, const void *pointer);

/* memory.c: the functions of src/device.h for a CUDA device. */
heed_status heed_cuda_allocate(heed_cuda *cuda, size_t size, void **memory);
void heed_cuda_free(heed_cuda *cuda, void *memory);
heed_status heed_cuda_reserve(heed_cuda *cuda, size_t size, bool at_end, void **memory);
void heed_cuda_release(heed_cuda *cuda, void *memory, size_t size);
heed_status heed_cuda_upload(heed_cuda *cuda, void *to, const void *from, size_t size);
heed_status heed_cuda_download(heed_cuda *cuda, void *to, const void *from, size_t size);
/* heed_cuda_clear() sets @size bytes at @memory to zero, and returns when that is done. Unlike
 * copies it is not ordered after work on other streams, which may be captured. */
heed_status heed_cuda_clear(heed_cuda *cuda, void *memory, size_t size);
heed_status heed_cuda_wait(heed_cuda *cuda);

/* replay.c: the same for timing. */
heed_status heed_cuda_replay_create(heed_replay *replay, heed_cuda *cuda);
heed_status heed_cuda_replay_repeat(heed_replay *replay, heed_cuda *cuda, int warmup, int runs,
                                    double *seconds);
/* Starts all calls once on @stream, the caller's, and does not wait. */
heed_status heed_cuda_replay_start(heed_replay *replay, heed_cuda *cuda, void *stream);
void heed_cuda_replay_destroy(heed_replay *replay, heed_cuda *cuda);

/* observe.c: heed_cuda_resident() returns the number of blocks of @function, with @threads threads
 * and @smem bytes of dynamic shared memory, that are resident on a multiprocessor; 0: unknown.
 * heed_cuda_timeline() is heed_device_timeline() without the host's times. */
int heed_cuda_resident(heed_cuda *cuda, const heed_cuda_function *function, unsigned threads,
                       size_t smem);
heed_status heed_cuda_timeline(heed_cuda *cuda, heed_work_fn *work, void *data, int calls,
                               heed_call_times *times);

#endif /* HEED_CUDA_DEVICE_H */
