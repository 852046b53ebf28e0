/*
 * module.c - load and unload code on a CUDA device
 *
 * Plans of one kind share code: a module is identified by the key of its cubin, and stays loaded
 * while one of its functions is in use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/jit.h"
#include "handle.h"
#include "nvrtc.h"

typedef struct heed_cuda_module heed_cuda_module;

struct heed_cuda_function {
    heed_cuda_function *next; /* of the same module */
    heed_cuda_module *module;
    cu_function *handle;
    int users;
    int64_t smem; /* current limit of dynamic shared memory, bytes */
    char name[64];
};

struct heed_cuda_module {
    heed_cuda_module *next;
    cu_module *handle;
    heed_cuda_function *functions;
    char key[sizeof((heed_cubin *)NULL)->key];
};

const char *heed_cuda_function_name(const heed_cuda_function *function)
{
    return function->name;
}

cu_function *heed_cuda_function_handle(const heed_cuda_function *function)
{
    return function->handle;
}

/* -------------------------------------------------------------------------- */
/* Modules                                                                    */
/* -------------------------------------------------------------------------- */

/* A driver may refuse the code of a compiler of a later major version: adds advice to the
 * message. */
static void hint_at_compiler(const heed_cuda *cuda, const heed_cubin *cubin, char *text,
                             size_t size)
{
    const heed_nvrtc *nvrtc;
    int driver = cuda->gpu.driver / 1000;
    *text = '\0';
    if (cubin->shipped)
        snprintf(text, size,
                 " that was shipped with heed (HEED_CUBINS= in the environment disables it)");
    else if (heed_nvrtc_get(&nvrtc) == HEED_OK && nvrtc->major > driver)
        snprintf(text, size,
                 " by NVRTC %d.%d, which is newer than the driver for CUDA %d.%d (update the "
                 "driver, or take NVRTC %d: pip install nvidia-cuda-nvrtc-cu%d)",
                 nvrtc->major, nvrtc->minor, driver, cuda->gpu.driver % 1000 / 10, driver, driver);
}

/* Fails with the driver's error for code that it refuses, and its compiler's log. */
static heed_status fail_load(heed_cuda *cuda, const heed_cubin *cubin, int result, const char *log)
{
    char what[1024], hint[192];
    hint_at_compiler(cuda, cubin, hint, sizeof hint);
    snprintf(what, sizeof what, "loading code for compute capability %d.%d%s%s%s%.500s%s",
             cuda->gpu.arch / 10, cuda->gpu.arch % 10, cubin->ptx ? " from PTX" : "", hint,
             *log ? " (" : "", log, *log ? ")" : "");
    return heed_cuda_result(cuda, result, what);
}

static heed_status load_module(heed_cuda *cuda, const heed_cubin *cubin, cu_module **handle)
{
    static const int options[] = { CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_SIZE };
    char log[1024] = "";
    void *values[] = { log, (void *)(uintptr_t)sizeof log };
    int result = cuda->driver->module_load(handle, cubin->data, 2, options, values);
    log[sizeof log - 1] = '\0';
    return result == CU_SUCCESS ? HEED_OK : fail_load(cuda, cubin, result, log);
}

static heed_status find_module(heed_cuda *cuda, const heed_cubin *cubin, heed_cuda_module **module)
{
    for (*module = cuda->modules; *module; *module = (*module)->next)
        if (strcmp((*module)->key, cubin->key) == 0)
            return HEED_OK;
    heed_cuda_module *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a module of code");
    heed_status status = load_module(cuda, cubin, &made->handle);
    if (status != HEED_OK) {
        free(made);
        return status;
    }
    memcpy(made->key, cubin->key, sizeof made->key);
    made->next = cuda->modules;
    cuda->modules = made;
    *module = made;
    return HEED_OK;
}

/* Unloads @module unless one of its functions is in use. A lost device is not accessed. */
static void drop_module(heed_cuda *cuda, heed_cuda_module *module)
{
    if (module->functions)
        return;
    heed_cuda_module **link = &cuda->modules;
    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    if (!atomic_load_explicit(&cuda->lost, memory_order_acquire))
        cuda->driver->module_unload(module->handle);
    free(module);
}

