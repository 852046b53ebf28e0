/*
 * device.c - memory and timing on the device of a context: the CPU's, and the way to the others
 */
#include "device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "measure.h"

#define ALIGNMENT ((size_t)256)

heed_status heed_device_allocate(heed_context *context, size_t size, void **memory)
{
    (void)context;
    size_t rounded = (size + !size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *memory = rounded < size ? NULL : aligned_alloc(ALIGNMENT, rounded);
    return *memory ? HEED_OK : heed_fail(HEED_ERR_NO_MEMORY, "no memory for %zu bytes", size);
}

void heed_device_free(heed_context *context, void *memory)
{
    (void)context;
    free(memory);
}

heed_status heed_device_upload(heed_context *context, void *to, const void *from, size_t size)
{
    (void)context;
    memcpy(to, from, size);
    return HEED_OK;
}

heed_status heed_device_download(heed_context *context, void *to, const void *from, size_t size)
{
    (void)context;
    memcpy(to, from, size);
    return HEED_OK;
}

heed_status heed_device_wait(heed_context *context)
{
    (void)context;
    return HEED_OK;
}

bool heed_device_is_host(const heed_context *context)
{
    return context->machine.backend == HEED_BACKEND_CPU;
}

size_t heed_device_cache(const heed_context *context)
{
    (void)context;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 ? (size_t)cache : 0;
}

size_t heed_device_memory(const heed_context *context)
{
    (void)context;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}

int heed_device_arch(const heed_context *context)
{
    return context->machine.backend == HEED_BACKEND_CPU ? 0 : context->machine.level;
}

heed_status heed_replay_create(heed_replay *replay, heed_context *context, heed_work_fn *work,
                               void *data, int calls)
{
    *replay = (heed_replay){ .context = context, .work = work, .data = data, .calls = calls };
    return HEED_OK;
}

heed_status heed_replay_run(heed_replay *replay, double *seconds)
{
    heed_status status = HEED_OK;
    int64_t start = heed_clock_ns();
    for (int i = 0; i < replay->calls && status == HEED_OK; i++)
        status = replay->work(replay->data, i, NULL);
    *seconds = (double)(heed_clock_ns() - start) * 1e-9 / replay->calls;
    return status;
}

void heed_replay_destroy(heed_replay *replay)
{
    memset(replay, 0, sizeof *replay);
}
