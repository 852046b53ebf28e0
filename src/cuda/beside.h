/*
 * beside.h - an auxiliary kernel that runs before or after a plan's kernel: loaded in two widths,
 * and started in the one that strides and addresses allow
 */
#ifndef HEED_CUDA_BESIDE_H
#define HEED_CUDA_BESIDE_H

#include "driver/device.h"
#include "jit.h"

#define HEED_BESIDE_BYTES 16

typedef struct heed_cuda_beside {
    heed_cuda_function *wide; /* 16 bytes at a time; NULL: strides or dims do not allow it */
    heed_cuda_function *any;
} heed_cuda_beside;

/* heed_cuda_beside_load() compiles @build for the GPU of @context, whose architecture it fills in,
 * and loads its entries @any and @wide (NULL: none). Release it with heed_cuda_beside_unload(),
 * even after an error. */
heed_status heed_cuda_beside_load(heed_cuda_beside *code, const heed_context *context,
                                  heed_build build, const char *any, const char *wide);
void heed_cuda_beside_unload(heed_cuda_beside *code, const heed_context *context);

/* heed_cuda_beside_fits() says whether @strides are multiples of @unit elements, as the wide entry
 * needs them. */
bool heed_cuda_beside_fits(const heed_strides *strides, int64_t unit);

/* Starts @blocks blocks of @threads threads, with the argument struct @args; the wide entry only if
 * addresses are @aligned. Call it between heed_cuda_enter() and heed_cuda_leave(). */
heed_status heed_cuda_beside_start(const heed_cuda_beside *code, const heed_context *context,
                                   unsigned blocks, unsigned threads, const void *args,
                                   bool aligned, void *stream);

#endif /* HEED_CUDA_BESIDE_H */
