/*
 * handler.c - XLA custom call for attention
 *
 * The attributes of a call are the spec of a problem, and the field of heed_buffers for each
 * argument and each result. A plan is made by the first call on a device and kept. XLA's threads
 * may call concurrently.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"
#include "xla.h"

#define EXPORT __attribute__((visibility("default")))
#define ALIGNMENT 64
#define DEVICE_SIZE 24

/* Functions of libheed, which the package has loaded, in the order of heed_jax_use(). */
typedef struct entries {
    const char *(*message)(void);
    heed_status (*context_create)(heed_context **context, const heed_options *options);
    heed_status (*problem_parse)(heed_problem *problem, size_t size, const char *spec);
    heed_status (*plan_create)(heed_plan **plan, heed_context *context, const heed_problem *problem,
                               heed_effort effort);
    size_t (*workspace_size)(const heed_plan *plan);
    heed_status (*execute)(const heed_plan *plan, const heed_buffers *buffers);
} entries;

typedef struct known_context {
    struct known_context *next;
    heed_context *context;
    char device[DEVICE_SIZE];
} known_context;

typedef struct known_plan {
    struct known_plan *next;
    heed_plan *plan;
    char device[DEVICE_SIZE];
    size_t length;
    char spec[];
} known_plan;

/* One per process, as XLA's functions are: XLA has only their addresses. */
static struct {
    pthread_mutex_t lock;
    entries heed;
    known_context *contexts;
    known_plan *plans;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

EXPORT void heed_jax_use(void *const functions[6]);
EXPORT xla_error *heed_jax_cpu(xla_call *call);
EXPORT xla_error *heed_jax_cuda(xla_call *call);

_Static_assert(sizeof(entries) == 6 * sizeof(void *), "functions are pointers");

EXPORT void heed_jax_use(void *const functions[6])
{
    memcpy(&process.heed, functions, sizeof process.heed);
}

static xla_error *fail(const xla_call *call, int code, const char *message)
{
    xla_error_args args = { .size = sizeof args, .message = message, .code = code };
    return call->api->error_create(&args);
}

static xla_error *fail_heed(const xla_call *call, heed_status status)
{
    int code = XLA_INTERNAL;
    if (status == HEED_ERR_NO_MEMORY)
        code = XLA_RESOURCE_EXHAUSTED;
    else if (status == HEED_ERR_INVALID || status == HEED_ERR_UNSUPPORTED)
        code = XLA_INVALID_ARGUMENT;
    char text[1200];
    snprintf(text, sizeof text, "heed: %s", process.heed.message());
    return fail(call, code, text);
}

/* ---- Plans ---- */

static heed_status find_context(const char *device, heed_context **context)
{
    for (known_context *it = process.contexts; it; it = it->next)
        if (strcmp(it->device, device) == 0) {
            *context = it->context;
            return HEED_OK;
        }
    known_context *made = calloc(1, sizeof *made);
    if (!made)
        return HEED_ERR_NO_MEMORY;
    const heed_options options = { .size = sizeof options, .device = device };
    heed_status status = process.heed.context_create(&made->context, &options);
    if (status != HEED_OK) {
        free(made);
        return status;
    }
    snprintf(made->device, sizeof made->device, "%s", device);
    made->next = process.contexts;
    process.contexts = made;
    *context = made->context;
    return HEED_OK;
}

static heed_status make_plan(const char *device, xla_text spec, known_plan **plan)
{
    heed_problem problem;
    heed_context *context;
    known_plan *made = calloc(1, sizeof *made + spec.length + 1);
    if (!made)
        return HEED_ERR_NO_MEMORY;
    memcpy(made->spec, spec.data, spec.length);
    made->length = spec.length;
    snprintf(made->device, sizeof made->device, "%s", device);
    heed_status status = process.heed.problem_parse(&problem, sizeof problem, made->spec);
    if (status == HEED_OK)
        status = find_context(device, &context);
    if (status == HEED_OK)
        status = process.heed.plan_create(&made->plan, context, &problem, HEED_ESTIMATE);
    if (status != HEED_OK) {
        free(made);
        return status;
    }
    made->next = process.plans;
    process.plans = made;
    *plan = made;
    return HEED_OK;
}

/* Finds the plan for @spec on @device, or makes it. */
static heed_status find_plan(const char *device, xla_text spec, const heed_plan **plan)
{
    heed_status status = HEED_OK;
    pthread_mutex_lock(&process.lock);
    known_plan *it = process.plans;
    while (it && (it->length != spec.length || strcmp(it->device, device) != 0 ||
                  memcmp(it->spec, spec.data, spec.length) != 0))
        it = it->next;
    if (!it)
        status = make_plan(device, spec, &it);
    *plan = status == HEED_OK ? it->plan : NULL;
    pthread_mutex_unlock(&process.lock);
    return status;
}

/* ---- Calls ---- */

static const void *find_attribute(const xla_call *call, const char *name, int type)
{
    for (int64_t i = 0; i < call->attributes.count; i++) {
        const xla_text *own = call->attributes.names[i];
        if (own->length == strlen(name) && memcmp(own->data, name, own->length) == 0)
            return call->attributes.types[i] == type ? call->attributes.items[i] : NULL;
    }
    return NULL;
}

/* Sets the workspace, aligned within @buffer. Returns false if that is too small. */
static bool place_workspace(heed_buffers *buffers, const heed_plan *plan, const xla_buffer *buffer)
{
    size_t needed = process.heed.workspace_size(plan), size = 1;
    uintptr_t at = (uintptr_t)buffer->data, aligned = (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (int64_t i = 0; i < buffer->rank; i++)
        size *= (size_t)buffer->dims[i];
    if (needed > 0 && size < needed + (aligned - at))
        return false;
    buffers->workspace = (void *)aligned;
    buffers->workspace_size = needed;
    return true;
}

/* Sets the fields of @buffers that the attribute @name lists to the addresses of @all. Returns an
 * error message, or NULL. */
static const char *place(const xla_call *call, const char *name, const xla_buffers *all,
                         const heed_plan *plan, heed_buffers *buffers)
{
    const xla_array *fields = find_attribute(call, name, XLA_ATTRIBUTE_ARRAY);
    if (!fields || fields->type != XLA_S64 || fields->count != (size_t)all->count)
        return "heed: the call was made by another version of heed";
    for (size_t i = 0; i < fields->count; i++) {
        size_t offset = (size_t)((const int64_t *)fields->data)[i];
        const xla_buffer *buffer = all->items[i];
        if (offset % sizeof(void *) || offset > sizeof *buffers - sizeof(void *))
            return "heed: the call was made by another version of heed";
        if (offset != offsetof(heed_buffers, workspace))
            memcpy((char *)buffers + offset, &buffer->data, sizeof buffer->data);
        else if (!place_workspace(buffers, plan, buffer))
            return "heed: the workspace is too small for this device; trace the function there";
    }
    return NULL;
}

static bool answer_metadata(const xla_call *call)
{
    for (xla_extension *it = call->extensions; it; it = it->next)
        if (it->type == XLA_EXTENSION_METADATA) {
            xla_metadata *metadata = ((xla_metadata_extension *)it)->metadata;
            metadata->version.major = call->api->version.major;
            metadata->version.minor = call->api->version.minor;
            metadata->traits = XLA_TRAIT_CAPTURES;
            return true;
        }
    return false;
}

static xla_error *attend(const xla_call *call, const char *device, void *stream)
{
    heed_buffers buffers = { .size = sizeof buffers, .stream = stream, .trusted = 1 };
    const heed_plan *plan;
    const xla_text *spec = find_attribute(call, "spec", XLA_ATTRIBUTE_TEXT);
    if (!spec)
        return fail(call, XLA_INVALID_ARGUMENT, "heed: the call has no spec");
    heed_status status = find_plan(device, *spec, &plan);
    if (status != HEED_OK)
        return fail_heed(call, status);
    if (call->stage != XLA_STAGE_EXECUTE)
        return NULL; /* the plan exists before a graph may be captured */
    const char *wrong = place(call, "arguments", &call->arguments, plan, &buffers);
    if (!wrong)
        wrong = place(call, "results", &call->results, plan, &buffers);
    if (wrong)
        return fail(call, XLA_INVALID_ARGUMENT, wrong);
    status = process.heed.execute(plan, &buffers);
    return status == HEED_OK ? NULL : fail_heed(call, status);
}

EXPORT xla_error *heed_jax_cpu(xla_call *call)
{
    return answer_metadata(call) ? NULL : attend(call, "cpu", NULL);
}

EXPORT xla_error *heed_jax_cuda(xla_call *call)
{
    if (answer_metadata(call))
        return NULL;
    char device[DEVICE_SIZE];
    xla_ordinal_args ordinal = { .size = sizeof ordinal, .context = call->context };
    xla_stream_args stream = { .size = sizeof stream, .context = call->context };
    xla_error *error = call->api->ordinal_get(&ordinal);
    if (!error && call->stage == XLA_STAGE_EXECUTE)
        error = call->api->stream_get(&stream);
    if (error)
        return error;
    snprintf(device, sizeof device, "cuda:%d", (int)ordinal.ordinal);
    return attend(call, device, stream.stream);
}
