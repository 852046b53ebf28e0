/*
 * fake_cuda.h - a CUDA driver in host memory, for tests on machines without a GPU
 *
 * libfake_cuda.so replaces libcuda.so.1 (HEED_LIBCUDA), libnvrtc.so (HEED_NVRTC) and
 * libnvidia-ml.so.1 (HEED_NVML). It has configurable devices, device memory that is host memory
 * with guard pages where real memory has them. A launch is recorded, and passed to a hook if there
 * is one. It does not run code, unless it emulates (fake_emulator.h). In a separate program,
 * environment variables such as FAKE_CUDA_ARCH replace these controls. It refuses calls that the
 * real driver refuses: calls without a current context, launches that exceed limits, waiting while
 * a stream is captured.
 *
 * Any entry can be made to fail. Every object that exists is counted.
 */
#ifndef HEED_TESTS_FAKE_CUDA_H
#define HEED_TESTS_FAKE_CUDA_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define FAKE_ARGS_MAX 2048

/* A launch as received by the driver. */
typedef struct fake_launch {
    const char *function;
    unsigned grid[3];
    unsigned block[3];
    unsigned smem;
    void *stream;
    bool captured; /* launched by a graph */
    bool overlap;
    const void *window;
    size_t window_size;
    float window_ratio;
    const struct fake_code *code; /* NULL: it does nothing */
    const void *args; /* the kernel's parameter; fake_cuda.args_size bytes of it are kept */
    unsigned char kept[FAKE_ARGS_MAX];
} fake_launch;

/* The fake's content of a tensor map, which is opaque elsewhere. */
#define FAKE_MAP_MARK 0x66616b65206d6170ULL
typedef struct fake_map {
    unsigned long long mark; /* FAKE_MAP_MARK */
    void *address;
    unsigned long long dims[4];
    unsigned long long strides[3]; /* in bytes, from the second dimension on */
    unsigned box[4];
    int type, swizzle, l2, fill; /* CU_MAP_... */
} fake_map;

typedef void fake_hook_fn(void *data, const fake_launch *launch);

typedef struct fake_cuda {
    /* Configuration. */
    int driver; /* CUDA's version, 1000 * major + 10 * minor */
    int devices;
    int arch;                /* of all devices, 10 * major + minor */
    size_t memory;           /* bytes of each */
    int multiprocessors, l2; /* l2 in bytes */
    int clock, memory_clock; /* in kHz */
    int emulates;            /* kernels run, on the emulator */
    size_t args_size;
    fake_hook_fn *hook;
    void *hook_data;
    int copies;      /* the work of a launch: this many bytes of V are copied to O */
    long long ahead; /* nanoseconds by which its clock is ahead of the host's */

    /* The call that fails: number @fail_call of the entry @fail_name, or of all counted calls if
     * that is NULL; 0: none. */
    const char *fail_name;
    int fail_call;
    int fail_result;
    int launch_error;          /* error that a launch causes in the next and all later calls */
    int hang;                  /* launches never end */
    atomic_int hold_compiler;  /* compilations wait until it is 0 */
    const char *compile_error; /* the compiler's error for every source; NULL: it accepts them */

    /* Counters. */
    int compilations;
    int calls;          /* that could have failed */
    const char *failed; /* the entry that failed */
    int sticky;         /* the result of every call from now on */
    int depth;          /* contexts pushed and not popped, on all threads */
    int retained;       /* primary contexts */
    int modules;
    int blocks; /* of memory, and address ranges */
    int streams;
    int events;
    int graphs; /* and their executable forms */
    size_t used;
    size_t persisting; /* bytes of L2 set aside */
    int launches;
    fake_launch last;

    /* Contexts that the calling thread has pushed and not popped. */
    int (*own_depth)(void);

    /* Registers @size bytes of host memory at @memory with CUDA; size 0 unregisters them. */
    void (*pin)(void *memory, size_t size);

    /* Frees everything, like the end of a process; a lost device works again. */
    void (*renew)(void);
} fake_cuda;

/* fake_cuda_take() installs the library @path as driver, compiler and management library of this
 * process, which must not have used them yet, and returns its controls. NULL if it cannot be
 * loaded. */
static inline fake_cuda *fake_cuda_take(const char *path)
{
    setenv("HEED_LIBCUDA", path, 1);
    setenv("HEED_NVRTC", path, 1);
    setenv("HEED_NVML", path, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "fake_cuda_controls") : NULL;
}

/* fake_cuda_live() counts the objects that exist. */
static inline int fake_cuda_live(const fake_cuda *fake)
{
    return fake->retained + fake->modules + fake->blocks + fake->streams + fake->events +
           fake->graphs + fake->depth;
}

#endif /* HEED_TESTS_FAKE_CUDA_H */
