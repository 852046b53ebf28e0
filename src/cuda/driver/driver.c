/*
 * driver.c - NVIDIA's driver API, loaded on first use
 */
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -------------------------------------------------------------------------- */
/* Entries                                                                    */
/* -------------------------------------------------------------------------- */

/* The CUDA version in which an entry got its prototype: the driver has several versions of some.
 * One that is newer than the required version may be absent. */
static const struct {
    const char *name;
    int version;
    size_t field;
} entries[] = {
    { "cuInit", 2000, offsetof(heed_driver, init) },
    { "cuDriverGetVersion", 2020, offsetof(heed_driver, driver_version) },
    { "cuGetErrorName", 6000, offsetof(heed_driver, error_name) },
    { "cuGetErrorString", 6000, offsetof(heed_driver, error_string) },
    { "cuDeviceGetCount", 2000, offsetof(heed_driver, device_count) },
    { "cuDeviceGet", 2000, offsetof(heed_driver, device_get) },
    { "cuDeviceGetName", 2000, offsetof(heed_driver, device_name) },
    { "cuDeviceGetAttribute", 2000, offsetof(heed_driver, device_attribute) },
    { "cuDeviceTotalMem", 3020, offsetof(heed_driver, device_memory) },
    { "cuDeviceGetPCIBusId", 4010, offsetof(heed_driver, device_bus_id) },
    { "cuDevicePrimaryCtxRetain", 7000, offsetof(heed_driver, primary_retain) },
    { "cuDevicePrimaryCtxRelease", 11000, offsetof(heed_driver, primary_release) },
    { "cuCtxPushCurrent", 4000, offsetof(heed_driver, context_push) },
    { "cuCtxPopCurrent", 4000, offsetof(heed_driver, context_pop) },
    { "cuCtxGetCurrent", 4000, offsetof(heed_driver, context_current) },
    { "cuCtxSynchronize", 2000, offsetof(heed_driver, context_wait) },
    { "cuCtxSetLimit", 3010, offsetof(heed_driver, context_limit) },
    { "cuModuleLoadDataEx", 2010, offsetof(heed_driver, module_load) },
    { "cuModuleUnload", 2000, offsetof(heed_driver, module_unload) },
    { "cuModuleGetFunction", 2000, offsetof(heed_driver, module_function) },
    { "cuFuncSetAttribute", 9000, offsetof(heed_driver, function_attribute) },
    { "cuFuncLoad", 12040, offsetof(heed_driver, function_load) },
    { "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, offsetof(heed_driver, occupancy) },
    { "cuLaunchKernelEx", 11060, offsetof(heed_driver, launch) },
    { "cuPointerGetAttributes", 7000, offsetof(heed_driver, pointer_attributes) },
    { "cuMemAlloc", 3020, offsetof(heed_driver, memory_allocate) },
    { "cuMemFree", 3020, offsetof(heed_driver, memory_free) },
    { "cuMemcpyHtoD", 3020, offsetof(heed_driver, copy_up) },
    { "cuMemcpyDtoH", 3020, offsetof(heed_driver, copy_down) },
    { "cuMemsetD8Async", 3020, offsetof(heed_driver, fill_bytes) },
    { "cuMemGetAllocationGranularity", 10020, offsetof(heed_driver, granularity) },
    { "cuMemAddressReserve", 10020, offsetof(heed_driver, address_reserve) },
    { "cuMemAddressFree", 10020, offsetof(heed_driver, address_free) },
    { "cuMemCreate", 10020, offsetof(heed_driver, memory_create) },
    { "cuMemRelease", 10020, offsetof(heed_driver, memory_release) },
    { "cuMemMap", 10020, offsetof(heed_driver, memory_map) },
    { "cuMemUnmap", 10020, offsetof(heed_driver, memory_unmap) },
    { "cuMemSetAccess", 10020, offsetof(heed_driver, memory_access) },
    { "cuTensorMapEncodeTiled", 12000, offsetof(heed_driver, map_encode) },
    { "cuTensorMapReplaceAddress", 12000, offsetof(heed_driver, map_replace) },
    { "cuStreamCreate", 2000, offsetof(heed_driver, stream_create) },
    { "cuStreamDestroy", 4000, offsetof(heed_driver, stream_destroy) },
    { "cuStreamSynchronize", 2000, offsetof(heed_driver, stream_wait) },
    { "cuThreadExchangeStreamCaptureMode", 10010, offsetof(heed_driver, capture_exchange) },
    { "cuStreamBeginCapture", 10010, offsetof(heed_driver, capture_begin) },
    { "cuStreamEndCapture", 10000, offsetof(heed_driver, capture_end) },
    { "cuStreamIsCapturing", 10000, offsetof(heed_driver, capture_state) },
    { "cuGraphDestroy", 10000, offsetof(heed_driver, graph_destroy) },
    { "cuGraphInstantiateWithFlags", 11040, offsetof(heed_driver, graph_instantiate) },
    { "cuGraphUpload", 11010, offsetof(heed_driver, graph_upload) },
    { "cuGraphLaunch", 10000, offsetof(heed_driver, graph_launch) },
    { "cuGraphExecDestroy", 10000, offsetof(heed_driver, graph_exec_destroy) },
    { "cuEventCreate", 2000, offsetof(heed_driver, event_create) },
    { "cuEventDestroy", 4000, offsetof(heed_driver, event_destroy) },
    { "cuEventRecord", 2000, offsetof(heed_driver, event_record) },
    { "cuEventSynchronize", 2000, offsetof(heed_driver, event_wait) },
    { "cuEventElapsedTime", 2000, offsetof(heed_driver, event_elapsed) },
};

typedef int find_entry_fn(const char *name, void **entry, int version, uint64_t flags, int *found);

/* Functions as data pointers, which POSIX allows but ISO C does not define. */
static bool find_symbol(void *library, const char *name, void *field)
{
    void *symbol = dlsym(library, name);
    memcpy(field, &symbol, sizeof symbol);
    return symbol != NULL;
}

static heed_status find_entries(heed_driver *driver, find_entry_fn *find)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = NULL;
        int result = find(entries[i].name, &entry, entries[i].version, 0, NULL);
        if (result != CU_SUCCESS)
            entry = NULL;
        if (!entry && entries[i].version <= HEED_DRIVER_NEEDED)
            return heed_fail(HEED_ERR_DEVICE, "%s has no %s, though it is for CUDA %d.%d",
                             driver->path, entries[i].name, driver->version / 1000,
                             driver->version % 1000 / 10);
        memcpy((char *)driver + entries[i].field, &entry, sizeof entry);
    }
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* Loading                                                                    */
/* -------------------------------------------------------------------------- */

