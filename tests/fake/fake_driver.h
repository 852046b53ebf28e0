/*
 * fake_driver.h - declarations shared by the parts of the driver of fake_cuda.h
 *
 * Each part is a table of entries. Only names that begin with fake_ are exported, since the library
 * is loaded into all kinds of programs.
 */
#ifndef HEED_TESTS_FAKE_DRIVER_H
#define HEED_TESTS_FAKE_DRIVER_H

#include <pthread.h>
#include <sys/types.h>

#include "cuda/driver/driver.h"
#include "fake_cuda.h"
#include "fake_emulator.h"

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_IMPLICIT = 906
};

/* An entry as returned by cuGetProcAddress, with the version of CUDA that introduced its prototype.
 * A table ends with a NULL name. */
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
extern int fake_global_captures;  /* streams whose capture affects all threads */
extern int fake_ordered_captures; /* of streams that synchronize with the default one */

#define STACK_MAX 16
#define SMEM_BLOCK (227 << 10)

struct cu_context {
    int device;
};

/* The driver's state per thread. */
typedef struct fake_thread {
    cu_context *stack[STACK_MAX];
    int depth;
    int captures; /* streams that it is capturing, except relaxed captures */
    int mode;     /* CU_CAPTURE_...: captures that restrict it */
} fake_thread;
extern _Thread_local fake_thread fake_this;

struct cu_function {
    cu_function *next;
    int smem;
    char name[64];
    fake_code code;
};

/* Every entry starts with one of these, and may be made to fail there: any call; one that needs a
 * current context; and one that is forbidden while the thread captures a stream, or while any
 * thread makes a global capture, unless the thread's mode permits it. */
int fake_begin(const char *name);
int fake_begin_inside(const char *name);
int fake_begin_unsafe(const char *name);

/* The same for a call that uses the default stream, which is forbidden while a stream that
 * synchronizes with it is captured. */
int fake_begin_default(const char *name);

/* Returns whether @result is an error of a lost device. */
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
