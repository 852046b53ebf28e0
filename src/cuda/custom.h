/*
 * custom.h - a kernel that computes no attention, run on the device of a context
 *
 * For the laboratory, which measures devices with kernels of its own.
 */
#ifndef HEED_CUDA_CUSTOM_H
#define HEED_CUDA_CUSTOM_H

#include "jit.h"

typedef struct heed_custom heed_custom;

/* heed_custom_create() compiles the source @text for the device of @context, as @build says but for
 * its architecture, and loads its kernel @entry, which may use @smem bytes of dynamic shared
 * memory. @text may include the embedded headers. Returns as heed_jit_build_text() and
 * heed_cuda_load() do; HEED_ERR_UNSUPPORTED for a context that is no CUDA device's. On failure
 * *@custom is NULL. heed_custom_destroy() ignores that, and must come before the context's end. */
heed_status heed_custom_create(heed_custom **custom, heed_context *context, const heed_build *build,
                               const char *text, const char *entry, int64_t smem);
void heed_custom_destroy(heed_custom *custom);

/* heed_custom_load() is the same for @ptx, a text in PTX, which the driver compiles. No other
 * module of the process may have a kernel @entry that was loaded so. */
heed_status heed_custom_load(heed_custom **custom, heed_context *context, const char *ptx,
                             const char *entry);

/* heed_custom_start() starts @blocks blocks of @threads threads on @stream, a stream of the
 * driver's or NULL; @args is the struct that is the kernel's only parameter, and is copied. */
heed_status heed_custom_start(const heed_custom *custom, unsigned blocks, unsigned threads,
                              const void *args, void *stream);

#endif /* HEED_CUDA_CUSTOM_H */