static void find_path(heed_driver *driver, const char *name)
{
    const struct link_map *map = NULL;
    if (dlinfo(driver->library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
        name = map->l_name;
    snprintf(driver->path, sizeof driver->path, "%s", name);
}

static heed_status check_version(heed_driver *driver)
{
    int (*version)(int *version);
    if (!find_symbol(driver->library, "cuDriverGetVersion", &version) ||
        version(&driver->version) != CU_SUCCESS)
        return heed_fail(HEED_ERR_DEVICE,
                         "%s is not a CUDA driver: the query of its version failed", driver->path);
    if (driver->version < HEED_DRIVER_NEEDED)
        return heed_fail(HEED_ERR_DEVICE,
                         "the NVIDIA driver (%s) is for CUDA %d.%d; one for CUDA %d.%d or later is "
                         "needed",
                         driver->path, driver->version / 1000, driver->version % 1000 / 10,
                         HEED_DRIVER_NEEDED / 1000, HEED_DRIVER_NEEDED % 1000 / 10);
    return HEED_OK;
}

/* The process, or another library in it, used CUDA before it was forked. */
static heed_status fail_forked(void)
{
    return heed_fail(HEED_ERR_INVALID,
                     "process %ld was forked after CUDA was used, and CUDA does not work in such a "
                     "child: start it with exec (\"spawn\" in Python), or before CUDA is used",
                     (long)getpid());
}

static heed_status start(heed_driver *driver)
{
    char words[256];
    int result = driver->init(0);
    if (result == CU_NOT_INITIALIZED)
        return fail_forked();
    driver->empty = result == CU_NO_DEVICE;
    if (result == CU_SUCCESS || driver->empty)
        return HEED_OK;
    heed_driver_words(driver, result, words, sizeof words);
    return heed_fail(HEED_ERR_DEVICE, "the NVIDIA driver does not start: %s", words);
}

heed_status heed_driver_load(heed_driver *driver)
{
    const char *wish = getenv("HEED_LIBCUDA");
    const char *name = wish && *wish ? wish : "libcuda.so.1";
    find_entry_fn *find;
    *driver = (heed_driver){ .library = dlopen(name, RTLD_NOW | RTLD_LOCAL) };
    if (!driver->library) {
        const char *reason = dlerror();
        return heed_fail(HEED_ERR_DEVICE, "there is no NVIDIA driver: %s",
                         reason ? reason : "libcuda.so.1 cannot be loaded");
    }
    find_path(driver, name);
    heed_status status = check_version(driver);
    if (status != HEED_OK)
        return status;
    if (!find_symbol(driver->library, "cuGetProcAddress_v2", &find))
        return heed_fail(HEED_ERR_DEVICE, "%s has no cuGetProcAddress_v2", driver->path);
    status = find_entries(driver, find);
    return status == HEED_OK ? start(driver) : status;
}

static struct {
    pthread_once_t once;
    heed_status status;
    char message[1024];
    heed_driver driver;
    pid_t owner; /* the process that loaded it */
} process = { .once = PTHREAD_ONCE_INIT };

static void load_once(void)
{
    process.owner = getpid();
    process.status = heed_driver_load(&process.driver);
    if (process.status != HEED_OK)
        snprintf(process.message, sizeof process.message, "%s", heed_message());
}

heed_status heed_driver_get(const heed_driver **driver)
{
    pthread_once(&process.once, load_once);
    *driver = &process.driver;
    if (process.status == HEED_OK && process.owner != getpid())
        return fail_forked();
    return process.status == HEED_OK ? HEED_OK : heed_fail(process.status, "%s", process.message);
}

/* -------------------------------------------------------------------------- */
/* Results                                                                    */
/* -------------------------------------------------------------------------- */

/* Results other than HEED_ERR_DEVICE. */
static const struct {
    int result;
    heed_status status;
} meanings[] = {
    { CU_SUCCESS, HEED_OK }, { CU_OUT_OF_MEMORY, HEED_ERR_NO_MEMORY },
    { 214, HEED_ERR_LOST }, /* uncorrectable ECC error */
    { 220, HEED_ERR_LOST }, /* uncorrectable NVLink error */
    { 226, HEED_ERR_LOST }, /* contained error */
    { 700, HEED_ERR_LOST }, /* illegal address */
    { 702, HEED_ERR_LOST }, /* launch timeout */
    { 709, HEED_ERR_LOST }, /* context is destroyed */
    { 710, HEED_ERR_LOST }, /* assert */
    { 714, HEED_ERR_LOST }, /* hardware stack error */
    { 715, HEED_ERR_LOST }, /* illegal instruction */
    { 716, HEED_ERR_LOST }, /* misaligned address */
    { 717, HEED_ERR_LOST }, /* invalid address space */
    { 718, HEED_ERR_LOST }, /* invalid program counter */
    { 719, HEED_ERR_LOST }, /* launch failed */
    { 721, HEED_ERR_LOST }, /* tensor memory leak */
    { 810, HEED_ERR_LOST }, /* MPS client terminated */
    { 911, HEED_ERR_LOST }, /* external device */
};

heed_status heed_driver_status(int result)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].result == result)
            return meanings[i].status;
    return HEED_ERR_DEVICE;
}

void heed_driver_words(const heed_driver *driver, int result, char *text, size_t size)
{
    const char *name = NULL, *words = NULL;
    if (driver->error_name(result, &name) != CU_SUCCESS || !name)
        name = "unnamed error";
    if (driver->error_string(result, &words) != CU_SUCCESS || !words)
        words = "the driver has no description of it";
    snprintf(text, size, "%s (%s, %d)", words, name, result);
}

heed_status heed_driver_fail(const heed_driver *driver, int result, const char *what)
{
    char words[256];
    if (result == CU_SUCCESS)
        return HEED_OK;
    heed_driver_words(driver, result, words, sizeof words);
    return heed_fail(heed_driver_status(result), "%s: %s", what, words);
}
