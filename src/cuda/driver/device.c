/*
 * device.c - a CUDA device: its properties, its context, and launches
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "handle.h"

/* -------------------------------------------------------------------------- */
/* Failures                                                                   */
/* -------------------------------------------------------------------------- */

static heed_status fail_lost(const heed_cuda *cuda)
{
    return heed_fail(HEED_ERR_LOST, "cuda:%d is lost to this process since %s; restart the process",
                     cuda->ordinal, cuda->reason);
}

/* Stores the first reason, and keeps later calls from using the device. */
static void latch(heed_cuda *cuda, const char *reason)
{
    pthread_mutex_lock(&cuda->lost_lock);
    if (!atomic_load_explicit(&cuda->lost, memory_order_relaxed)) {
        snprintf(cuda->reason, sizeof cuda->reason, "%s", reason);
        atomic_store_explicit(&cuda->lost, true, memory_order_release);
    }
    pthread_mutex_unlock(&cuda->lost_lock);
}

bool heed_cuda_inherited(const heed_cuda *cuda)
{
    return cuda->process != getpid();
}

static heed_status fail_inherited(const heed_cuda *cuda)
{
    return heed_fail(
        HEED_ERR_INVALID,
        "cuda:%d was opened by process %ld, which forked this one; CUDA does not work in "
        "such a child: start it with exec, or before CUDA is used",
        cuda->ordinal, (long)cuda->process);
}

heed_status heed_cuda_result(heed_cuda *cuda, int result, const char *what)
{
    heed_status status = heed_driver_fail(cuda->driver, result, what);
    if (status != HEED_ERR_LOST)
        return status;
    latch(cuda, heed_message());
    return fail_lost(cuda);
}

/* -------------------------------------------------------------------------- */
/* Facts of the device                                                        */
/* -------------------------------------------------------------------------- */

/* Returns an attribute of the device; stores the first failure in *@result. */
static int ask(const heed_cuda *cuda, int attribute, int *result)
{
    int value = 0;
    int answer = cuda->driver->device_attribute(&value, attribute, cuda->device);
    if (*result == CU_SUCCESS)
        *result = answer;
    return value;
}

/* Drivers of the latest devices no longer report clocks, and none reports matrix rates: use the
 * data sheet of the device, or of another one of its architecture. */
static void guess_rates(heed_gpu *gpu)
{
    heed_gpu known;
    if (!heed_gpu_find(&known, gpu->name) && !heed_gpu_arch(&known, gpu->arch) &&
        !heed_gpu_arch(&known, 90))
        return;
    double share = (double)gpu->multiprocessors / known.multiprocessors;
    if (gpu->clock <= 0)
        gpu->clock = known.clock;
    if (gpu->bandwidth <= 0)
        gpu->bandwidth = known.bandwidth * share;
    gpu->matrix = known.matrix * share * gpu->clock / known.clock;
}

static heed_status read_facts(heed_cuda *cuda)
{
    heed_gpu *gpu = &cuda->gpu;
    size_t memory = 0;
    int result = cuda->driver->device_name(gpu->name, sizeof gpu->name, cuda->device);
    if (result == CU_SUCCESS)
        result = cuda->driver->device_memory(&memory, cuda->device);
    if (result == CU_SUCCESS)
        result = cuda->driver->device_bus_id(cuda->bus_id, sizeof cuda->bus_id, cuda->device);
    gpu->arch = 10 * ask(cuda, CU_DEVICE_MAJOR, &result) + ask(cuda, CU_DEVICE_MINOR, &result);
    gpu->multiprocessors = ask(cuda, CU_DEVICE_MULTIPROCESSORS, &result);
    gpu->registers = ask(cuda, CU_DEVICE_REGISTERS, &result);
    gpu->threads = ask(cuda, CU_DEVICE_THREADS, &result);
    gpu->blocks = ask(cuda, CU_DEVICE_BLOCKS, &result);
    gpu->smem = ask(cuda, CU_DEVICE_SMEM, &result);
    gpu->smem_block = ask(cuda, CU_DEVICE_SMEM_OPTIN, &result);
    gpu->smem_reserved = ask(cuda, CU_DEVICE_SMEM_RESERVED, &result);
    gpu->l2 = ask(cuda, CU_DEVICE_L2_SIZE, &result);
    gpu->l2_window = ask(cuda, CU_DEVICE_L2_PERSISTING, &result);
    cuda->window_max = (size_t)ask(cuda, CU_DEVICE_WINDOW, &result);
    gpu->clock = 1e3 * ask(cuda, CU_DEVICE_CLOCK_RATE, &result);
    /* double data rate */
    gpu->bandwidth = 2e3 * ask(cuda, CU_DEVICE_MEMORY_CLOCK_RATE, &result) *
                     ask(cuda, CU_DEVICE_MEMORY_BUS_WIDTH, &result) / 8;
    gpu->memory = (int64_t)memory;
    gpu->driver = cuda->driver->version;
    gpu->costs = heed_costs_find(heed_cost_rows, gpu->name, gpu->arch);
    if (result == CU_SUCCESS)
        guess_rates(gpu);
    return heed_driver_fail(cuda->driver, result, "querying the CUDA device");
}