/* -------------------------------------------------------------------------- */
/* Functions                                                                  */
/* -------------------------------------------------------------------------- */

/* Gets a function and makes the driver load it, which by default it does on first use; that must
 * not happen while a stream is captured. */
static int get_function(const heed_driver *driver, cu_function **handle, cu_module *module,
                        const char *name)
{
    int result = driver->module_function(handle, module, name);
    if (result == CU_SUCCESS && driver->function_load)
        result = driver->function_load(*handle);
    return result;
}

static heed_status find_function(heed_cuda *cuda, heed_cuda_module *module, const char *name,
                                 heed_cuda_function **function)
{
    char what[128];
    for (*function = module->functions; *function; *function = (*function)->next)
        if (strcmp((*function)->name, name) == 0)
            return HEED_OK;
    heed_cuda_function *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a function of loaded code");
    int needed = snprintf(made->name, sizeof made->name, "%s", name);
    int result = get_function(cuda->driver, &made->handle, module->handle, name);
    if (needed >= (int)sizeof made->name || result != CU_SUCCESS) {
        free(made);
        snprintf(what, sizeof what, "looking for function \"%.64s\" in loaded code", name);
        return result == CU_SUCCESS ? heed_fail(HEED_ERR_INVALID, "%s: the name is too long", what)
                                    : heed_cuda_result(cuda, result, what);
    }
    made->module = module;
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return HEED_OK;
}

/* Frees @function unless it is in use. */
static void drop_function(heed_cuda_function *function)
{
    if (function->users)
        return;
    heed_cuda_function **link = &function->module->functions;
    while (*link != function)
        link = &(*link)->next;
    *link = function->next;
    free(function);
}

static heed_status allow_smem(heed_cuda *cuda, heed_cuda_function *function, int64_t smem)
{
    char what[192];
    if (smem <= function->smem)
        return HEED_OK;
    if (smem > cuda->gpu.smem_block)
        return heed_fail(HEED_ERR_DEVICE,
                         "%s needs %lld bytes of shared memory; a block of cuda:%d has at most "
                         "%lld",
                         function->name, (long long)smem, cuda->ordinal,
                         (long long)cuda->gpu.smem_block);
    snprintf(what, sizeof what, "asking for %lld bytes of shared memory for %s", (long long)smem,
             function->name);
    int result = cuda->driver->function_attribute(function->handle, CU_FUNCTION_SMEM, (int)smem);
    if (result == CU_SUCCESS)
        function->smem = smem;
    return heed_cuda_result(cuda, result, what);
}

/* -------------------------------------------------------------------------- */
/* The two calls                                                              */
/* -------------------------------------------------------------------------- */

static heed_status take(heed_cuda *cuda, const heed_cubin *cubin, const char *name, int64_t smem,
                        heed_cuda_function **function)
{
    heed_cuda_module *module;
    heed_cuda_function *found;
    heed_status status = find_module(cuda, cubin, &module);
    if (status != HEED_OK)
        return status;
    status = find_function(cuda, module, name, &found);
    if (status == HEED_OK) {
        status = allow_smem(cuda, found, smem);
        found->users += status == HEED_OK;
        drop_function(found);
    }
    drop_module(cuda, module);
    if (status == HEED_OK)
        *function = found;
    return status;
}

heed_status heed_cuda_load(heed_cuda *cuda, const heed_cubin *cubin, const char *name, int64_t smem,
                           heed_cuda_function **function)
{
    *function = NULL;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    pthread_mutex_lock(&cuda->lock);
    status = take(cuda, cubin, name, smem, function);
    pthread_mutex_unlock(&cuda->lock);
    heed_cuda_leave(cuda);
    return status;
}

void heed_cuda_unload(heed_cuda *cuda, heed_cuda_function *function)
{
    if (!function || heed_cuda_inherited(cuda))
        return;                                     /* it belongs to the parent process */
    bool inside = heed_cuda_enter(cuda) == HEED_OK; /* false for a lost device */
    pthread_mutex_lock(&cuda->lock);
    heed_cuda_module *module = function->module;
    function->users--;
    drop_function(function);
    drop_module(cuda, module);
    pthread_mutex_unlock(&cuda->lock);
    if (inside)
        heed_cuda_leave(cuda);
}
