/*
 * handle.h - the struct behind a heed_cuda, for the files that make up device.h
 */
#ifndef HEED_CUDA_HANDLE_H
#define HEED_CUDA_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "device.h"
#include "driver.h"

struct heed_cuda {
    const heed_driver *driver;
    cu_context *context; /* the device's primary one */
    pid_t process;       /* that opened it: CUDA serves no child after fork() */
    int ordinal, device;
    heed_gpu gpu;
    size_t window_max; /* bytes of an access policy's window */
    char bus_id[32];

    atomic_bool lost;          /* from then on ... */
    char reason[512];          /* ... this is set, and never changes */
    pthread_mutex_t lost_lock; /* for who sets it */

    pthread_mutex_t lock; /* of what follows */
    struct heed_cuda_module *modules;
    bool window_allowed;
};

/* heed_cuda_inherited() tells whether a process that forked this one opened @cuda: then no lock of
 * it may be taken and the driver not be asked. */
bool heed_cuda_inherited(const heed_cuda *cuda);

/* heed_cuda_result() makes @result, if it is not success, the thread's message, after @what was
 * tried, latches a lost device, and returns the status. */
heed_status heed_cuda_result(heed_cuda *cuda, int result, const char *what);

/* module.c */
const char *heed_cuda_function_name(const heed_cuda_function *function);
cu_function *heed_cuda_function_handle(const heed_cuda_function *function);

#endif /* HEED_CUDA_HANDLE_H */
