/*
 * fake_device.c - the fake driver's devices and contexts
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_driver.h"

#define DEVICES_MAX 8

/* -------------------------------------------------------------------------- */
/* Driver, errors, devices                                                    */
/* -------------------------------------------------------------------------- */

static int init(unsigned flags)
{
    int result = fake_begin("cuInit");
    if (result == CU_SUCCESS && flags)
        return INVALID_VALUE;
    fake_started |= result == CU_SUCCESS && fake->devices > 0;
    if (fake_process == 0)
        fake_process = getpid();
    return result == CU_SUCCESS && fake->devices == 0 ? CU_NO_DEVICE : result;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    *version = fake->driver;
    return CU_SUCCESS;
}

static const struct {
    int result;
    const char *name, *words;
} errors[] = {
    { CU_SUCCESS, "CUDA_SUCCESS", "no error" },
    { INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    { CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
    { CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    { INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
    { INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
    { NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
    { LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
    { CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
      "operation not permitted when stream is capturing" },
};

static int error_text(int result, const char **name, const char **words)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].result != result)
            continue;
        *name = errors[i].name;
        *words = errors[i].words;
        return CU_SUCCESS;
    }
    return INVALID_VALUE;
}

static int error_name(int result, const char **text)
{
    const char *other;
    return error_text(result, text, &other);
}

static int error_string(int result, const char **text)
{
    const char *other;
    return error_text(result, &other, text);
}

static int device_count(int *number)
{
    int result = fake_begin("cuDeviceGetCount");
    if (result == CU_SUCCESS)
        *number = fake->devices;
    return result;
}

static int device_get(int *device, int ordinal)
{
    int result = fake_begin("cuDeviceGet");
    if (result == CU_SUCCESS && (ordinal < 0 || ordinal >= fake->devices))
        return INVALID_DEVICE;
    *device = ordinal;
    return result;
}

static int device_name(char *name, int size, int device)
{
    int result = fake_begin("cuDeviceGetName");
    if (result == CU_SUCCESS)
        snprintf(name, (size_t)size, "Imaginary GPU %d", device);
    return result;
}

static int device_memory(size_t *bytes, int device)
{
    (void)device;
    *bytes = fake->memory;
    return fake_begin("cuDeviceTotalMem");
}

static int device_bus_id(char *text, int size, int device)
{
    int result = fake_begin("cuDeviceGetPCIBusId");
    if (result == CU_SUCCESS)
        snprintf(text, (size_t)size, "0000:%02x:00.0", 0x18 + device);
    return result;
}

/* Attributes of an H200, but for those that the controls have. */
static int device_attribute(int *value, int attribute, int device)
{
    const int values[][2] = {
        { CU_DEVICE_CLOCK_RATE, fake->clock },
        { CU_DEVICE_MULTIPROCESSORS, fake->multiprocessors },
        { CU_DEVICE_COMPUTE_MODE, 0 },
        { CU_DEVICE_MEMORY_CLOCK_RATE, fake->memory_clock },
        { CU_DEVICE_MEMORY_BUS_WIDTH, 6144 },
        { CU_DEVICE_L2_SIZE, fake->l2 },
        { CU_DEVICE_THREADS, 2048 },
        { CU_DEVICE_SMEM, 228 << 10 },
        { CU_DEVICE_REGISTERS, 65536 },
        { CU_DEVICE_MAJOR, fake->arch / 10 },
        { CU_DEVICE_MINOR, fake->arch % 10 },
        { CU_DEVICE_SMEM_OPTIN, SMEM_BLOCK },
        { CU_DEVICE_MAPPING, 1 },
        { CU_DEVICE_BLOCKS, 32 },
        { CU_DEVICE_L2_PERSISTING, 37 << 20 },
        { CU_DEVICE_WINDOW, 128 << 20 },
        { CU_DEVICE_SMEM_RESERVED, 1024 },
    };
    (void)device;
    int result = fake_begin("cuDeviceGetAttribute");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i][0] == attribute) {
            *value = values[i][1];
            return result;
        }
    return result == CU_SUCCESS ? INVALID_VALUE : result;
}

/* -------------------------------------------------------------------------- */
/* Contexts                                                                   */
/* -------------------------------------------------------------------------- */

static cu_context contexts[DEVICES_MAX];
static int retained[DEVICES_MAX];

static void __attribute__((constructor)) number_contexts(void)
{
    for (int i = 0; i < DEVICES_MAX; i++)
        contexts[i].device = i;
}

static int primary_retain(cu_context **context, int device)
{
    int result = fake_begin("cuDevicePrimaryCtxRetain");
    if (result != CU_SUCCESS)
        return result;
    *context = &contexts[device];
    fake_count(&retained[device], 1);
    fake_count(&fake->retained, 1);
    return CU_SUCCESS;
}

static int primary_release(int device)
{
    if (retained[device] == 0)
        return INVALID_CONTEXT;
    fake_count(&retained[device], -1);
    fake_count(&fake->retained, -1);
    return fake_begin("cuDevicePrimaryCtxRelease");
}

/* The stack of contexts still works when a device is lost. */
static int context_push(cu_context *context)
{
    int result = fake_begin("cuCtxPushCurrent");
    if (result != CU_SUCCESS && !fake_is_lost(result))
        return result;
    if (fake_this.depth == STACK_MAX || !retained[context->device])
        return INVALID_CONTEXT;
    fake_this.stack[fake_this.depth++] = context;
    fake_count(&fake->depth, 1);
    return CU_SUCCESS;
}

static int context_pop(cu_context **context)
{
    if (fake_this.depth == 0)
        return INVALID_CONTEXT;
    *context = fake_this.stack[--fake_this.depth];
    fake_count(&fake->depth, -1);
    return CU_SUCCESS;
}

static int context_current(cu_context **context)
{
    int result = fake_begin("cuCtxGetCurrent");
    *context = fake_this.depth ? fake_this.stack[fake_this.depth - 1] : NULL;
    return fake_is_lost(result) ? CU_SUCCESS : result;
}

static int context_wait(void)
{
    return fake_begin_unsafe("cuCtxSynchronize");
}

static int context_limit(int limit, size_t value)
{
    int result = fake_begin_unsafe("cuCtxSetLimit");
    if (result != CU_SUCCESS || limit != CU_LIMIT_PERSISTING_L2)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    fake->persisting = value;
    pthread_mutex_unlock(&fake_lock);
    return CU_SUCCESS;
}

void fake_renew_devices(void)
{
    memset(retained, 0, sizeof retained);
    fake->retained = fake->depth = fake_this.depth = fake_this.captures = 0;
}

const fake_entry fake_device_entries[] = {
    { "cuInit", 2000, (fake_entry_fn *)init },
    { "cuDriverGetVersion", 2020, (fake_entry_fn *)cuDriverGetVersion },
    { "cuGetErrorName", 6000, (fake_entry_fn *)error_name },
    { "cuGetErrorString", 6000, (fake_entry_fn *)error_string },
    { "cuDeviceGetCount", 2000, (fake_entry_fn *)device_count },
    { "cuDeviceGet", 2000, (fake_entry_fn *)device_get },
    { "cuDeviceGetName", 2000, (fake_entry_fn *)device_name },
    { "cuDeviceGetAttribute", 2000, (fake_entry_fn *)device_attribute },
    { "cuDeviceTotalMem", 3020, (fake_entry_fn *)device_memory },
    { "cuDeviceGetPCIBusId", 4010, (fake_entry_fn *)device_bus_id },
    { "cuDevicePrimaryCtxRetain", 7000, (fake_entry_fn *)primary_retain },
    { "cuDevicePrimaryCtxRelease", 11000, (fake_entry_fn *)primary_release },
    { "cuCtxPushCurrent", 4000, (fake_entry_fn *)context_push },
    { "cuCtxPopCurrent", 4000, (fake_entry_fn *)context_pop },
    { "cuCtxGetCurrent", 4000, (fake_entry_fn *)context_current },
    { "cuCtxSynchronize", 2000, (fake_entry_fn *)context_wait },
    { "cuCtxSetLimit", 3010, (fake_entry_fn *)context_limit },
    { NULL, 0, NULL },
};
