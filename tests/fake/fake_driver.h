/*
 * fake_driver.h - declarations shared by the parts of the driver of fake_cuda.h
 *
 * Each part is a table of entries. Only names that begin with fake_ leave a file, since the library
 * is loaded into programs of all kinds.
 */
#ifndef HEED_TESTS_FAKE_DRIVER_H
#define HEED_TESTS_FAKE_DRIVER_H

#include <pthread.h>
#include <sys/types.h>

#include "cuda/driver/driver.h"
#include "fake_cuda.h"

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_IMPLICIT = 906
};

/* An entry as cuGetProcAddress gives it: from the version of CUDA on that brought its prototype. A
 * table ends with a NULL name. */
typedef void fake_entry_fn(void);
typedef struct fake_entry {
    const char *name;
    int version;
    fake_entry_fn *entry;
} fake_entry;
extern const fake_entry fake_device_entries[];
extern const fake_entry fake_code_entries[];
extern const fake_entry fake_work_entries[];
extern const fake_entry fake_memory_entries[];
extern const fake_entry fake_map_entries[];

extern fake_cuda fake_cuda_controls;
#define fake (&fake_cuda_controls)
extern pthread_mutex_t fake_lock; /* guards the controls and all lists */
extern bool fake_started;         /* cuInit() was called */
extern pid_t fake_process;        /* that called it first */
extern int fake_global_captures;  /* streams whose capture concerns all threads */
extern int fake_ordered_captures; /* of streams that are ordered with the default one */

#define STACK_MAX 16
#define SMEM_BLOCK (227 << 10)

struct cu_context {
    int device;
};

/* The driver's state of a thread. */
typedef struct fake_thread {
    cu_context *stack[STACK_MAX];
    int depth;
    int captures; /* streams that it is capturing, but for relaxed captures */
    int mode;     /* CU_CAPTURE_...: which captures it heeds */
} fake_thread;
extern _Thread_local fake_thread fake_this;

struct cu_function {
    cu_function *next;
    int smem;
    char name[64];
};

/* Every entry begins with one of these, and may be told to fail there: any call, one that works in
 * the current context, and one that may not be made while the thread captures a stream, or any
 * thread one that concerns all, but where the thread's mode says so. */
int fake_begin(const char *name);
int fake_begin_inside(const char *name);
int fake_begin_unsafe(const char *name);

/* The same for one that works on the default stream, which may not be made while a stream that is
 * ordered with it is captured. */
int fake_begin_default(const char *name);

/* Is @result what a lost device says to everything? */
bool fake_is_lost(int result);

/* Objects of the driver, zeroed; those of a lost device are freed as well. */
void *fake_make(size_t size);
void fake_unmake(void *content);

void fake_count(int *counter, int change);
int fake_current_device(void);

/* fake_cuda.pin(), and the parts of fake_cuda.renew(). */
void fake_pin(void *memory, size_t size);
void fake_renew_memory(void);
void fake_renew_devices(void);

#endif /* HEED_TESTS_FAKE_DRIVER_H */
