/*
 * custom.h - run an arbitrary kernel on the device of a context
 *
 * For the laboratory, which measures devices with its own kernels.
 */
#ifndef HEED_CUDA_CUSTOM_H
#define HEED_CUDA_CUSTOM_H

#include "jit.h"

typedef struct heed_custom heed_custom;

/* heed_custom_create() compiles the source @text for the device of @context, as specified by @build
 * except its architecture, and loads its kernel @entry, which may use @smem bytes of dynamic shared
 * memory. @text may include the embedded headers. Returns the same as heed_jit_build_text() and
 * heed_cuda_load(); HEED_ERR_UNSUPPORTED for a context that is not for a CUDA device. On failure
 * *@custom is NULL. heed_custom_destroy() ignores NULL, and must be called before the context is
 * destroyed. */
heed_status heed_custom_create(heed_custom **custom, heed_context *context, const heed_build *build,
                               const char *text, const char *entry, int64_t smem);
void heed_custom_destroy(heed_custom *custom);

/* heed_custom_load() is the same for @ptx, PTX source, which the driver compiles. No other kernel
 * @entry may have been loaded this way in the process. */
heed_status heed_custom_load(heed_custom **custom, heed_context *context, const char *ptx,
                             const char *entry);

/* heed_custom_start() starts @blocks blocks of @threads threads on @stream, a driver stream or
 * NULL; @args is the kernel's only parameter, a struct, and is copied. */
heed_status heed_custom_start(const heed_custom *custom, unsigned blocks, unsigned threads,
                              const void *args, void *stream);

#endif /* HEED_CUDA_CUSTOM_H */
