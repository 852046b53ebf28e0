/*
 * jit.h - kernels compiled when they are needed
 *
 * A kernel's source, specialised by defines, becomes machine code for one architecture. That takes
 * some tenths of a second once; then the code is in the cache (cache.h) and takes a few
 * milliseconds. Neither needs a GPU.
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
    const heed_problem *steps_of; /* program.cuh has its steps (score.h); NULL: there is none */
    int arch;                     /* compute capability, 10 * major + minor: 80, 89, 90 */
    int registers;                /* cap per thread; 0: none */
    bool ready;                   /* only code that is there already */
    bool fresh;                 /* without the cache, whose keys do not know the files of others */
    const char *const *folders; /* with headers of others, searched in this order */
    int folder_count;           /* at most HEED_FOLDERS_MAX; if any, the build must be fresh */
} heed_build;

/* The result. */
typedef struct heed_cubin {
    unsigned char *data; /* an ELF file; or PTX, a text with a null byte at its end */
    size_t size;
    bool cached;    /* taken from the cache, not compiled */
    bool shipped;   /* came with the library, by a compiler of its own (shipped.h) */
    bool ptx;       /* PTX, for the driver to compile: NVRTC does not know the architecture */
    double seconds; /* that it took */
    char key[HEED_CACHE_KEY_SIZE];
    char *log; /* of the compiler, registers and spills among it; "" for none */
} heed_cubin;

/* heed_jit_build() takes the code of @build from what came with the library (shipped.h), which
 * needs no NVRTC, or from the cache, or compiles and stores it. An architecture that is newer than
 * NVRTC becomes PTX for the newest one it knows that is not newer than it. Returns HEED_OK;
 * HEED_ERR_INVALID for a bad @build; HEED_ERR_UNSUPPORTED if NVRTC knows nothing as old as the
 * architecture; HEED_ERR_DEVICE if there is no NVRTC or the source does not compile: then the
 * message has the first error and says where the whole log is kept, which is also @cubin's;
 * HEED_ERR_NO_MEMORY. Code that is only taken if it is ready, and is not, is HEED_ERR_DEVICE too.
 * In every case @cubin is to be freed. Any thread. */
heed_status heed_jit_build(const heed_build *build, heed_cubin *cubin);

/* heed_jit_build_text() is the same for the source @text, which build->source is only a name
 * for. It may include the embedded headers; of one that includes other files the build must be
 * fresh. */
heed_status heed_jit_build_text(const heed_build *build, const char *text, heed_cubin *cubin);

/* heed_jit_ready() returns HEED_OK if there is code for GPUs: NVRTC, or some that came with the
 * library; else what heed_nvrtc_get() does. */
heed_status heed_jit_ready(void);

/* heed_jit_lacks_compiler() says whether there is code that came with the library and nothing to
 * compile other code with. */
bool heed_jit_lacks_compiler(void);

/* heed_jit_pack() makes the code of @build, machine code that is not @fresh, as heed_jit_build()
 * does without what came with the library, and stores it in @folder as what comes with one. The
 * compiler's words about its own time are left out. Returns as heed_jit_build(), HEED_ERR_SYSTEM if
 * it could not be stored; @cubin has the key that it is stored with. */
heed_status heed_jit_pack(const heed_build *build, const char *folder, heed_cubin *cubin);

void heed_cubin_free(heed_cubin *cubin);

#endif /* HEED_CUDA_JIT_H */
