/*
 * driver.h - the functions of NVIDIA's driver that the examples need, loaded at run time
 *
 * A program that already uses CUDA needs none of this.
 */
#ifndef EXAMPLES_DRIVER_H
#define EXAMPLES_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct driver {
    int (*init)(unsigned flags);
    int (*device)(int *device, int ordinal);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*allocate)(uintptr_t *address, size_t size);
    int (*free)(uintptr_t address);
    int (*upload)(uintptr_t to, const void *from, size_t size);
    int (*download)(void *to, uintptr_t from, size_t size);
    int (*stream)(void **stream, unsigned flags);
    int (*end_stream)(void *stream);
    int (*wait)(void *stream);
    int (*capture)(void *stream, int mode);
    int (*end_capture)(void *stream, void **graph);
    int (*instantiate)(void **ready, void *graph, unsigned long long flags);
    int (*launch)(void *ready, void *stream);
    int (*end_ready)(void *ready);
    int (*end_graph)(void *graph);
} driver;

static const struct {
    const char *name;
    size_t field;
} driver_entries[] = {
    { "cuInit", offsetof(driver, init) },
    { "cuDeviceGet", offsetof(driver, device) },
    { "cuDevicePrimaryCtxRetain", offsetof(driver, retain) },
    { "cuDevicePrimaryCtxRelease_v2", offsetof(driver, release) },
    { "cuCtxSetCurrent", offsetof(driver, set_current) },
    { "cuMemAlloc_v2", offsetof(driver, allocate) },
    { "cuMemFree_v2", offsetof(driver, free) },
    { "cuMemcpyHtoD_v2", offsetof(driver, upload) },
    { "cuMemcpyDtoH_v2", offsetof(driver, download) },
    { "cuStreamCreate", offsetof(driver, stream) },
    { "cuStreamDestroy_v2", offsetof(driver, end_stream) },
    { "cuStreamSynchronize", offsetof(driver, wait) },
    { "cuStreamBeginCapture_v2", offsetof(driver, capture) },
    { "cuStreamEndCapture", offsetof(driver, end_capture) },
    { "cuGraphInstantiateWithFlags", offsetof(driver, instantiate) },
    { "cuGraphLaunch", offsetof(driver, launch) },
    { "cuGraphExecDestroy", offsetof(driver, end_ready) },
    { "cuGraphDestroy", offsetof(driver, end_graph) },
};

/* Makes the primary context of the first device current, which heed uses too. Returns 0 on failure.
 * */
static inline int driver_start(driver *cuda)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int device = 0;
    for (size_t i = 0; library && i < sizeof driver_entries / sizeof *driver_entries; i++) {
        void *entry = dlsym(library, driver_entries[i].name);
        memcpy((char *)cuda + driver_entries[i].field, &entry, sizeof entry);
        if (!entry)
            return 0;
    }
    return library && cuda->init(0) == 0 && cuda->device(&device, 0) == 0 &&
           cuda->retain(&context, device) == 0 && cuda->set_current(context) == 0;
}

#endif
