/*
 * fake_cuda.h - a CUDA driver in host memory, for tests on machines without a GPU
 *
 * libfake_cuda.so takes the place of libcuda.so.1 (HEED_LIBCUDA), libnvrtc.so (HEED_NVRTC) and
 * libnvidia-ml.so.1 (HEED_NVML). It has devices as told, device memory that is host memory with
 * walls where the real one has them, and code that it does not run: a launch is recorded, and
 * handed to a hook if there is one. A program of its own is told by its environment what would be
 * told by these controls: FAKE_CUDA_ARCH and the like. It refuses what the real driver refuses:
 * calls without a current context, launches that ask for too much, waiting while a stream is
 * captured.
 *
 * Any entry can be told to fail. Everything made and not yet destroyed is counted.
 */
#ifndef HEED_TESTS_FAKE_CUDA_H
#define HEED_TESTS_FAKE_CUDA_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define FAKE_ARGS_MAX 2048

/* A launch as the driver saw it. */
typedef struct fake_launch {
    const char *function;
    unsigned grid[3];
    unsigned block[3];
    unsigned smem;
    void *stream;
    bool captured; /* comes out of a graph */
    bool overlap;
    const void *window;
    size_t window_size;
    float window_ratio;
    const void *args; /* the kernel's parameter; fake_cuda.args_size bytes of it are kept */
    unsigned char kept[FAKE_ARGS_MAX];
} fake_launch;

/* The fake's content of a map of a tensor, which is opaque to everybody else. */
#define FAKE_MAP_MARK 0x66616b65206d6170ULL
typedef struct fake_map {
    unsigned long long mark; /* FAKE_MAP_MARK */
    void *address;
    unsigned long long dims[4];
    unsigned long long strides[3]; /* bytes, from that of the second dimension on */
    unsigned box[4];
    int type, swizzle, l2, fill; /* CU_MAP_... */
} fake_map;

typedef void fake_hook_fn(void *data, const fake_launch *launch);

typedef struct fake_cuda {
    /* Its kind. */
    int driver; /* CUDA's version, 1000 * major + 10 * minor */
    int devices;
    int arch;      /* of all devices, 10 * major + minor */
    size_t memory; /* bytes of each */
    size_t args_size;
    fake_hook_fn *hook;
    void *hook_data;
    int copies;      /* the work of a launch: so many bytes of V become O */
    long long ahead; /* nanoseconds that its clock is ahead of the host's */

    /* The call that fails: number @fail_call of the entry @fail_name, or, where that is NULL, call
     * number @fail_call of all that are counted; 0: none. */
    const char *fail_name;
    int fail_call;
    int fail_result;
    int launch_error; /* that a launch leaves behind, for the next call and all later ones */
    int hang;         /* launches never end */
    atomic_int hold_compiler;  /* compilations do not end before it is 0 */
    const char *compile_error; /* the compiler's words on every source; NULL: it takes them */

    /* The events so far. */
    int compilations;
    int calls;          /* that could have failed */
    const char *failed; /* the entry that did fail */
    int sticky;         /* the result of every call from now on */
    int depth;          /* contexts pushed and not popped, on all threads */
    int retained;       /* primary contexts */
    int modules;
    int blocks; /* of memory, and ranges of addresses */
    int streams;
    int events;
    int graphs; /* and their executable forms */
    size_t used;
    size_t persisting; /* bytes of L2 set aside */
    int launches;
    fake_launch last;

    /* Makes CUDA know @size bytes of the host's at @memory; size 0 forgets them. */
    void (*pin)(void *memory, size_t size);

    /* Frees everything, as the end of a process does; a lost device is well again. */
    void (*renew)(void);
} fake_cuda;

/* fake_cuda_take() puts the library @path in place of the driver, the compiler and the manager
 * for this process, which must not have used them yet, and returns its controls. NULL if it cannot
 * be loaded. */
static inline fake_cuda *fake_cuda_take(const char *path)
{
    setenv("HEED_LIBCUDA", path, 1);
    setenv("HEED_NVRTC", path, 1);
    setenv("HEED_NVML", path, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "fake_cuda_controls") : NULL;
}

/* fake_cuda_live() counts everything that was made and not yet destroyed. */
static inline int fake_cuda_live(const fake_cuda *fake)
{
    return fake->retained + fake->modules + fake->blocks + fake->streams + fake->events +
           fake->graphs + fake->depth;
}

#endif /* HEED_TESTS_FAKE_CUDA_H */
