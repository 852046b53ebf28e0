/*
 * fake_cuda.c - a CUDA driver in host memory
 */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cuda/driver.h"

#define DEVICES_MAX 8
#define STACK_MAX 16
#define GRANULE ((size_t)2 << 20)
#define SMEM_BLOCK (227 << 10)
#define SMEM_DEFAULT (48 << 10)

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901
};

static void pin(void *memory, size_t size);
static void renew(void);

fake_cuda fake_cuda_controls = {
    .driver = 13000,
    .devices = 1,
    .arch = 90,
    .memory = (size_t)64 << 30,
    .pin = pin,
    .renew = renew,
};
#define fake (&fake_cuda_controls)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;

struct cu_context {
    int device;
};
static cu_context contexts[DEVICES_MAX];
static int retained[DEVICES_MAX];
static _Thread_local cu_context *stack[STACK_MAX];
static _Thread_local int depth;
static _Thread_local int captures; /* streams that this thread is capturing */

static void read_number(const char *name, int *value)
{
    const char *text = getenv(name);
    if (text && *text)
        *value = atoi(text);
}

/* A program that cannot be told by its memory is told by its environment. */
static void __attribute__((constructor)) read_environment(void)
{
    read_number("FAKE_CUDA_DRIVER", &fake->driver);
    read_number("FAKE_CUDA_DEVICES", &fake->devices);
    read_number("FAKE_CUDA_ARCH", &fake->arch);
    for (int i = 0; i < DEVICES_MAX; i++)
        contexts[i].device = i;
}

/* -------------------------------------------------------------------------- */
/* What every entry begins with                                               */
/* -------------------------------------------------------------------------- */

static int count_call(const char *name)
{
    static int calls_of_name;
    bool counts = !fake->fail_name || strcmp(fake->fail_name, name) == 0;
    if (fake->calls == 0)
        calls_of_name = 0;
    fake->calls++;
    if (!counts || !fake->fail_call || ++calls_of_name != fake->fail_call)
        return CU_SUCCESS;
    fake->failed = name;
    return fake->fail_result;
}

/* Any call: may be told to fail. */
static int begin(const char *name)
{
    pthread_mutex_lock(&lock);
    int result = fake->sticky ? fake->sticky : count_call(name);
    if (result == CU_SUCCESS && !started && strcmp(name, "cuInit") != 0)
        result = NOT_INITIALIZED;
    pthread_mutex_unlock(&lock);
    return result;
}

/* Is @result what a lost device says to everything? */
static bool is_lost(int result)
{
    pthread_mutex_lock(&lock);
    bool lost = result != CU_SUCCESS && result == fake->sticky;
    pthread_mutex_unlock(&lock);
    return lost;
}

/* A call that works in the current context. */
static int begin_inside(const char *name)
{
    int result = begin(name);
    return result == CU_SUCCESS && depth == 0 ? INVALID_CONTEXT : result;
}

/* A call that may not be made while the thread captures a stream. */
static int begin_unsafe(const char *name)
{
    int result = begin_inside(name);
    return result == CU_SUCCESS && captures ? CAPTURE_UNSUPPORTED : result;
}

/* Objects of the driver, in a list, so that those of a lost device can be freed as well. */
typedef struct object {
    struct object *next, *previous;
    max_align_t content[];
} object;
static object objects = { &objects, &objects };

static void *make(size_t size)
{
    object *made = calloc(1, sizeof *made + size);
    if (!made)
        abort();
    pthread_mutex_lock(&lock);
    made->next = objects.next;
    made->previous = &objects;
    made->next->previous = objects.next = made;
    pthread_mutex_unlock(&lock);
    return made->content;
}

static void unmake(void *content)
{
    if (!content)
        return;
    object *made = (object *)((char *)content - offsetof(object, content));
    pthread_mutex_lock(&lock);
    made->previous->next = made->next;
    made->next->previous = made->previous;
    pthread_mutex_unlock(&lock);
    free(made);
}

static void free_objects(void)
{
    object *next = objects.next;
    objects.next = objects.previous = &objects;
    while (next != &objects) {
        object *gone = next;
        next = gone->next;
        free(gone);
    }
}

