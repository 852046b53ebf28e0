/*
 * context.c - the machine, its threads, and what is known about it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/driver/device.h"
#include "cuda/driver/nvrtc.h"
#include "cuda/gpu.h"
#include "cuda/jit.h"
#include "cuda/shipped.h"
#include "device.h"
#include "internal.h"
#include "later.h"
#include "measure.h"
#include "sized.h"

#define THREADS_MAX 1024
#define ORDINAL_MAX 1023

static heed_status check_options(const heed_options *options)
{
    if (options->threads < 0 || options->threads > THREADS_MAX)
        return heed_fail(HEED_ERR_INVALID, "threads is %d; it must be 0 to %d", options->threads,
                         THREADS_MAX);
    if (options->pool && !options->parallel)
        return heed_fail(HEED_ERR_INVALID, "pool is set but parallel is NULL; it must be set too");
    if (options->compile != HEED_COMPILE_NOW && options->compile != HEED_COMPILE_BACKGROUND)
        return heed_fail(HEED_ERR_INVALID,
                         "compile is %lld; it must be %d (now) or %d (background)",
                         (long long)options->compile, HEED_COMPILE_NOW, HEED_COMPILE_BACKGROUND);
    return HEED_OK;
}

bool heed_device_parse(const char *text, int *ordinal)
{
    char *end;
    *ordinal = -1;
    if (strcmp(text, "cpu") == 0)
        return true;
    if (strncmp(text, "cuda", 4) != 0)
        return false;
    *ordinal = 0;
    if (text[4] == '\0')
        return true;
    if (text[4] != ':' || text[5] < '0' || text[5] > '9')
        return false;
    long number = strtol(text + 5, &end, 10);
    *ordinal = (int)number;
    return *end == '\0' && number <= ORDINAL_MAX;
}

/* The device that @options or the environment selects. */
static heed_status find_device(const heed_options *options, int *ordinal)
{
    const char *field = "device";
    const char *text = options->device;
    if (!text) {
        field = "HEED_DEVICE";
        text = getenv(field);
    }
    if (!text || !*text)
        text = "cpu";
    if (!heed_device_parse(text, ordinal))
        return heed_fail(HEED_ERR_INVALID, "%s is \"%.40s\"; it must be cpu, cuda or cuda:N", field,
                         text);
    return HEED_OK;
}

static heed_status open_cpu(heed_context *context, const heed_options *options)
{
    return heed_pool_create(&context->pool, context->machine.threads, options->parallel,
                            options->pool);
}

/* The context's machine describes the GPU; it has no host threads. */
static heed_status open_cuda(heed_context *context, int ordinal, const heed_options *options)
{
    heed_machine *machine = &context->machine;
    heed_status status = heed_cuda_open(&context->cuda, ordinal);
    if (status == HEED_OK)
        status = heed_jit_ready();
    if (status != HEED_OK)
        return status;
    if (options->compile == HEED_COMPILE_BACKGROUND && !(context->turns = heed_turns_create()))
        return HEED_ERR_NO_MEMORY;
    machine->backend = HEED_BACKEND_CUDA;
    machine->gpu = heed_cuda_gpu(context->cuda);
    machine->threads = 1;
    snprintf(machine->device, sizeof machine->device, "%s", machine->gpu->name);
    return HEED_OK;
}

heed_status heed_context_create(heed_context **context, const heed_options *options)
{
    if (!context)
        return heed_fail(HEED_ERR_INVALID, "context is NULL; it must point to a heed_context *");
    *context = NULL;
    heed_options own = { .size = sizeof own };
    int ordinal;
    heed_status status = options ? heed_sized_read(&heed_sized_options, &own, options) : HEED_OK;
    if (status == HEED_OK)
        status = check_options(&own);
    if (status == HEED_OK)
        status = find_device(&own, &ordinal);
    if (status != HEED_OK)
        return status;

    heed_context *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a context");
    made->process = getpid();
    made->trace = heed_trace_get();
    made->check = getenv("HEED_CHECK") && strcmp(getenv("HEED_CHECK"), "1") == 0;
    status = heed_machine_detect(&made->machine, own.cpu, own.threads);
    if (status == HEED_OK)
        status = ordinal < 0 ? open_cpu(made, &own) : open_cuda(made, ordinal, &own);
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
    heed_cuda_close(context->cuda);
    heed_turns_destroy(context->turns);
    free(context);
}

heed_status heed_context_check(const heed_context *context)
{
    if (!context)
        return heed_fail(HEED_ERR_INVALID, "context is NULL; make one with heed_context_create()");
    if (context->process != getpid())
        return heed_fail(HEED_ERR_INVALID,
                         "context was made by process %ld, and inherited by fork(); make one in "
                         "process %ld with heed_context_create()",
                         (long)context->process, (long)getpid());
    return HEED_OK;
}

void heed_context_stop(heed_context *context, heed_stop_fn *stop)
{
    context->stop = stop;
}

bool heed_context_stopped(const heed_context *context)
{
    return context->stop && context->stop();
}

int heed_context_threads(const heed_context *context)
{
    return context ? context->machine.threads : 0;
}

const char *heed_context_device(const heed_context *context)
{
    return context ? context->machine.device : "";
}

const char *heed_context_backend(const heed_context *context)
{
    if (!context)
        return "";
    return context->machine.backend == HEED_BACKEND_CPU ? "cpu" : "cuda";
}

/* GPU code also depends on the driver and the compiler. "+" follows the version of the compiler
 * that compiled the kernels shipped with the library. */
static void gpu_features(const heed_machine *machine, char text[HEED_FEATURES_SIZE])
{
    const heed_nvrtc *nvrtc;
    int driver = machine->gpu->driver, major, minor;
    bool shipped = heed_shipped_compiler(&major, &minor);
    if (!shipped && heed_nvrtc_get(&nvrtc) == HEED_OK) {
        major = nvrtc->major;
        minor = nvrtc->minor;
    }
    snprintf(text, HEED_FEATURES_SIZE, "sm_%d-driver%d.%d-nvrtc%d.%d%s", machine->gpu->arch,
             driver / 1000, driver % 1000 / 10, major, minor, shipped ? "+" : "");
}

void heed_machine_features(const heed_machine *machine, char text[HEED_FEATURES_SIZE])
{
    if (machine->backend == HEED_BACKEND_CUDA)
        gpu_features(machine, text);
    else
        memcpy(text, machine->cpu, HEED_FEATURES_SIZE);
}

const char *heed_context_cpu(const heed_context *context)
{
    return context ? context->machine.cpu : "";
}
