/*
 * fake_code.c - the fake driver's modules and functions
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "fake_driver.h"

#define SMEM_DEFAULT (48 << 10)

struct cu_module {
    cu_function *functions;
    void *library; /* with code that the emulator runs; NULL: none */
};

/* Any ELF file is accepted; PTX that contains the word "wrong" does not compile. */
static int check_image(const char *image, unsigned option_count, const int *options, void **values)
{
    if (memcmp(image, "\177ELF", 4) == 0)
        return CU_SUCCESS;
    if (strncmp(image, ".version", 8) != 0)
        return INVALID_IMAGE;
    if (!strstr(image, "wrong"))
        return CU_SUCCESS;
    char *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < option_count; i++) {
        log = options[i] == CU_JIT_ERROR_LOG ? values[i] : log;
        size = options[i] == CU_JIT_ERROR_LOG_SIZE ? (size_t)(uintptr_t)values[i] : size;
    }
    if (log && size)
        snprintf(log, size, "ptxas: line 2: wrong is wrong");
    return INVALID_PTX;
}

static int module_load(cu_module **module, const void *image, unsigned option_count,
                       const int *options, void **values)
{
    int result = fake_begin_unsafe("cuModuleLoadDataEx");
    if (result == CU_SUCCESS)
        result = check_image(image, option_count, options, values);
    if (result != CU_SUCCESS)
        return result;
    *module = fake_make(sizeof **module);
    if (fake->emulates)
        (*module)->library = fake_library_open(image);
    fake_count(&fake->modules, 1);
    return CU_SUCCESS;
}

static int module_unload(cu_module *module)
{
    int result = fake_begin_unsafe("cuModuleUnload");
    while (module->functions) {
        cu_function *function = module->functions;
        module->functions = function->next;
        fake_unmake(function);
    }
    if (module->library)
        dlclose(module->library);
    fake_unmake(module);
    fake_count(&fake->modules, -1);
    return result;
}

static int module_function(cu_function **function, cu_module *module, const char *name)
{
    int result = fake_begin_inside("cuModuleGetFunction");
    if (result == CU_SUCCESS && strncmp(name, "missing", 7) == 0)
        result = NOT_FOUND;
    if (result != CU_SUCCESS)
        return result;
    cu_function *made = fake_make(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->smem = SMEM_DEFAULT;
    made->code = fake_library_code(module->library, name);
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return CU_SUCCESS;
}

static int function_load(cu_function *function)
{
    (void)function;
    return fake_begin_unsafe("cuFuncLoad");
}

static int function_attribute(cu_function *function, int attribute, int value)
{
    int result = fake_begin_inside("cuFuncSetAttribute");
    if (result != CU_SUCCESS || attribute != CU_FUNCTION_SMEM || value < 0 || value > SMEM_BLOCK)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    pthread_mutex_lock(&fake_lock); /* another thread may launch it */
    function->smem = value;
    pthread_mutex_unlock(&fake_lock);
    return CU_SUCCESS;
}

/* Occupancy limited by threads and shared memory; registers are ignored. */
static int occupancy(int *blocks, cu_function *function, int threads, size_t smem)
{
    int result = fake_begin_inside("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (result != CU_SUCCESS || !function || threads < 1)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *blocks = 2048 / threads;
    if (smem > 0 && *blocks > (int)(SMEM_BLOCK / smem))
        *blocks = (int)(SMEM_BLOCK / smem);
    return CU_SUCCESS;
}

const fake_entry fake_code_entries[] = {
    { "cuModuleLoadDataEx", 2010, (fake_entry_fn *)module_load },
    { "cuModuleUnload", 2000, (fake_entry_fn *)module_unload },
    { "cuModuleGetFunction", 2000, (fake_entry_fn *)module_function },
    { "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, (fake_entry_fn *)occupancy },
    { "cuFuncSetAttribute", 9000, (fake_entry_fn *)function_attribute },
    { "cuFuncLoad", 12040, (fake_entry_fn *)function_load },
    { NULL, 0, NULL },
};