const heed_gpu *heed_cuda_gpu(const heed_cuda *cuda)
{
    return &cuda->gpu;
}

const char *heed_cuda_bus_id(const heed_cuda *cuda)
{
    return cuda->bus_id;
}

/* -------------------------------------------------------------------------- */
/* Opening and closing                                                        */
/* -------------------------------------------------------------------------- */

static heed_status find_device(heed_cuda *cuda)
{
    const heed_driver *driver = cuda->driver;
    int count = 0;
    int result = driver->empty ? CU_SUCCESS : driver->device_count(&count);
    if (result == CU_SUCCESS && count == 0)
        return heed_fail(
            HEED_ERR_DEVICE, "device is cuda:%d; this machine has no CUDA device%s", cuda->ordinal,
            getenv("CUDA_VISIBLE_DEVICES") ? " that CUDA_VISIBLE_DEVICES permits" : "");
    if (result == CU_SUCCESS && cuda->ordinal >= count)
        return heed_fail(HEED_ERR_DEVICE, "device is cuda:%d; there %s %d, counted from cuda:0",
                         cuda->ordinal, count == 1 ? "is" : "are", count);
    if (result == CU_SUCCESS)
        result = driver->device_get(&cuda->device, cuda->ordinal);
    return heed_driver_fail(driver, result, "looking for the CUDA device");
}

static heed_status check_age(const heed_cuda *cuda)
{
    if (cuda->gpu.arch >= HEED_ARCH_NEEDED)
        return HEED_OK;
    return heed_fail(HEED_ERR_DEVICE,
                     "cuda:%d is a %s of compute capability %d.%d; %d.%d or later is needed",
                     cuda->ordinal, cuda->gpu.name, cuda->gpu.arch / 10, cuda->gpu.arch % 10,
                     HEED_ARCH_NEEDED / 10, HEED_ARCH_NEEDED % 10);
}

/* Adds to the message what the missing driver was needed for. */
static heed_status fail_driver(heed_status status, int ordinal)
{
    char why[512];
    snprintf(why, sizeof why, "%s", heed_message());
    return heed_fail(status,
                     "device is cuda:%d, but %s; install or update NVIDIA's driver, or use the "
                     "device \"cpu\"",
                     ordinal, why);
}

heed_status heed_cuda_open(heed_cuda **cuda, int ordinal)
{
    const heed_driver *driver;
    *cuda = NULL;
    heed_status status = heed_driver_get(&driver);
    if (status == HEED_ERR_INVALID) /* forked */
        return status;
    if (status != HEED_OK)
        return fail_driver(status, ordinal);
    heed_cuda *made = calloc(1, sizeof *made);
    if (!made)
        return heed_fail(HEED_ERR_NO_MEMORY, "no memory for a CUDA device");
    made->driver = driver;
    made->ordinal = ordinal;
    made->process = getpid();
    pthread_mutex_init(&made->lost_lock, NULL);
    pthread_mutex_init(&made->lock, NULL);
    status = find_device(made);
    if (status == HEED_OK)
        status = read_facts(made);
    if (status == HEED_OK)
        status = check_age(made);
    if (status == HEED_OK)
        status = heed_driver_fail(driver, driver->primary_retain(&made->context, made->device),
                                  "opening the CUDA device");
    if (status != HEED_OK) {
        heed_cuda_close(made);
        return status;
    }
    *cuda = made;
    return HEED_OK;
}

void heed_cuda_close(heed_cuda *cuda)
{
    if (!cuda)
        return;
    if (!heed_cuda_inherited(cuda)) {
        if (cuda->context)
            cuda->driver->primary_release(cuda->device);
        pthread_mutex_destroy(&cuda->lock);
        pthread_mutex_destroy(&cuda->lost_lock);
    }
    free(cuda);
}

/* -------------------------------------------------------------------------- */
/* The current context                                                        */
/* -------------------------------------------------------------------------- */

/* A bit for each open heed_cuda_enter() of this thread, the last one lowest: set if it pushed the
 * context. Thread-local, as the current context is. */
static _Thread_local uint64_t pushed;

heed_status heed_cuda_enter(heed_cuda *cuda)
{
    cu_context *current = NULL;
    if (atomic_load_explicit(&cuda->lost, memory_order_acquire))
        return fail_lost(cuda);
    int result = cuda->driver->context_current(&current);
    bool push = current != cuda->context;
    if (result == CU_SUCCESS && push)
        result = cuda->driver->context_push(cuda->context);
    if (result != CU_SUCCESS && heed_cuda_inherited(cuda))
        return fail_inherited(cuda);
    if (result != CU_SUCCESS)
        return heed_cuda_result(cuda, result, "making the CUDA device current");
    pushed = pushed << 1 | push;
    return HEED_OK;
}