static void count(int *counter, int change)
{
    pthread_mutex_lock(&lock);
    *counter += change;
    pthread_mutex_unlock(&lock);
}

static int current_device(void)
{
    return stack[depth - 1]->device;
}

/* -------------------------------------------------------------------------- */
/* Driver, errors, devices                                                    */
/* -------------------------------------------------------------------------- */

static int init(unsigned flags)
{
    int result = begin("cuInit");
    if (result == CU_SUCCESS && flags)
        return INVALID_VALUE;
    started |= result == CU_SUCCESS && fake->devices > 0;
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
    int result = begin("cuDeviceGetCount");
    if (result == CU_SUCCESS)
        *number = fake->devices;
    return result;
}

static int device_get(int *device, int ordinal)
{
    int result = begin("cuDeviceGet");
    if (result == CU_SUCCESS && (ordinal < 0 || ordinal >= fake->devices))
        return INVALID_DEVICE;
    *device = ordinal;
    return result;
}

static int device_name(char *name, int size, int device)
{
    int result = begin("cuDeviceGetName");
    if (result == CU_SUCCESS)
        snprintf(name, (size_t)size, "Imaginary GPU %d", device);
    return result;
}

static int device_memory(size_t *bytes, int device)
{
    (void)device;
    *bytes = fake->memory;
    return begin("cuDeviceTotalMem");
}

static int device_bus_id(char *text, int size, int device)
{
    int result = begin("cuDeviceGetPCIBusId");
    if (result == CU_SUCCESS)
        snprintf(text, (size_t)size, "0000:%02x:00.0", 0x18 + device);
    return result;
}

