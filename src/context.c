/*
 * context.c - the machine, its threads, and what is known about it
 */
#include <stdlib.h>

#include "internal.h"

#define THREADS_MAX 1024

static heed_status check_options(const heed_options *options)
{
    if (options->threads < 0 || options->threads > THREADS_MAX)
        return heed_fail(HEED_ERR_INVALID, "threads is %d; it must be 0 to %d", options->threads,
                         THREADS_MAX);
    if (options->pool && !options->parallel)
        return heed_fail(HEED_ERR_INVALID, "pool is set but parallel is NULL; it must be set too");
    return HEED_OK;
}

heed_status heed_context_create(heed_context **context, const heed_options *options)
{
    static const heed_options defaults = { 0 };
    if (!context)
        return heed_fail(HEED_ERR_INVALID, "context is NULL; it must point to a heed_context *");
    *context = NULL;
    if (!options)
        options = &defaults;
    heed_status status = check_options(options);
    if (status != HEED_OK)
        return status;

    heed_context *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a context");
    status = heed_machine_detect(&made->machine, options->cpu, options->threads);
    if (status == HEED_OK)
        status = heed_pool_create(&made->pool, made->machine.threads, options->parallel,
                                  options->pool);
    if (status == HEED_OK)
        status = heed_wisdom_create(&made->wisdom);
    if (status != HEED_OK) {
        heed_context_destroy(made);
        return status;
    }
    *context = made;
    return HEED_OK;
}

void heed_context_destroy(heed_context *context)
{
    if (!context)
        return;
    heed_wisdom_destroy(context->wisdom);
    heed_pool_destroy(context->pool);
    free(context);
}

int heed_context_threads(const heed_context *context)
{
    return context->machine.threads;
}

const char *heed_context_device(const heed_context *context)
{
    return context->machine.device;
}

const char *heed_context_cpu(const heed_context *context)
{
    return heed_cpu_level_name(context->machine.level);
}
