/*
 * device.c - memory and timing on the device of a context: for the CPU, and dispatch to CUDA
 */
#include "device.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/backend.h"
#include "cuda/driver/device.h"
#include "cuda/driver/nvml.h"
#include "cuda/gpu.h"
#include "internal.h"
#include "measure.h"

#define ALIGNMENT ((size_t)256)

/* Wide enough that an index that is off by a few tiles still hits the wall. */
#define WALL_PAGES 16

/* -------------------------------------------------------------------------- */
/* Host memory                                                                */
/* -------------------------------------------------------------------------- */

static heed_status host_allocate(size_t size, void **memory)
{
    size_t rounded = (size + !size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *memory = rounded < size ? NULL : aligned_alloc(ALIGNMENT, rounded);
    return *memory ? HEED_OK : heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu bytes", size);
}

/* Computes the sizes of the pages for @size bytes and of one wall. */
static bool host_extent(size_t size, size_t *room, size_t *wall)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *wall = WALL_PAGES * page;
    if (size > PTRDIFF_MAX - 2 * *wall - page)
        return false;
    *room = (size + !size + page - 1) / page * page;
    return true;
}

static heed_status host_reserve(size_t size, bool at_end, void **memory)
{
    size_t room = 0, wall = 0;
    unsigned char *map = MAP_FAILED;
    *memory = NULL;
    if (host_extent(size, &room, &wall))
        map = mmap(NULL, room + 2 * wall, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (map != MAP_FAILED && mprotect(map + wall, room, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, room + 2 * wall);
        map = MAP_FAILED;
    }
    if (map == MAP_FAILED)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu bytes between walls", size);
    *memory = map + wall + (at_end ? room - size : 0);
    return HEED_OK;
}

static void host_release(void *memory, size_t size)
{
    size_t room, wall;
    if (!memory || !host_extent(size, &room, &wall))
        return;
    uintptr_t page = wall / WALL_PAGES;
    unsigned char *start = (unsigned char *)memory - (uintptr_t)memory % page;
    munmap(start - wall, room + 2 * wall);
}

/* -------------------------------------------------------------------------- */
/* The device's memory                                                        */
/* -------------------------------------------------------------------------- */

heed_status heed_device_allocate(heed_context *context, size_t size, void **memory)
{
    return context->cuda ? heed_cuda_allocate(context->cuda, size, memory)
                         : host_allocate(size, memory);
}

void heed_device_free(heed_context *context, void *memory)
{
    if (context->cuda)
        heed_cuda_free(context->cuda, memory);
    else
        free(memory);
}

heed_status heed_device_reserve(heed_context *context, size_t size, bool at_end, void **memory)
{
    return context->cuda ? heed_cuda_reserve(context->cuda, size, at_end, memory)
                         : host_reserve(size, at_end, memory);
}

void heed_device_release(heed_context *context, void *memory, size_t size)
{
    if (context->cuda)
        heed_cuda_release(context->cuda, memory, size);
    else
        host_release(memory, size);
}

heed_status heed_device_upload(heed_context *context, void *to, const void *from, size_t size)
{
    if (context->cuda)
        return heed_cuda_upload(context->cuda, to, from, size);
    memcpy(to, from, size);
    return HEED_OK;
}

heed_status heed_device_download(heed_context *context, void *to, const void *from, size_t size)
{
    if (context->cuda)
        return heed_cuda_download(context->cuda, to, from, size);
    memcpy(to, from, size);
    return HEED_OK;
}

heed_status heed_device_wait(heed_context *context)
{
    return context->cuda ? heed_cuda_wait(context->cuda) : HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* Facts about a device                                                       */
/* -------------------------------------------------------------------------- */

bool heed_device_is_host(const heed_context *context)
{
    return context->machine.backend == HEED_BACKEND_CPU;
}

size_t heed_device_cache(const heed_context *context)
{
    if (context->cuda)
        return (size_t)heed_cuda_gpu(context->cuda)->l2;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 ? (size_t)cache : 0;
}

size_t heed_device_memory(const heed_context *context)
{
    if (context->cuda)
        return (size_t)heed_cuda_gpu(context->cuda)->memory;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}

int heed_device_arch(const heed_context *context)
{
    return context->machine.gpu ? context->machine.gpu->arch : 0;
}

bool heed_device_read_state(heed_context *context, heed_device_state *state)
{
    const char *bus_id = context->cuda ? heed_cuda_bus_id(context->cuda) : NULL;
    if (!heed_nvml_read_state(bus_id, state))
        return false;
    if (state->other_processes > 0)
        state->other_processes--; /* not counting this one */
    return true;
}

void heed_device_features(const heed_context *context, char text[32])
{
    _Static_assert(HEED_FEATURES_SIZE == 32, "text has room for it");
    heed_machine_features(&context->machine, text);
}

heed_device_limits heed_device_get_limits(const heed_context *context)
{
    const heed_gpu *gpu = context->machine.gpu;
    if (!gpu)
        return (heed_device_limits){ 0 };
    return (heed_device_limits){ .multiprocessors = gpu->multiprocessors,
                                 .clock_hz = gpu->clock,
                                 .bandwidth = gpu->bandwidth };
}

/* -------------------------------------------------------------------------- */
/* Timing                                                                     */
/* -------------------------------------------------------------------------- */

heed_status heed_replay_create(heed_replay *replay, heed_context *context, heed_work_fn *work,
                               void *data, int calls)
{
    *replay = (heed_replay){ .context = context, .work = work, .data = data, .calls = calls };
    if (calls < 1)
        return heed_fail(HEED_ERR_INVALID, "calls is %d; it must be 1 or more", calls);
    return context->cuda ? heed_cuda_replay_create(replay, context->cuda) : HEED_OK;
}

static heed_status host_runs(heed_replay *replay, int runs)
{
    heed_status status = HEED_OK;
    for (int run = 0; run < runs; run++)
        for (int i = 0; i < replay->calls && status == HEED_OK; i++)
            status = replay->work(replay->data, i, NULL);
    return status;
}

static heed_status host_repeat(heed_replay *replay, int warmup, int runs, double *seconds)
{
    heed_status status = host_runs(replay, warmup);
    int64_t start = heed_clock_ns();
    if (status == HEED_OK)
        status = host_runs(replay, runs);
    *seconds = (double)(heed_clock_ns() - start) * 1e-9 / ((double)replay->calls * runs);
    return status;
}

heed_status heed_replay_repeat(heed_replay *replay, int warmup, int runs, double *seconds)
{
    heed_cuda *cuda = replay->context->cuda;
    return cuda ? heed_cuda_replay_repeat(replay, cuda, warmup, runs, seconds)
                : host_repeat(replay, warmup, runs, seconds);
}

heed_status heed_replay_run(heed_replay *replay, double *seconds)
{
    return heed_replay_repeat(replay, 0, 1, seconds);
}

void heed_replay_destroy(heed_replay *replay)
{
    if (replay->context && replay->context->cuda)
        heed_cuda_replay_destroy(replay, replay->context->cuda);
    memset(replay, 0, sizeof *replay);
}

/* -------------------------------------------------------------------------- */
/* Watching                                                                   */
/* -------------------------------------------------------------------------- */

heed_device_launch heed_device_launch_of(const heed_plan *plan)
{
    return plan->context->cuda ? heed_cuda_launch_of(plan) : (heed_device_launch){ .blocks = 0 };
}

/* The work of heed_device_timeline(), with the host's clock around each call. */
typedef struct timed_work {
    heed_work_fn *work;
    void *data;
    heed_call_times *times;
    int64_t start; /* heed_clock_ns() at the first call */
} timed_work;

static heed_status timed_call(void *data, int index, void *stream)
{
    timed_work *self = data;
    int64_t before = heed_clock_ns();
    if (index == 0)
        self->start = before;
    heed_status status = self->work(self->data, index, stream);
    self->times[index].host_start = (double)(before - self->start) * 1e-9;
    self->times[index].host_end = (double)(heed_clock_ns() - self->start) * 1e-9;
    return status;
}

heed_status heed_device_timeline(heed_context *context, heed_work_fn *work, void *data, int calls,
                                 heed_call_times *times)
{
    timed_work timed = { .work = work, .data = data, .times = times };
    heed_status status = HEED_OK;
    if (calls < 1)
        return heed_fail(HEED_ERR_INVALID, "calls is %d; it must be 1 or more", calls);
    if (context->cuda)
        return heed_cuda_timeline(context->cuda, timed_call, &timed, calls, times);
    for (int i = 0; i < calls && status == HEED_OK; i++) {
        status = timed_call(&timed, i, NULL);
        times[i].device_start = times[i].host_start;
        times[i].device_end = times[i].host_end;
    }
    return status;
}
