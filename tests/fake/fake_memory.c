/*
 * fake_memory.c - the fake driver's memory, which is host memory
 */
#include <string.h>
#include <sys/mman.h>

#include "fake_driver.h"

#define GRANULE ((size_t)2 << 20)
#define UNSET 0xff /* bytes of new memory for kernels that run: NaN in every type */

/* CUDA's record of an address. */
typedef struct known {
    struct known *next;
    cu_address address;
    size_t size;
    int type, device;
    bool heap; /* is freed, not unmapped */
} known;
static known *memory_list;

static void remember(cu_address address, size_t size, int type, int device, bool heap)
{
    known *made = fake_make(sizeof *made);
    *made = (known){ NULL, address, size, type, device, heap };
    pthread_mutex_lock(&fake_lock);
    made->next = memory_list;
    memory_list = made;
    if (type == CU_MEMORY_DEVICE) {
        fake->blocks++;
        fake->used += size;
    }
    pthread_mutex_unlock(&fake_lock);
}

/* Returns the recorded size; 0: none. */
static size_t forget(cu_address address)
{
    size_t size = 0;
    pthread_mutex_lock(&fake_lock);
    known **link = &memory_list;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    known *found = *link;
    if (found) {
        *link = found->next;
        size = found->size;
        fake->blocks -= found->type == CU_MEMORY_DEVICE;
        fake->used -= found->type == CU_MEMORY_DEVICE ? size : 0;
    }
    pthread_mutex_unlock(&fake_lock);
    fake_unmake(found);
    return size;
}

static bool has_room(size_t size)
{
    pthread_mutex_lock(&fake_lock);
    bool room = size <= fake->memory - fake->used;
    pthread_mutex_unlock(&fake_lock);
    return room;
}

