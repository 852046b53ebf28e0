/*
 * beside.c - an auxiliary kernel that runs before or after a plan's kernel
 */
#include "beside.h"

#include "gpu.h"
#include "internal.h"

heed_status heed_cuda_beside_load(heed_cuda_beside *code, const heed_context *context,
                                  heed_build build, const char *any, const char *wide)
{
    heed_cubin cubin = { .data = NULL };
    build.arch = context->machine.gpu->arch;
    heed_status status = heed_jit_build(&build, &cubin);
    if (status == HEED_OK)
        status = heed_cuda_load(context->cuda, &cubin, any, 0, &code->any);
    if (status == HEED_OK && wide)
        status = heed_cuda_load(context->cuda, &cubin, wide, 0, &code->wide);
    heed_cubin_free(&cubin);
    return status;
}

void heed_cuda_beside_unload(heed_cuda_beside *code, const heed_context *context)
{
    if (code->wide)
        heed_cuda_unload(context->cuda, code->wide);
    if (code->any)
        heed_cuda_unload(context->cuda, code->any);
}

bool heed_cuda_beside_fits(const heed_strides *strides, int64_t unit)
{
    return strides->batch % unit == 0 && strides->seq % unit == 0 && strides->head % unit == 0;
}

heed_status heed_cuda_beside_start(const heed_cuda_beside *code, const heed_context *context,
                                   unsigned blocks, unsigned threads, const void *args,
                                   bool aligned, void *stream)
{
    const heed_cuda_launch launch = { .function = code->wide && aligned ? code->wide : code->any,
                                      .grid = { blocks, 1, 1 },
                                      .threads = threads,
                                      .args = args,
                                      .overlap = heed_gpu_overlaps(context->machine.gpu) };
    return heed_cuda_start(context->cuda, &launch, stream);
}