/* Those of an H200. */
static int device_attribute(int *value, int attribute, int device)
{
    const int values[][2] = {
        { CU_DEVICE_CLOCK_RATE, 1980000 },
        { CU_DEVICE_MULTIPROCESSORS, 132 },
        { CU_DEVICE_COMPUTE_MODE, 0 },
        { CU_DEVICE_MEMORY_CLOCK_RATE, 3201000 },
        { CU_DEVICE_MEMORY_BUS_WIDTH, 6144 },
        { CU_DEVICE_L2_SIZE, 60 << 20 },
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
    int result = begin("cuDeviceGetAttribute");
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

static int primary_retain(cu_context **context, int device)
{
    int result = begin("cuDevicePrimaryCtxRetain");
    if (result != CU_SUCCESS)
        return result;
    *context = &contexts[device];
    count(&retained[device], 1);
    count(&fake->retained, 1);
    return CU_SUCCESS;
}

static int primary_release(int device)
{
    if (retained[device] == 0)
        return INVALID_CONTEXT;
    count(&retained[device], -1);
    count(&fake->retained, -1);
    return begin("cuDevicePrimaryCtxRelease");
}

/* The stack of contexts works on when a device is lost. */
static int context_push(cu_context *context)
{
    int result = begin("cuCtxPushCurrent");
    if (result != CU_SUCCESS && !is_lost(result))
        return result;
    if (depth == STACK_MAX || !retained[context->device])
        return INVALID_CONTEXT;
    stack[depth++] = context;
    count(&fake->depth, 1);
    return CU_SUCCESS;
}

static int context_pop(cu_context **context)
{
    if (depth == 0)
        return INVALID_CONTEXT;
    *context = stack[--depth];
    count(&fake->depth, -1);
    return CU_SUCCESS;
}

static int context_current(cu_context **context)
{
    int result = begin("cuCtxGetCurrent");
    *context = depth ? stack[depth - 1] : NULL;
    return is_lost(result) ? CU_SUCCESS : result;
}

static int context_wait(void)
{
    return begin_unsafe("cuCtxSynchronize");
}

static int context_limit(int limit, size_t value)
{
    int result = begin_unsafe("cuCtxSetLimit");
    if (result != CU_SUCCESS || limit != CU_LIMIT_PERSISTING_L2)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    pthread_mutex_lock(&lock);
    fake->persisting = value;
    pthread_mutex_unlock(&lock);
    return CU_SUCCESS;
}

/* -------------------------------------------------------------------------- */
/* Modules                                                                    */
/* -------------------------------------------------------------------------- */

struct cu_function {
    cu_function *next;
    int smem;
    char name[64];
};

struct cu_module {
    cu_function *functions;
};

/* An ELF file is taken as it is; PTX with the word "wrong" in it does not compile. */
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
    int result = begin_unsafe("cuModuleLoadDataEx");
    if (result == CU_SUCCESS)
        result = check_image(image, option_count, options, values);
    if (result != CU_SUCCESS)
        return result;
    *module = make(sizeof **module);
    count(&fake->modules, 1);
    return CU_SUCCESS;
}

static int module_unload(cu_module *module)
{
    int result = begin_unsafe("cuModuleUnload");
    while (module->functions) {
        cu_function *function = module->functions;
        module->functions = function->next;
        unmake(function);
    }
    unmake(module);
    count(&fake->modules, -1);
    return result;
}

static int module_function(cu_function **function, cu_module *module, const char *name)
{
    int result = begin_inside("cuModuleGetFunction");
    if (result == CU_SUCCESS && strncmp(name, "missing", 7) == 0)
        result = NOT_FOUND;
    if (result != CU_SUCCESS)
        return result;
    cu_function *made = make(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->smem = SMEM_DEFAULT;
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return CU_SUCCESS;
}

static int function_load(cu_function *function)
{
    (void)function;
    return begin_unsafe("cuFuncLoad");
}

static int function_attribute(cu_function *function, int attribute, int value)
{
    int result = begin_inside("cuFuncSetAttribute");
    if (result != CU_SUCCESS || attribute != CU_FUNCTION_SMEM || value < 0 || value > SMEM_BLOCK)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    function->smem = value;
    return CU_SUCCESS;
}

/* -------------------------------------------------------------------------- */
/* Streams and graphs                                                         */
/* -------------------------------------------------------------------------- */

struct cu_graph {
    fake_launch *nodes;
    size_t node_count;
};

struct cu_graph_exec {
    cu_graph graph;
};

struct cu_stream {
    bool capturing;
    cu_graph *graph;
};

struct cu_event {
    struct timespec time;
};

static cu_graph *copy_graph(const cu_graph *graph, cu_graph *copy)
{
    copy->nodes = make((graph->node_count + 1) * sizeof *copy->nodes);
    copy->node_count = graph->node_count;
    for (size_t i = 0; i < copy->node_count; i++) {
        copy->nodes[i] = graph->nodes[i];
        copy->nodes[i].args = copy->nodes[i].kept;
    }
    return copy;
}

static int stream_create(cu_stream **stream, unsigned flags)
{
    int result = begin_unsafe("cuStreamCreate");
    if (result != CU_SUCCESS || flags > 1)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *stream = make(sizeof **stream);
    count(&fake->streams, 1);
    return CU_SUCCESS;
}

static int stream_destroy(cu_stream *stream)
{
    int result = begin_inside("cuStreamDestroy");
    if (stream->capturing)
        captures--;
    if (stream->graph) {
        unmake(stream->graph->nodes);
        unmake(stream->graph);
        count(&fake->graphs, -1);
    }
    unmake(stream);
    count(&fake->streams, -1);
    return result;
}

static int stream_wait(cu_stream *stream)
{
    (void)stream;
    return begin_unsafe("cuStreamSynchronize");
}

static int capture_begin(cu_stream *stream, int mode)
{
    int result = begin_inside("cuStreamBeginCapture");
    if (result == CU_SUCCESS && (!stream || stream->capturing || mode != CU_CAPTURE_THREAD_LOCAL))
        result = INVALID_VALUE;
    if (result != CU_SUCCESS)
        return result;
    stream->graph = make(sizeof *stream->graph);
    stream->capturing = true;
    count(&fake->graphs, 1);
    captures++;
    return CU_SUCCESS;
}

static int capture_end(cu_stream *stream, cu_graph **graph)
{
    int result = begin_inside("cuStreamEndCapture");
    if (!stream->capturing)
        return INVALID_VALUE;
    stream->capturing = false;
    captures--;
    *graph = result == CU_SUCCESS ? stream->graph : NULL;
    if (result != CU_SUCCESS) {
        unmake(stream->graph->nodes);
        unmake(stream->graph);
        count(&fake->graphs, -1);
    }
    stream->graph = NULL;
    return result;
}

static int graph_destroy(cu_graph *graph)
{
    int result = begin("cuGraphDestroy");
    unmake(graph->nodes);
    unmake(graph);
    count(&fake->graphs, -1);
    return result;
}

static int graph_instantiate(cu_graph_exec **exec, cu_graph *graph, unsigned long long flags)
{
    int result = begin_inside("cuGraphInstantiateWithFlags");
    if (result != CU_SUCCESS || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *exec = make(sizeof **exec);
    copy_graph(graph, &(*exec)->graph);
    count(&fake->graphs, 1);
    return CU_SUCCESS;
}

static int graph_upload(cu_graph_exec *exec, cu_stream *stream)
{
    (void)exec;
    (void)stream;
    return begin_inside("cuGraphUpload");
}

static int graph_exec_destroy(cu_graph_exec *exec)
{
    int result = begin("cuGraphExecDestroy");
    unmake(exec->graph.nodes);
    unmake(exec);
    count(&fake->graphs, -1);
    return result;
}

/* The device at work. */
static void work(const fake_launch *launch)
{
    pthread_mutex_lock(&lock);
    fake->launches++;
    fake->last = *launch;
    if (fake->launch_error)
        fake->sticky = fake->launch_error;
    bool runs = fake->hook && !fake->launch_error;
    pthread_mutex_unlock(&lock);
    if (runs)
        fake->hook(fake->hook_data, launch);
}

static int graph_launch(cu_graph_exec *exec, cu_stream *stream)
{
    int result = begin_inside("cuGraphLaunch");
    for (size_t i = 0; result == CU_SUCCESS && i < exec->graph.node_count; i++) {
        fake_launch *node = &exec->graph.nodes[i];
        node->stream = stream;
        node->captured = true;
        work(node);
    }
    return result;
}

static bool fits(const cu_launch *launch, const cu_function *function)
{
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    return launch->grid[0] > 0 && launch->grid[1] > 0 && launch->grid[2] > 0 &&
           launch->grid[1] < 65536 && launch->grid[2] < 65536 && threads > 0 && threads <= 1024 &&
           launch->smem <= (unsigned)function->smem;
}

static void note_attributes(fake_launch *seen, const cu_launch *launch)
{
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        const cu_launch_attribute *attribute = &launch->attributes[i];
        if (attribute->id == CU_LAUNCH_OVERLAP)
            seen->overlap = attribute->value.overlap;
        if (attribute->id == CU_LAUNCH_WINDOW) {
            seen->window = attribute->value.window.address;
            seen->window_size = attribute->value.window.size;
            seen->window_ratio = attribute->value.window.hit_ratio;
        }
    }
}

static int launch_kernel(const cu_launch *launch, cu_function *function, void **arguments,
                         void **extra)
{
    int result = begin_inside("cuLaunchKernelEx");
    if (result == CU_SUCCESS && (extra || !fits(launch, function)))
        result = INVALID_VALUE;
    if (result != CU_SUCCESS)
        return result;
    fake_launch seen = { .function = function->name,
                         .smem = launch->smem,
                         .stream = launch->stream,
                         .args = arguments[0] };
    memcpy(seen.grid, launch->grid, sizeof seen.grid);
    memcpy(seen.block, launch->block, sizeof seen.block);
    memcpy(seen.kept, seen.args, fake->args_size);
    note_attributes(&seen, launch);
    if (!launch->stream || !launch->stream->capturing) {
        work(&seen);
        return CU_SUCCESS;
    }
    cu_graph *graph = launch->stream->graph;
    fake_launch *nodes = make((graph->node_count + 1) * sizeof *nodes);
    if (graph->node_count)
        memcpy(nodes, graph->nodes, graph->node_count * sizeof *nodes);
    nodes[graph->node_count++] = seen;
    unmake(graph->nodes);
    graph->nodes = nodes;
    return CU_SUCCESS;
}

static int event_create(cu_event **event, unsigned flags)
{
    int result = begin_inside("cuEventCreate");
    if (result != CU_SUCCESS || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *event = make(sizeof **event);
    count(&fake->events, 1);
    return CU_SUCCESS;
}

static int event_destroy(cu_event *event)
{
    unmake(event);
    count(&fake->events, -1);
    return begin_inside("cuEventDestroy");
}

static int event_record(cu_event *event, cu_stream *stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    return begin_inside("cuEventRecord");
}

static int event_wait(cu_event *event)
{
    (void)event;
    return begin_inside("cuEventSynchronize");
}

static int event_elapsed(float *milliseconds, cu_event *start, cu_event *stop)
{
    *milliseconds = (float)((double)(stop->time.tv_sec - start->time.tv_sec) * 1e3 +
                            (double)(stop->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return begin_inside("cuEventElapsedTime");
}

/* -------------------------------------------------------------------------- */
/* Memory                                                                     */
/* -------------------------------------------------------------------------- */

/* What CUDA knows of an address. */
typedef struct known {
    struct known *next;
    cu_address address;
    size_t size;
    int type, device;
    bool heap; /* is freed, not unmapped */
} known;
static known *memory_list;

static void remember(cu_address address, size_t size, int type, int device, bool heap)
{
    known *made = make(sizeof *made);
    *made = (known){ NULL, address, size, type, device, heap };
    pthread_mutex_lock(&lock);
    made->next = memory_list;
    memory_list = made;
    if (type == CU_MEMORY_DEVICE) {
        fake->blocks++;
        fake->used += size;
    }
    pthread_mutex_unlock(&lock);
}

/* Returns the size that was remembered; 0: nothing was. */
static size_t forget(cu_address address)
{
    size_t size = 0;
    pthread_mutex_lock(&lock);
    known **link = &memory_list;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    known *found = *link;
    if (found) {
        *link = found->next;
        size = found->size;
        fake->blocks -= found->type == CU_MEMORY_DEVICE;
        fake->used -= found->type == CU_MEMORY_DEVICE ? size : 0;
    }
    pthread_mutex_unlock(&lock);
    unmake(found);
    return size;
}

static bool has_room(size_t size)
{
    pthread_mutex_lock(&lock);
    bool room = size <= fake->memory - fake->used;
    pthread_mutex_unlock(&lock);
    return room;
}

static known look_up(cu_address address)
{
    known found = { .device = -2 };
    pthread_mutex_lock(&lock);
    for (const known *k = memory_list; k; k = k->next)
        if (address - k->address < k->size)
            found = *k;
    pthread_mutex_unlock(&lock);
    return found;
}

static void pin(void *memory, size_t size)
{
    forget((cu_address)(uintptr_t)memory);
    if (size)
        remember((cu_address)(uintptr_t)memory, size, CU_MEMORY_HOST, 0, false);
}

static void renew(void)
{
    while (memory_list) {
        known k = *memory_list;
        forget(k.address);
        if (k.heap)
            free((void *)(uintptr_t)k.address);
    }
    free_objects();
    fake->modules = fake->blocks = fake->streams = fake->events = fake->graphs = 0;
    fake->used = 0;
    memset(retained, 0, sizeof retained);
    fake->retained = fake->depth = depth = captures = 0;
    fake->sticky = fake->launch_error = 0;
}

static int pointer_attributes(unsigned number, const int *attributes, void **values,
                              cu_address pointer)
{
    int result = begin_inside("cuPointerGetAttributes");
    known found = look_up(pointer);
    for (unsigned i = 0; result == CU_SUCCESS && i < number; i++) {
        if (attributes[i] == CU_POINTER_MEMORY_TYPE)
            *(unsigned *)values[i] = (unsigned)found.type;
        else if (attributes[i] == CU_POINTER_DEVICE)
            *(int *)values[i] = found.device;
        else
            *(unsigned *)values[i] = 0;
    }
    return result;
}

static int memory_allocate(cu_address *address, size_t size)
{
    void *memory;
    int result = begin_unsafe("cuMemAlloc");
    if (result != CU_SUCCESS || size == 0)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    if (!has_room(size) || posix_memalign(&memory, 512, size) != 0)
        return CU_OUT_OF_MEMORY;
    *address = (cu_address)(uintptr_t)memory;
    remember(*address, size, CU_MEMORY_DEVICE, current_device(), true);
    return CU_SUCCESS;
}

static int memory_free(cu_address address)
{
    int result = begin_unsafe("cuMemFree");
    if (forget(address) == 0)
        return INVALID_VALUE;
    free((void *)(uintptr_t)address);
    return result;
}

static int copy_up(cu_address to, const void *from, size_t size)
{
    int result = begin_unsafe("cuMemcpyHtoD");
    if (result == CU_SUCCESS && look_up(to).type == 0)
        result = INVALID_VALUE;
    if (result == CU_SUCCESS)
        memcpy((void *)(uintptr_t)to, from, size);
    return result;
}

static int copy_down(void *to, cu_address from, size_t size)
{
    int result = begin_unsafe("cuMemcpyDtoH");
    if (result == CU_SUCCESS && look_up(from).type == 0)
        result = INVALID_VALUE;
    if (result == CU_SUCCESS)
        memcpy(to, (const void *)(uintptr_t)from, size);
    return result;
}

/* -------------------------------------------------------------------------- */
/* Maps of tensors                                                            */
/* -------------------------------------------------------------------------- */

#define MAP_SIZE 128
#define MAP_STRIDE_END ((uint64_t)1 << 40)
#define MAP_DIM_MAX ((uint64_t)1 << 32)

static bool is_between(uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most;
}

/* The rules of cuTensorMapEncodeTiled for types of 16 bits and four dimensions, which is as much as
 * the fake knows. A stride of 0 is not among them, and refused to be on the safe side. */
static bool is_map(int type, unsigned rank, const uint64_t *dims, const uint64_t *strides,
                   const uint32_t *box, const uint32_t *steps)
{
    if (rank != 4 || (type != CU_MAP_F16 && type != CU_MAP_BF16))
        return false;
    for (int i = 0; i < 4; i++)
        if (!is_between(dims[i], 1, MAP_DIM_MAX) || !is_between(box[i], 1, 256) ||
            !is_between(steps[i], 1, 8))
            return false;
    for (int i = 0; i < 3; i++)
        if (strides[i] % 16 || !is_between(strides[i], 16, MAP_STRIDE_END - 16))
            return false;
    return box[0] * 2 % 16 == 0;
}

/* An inner row of a box must lie within what is swizzled together: 32, 64 or 128 bytes. */
static bool is_mode(const uint32_t *box, int interleave, int swizzle, int l2, int fill)
{
    return interleave == CU_MAP_APART && is_between((uint64_t)l2, 0, CU_MAP_L2_256) &&
           is_between((uint64_t)swizzle, 0, CU_MAP_SWIZZLE_128) &&
           (swizzle == 0 || box[0] * 2 <= 16U << swizzle) && is_between((uint64_t)fill, 0, 1);
}

static int map_encode(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                      const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                      int interleave, int swizzle, int l2, int fill)
{
    int result = begin_inside("cuTensorMapEncodeTiled");
    if (result != CU_SUCCESS)
        return result;
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || fake->arch < 90 ||
        !is_map(type, rank, dims, strides, box, steps) ||
        !is_mode(box, interleave, swizzle, l2, fill))
        return INVALID_VALUE;
    fake_map made = { .mark = FAKE_MAP_MARK,
                      .address = address,
                      .type = type,
                      .swizzle = swizzle,
                      .l2 = l2,
                      .fill = fill };
    for (int i = 0; i < 4; i++) {
        made.dims[i] = dims[i];
        made.box[i] = box[i];
    }
    for (int i = 0; i < 3; i++)
        made.strides[i] = strides[i];
    memset(map, 0, MAP_SIZE);
    memcpy(map, &made, sizeof made);
    return CU_SUCCESS;
}

static int map_replace(void *map, void *address)
{
    fake_map *known_map = map;
    int result = begin_inside("cuTensorMapReplaceAddress");
    if (result == CU_SUCCESS &&
        ((uintptr_t)map % 64 || (uintptr_t)address % 16 || known_map->mark != FAKE_MAP_MARK))
        result = INVALID_VALUE;
    if (result == CU_SUCCESS)
        known_map->address = address;
    return result;
}

/* -------------------------------------------------------------------------- */
/* Addresses and what is mapped there                                         */
/* -------------------------------------------------------------------------- */

static int granularity(size_t *size, const cu_allocation *allocation, int option)
{
    int result = begin("cuMemGetAllocationGranularity");
    if (allocation->type != CU_ALLOCATION_PINNED || option)
        return INVALID_VALUE;
    *size = GRANULE;
    return result;
}

static int address_reserve(cu_address *address, size_t size, size_t alignment, cu_address wish,
                           unsigned long long flags)
{
    int result = begin_unsafe("cuMemAddressReserve");
    if (result != CU_SUCCESS || size % GRANULE || alignment != GRANULE || wish || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    unsigned char *map = mmap(NULL, size + GRANULE, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return CU_OUT_OF_MEMORY;
    size_t before = (GRANULE - (uintptr_t)map % GRANULE) % GRANULE;
    if (before)
        munmap(map, before);
    if (GRANULE - before)
        munmap(map + before + size, GRANULE - before);
    *address = (cu_address)(uintptr_t)(map + before);
    count(&fake->blocks, 1);
    return CU_SUCCESS;
}

static int address_free(cu_address address, size_t size)
{
    munmap((void *)(uintptr_t)address, size);
    count(&fake->blocks, -1);
    return begin_unsafe("cuMemAddressFree");
}

/* The handle of memory is its size, and a bit that tells it from 0. */
static int memory_create(cu_memory *memory, size_t size, const cu_allocation *allocation,
                         unsigned long long flags)
{
    int result = begin_unsafe("cuMemCreate");
    if (result != CU_SUCCESS || size % GRANULE || allocation->type != CU_ALLOCATION_PINNED || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    if (!has_room(size))
        return CU_OUT_OF_MEMORY;
    *memory = size | 1;
    count(&fake->blocks, 1);
    return CU_SUCCESS;
}

static int memory_release(cu_memory memory)
{
    if (!(memory & 1))
        return INVALID_VALUE;
    count(&fake->blocks, -1);
    return begin("cuMemRelease");
}

static int memory_map(cu_address address, size_t size, size_t offset, cu_memory memory,
                      unsigned long long flags)
{
    int result = begin_unsafe("cuMemMap");
    if (result != CU_SUCCESS || offset || memory != (size | 1) || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    remember(address, size, CU_MEMORY_DEVICE, current_device(), false);
    return CU_SUCCESS;
}

static int memory_unmap(cu_address address, size_t size)
{
    int result = begin_unsafe("cuMemUnmap");
    if (forget(address) != size)
        return INVALID_VALUE;
    mprotect((void *)(uintptr_t)address, size, PROT_NONE);
    return result;
}

static int memory_access(cu_address address, size_t size, const cu_access *access, size_t number)
{
    int result = begin_unsafe("cuMemSetAccess");
    if (result != CU_SUCCESS || number != 1 || access->flags != CU_ACCESS_READ_WRITE)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    return mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE) == 0
               ? CU_SUCCESS
               : CU_OUT_OF_MEMORY;
}

/* -------------------------------------------------------------------------- */
/* The table                                                                  */
/* -------------------------------------------------------------------------- */

typedef void entry_fn(void);

static const struct {
    const char *name;
    int version;
    entry_fn *entry;
} table[] = {
    { "cuInit", 2000, (entry_fn *)init },
    { "cuDriverGetVersion", 2020, (entry_fn *)cuDriverGetVersion },
    { "cuGetErrorName", 6000, (entry_fn *)error_name },
    { "cuGetErrorString", 6000, (entry_fn *)error_string },
    { "cuDeviceGetCount", 2000, (entry_fn *)device_count },
    { "cuDeviceGet", 2000, (entry_fn *)device_get },
    { "cuDeviceGetName", 2000, (entry_fn *)device_name },
    { "cuDeviceGetAttribute", 2000, (entry_fn *)device_attribute },
    { "cuDeviceTotalMem", 3020, (entry_fn *)device_memory },
    { "cuDeviceGetPCIBusId", 4010, (entry_fn *)device_bus_id },
    { "cuDevicePrimaryCtxRetain", 7000, (entry_fn *)primary_retain },
    { "cuDevicePrimaryCtxRelease", 11000, (entry_fn *)primary_release },
    { "cuCtxPushCurrent", 4000, (entry_fn *)context_push },
    { "cuCtxPopCurrent", 4000, (entry_fn *)context_pop },
    { "cuCtxGetCurrent", 4000, (entry_fn *)context_current },
    { "cuCtxSynchronize", 2000, (entry_fn *)context_wait },
    { "cuCtxSetLimit", 3010, (entry_fn *)context_limit },
    { "cuModuleLoadDataEx", 2010, (entry_fn *)module_load },
    { "cuModuleUnload", 2000, (entry_fn *)module_unload },
    { "cuModuleGetFunction", 2000, (entry_fn *)module_function },
    { "cuFuncSetAttribute", 9000, (entry_fn *)function_attribute },
    { "cuFuncLoad", 12040, (entry_fn *)function_load },
    { "cuLaunchKernelEx", 11060, (entry_fn *)launch_kernel },
    { "cuPointerGetAttributes", 7000, (entry_fn *)pointer_attributes },
    { "cuMemAlloc", 3020, (entry_fn *)memory_allocate },
    { "cuMemFree", 3020, (entry_fn *)memory_free },
    { "cuMemcpyHtoD", 3020, (entry_fn *)copy_up },
    { "cuMemcpyDtoH", 3020, (entry_fn *)copy_down },
    { "cuMemGetAllocationGranularity", 10020, (entry_fn *)granularity },
    { "cuMemAddressReserve", 10020, (entry_fn *)address_reserve },
    { "cuMemAddressFree", 10020, (entry_fn *)address_free },
    { "cuMemCreate", 10020, (entry_fn *)memory_create },
    { "cuMemRelease", 10020, (entry_fn *)memory_release },
    { "cuMemMap", 10020, (entry_fn *)memory_map },
    { "cuMemUnmap", 10020, (entry_fn *)memory_unmap },
    { "cuMemSetAccess", 10020, (entry_fn *)memory_access },
    { "cuTensorMapEncodeTiled", 12000, (entry_fn *)map_encode },
    { "cuTensorMapReplaceAddress", 12000, (entry_fn *)map_replace },
    { "cuStreamCreate", 2000, (entry_fn *)stream_create },
    { "cuStreamDestroy", 4000, (entry_fn *)stream_destroy },
    { "cuStreamSynchronize", 2000, (entry_fn *)stream_wait },
    { "cuStreamBeginCapture", 10010, (entry_fn *)capture_begin },
    { "cuStreamEndCapture", 10000, (entry_fn *)capture_end },
    { "cuGraphDestroy", 10000, (entry_fn *)graph_destroy },
    { "cuGraphInstantiateWithFlags", 11040, (entry_fn *)graph_instantiate },
    { "cuGraphUpload", 11010, (entry_fn *)graph_upload },
    { "cuGraphLaunch", 10000, (entry_fn *)graph_launch },
    { "cuGraphExecDestroy", 10000, (entry_fn *)graph_exec_destroy },
    { "cuEventCreate", 2000, (entry_fn *)event_create },
    { "cuEventDestroy", 4000, (entry_fn *)event_destroy },
    { "cuEventRecord", 2000, (entry_fn *)event_record },
    { "cuEventSynchronize", 2000, (entry_fn *)event_wait },
    { "cuEventElapsedTime", 2000, (entry_fn *)event_elapsed },
};

/* An entry is there from the version of CUDA that brought its prototype. */
int cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *found);
int cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *found)
{
    if (flags || found)
        return INVALID_VALUE;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0 && table[i].version == version &&
            version <= fake->driver) {
            memcpy(entry, &table[i].entry, sizeof *entry);
            return CU_SUCCESS;
        }
    return NOT_FOUND;
}
