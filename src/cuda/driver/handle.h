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
    pid_t process;       /* that opened it: CUDA does not work in a child after fork() */
    int ordinal, device;
    heed_gpu gpu;
    size_t window_max; /* bytes of an access policy's window */
    char bus_id[32];

    atomic_bool lost;          /* from then on ... */
    char reason[512];          /* ... this is set, and never changes */
    pthread_mutex_t lost_lock; /* held while it is set */

    pthread_mutex_t lock; /* guards the fields below */
    struct heed_cuda_module *modules;
    bool window_allowed;
};

/* heed_cuda_inherited() returns true if a parent process opened @cuda before fork(): then none of
 * its locks may be taken and the driver must not be called. */
bool heed_cuda_inherited(const heed_cuda *cuda);

/* heed_cuda_result() sets the thread's message to @what, which was tried, and @result, if that is
 * not success, latches a lost device, and returns the status. */
heed_status heed_cuda_result(heed_cuda *cuda, int result, const char *what);

/* module.c */
const char *heed_cuda_function_name(const heed_cuda_function *function);
cu_function *heed_cuda_function_handle(const heed_cuda_function *function);

#endif /* HEED_CUDA_HANDLE_H */
