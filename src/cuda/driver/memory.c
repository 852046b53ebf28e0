/*
 * memory.c - memory of a CUDA device: allocate, copy, clear, reserve between walls
 */
#include <stdio.h>

#include "handle.h"

static cu_address address_of(const void *memory)
{
    return (cu_address)(uintptr_t)memory;
}

heed_status heed_cuda_allocate(heed_cuda *cuda, size_t size, void **memory)
{
    char what[64];
    cu_address address = 0;
    *memory = NULL;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    snprintf(what, sizeof what, "allocating %zu bytes on cuda:%d", size, cuda->ordinal);
    status = heed_cuda_result(cuda, cuda->driver->memory_allocate(&address, size + !size), what);
    heed_cuda_leave(cuda);
    if (status == HEED_OK)
        *memory = (void *)(uintptr_t)address;
    return status;
}

void heed_cuda_free(heed_cuda *cuda, void *memory)
{
    if (!memory || heed_cuda_enter(cuda) != HEED_OK)
        return; /* the memory is lost with the device */
    cuda->driver->memory_free(address_of(memory));
    heed_cuda_leave(cuda);
}

/* -------------------------------------------------------------------------- */
/* Copies                                                                     */
/* -------------------------------------------------------------------------- */

/* The driver may return before the last bytes have reached the device. */
heed_status heed_cuda_upload(heed_cuda *cuda, void *to, const void *from, size_t size)
{
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    int result = size ? cuda->driver->copy_up(address_of(to), from, size) : CU_SUCCESS;
    if (result == CU_SUCCESS)
        result = cuda->driver->stream_wait(NULL);
    status = heed_cuda_result(cuda, result, "copying to the CUDA device");
    heed_cuda_leave(cuda);
    return status;
}

heed_status heed_cuda_download(heed_cuda *cuda, void *to, const void *from, size_t size)
{
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    int result = size ? cuda->driver->copy_down(to, address_of(from), size) : CU_SUCCESS;
    status = heed_cuda_result(cuda, result, "copying from the CUDA device");
    heed_cuda_leave(cuda);
    return status;
}

static int clear(const heed_driver *driver, cu_address memory, size_t size)
{
    cu_stream *stream;
    int result = driver->stream_create(&stream, CU_STREAM_APART);
    if (result != CU_SUCCESS)
        return result;
    result = driver->fill_bytes(memory, 0, size, stream);
    if (result == CU_SUCCESS)
        result = driver->stream_wait(stream);
    int destroyed = driver->stream_destroy(stream);
    return result == CU_SUCCESS ? destroyed : result;
}

heed_status heed_cuda_clear(heed_cuda *cuda, void *memory, size_t size)
{
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    int result = clear(cuda->driver, address_of(memory), size);
    status = heed_cuda_result(cuda, result, "clearing memory of the CUDA device");
    heed_cuda_leave(cuda);
    return status;
}

heed_status heed_cuda_wait(heed_cuda *cuda)
{
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_result(cuda, cuda->driver->context_wait(), "waiting for the CUDA device");
    heed_cuda_leave(cuda);
    return status;
}

/* -------------------------------------------------------------------------- */
/* Memory between walls                                                       */
/* -------------------------------------------------------------------------- */

/* A range of addresses: a wall, the room to which memory is mapped, a wall. */
typedef struct walled {
    cu_allocation allocation;
    size_t wall; /* the granularity of mappings */
    size_t room;
    cu_address address; /* of the lower wall */
} walled;

/* Computes the sizes of a range for @size bytes. */
static int measure_range(const heed_cuda *cuda, size_t size, walled *range)
{
    range->allocation = (cu_allocation){ .type = CU_ALLOCATION_PINNED,
                                         .location = { CU_LOCATION_DEVICE, cuda->device } };
    int result = cuda->driver->granularity(&range->wall, &range->allocation, 0);
    if (result != CU_SUCCESS)
        return result;
    if (size > PTRDIFF_MAX - 3 * range->wall)
        return CU_OUT_OF_MEMORY;
    range->room = (size + !size + range->wall - 1) / range->wall * range->wall;
    return CU_SUCCESS;
}

/* Maps memory to the room. On success the mapping owns the memory; on failure it is released. */
static int map_memory(const heed_driver *driver, const walled *range)
{
    cu_access access = { range->allocation.location, CU_ACCESS_READ_WRITE };
    cu_address room = range->address + range->wall;
    cu_memory memory;
    int result = driver->memory_create(&memory, range->room, &range->allocation, 0);
    if (result != CU_SUCCESS)
        return result;
    result = driver->memory_map(room, range->room, 0, memory, 0);
    driver->memory_release(memory);
    if (result != CU_SUCCESS)
        return result;
    result = driver->memory_access(room, range->room, &access, 1);
    if (result != CU_SUCCESS)
        driver->memory_unmap(room, range->room);
    return result;
}

static int make_range(const heed_cuda *cuda, size_t size, walled *range)
{
    const heed_driver *driver = cuda->driver;
    int result = measure_range(cuda, size, range);
    if (result != CU_SUCCESS)
        return result;
    size_t total = range->room + 2 * range->wall;
    result = driver->address_reserve(&range->address, total, range->wall, 0, 0);
    if (result != CU_SUCCESS)
        return result;
    result = map_memory(driver, range);
    if (result != CU_SUCCESS)
        driver->address_free(range->address, total);
    return result;
}

heed_status heed_cuda_reserve(heed_cuda *cuda, size_t size, bool at_end, void **memory)
{
    char what[80];
    walled range;
    *memory = NULL;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    snprintf(what, sizeof what, "reserving %zu bytes on cuda:%d", size, cuda->ordinal);
    status = heed_cuda_result(cuda, make_range(cuda, size, &range), what);
    heed_cuda_leave(cuda);
    if (status == HEED_OK)
        *memory = (void *)(uintptr_t)(range.address + range.wall +
                                      (at_end ? range.room - size : 0));
    return status;
}

void heed_cuda_release(heed_cuda *cuda, void *memory, size_t size)
{
    walled range;
    if (!memory || heed_cuda_enter(cuda) != HEED_OK)
        return;
    if (measure_range(cuda, size, &range) == CU_SUCCESS) {
        cu_address room = address_of(memory) / range.wall * range.wall;
        cuda->driver->memory_unmap(room, range.room);
        cuda->driver->address_free(room - range.wall, range.room + 2 * range.wall);
    }
    heed_cuda_leave(cuda);
}
