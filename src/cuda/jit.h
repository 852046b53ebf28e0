/*
 * jit.h - compile kernels at run time
 *
 * Compiles a kernel's source, specialised by defines, to machine code for one architecture. That
 * takes a few tenths of a second; afterwards the code is in the cache (cache.h), and loading it
 * takes a few milliseconds. Neither needs a GPU.
 */
#ifndef HEED_CUDA_JIT_H
#define HEED_CUDA_JIT_H

#include "cache.h"
#include "internal.h"

/* -DNAME=VALUE */
typedef struct heed_define {
    const char *name;
    long long value;
} heed_define;

#define HEED_DEFINES_MAX 64
#define HEED_FOLDERS_MAX 16

/* One compilation. */
typedef struct heed_build {
    const char *source; /* name of an embedded source, such as "attn_mma.cu" */
    const heed_define *defines;
    int define_count;             /* at most HEED_DEFINES_MAX */
    const heed_problem *steps_of; /* program.cuh has its steps (score.h); NULL: no program.cuh */
    int arch;                     /* compute capability, 10 * major + minor: 80, 89, 90 */
    int registers;                /* cap per thread; 0: none */
    bool ready;                   /* only use code that is already compiled */
    bool fresh;                   /* without the cache, whose keys do not cover included files of
                                     others */
    const char *const *folders;   /* include folders, searched in this order */
    int folder_count;             /* at most HEED_FOLDERS_MAX; if any, the build must be fresh */
} heed_build;

/* The result. */
typedef struct heed_cubin {
    unsigned char *data; /* an ELF file; or PTX, a text with a null byte at its end */
    size_t size;
    bool cached;    /* from the cache, not compiled */
    bool shipped;   /* shipped with the library, from its own compiler (shipped.h) */
    bool ptx;       /* PTX, for the driver to compile: NVRTC does not support the architecture */
    double seconds; /* duration */
    char key[HEED_CACHE_KEY_SIZE];
    char *log; /* of the compiler, including registers and spills; "" for none */
} heed_cubin;

/* heed_jit_build() takes the code of @build from the code shipped with the library (shipped.h),
 * which needs no NVRTC, or from the cache, or compiles and stores it. If NVRTC does not support the
 * architecture, it generates PTX for the newest supported one that is not newer. Returns HEED_OK;
 * HEED_ERR_INVALID for a bad @build; HEED_ERR_UNSUPPORTED if NVRTC only supports newer
 * architectures; HEED_ERR_DEVICE if there is no NVRTC, or the source does not compile: then the
 * message has the first error and the path of the whole log, which is also in @cubin;
 * HEED_ERR_DEVICE too if only ready code may be used and there is none; HEED_ERR_NO_MEMORY. Free
 * @cubin in every case. Thread-safe. */
heed_status heed_jit_build(const heed_build *build, heed_cubin *cubin);

/* heed_jit_build_text() is the same for the source @text; build->source is only its name. It may
 * include the embedded headers; if it includes other files, the build must be fresh. */
heed_status heed_jit_build_text(const heed_build *build, const char *text, heed_cubin *cubin);

/* heed_jit_ready() returns HEED_OK if code for GPUs is available: there is NVRTC, or shipped code;
 * else the status of heed_nvrtc_get(). */
heed_status heed_jit_ready(void);

/* heed_jit_lacks_compiler() returns true if there is shipped code, but no compiler for other
 * code. */
bool heed_jit_lacks_compiler(void);

/* heed_jit_pack() makes the code of @build, machine code that is not @fresh, as heed_jit_build()
 * does without shipped code, and stores it in @folder as shipped code. The compiler's timings are
 * removed from the log. Returns the same as heed_jit_build(), or HEED_ERR_SYSTEM if it could not be
 * stored; @cubin has the key that it is stored with. */
heed_status heed_jit_pack(const heed_build *build, const char *folder, heed_cubin *cubin);

void heed_cubin_free(heed_cubin *cubin);

#endif /* HEED_CUDA_JIT_H */