void heed_cuda_leave(heed_cuda *cuda)
{
    cu_context *popped;
    if (pushed & 1)
        cuda->driver->context_pop(&popped);
    pushed >>= 1;
}

/* -------------------------------------------------------------------------- */
/* Pointers                                                                   */
/* -------------------------------------------------------------------------- */

heed_status heed_cuda_check_pointer(heed_cuda *cuda, const char *field, const void *pointer)
{
    static const int asked[] = { CU_POINTER_MEMORY_TYPE, CU_POINTER_DEVICE, CU_POINTER_IS_MANAGED };
    unsigned type = 0, managed = 0;
    int device = -1;
    void *values[] = { &type, &device, &managed };
    int result = cuda->driver->pointer_attributes(3, asked, values, (cu_address)(uintptr_t)pointer);
    if (result != CU_SUCCESS)
        return heed_cuda_result(cuda, result, "querying a pointer");
    if (type == 0)
        return heed_fail(
            HEED_ERR_INVALID,
            "%s is %p, host memory that is not registered with CUDA; it must be memory "
            "that cuda:%d can access",
            field, pointer, cuda->ordinal);
    if (type == CU_MEMORY_DEVICE && !(managed & 0xff) && device != cuda->ordinal)
        return heed_fail(HEED_ERR_INVALID,
                         "%s is %p, memory of cuda:%d; the plan is for cuda:%d, and needs that "
                         "device's memory",
                         field, pointer, device, cuda->ordinal);
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* Launches                                                                   */
/* -------------------------------------------------------------------------- */

heed_status heed_cuda_ignore_captures(heed_cuda *cuda)
{
    int mode = CU_CAPTURE_RELAXED;
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_result(cuda, cuda->driver->capture_exchange(&mode),
                              "letting other threads capture streams");
    heed_cuda_leave(cuda);
    return status;
}

heed_status heed_cuda_is_captured(heed_cuda *cuda, void *stream, bool *captured)
{
    int state = 0;
    int result = cuda->driver->capture_state(stream, &state);
    *captured = state != 0;
    return heed_cuda_result(cuda, result, "querying whether a stream is captured");
}

heed_status heed_cuda_allow_window(heed_cuda *cuda)
{
    heed_status status = heed_cuda_enter(cuda);
    if (status != HEED_OK)
        return status;
    pthread_mutex_lock(&cuda->lock);
    if (!cuda->window_allowed && cuda->gpu.l2_window > 0)
        status = heed_cuda_result(
            cuda, cuda->driver->context_limit(CU_LIMIT_PERSISTING_L2, (size_t)cuda->gpu.l2_window),
            "setting a part of the L2 aside");
    cuda->window_allowed = status == HEED_OK;
    pthread_mutex_unlock(&cuda->lock);
    heed_cuda_leave(cuda);
    return status;
}

/* As many lines of the window as fit stay in the L2, spread evenly. */
static cu_launch_attribute window_attribute(const heed_cuda *cuda, const heed_cuda_launch *launch)
{
    size_t size = launch->window_size < cuda->window_max ? launch->window_size : cuda->window_max;
    double room = (double)cuda->gpu.l2_window / (double)size;
    return (cu_launch_attribute){
        .id = CU_LAUNCH_WINDOW,
        .value.window = { .address = (void *)(uintptr_t)launch->window,
                          .size = size,
                          .hit_ratio = room < 1 ? (float)room : 1.0F,
                          .hit = CU_PROPERTY_PERSISTING,
                          .miss = CU_PROPERTY_STREAMING },
    };
}

static heed_status fail_launch(heed_cuda *cuda, const heed_cuda_launch *launch, int result)
{
    char what[256];
    snprintf(what, sizeof what,
             "launching %s (grid %u x %u x %u, %u threads, %u bytes of shared memory)",
             heed_cuda_function_name(launch->function), launch->grid[0], launch->grid[1],
             launch->grid[2], launch->threads, launch->smem);
    return heed_cuda_result(cuda, result, what);
}

heed_status heed_cuda_start(heed_cuda *cuda, const heed_cuda_launch *launch, void *stream)
{
    cu_launch_attribute attributes[2];
    unsigned count = 0;
    if (launch->overlap)
        attributes[count++] = (cu_launch_attribute){ .id = CU_LAUNCH_OVERLAP, .value.overlap = 1 };
    if (launch->window && launch->window_size && cuda->gpu.l2_window > 0 && cuda->window_max)
        attributes[count++] = window_attribute(cuda, launch);
    cu_launch given = { .grid = { launch->grid[0], launch->grid[1], launch->grid[2] },
                        .block = { launch->threads, 1, 1 },
                        .smem = launch->smem,
                        .stream = stream,
                        .attributes = attributes,
                        .attribute_count = count };
    void *arguments[] = { (void *)(uintptr_t)launch->args };
    int result = cuda->driver->launch(&given, heed_cuda_function_handle(launch->function),
                                      arguments, NULL);
    return result == CU_SUCCESS ? HEED_OK : fail_launch(cuda, launch, result);
}
