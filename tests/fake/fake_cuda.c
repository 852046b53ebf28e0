/*
 * fake_cuda.c - a CUDA driver in host memory: its controls, and code common to all entries
 */
#include "fake_driver.h"

#include <string.h>
#include <unistd.h>

#include "cuda/kernels/args.cuh"

static int own_depth(void);
static void renew(void);

fake_cuda fake_cuda_controls = {
    .driver = 13000,
    .devices = 1,
    .arch = 90,
    .memory = (size_t)64 << 30,
    .multiprocessors = 132,
    .l2 = 60 << 20,
    .clock = 1980000,
    .memory_clock = 3201000,
    .own_depth = own_depth,
    .pin = fake_pin,
    .renew = renew,
};

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
bool fake_started;
pid_t fake_process;
int fake_global_captures;
int fake_ordered_captures;
_Thread_local fake_thread fake_this;

static int own_depth(void)
{
    return fake_this.depth;
}

static void read_number(const char *name, int *value)
{
    const char *text = getenv(name);
    if (text && *text)
        *value = atoi(text);
}

/* A separate program, whose memory the test cannot access, is configured by its environment. */
static void __attribute__((constructor)) read_environment(void)
{
    read_number("FAKE_CUDA_DRIVER", &fake->driver);
    read_number("FAKE_CUDA_DEVICES", &fake->devices);
    read_number("FAKE_CUDA_ARCH", &fake->arch);
    read_number("FAKE_CUDA_MULTIPROCESSORS", &fake->multiprocessors);
    read_number("FAKE_CUDA_L2", &fake->l2);
    read_number("FAKE_CUDA_CLOCK", &fake->clock);
    read_number("FAKE_CUDA_MEMORY_CLOCK", &fake->memory_clock);
    read_number("FAKE_CUDA_EMULATES", &fake->emulates);
    read_number("FAKE_CUDA_COPIES", &fake->copies);
    if (fake->copies)
        fake->args_size = sizeof(heed_cuda_args); /* from graphs too */
    read_number("FAKE_CUDA_HANG", &fake->hang);
    read_number("FAKE_CUDA_LAUNCH_ERROR", &fake->launch_error);
}

/* -------------------------------------------------------------------------- */
/* The beginning of every entry                                               */
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

int fake_begin(const char *name)
{
    pthread_mutex_lock(&fake_lock);
    int result = fake->sticky ? fake->sticky : count_call(name);
    if (fake_process != 0 && fake_process != getpid()) /* like the real driver after fork() */
        result = NOT_INITIALIZED;
    if (result == CU_SUCCESS && !fake_started && strcmp(name, "cuInit") != 0)
        result = NOT_INITIALIZED;
    pthread_mutex_unlock(&fake_lock);
    return result;
}

bool fake_is_lost(int result)
{
    pthread_mutex_lock(&fake_lock);
    bool lost = result != CU_SUCCESS && result == fake->sticky;
    pthread_mutex_unlock(&fake_lock);
    return lost;
}

int fake_begin_inside(const char *name)
{
    int result = fake_begin(name);
    return result == CU_SUCCESS && fake_this.depth == 0 ? INVALID_CONTEXT : result;
}

int fake_begin_unsafe(const char *name)
{
    int result = fake_begin_inside(name);
    if (result != CU_SUCCESS || fake_this.mode == CU_CAPTURE_RELAXED)
        return result;
    pthread_mutex_lock(&fake_lock);
    bool disturbs = fake_this.captures ||
                    (fake_this.mode == CU_CAPTURE_GLOBAL && fake_global_captures);
    pthread_mutex_unlock(&fake_lock);
    return disturbs ? CAPTURE_UNSUPPORTED : CU_SUCCESS;
}

int fake_begin_default(const char *name)
{
    int result = fake_begin_unsafe(name);
    pthread_mutex_lock(&fake_lock);
    bool disturbs = fake_ordered_captures > 0;
    pthread_mutex_unlock(&fake_lock);
    return result == CU_SUCCESS && disturbs ? CAPTURE_IMPLICIT : result;
}

/* -------------------------------------------------------------------------- */
/* Objects and counts                                                         */
/* -------------------------------------------------------------------------- */

/* In a list, so that objects of a lost device can be freed as well. */
typedef struct object {
    struct object *next, *previous;
    max_align_t content[];
} object;
static object objects = { &objects, &objects };

void *fake_make(size_t size)
{
    object *made = calloc(1, sizeof *made + size);
    if (!made)
        abort();
    pthread_mutex_lock(&fake_lock);
    made->next = objects.next;
    made->previous = &objects;
    made->next->previous = objects.next = made;
    pthread_mutex_unlock(&fake_lock);
    return made->content;
}

void fake_unmake(void *content)
{
    if (!content)
        return;
    object *made = (object *)((char *)content - offsetof(object, content));
    pthread_mutex_lock(&fake_lock);
    made->previous->next = made->next;
    made->next->previous = made->previous;
    pthread_mutex_unlock(&fake_lock);
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

void fake_count(int *counter, int change)
{
    pthread_mutex_lock(&fake_lock);
    *counter += change;
    pthread_mutex_unlock(&fake_lock);
}

int fake_current_device(void)
{
    return fake_this.stack[fake_this.depth - 1]->device;
}

static void renew(void)
{
    fake_renew_memory();
    free_objects();
    fake->modules = fake->blocks = fake->streams = fake->events = fake->graphs = 0;
    fake->used = 0;
    fake_global_captures = fake_ordered_captures = 0;
    fake_renew_devices();
    fake->sticky = fake->launch_error = 0;
}

/* -------------------------------------------------------------------------- */
/* The entries                                                                */
/* -------------------------------------------------------------------------- */

static const fake_entry *const tables[] = { fake_device_entries, fake_code_entries,
                                            fake_work_entries, fake_memory_entries,
                                            fake_map_entries };

int cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *found);
int cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *found)
{
    if (flags || found)
        return INVALID_VALUE;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const fake_entry *e = tables[i]; e->name; e++)
            if (strcmp(e->name, name) == 0 && e->version == version && version <= fake->driver) {
                memcpy(entry, &e->entry, sizeof *entry);
                return CU_SUCCESS;
            }
    return NOT_FOUND;
}
