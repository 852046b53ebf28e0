/*
 * driver.h - NVIDIA's driver API, loaded on first use
 *
 * libcuda comes with the driver, so it is not linked: one libheed runs on machines with and without
 * a GPU. The types and prototypes that heed uses are declared here by hand. Their layout is that of
 * CUDA 12.0, which later drivers keep.
 */
#ifndef HEED_CUDA_DRIVER_H
#define HEED_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "../../internal.h"

/* CUDA version, 1000 * major + 10 * minor, of the oldest supported driver. */
#define HEED_DRIVER_NEEDED 12000

/* Compute capability, 10 * major + minor, of the oldest supported device. */
#define HEED_ARCH_NEEDED 80

/* Results that the code checks for; heed_driver_status() handles more. */
enum {
    CU_SUCCESS = 0,
    CU_NOT_INITIALIZED = 3, /* also the answer in a child after fork() */
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100
};

/* Objects of the driver. */
typedef struct cu_context cu_context;
typedef struct cu_module cu_module;
typedef struct cu_function cu_function;
typedef struct cu_stream cu_stream;
typedef struct cu_event cu_event;
typedef struct cu_graph cu_graph;
typedef struct cu_graph_exec cu_graph_exec;
typedef uint64_t cu_address; /* of device memory */
typedef uint64_t cu_memory;  /* handle of physical memory */

/* Attributes of a device. */
enum {
    CU_DEVICE_CLOCK_RATE = 13, /* kHz */
    CU_DEVICE_MULTIPROCESSORS = 16,
    CU_DEVICE_COMPUTE_MODE = 20,
    CU_DEVICE_MEMORY_CLOCK_RATE = 36, /* kHz */
    CU_DEVICE_MEMORY_BUS_WIDTH = 37,  /* bits */
    CU_DEVICE_L2_SIZE = 38,
    CU_DEVICE_THREADS = 39, /* per multiprocessor, as are the next two */
    CU_DEVICE_SMEM = 81,
    CU_DEVICE_REGISTERS = 82,
    CU_DEVICE_MAJOR = 75, /* of the compute capability */
    CU_DEVICE_MINOR = 76,
    CU_DEVICE_SMEM_OPTIN = 97, /* per block */
    CU_DEVICE_MAPPING = 102,   /* can reserve addresses and map memory there */
    CU_DEVICE_BLOCKS = 106,    /* per multiprocessor */
    CU_DEVICE_L2_PERSISTING = 108,
    CU_DEVICE_WINDOW = 109,       /* of an access policy, bytes */
    CU_DEVICE_SMEM_RESERVED = 111 /* per block */
};

/* Attributes of a pointer, and the kinds of memory. */
enum {
    CU_POINTER_MEMORY_TYPE = 2,
    CU_POINTER_IS_MANAGED = 8,
    CU_POINTER_DEVICE = 9,

    CU_MEMORY_HOST = 1,
    CU_MEMORY_DEVICE = 2
};

/* Other constants. */
enum {
    CU_LIMIT_PERSISTING_L2 = 6,
    CU_FUNCTION_SMEM = 8, /* maximum dynamic shared memory of a function */
    CU_JIT_ERROR_LOG = 5,
    CU_JIT_ERROR_LOG_SIZE = 6,
    CU_STREAM_APART = 1,         /* not ordered with the default stream */
    CU_CAPTURE_GLOBAL = 0,       /* no thread may make unsafe calls; */
    CU_CAPTURE_THREAD_LOCAL = 1, /* the capturing thread may not; */
    CU_CAPTURE_RELAXED = 2,      /* all threads may, or the thread may */
    CU_LOCATION_DEVICE = 1,
    CU_ALLOCATION_PINNED = 1,
    CU_ACCESS_READ_WRITE = 3,
    CU_LAUNCH_WINDOW = 1, /* attributes of a launch */
    CU_LAUNCH_OVERLAP = 6,
    CU_PROPERTY_STREAMING = 1, /* of accesses to the L2 */
    CU_PROPERTY_PERSISTING = 2
};

/* Constants for tensor maps. */
enum {
    CU_MAP_F16 = 6, /* types of its elements */
    CU_MAP_BF16 = 9,
    CU_MAP_APART = 0,        /* not interleaved */
    CU_MAP_SWIZZLE_NONE = 0, /* of boxes in shared memory */
    CU_MAP_SWIZZLE_32 = 1,
    CU_MAP_SWIZZLE_64 = 2,
    CU_MAP_SWIZZLE_128 = 3,
    CU_MAP_L2_256 = 3, /* bytes that the L2 fetches at a time */
    CU_MAP_ZEROS = 0   /* the value of elements out of bounds */
};

typedef struct cu_window {
    void *address;
    size_t size;
    float hit_ratio;
    int hit, miss; /* CU_PROPERTY_... */
} cu_window;

typedef struct cu_launch_attribute {
    int id;
    char pad[4];
    union {
        char pad[64];
        cu_window window;
        int overlap;
    } value;
} cu_launch_attribute;

typedef struct cu_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned smem;
    cu_stream *stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch;

typedef struct cu_location {
    int type; /* CU_LOCATION_... */
    int id;
} cu_location;

typedef struct cu_allocation {
    int type; /* CU_ALLOCATION_... */
    int handles;
    cu_location location;
    void *security;
    unsigned char flags[8];
} cu_allocation;

