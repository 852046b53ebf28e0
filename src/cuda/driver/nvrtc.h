/*
 * nvrtc.h - NVIDIA's runtime compiler (NVRTC), found and loaded on first use
 *
 * NVRTC is a shared library that needs neither a GPU nor a driver. It is not linked: one libheed
 * runs on machines with and without it. Its types and prototypes are declared here by hand, as
 * CUDA's headers are rarely installed with NVRTC.
 */
#ifndef HEED_CUDA_NVRTC_H
#define HEED_CUDA_NVRTC_H

#include <limits.h>

#include "internal.h"

/* Results of the entries. */
enum {
    NVRTC_SUCCESS = 0,
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_COMPILATION = 6 /* the source has errors, which are in the log */
};

typedef struct nvrtc_program nvrtc_program;

#define HEED_NVRTC_ARCHS_MAX 64

/* A loaded NVRTC: its entries, version and architectures. */
typedef struct heed_nvrtc {
    int (*version)(int *major, int *minor);
    int (*arch_count)(int *count);
    int (*archs)(int *archs);
    const char *(*error)(int result);
    int (*create)(nvrtc_program **program, const char *source, const char *name, int header_count,
                  const char *const *headers, const char *const *header_names);
    int (*destroy)(nvrtc_program **program);
    int (*compile)(nvrtc_program *program, int option_count, const char *const *options);
    int (*log_size)(nvrtc_program *program, size_t *size);
    int (*log)(nvrtc_program *program, char *log);
    int (*cubin_size)(nvrtc_program *program, size_t *size);
    int (*cubin)(nvrtc_program *program, char *cubin);
    int (*ptx_size)(nvrtc_program *program, size_t *size);
    int (*ptx)(nvrtc_program *program, char *ptx);

    void *library;
    char path[PATH_MAX]; /* of the file */
    const char *place;   /* the place where it was found, such as "HEED_NVRTC" */
    int major, minor;    /* of the CUDA toolkit it belongs to */
    long long file_size; /* in bytes: distinguishes patch releases of a version; 0: unknown */
    int supported_count; /* of the architectures it compiles for: */
    int supported[HEED_NVRTC_ARCHS_MAX]; /* 10 * major + minor each, ascending */
} heed_nvrtc;

/* One place that was searched: the library found there, or the reason why it cannot be used. */
typedef struct heed_nvrtc_try {
    const char *place;
    char path[256]; /* the file, or the pattern that no file matched */
    char outcome[256];
} heed_nvrtc_try;

#define HEED_NVRTC_TRIES_MAX 64

/* All places that were searched, in order, as far as they fit. */
typedef struct heed_nvrtc_search {
    heed_nvrtc_try tries[HEED_NVRTC_TRIES_MAX];
    int count;
} heed_nvrtc_search;

/* heed_nvrtc_get() sets *@nvrtc to the process's NVRTC, which the first call looks for and loads
 * and which stays loaded. The places, in order: the file in HEED_NVRTC, which must be valid if set;
 * one that the process has already loaded; Python packages in VIRTUAL_ENV, CONDA_PREFIX and those
 * of the python3 in PATH; CUDA_HOME, CUDA_PATH and /usr/local/cuda*; the dynamic loader's search.
 * Returns HEED_OK, or HEED_ERR_DEVICE if there is none, the same at every call. Thread-safe. */
heed_status heed_nvrtc_get(const heed_nvrtc **nvrtc);

/* heed_nvrtc_load() is the search itself, without caching: it fills the caller's @nvrtc and
 * @search. Both are valid after a failure too, @nvrtc as zeros. */
heed_status heed_nvrtc_load(heed_nvrtc *nvrtc, heed_nvrtc_search *search);

#endif /* HEED_CUDA_NVRTC_H */
