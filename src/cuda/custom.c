/*
 * custom.c - run an arbitrary kernel on the device of a context
 */
#include "custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/device.h"

struct heed_custom {
    heed_cuda *cuda;
    heed_cuda_function *function;
    int64_t smem;
};

static heed_status check_context(const heed_context *context, const char *entry)
{
    if (context->cuda)
        return HEED_OK;
    return heed_fail(HEED_ERR_UNSUPPORTED, "%s: the context is not for a CUDA device", entry);
}

static heed_status load(heed_custom **custom, heed_context *context, const heed_cubin *cubin,
                        const char *entry, int64_t smem)
{
    heed_custom *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for the kernel %s", entry);
    made->cuda = context->cuda;
    made->smem = smem;
    heed_status status = heed_cuda_load(made->cuda, cubin, entry, smem, &made->function);
    if (status == HEED_OK)
        *custom = made;
    else
        free(made);
    return status;
}

heed_status heed_custom_create(heed_custom **custom, heed_context *context, const heed_build *build,
                               const char *text, const char *entry, int64_t smem)
{
    heed_cubin cubin;
    heed_build own = *build;
    *custom = NULL;
    heed_status status = check_context(context, entry);
    if (status != HEED_OK)
        return status;
    own.arch = heed_cuda_gpu(context->cuda)->arch;
    status = heed_jit_build_text(&own, text, &cubin);
    if (status == HEED_OK)
        status = load(custom, context, &cubin, entry, smem);
    heed_cubin_free(&cubin);
    return status;
}

heed_status heed_custom_load(heed_custom **custom, heed_context *context, const char *ptx,
                             const char *entry)
{
    heed_cubin text = { .data = (unsigned char *)(uintptr_t)ptx,
                        .size = strlen(ptx) + 1,
                        .ptx = true };
    *custom = NULL;
    heed_status status = check_context(context, entry);
    snprintf(text.key, sizeof text.key, "%s", entry);
    return status == HEED_OK ? load(custom, context, &text, entry, 0) : status;
}

void heed_custom_destroy(heed_custom *custom)
{
    if (!custom)
        return;
    heed_cuda_unload(custom->cuda, custom->function);
    free(custom);
}

heed_status heed_custom_start(const heed_custom *custom, unsigned blocks, unsigned threads,
                              const void *args, void *stream)
{
    const heed_cuda_launch launch = { .function = custom->function,
                                      .grid = { blocks, 1, 1 },
                                      .threads = threads,
                                      .smem = (unsigned)custom->smem,
                                      .args = args };
    heed_status status = heed_cuda_enter(custom->cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_start(custom->cuda, &launch, stream);
    heed_cuda_leave(custom->cuda);
    return status;
}