static known look_up(cu_address address)
{
    known found = { .device = -2 };
    pthread_mutex_lock(&fake_lock);
    for (const known *k = memory_list; k; k = k->next)
        if (address - k->address < k->size)
            found = *k;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

void fake_pin(void *memory, size_t size)
{
    forget((cu_address)(uintptr_t)memory);
    if (size)
        remember((cu_address)(uintptr_t)memory, size, CU_MEMORY_HOST, 0, false);
}

void fake_renew_memory(void)
{
    while (memory_list) {
        known k = *memory_list;
        forget(k.address);
        if (k.heap)
            free((void *)(uintptr_t)k.address);
    }
}

static int pointer_attributes(unsigned number, const int *attributes, void **values,
                              cu_address pointer)
{
    int result = fake_begin_inside("cuPointerGetAttributes");
    known found = look_up(pointer);
    for (unsigned i = 0; result == CU_SUCCESS && i < number; i++) {
        if (attributes[i] == CU_POINTER_MEMORY_TYPE)
            *(unsigned *)values[i] = (unsigned)found.type;
        else if (attributes[i] == CU_POINTER_DEVICE)
            *(int *)values[i] = found.device;
        else
            *(unsigned *)values[i] = 0;
    }
    return result;
}

static int memory_allocate(cu_address *address, size_t size)
{
    void *memory;
    int result = fake_begin_unsafe("cuMemAlloc");
    if (result != CU_SUCCESS || size == 0)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    if (!has_room(size) || posix_memalign(&memory, 512, size) != 0)
        return CU_OUT_OF_MEMORY;
    if (fake->emulates)
        memset(memory, UNSET, size);
    *address = (cu_address)(uintptr_t)memory;
    remember(*address, size, CU_MEMORY_DEVICE, fake_current_device(), true);
    return CU_SUCCESS;
}

static int memory_free(cu_address address)
{
    int result = fake_begin_unsafe("cuMemFree");
    if (forget(address) == 0)
        return INVALID_VALUE;
    free((void *)(uintptr_t)address);
    return result;
}

static int copy_up(cu_address to, const void *from, size_t size)
{
    int result = fake_begin_default("cuMemcpyHtoD");
    if (result == CU_SUCCESS && look_up(to).type == 0)
        result = INVALID_VALUE;
    if (result == CU_SUCCESS)
        memcpy((void *)(uintptr_t)to, from, size);
    return result;
}

static int fill_bytes(cu_address to, unsigned char value, size_t size, cu_stream *stream)
{
    int result = fake_begin_inside("cuMemsetD8Async");
    (void)stream;
    if (result == CU_SUCCESS)
        memset((void *)(uintptr_t)to, value, size);
    return result;
}

static int copy_down(void *to, cu_address from, size_t size)
{
    int result = fake_begin_default("cuMemcpyDtoH");
    if (result == CU_SUCCESS && look_up(from).type == 0)
        result = INVALID_VALUE;
    if (result == CU_SUCCESS)
        memcpy(to, (const void *)(uintptr_t)from, size);
    return result;
}

/* -------------------------------------------------------------------------- */
/* Address ranges and their mappings                                          */
/* -------------------------------------------------------------------------- */

static int granularity(size_t *size, const cu_allocation *allocation, int option)
{
    int result = fake_begin("cuMemGetAllocationGranularity");
    if (allocation->type != CU_ALLOCATION_PINNED || option)
        return INVALID_VALUE;
    *size = GRANULE;
    return result;
}

static int address_reserve(cu_address *address, size_t size, size_t alignment, cu_address wish,
                           unsigned long long flags)
{
    int result = fake_begin_unsafe("cuMemAddressReserve");
    if (result != CU_SUCCESS || size % GRANULE || alignment != GRANULE || wish || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    unsigned char *map = mmap(NULL, size + GRANULE, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return CU_OUT_OF_MEMORY;
    size_t before = (GRANULE - (uintptr_t)map % GRANULE) % GRANULE;
    if (before)
        munmap(map, before);
    if (GRANULE - before)
        munmap(map + before + size, GRANULE - before);
    *address = (cu_address)(uintptr_t)(map + before);
    fake_count(&fake->blocks, 1);
    return CU_SUCCESS;
}

static int address_free(cu_address address, size_t size)
{
    munmap((void *)(uintptr_t)address, size);
    fake_count(&fake->blocks, -1);
    return fake_begin_unsafe("cuMemAddressFree");
}

/* The handle of memory is its size, with a bit that makes it nonzero. */
static int memory_create(cu_memory *memory, size_t size, const cu_allocation *allocation,
                         unsigned long long flags)
{
    int result = fake_begin_unsafe("cuMemCreate");
    if (result != CU_SUCCESS || size % GRANULE || allocation->type != CU_ALLOCATION_PINNED || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    if (!has_room(size))
        return CU_OUT_OF_MEMORY;
    *memory = size | 1;
    fake_count(&fake->blocks, 1);
    return CU_SUCCESS;
}

static int memory_release(cu_memory memory)
{
    if (!(memory & 1))
        return INVALID_VALUE;
    fake_count(&fake->blocks, -1);
    return fake_begin("cuMemRelease");
}

static int memory_map(cu_address address, size_t size, size_t offset, cu_memory memory,
                      unsigned long long flags)
{
    int result = fake_begin_unsafe("cuMemMap");
    if (result != CU_SUCCESS || offset || memory != (size | 1) || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    remember(address, size, CU_MEMORY_DEVICE, fake_current_device(), false);
    return CU_SUCCESS;
}

static int memory_unmap(cu_address address, size_t size)
{
    int result = fake_begin_unsafe("cuMemUnmap");
    if (forget(address) != size)
        return INVALID_VALUE;
    mprotect((void *)(uintptr_t)address, size, PROT_NONE);
    return result;
}

static int memory_access(cu_address address, size_t size, const cu_access *access, size_t number)
{
    int result = fake_begin_unsafe("cuMemSetAccess");
    if (result != CU_SUCCESS || number != 1 || access->flags != CU_ACCESS_READ_WRITE)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    return mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE) == 0
               ? CU_SUCCESS
               : CU_OUT_OF_MEMORY;
}

const fake_entry fake_memory_entries[] = {
    { "cuPointerGetAttributes", 7000, (fake_entry_fn *)pointer_attributes },
    { "cuMemAlloc", 3020, (fake_entry_fn *)memory_allocate },
    { "cuMemFree", 3020, (fake_entry_fn *)memory_free },
    { "cuMemcpyHtoD", 3020, (fake_entry_fn *)copy_up },
    { "cuMemcpyDtoH", 3020, (fake_entry_fn *)copy_down },
    { "cuMemsetD8Async", 3020, (fake_entry_fn *)fill_bytes },
    { "cuMemGetAllocationGranularity", 10020, (fake_entry_fn *)granularity },
    { "cuMemAddressReserve", 10020, (fake_entry_fn *)address_reserve },
    { "cuMemAddressFree", 10020, (fake_entry_fn *)address_free },
    { "cuMemCreate", 10020, (fake_entry_fn *)memory_create },
    { "cuMemRelease", 10020, (fake_entry_fn *)memory_release },
    { "cuMemMap", 10020, (fake_entry_fn *)memory_map },
    { "cuMemUnmap", 10020, (fake_entry_fn *)memory_unmap },
    { "cuMemSetAccess", 10020, (fake_entry_fn *)memory_access },
    { NULL, 0, NULL },
};