typedef struct cu_access {
    cu_location location;
    int flags; /* CU_ACCESS_... */
} cu_access;

/* A loaded driver: its entries, with the driver's names. */
typedef struct heed_driver {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*error_name)(int result, const char **text);
    int (*error_string)(int result, const char **text);

    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int size, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*device_memory)(size_t *bytes, int device);
    int (*device_bus_id)(char *text, int size, int device);

    int (*primary_retain)(cu_context **context, int device);
    int (*primary_release)(int device);
    int (*context_push)(cu_context *context);
    int (*context_pop)(cu_context **context);
    int (*context_current)(cu_context **context);
    int (*context_wait)(void);
    int (*context_limit)(int limit, size_t value);

    int (*module_load)(cu_module **module, const void *image, unsigned option_count,
                       const int *options, void **values);
    int (*module_unload)(cu_module *module);
    int (*module_function)(cu_function **function, cu_module *module, const char *name);
    int (*function_attribute)(cu_function *function, int attribute, int value);
    int (*function_load)(cu_function *function); /* NULL before CUDA 12.4 */
    int (*occupancy)(int *blocks, cu_function *function, int threads, size_t smem);
    int (*launch)(const cu_launch *launch, cu_function *function, void **arguments, void **extra);

    int (*pointer_attributes)(unsigned count, const int *attributes, void **values,
                              cu_address pointer);
    int (*memory_allocate)(cu_address *address, size_t size);
    int (*memory_free)(cu_address address);
    int (*copy_up)(cu_address to, const void *from, size_t size);
    int (*copy_down)(void *to, cu_address from, size_t size);
    int (*fill_bytes)(cu_address to, unsigned char value, size_t size, cu_stream *stream);

    int (*granularity)(size_t *size, const cu_allocation *allocation, int option);
    int (*address_reserve)(cu_address *address, size_t size, size_t alignment, cu_address wish,
                           unsigned long long flags);
    int (*address_free)(cu_address address, size_t size);
    int (*memory_create)(cu_memory *memory, size_t size, const cu_allocation *allocation,
                         unsigned long long flags);
    int (*memory_release)(cu_memory memory);
    int (*memory_map)(cu_address address, size_t size, size_t offset, cu_memory memory,
                      unsigned long long flags);
    int (*memory_unmap)(cu_address address, size_t size);
    int (*memory_access)(cu_address address, size_t size, const cu_access *access, size_t count);

    /* @map is 128 bytes at a multiple of 64; @strides, in bytes, begin with that of the second
     * dimension. Both run on the host, but need a current context. */
    int (*map_encode)(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                      const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                      int interleave, int swizzle, int l2, int fill);
    int (*map_replace)(void *map, void *address);

    int (*stream_create)(cu_stream **stream, unsigned flags);
    int (*stream_destroy)(cu_stream *stream);
    int (*stream_wait)(cu_stream *stream);
    int (*capture_exchange)(int *mode); /* swaps the calling thread's mode */
    int (*capture_begin)(cu_stream *stream, int mode);
    int (*capture_end)(cu_stream *stream, cu_graph **graph);
    int (*capture_state)(cu_stream *stream, int *state); /* 0: not captured */
    int (*graph_destroy)(cu_graph *graph);
    int (*graph_instantiate)(cu_graph_exec **exec, cu_graph *graph, unsigned long long flags);
    int (*graph_upload)(cu_graph_exec *exec, cu_stream *stream);
    int (*graph_launch)(cu_graph_exec *exec, cu_stream *stream);
    int (*graph_exec_destroy)(cu_graph_exec *exec);
    int (*event_create)(cu_event **event, unsigned flags);
    int (*event_destroy)(cu_event *event);
    int (*event_record)(cu_event *event, cu_stream *stream);
    int (*event_wait)(cu_event *event);
    int (*event_elapsed)(float *milliseconds, cu_event *start, cu_event *stop);

    void *library;
    char path[256]; /* of the file, if known */
    int version;    /* CUDA's: 1000 * major + 10 * minor; also set where it is too old */
    bool empty;     /* no device was found; nothing else may be called */
} heed_driver;

/* heed_driver_get() sets *@driver to the process's driver, which the first call loads and
 * initializes and which stays loaded: the file that HEED_LIBCUDA names, else libcuda.so.1. Returns
 * HEED_OK; HEED_ERR_DEVICE if there is none, it is too old or fails to initialize, the same at
 * every call; a missing device is not a failure; HEED_ERR_INVALID in a process that was forked
 * after CUDA was used. Thread-safe. */
heed_status heed_driver_get(const heed_driver **driver);

/* heed_driver_load() does the same without caching, into the caller's @driver. */
heed_status heed_driver_load(heed_driver *driver);

/* heed_driver_status() returns the heed_status for a driver result: HEED_ERR_LOST for one after
 * which nothing can run in this process any more. */
heed_status heed_driver_status(int result);

/* heed_driver_words() writes the driver's description of @result, such as "an illegal memory access
 * was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)". */
void heed_driver_words(const heed_driver *driver, int result, char *text, size_t size);

/* heed_driver_fail() sets the thread's message to @what, which was tried, and @result, if that is
 * not success, and returns its status. */
heed_status heed_driver_fail(const heed_driver *driver, int result, const char *what);

#endif /* HEED_CUDA_DRIVER_H */
