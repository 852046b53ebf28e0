/*
 * fake_work.c - the fake driver's streams, graphs, launches and events
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda/kernels/append_args.cuh"
#include "cuda/kernels/merge_args.cuh"
#include "fake_driver.h"

struct cu_graph {
    fake_launch *nodes;
    size_t node_count;
};

struct cu_graph_exec {
    cu_graph graph;
};

struct cu_stream {
    bool apart; /* does not synchronize with the default stream */
    bool capturing;
    int mode; /* of the capture */
    cu_graph *graph;
};

struct cu_event {
    struct timespec time;
};

/* The laboratory's kernel that precedes timed calls: its parameter is a pointer, not a struct. */
static bool is_behind(const char *function)
{
    return strcmp(function, "heed_behind") == 0;
}

/* A launch before the attention kernel, with separate arguments. */
static bool appends(const char *function)
{
    return strncmp(function, "heed_append_", strlen("heed_append_")) == 0;
}

/* A launch after two kernels. */
static bool merges(const char *function)
{
    return strncmp(function, "heed_merge_", strlen("heed_merge_")) == 0;
}

static size_t args_size(const cu_function *it)
{
    const char *function = it->name;
    if (it->code.kernel)
        return it->code.args_size;
    if (is_behind(function))
        return sizeof(void *);
    if (merges(function))
        return sizeof(heed_cuda_merge_args);
    return appends(function) ? sizeof(heed_cuda_append_args) : fake->args_size;
}

static cu_graph *copy_graph(const cu_graph *graph, cu_graph *copy)
{
    copy->nodes = fake_make((graph->node_count + 1) * sizeof *copy->nodes);
    copy->node_count = graph->node_count;
    for (size_t i = 0; i < copy->node_count; i++) {
        copy->nodes[i] = graph->nodes[i];
        copy->nodes[i].args = copy->nodes[i].kept;
    }
    return copy;
}

/* The array of nodes grows in powers of two: a graph may have thousands. */
static void add_node(cu_graph *graph, const fake_launch *node)
{
    size_t count = graph->node_count;
    if ((count & (count - 1)) == 0) {
        fake_launch *nodes = fake_make((count ? 2 * count : 1) * sizeof *nodes);
        if (count)
            memcpy(nodes, graph->nodes, count * sizeof *nodes);
        fake_unmake(graph->nodes);
        graph->nodes = nodes;
    }
    graph->nodes[graph->node_count++] = *node;
}

static int stream_create(cu_stream **stream, unsigned flags)
{
    int result = fake_begin_unsafe("cuStreamCreate");
    if (result != CU_SUCCESS || flags > 1)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *stream = fake_make(sizeof **stream);
    (*stream)->apart = flags == CU_STREAM_APART;
    fake_count(&fake->streams, 1);
    return CU_SUCCESS;
}

/* A capture begins or ends. */
static void count_capture(const cu_stream *stream, int change)
{
    fake_this.captures += stream->mode != CU_CAPTURE_RELAXED ? change : 0;
    fake_count(&fake_global_captures, stream->mode == CU_CAPTURE_GLOBAL ? change : 0);
    fake_count(&fake_ordered_captures, stream->apart ? 0 : change);
}

static int stream_destroy(cu_stream *stream)
{
    int result = fake_begin_inside("cuStreamDestroy");
    if (stream->capturing)
        count_capture(stream, -1);
    if (stream->graph) {
        fake_unmake(stream->graph->nodes);
        fake_unmake(stream->graph);
        fake_count(&fake->graphs, -1);
    }
    fake_unmake(stream);
    fake_count(&fake->streams, -1);
    return result;
}

static int stream_wait(cu_stream *stream)
{
    return (stream ? fake_begin_unsafe : fake_begin_default)("cuStreamSynchronize");
}

static int capture_begin(cu_stream *stream, int mode)
{
    int result = fake_begin_inside("cuStreamBeginCapture");
    if (result == CU_SUCCESS &&
        (!stream || stream->capturing || mode < CU_CAPTURE_GLOBAL || mode > CU_CAPTURE_RELAXED))
        result = INVALID_VALUE;
    if (result != CU_SUCCESS)
        return result;
    stream->graph = fake_make(sizeof *stream->graph);
    stream->capturing = true;
    stream->mode = mode;
    fake_count(&fake->graphs, 1);
    count_capture(stream, 1);
    return CU_SUCCESS;
}

static int capture_exchange(int *mode)
{
    int before = fake_this.mode;
    int result = fake_begin("cuThreadExchangeStreamCaptureMode");
    if (result != CU_SUCCESS || *mode < CU_CAPTURE_GLOBAL || *mode > CU_CAPTURE_RELAXED)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    fake_this.mode = *mode;
    *mode = before;
    return CU_SUCCESS;
}

static int capture_end(cu_stream *stream, cu_graph **graph)
{
    int result = fake_begin_inside("cuStreamEndCapture");
    if (!stream->capturing)
        return INVALID_VALUE;
    stream->capturing = false;
    count_capture(stream, -1);
    *graph = result == CU_SUCCESS ? stream->graph : NULL;
    if (result != CU_SUCCESS) {
        fake_unmake(stream->graph->nodes);
        fake_unmake(stream->graph);
        fake_count(&fake->graphs, -1);
    }
    stream->graph = NULL;
    return result;
}

static int capture_state(cu_stream *stream, int *state)
{
    int result = fake_begin_inside("cuStreamIsCapturing");
    *state = stream && stream->capturing;
    return result;
}

static int graph_destroy(cu_graph *graph)
{
    int result = fake_begin("cuGraphDestroy");
    fake_unmake(graph->nodes);
    fake_unmake(graph);
    fake_count(&fake->graphs, -1);
    return result;
}

static int graph_instantiate(cu_graph_exec **exec, cu_graph *graph, unsigned long long flags)
{
    int result = fake_begin_inside("cuGraphInstantiateWithFlags");
    if (result != CU_SUCCESS || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *exec = fake_make(sizeof **exec);
    copy_graph(graph, &(*exec)->graph);
    fake_count(&fake->graphs, 1);
    return CU_SUCCESS;
}

static int graph_upload(cu_graph_exec *exec, cu_stream *stream)
{
    (void)exec;
    (void)stream;
    return fake_begin_inside("cuGraphUpload");
}

static int graph_exec_destroy(cu_graph_exec *exec)
{
    int result = fake_begin("cuGraphExecDestroy");
    fake_unmake(exec->graph.nodes);
    fake_unmake(exec);
    fake_count(&fake->graphs, -1);
    return result;
}

/* Does the work of the device. */
static void work(const fake_launch *launch)
{
    pthread_mutex_lock(&fake_lock);
    fake->launches++;
    fake->last = *launch;
    if (fake->launch_error)
        fake->sticky = fake->launch_error;
    bool runs = fake->hook && !fake->launch_error;
    bool emulates = launch->code && !fake->launch_error;
    pthread_mutex_unlock(&fake_lock);
    while (fake->hang)
        pause();
    if (runs)
        fake->hook(fake->hook_data, launch);
    if (emulates && !fake_emulate(launch->code, launch)) {
        pthread_mutex_lock(&fake_lock);
        fake->sticky = LAUNCH_FAILED;
        pthread_mutex_unlock(&fake_lock);
    }
    if (fake->copies && !fake->launch_error && !is_behind(launch->function) &&
        !appends(launch->function) && !merges(launch->function)) {
        const heed_cuda_args *args = launch->args;
        memcpy(args->o, args->v, (size_t)fake->copies);
    }
}

static int graph_launch(cu_graph_exec *exec, cu_stream *stream)
{
    int result = fake_begin_inside("cuGraphLaunch");
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
    pthread_mutex_lock(&fake_lock);
    unsigned smem = (unsigned)function->smem;
    pthread_mutex_unlock(&fake_lock);
    return launch->grid[0] > 0 && launch->grid[1] > 0 && launch->grid[2] > 0 &&
           launch->grid[1] < 65536 && launch->grid[2] < 65536 && threads > 0 && threads <= 1024 &&
           launch->smem <= smem;
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
    int result = fake_begin_inside("cuLaunchKernelEx");
    if (result == CU_SUCCESS && (extra || !fits(launch, function)))
        result = INVALID_VALUE;
    if (result != CU_SUCCESS)
        return result;
    fake_launch seen = { .function = function->name,
                         .smem = launch->smem,
                         .stream = launch->stream,
                         .code = function->code.kernel ? &function->code : NULL,
                         .args = arguments[0] };
    memcpy(seen.grid, launch->grid, sizeof seen.grid);
    memcpy(seen.block, launch->block, sizeof seen.block);
    memcpy(seen.kept, seen.args, args_size(function));
    note_attributes(&seen, launch);
    if (!launch->stream || !launch->stream->capturing) {
        work(&seen);
        return CU_SUCCESS;
    }
    add_node(launch->stream->graph, &seen);
    return CU_SUCCESS;
}

static int event_create(cu_event **event, unsigned flags)
{
    int result = fake_begin_inside("cuEventCreate");
    if (result != CU_SUCCESS || flags)
        return result != CU_SUCCESS ? result : INVALID_VALUE;
    *event = fake_make(sizeof **event);
    fake_count(&fake->events, 1);
    return CU_SUCCESS;
}

static int event_destroy(cu_event *event)
{
    fake_unmake(event);
    fake_count(&fake->events, -1);
    return fake_begin_inside("cuEventDestroy");
}

static int event_record(cu_event *event, cu_stream *stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    event->time.tv_sec += fake->ahead / 1000000000;
    event->time.tv_nsec += fake->ahead % 1000000000; /* only differences are queried */
    return fake_begin_inside("cuEventRecord");
}

static int event_wait(cu_event *event)
{
    (void)event;
    return fake_begin_inside("cuEventSynchronize");
}

static int event_elapsed(float *milliseconds, cu_event *start, cu_event *stop)
{
    *milliseconds = (float)((double)(stop->time.tv_sec - start->time.tv_sec) * 1e3 +
                            (double)(stop->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return fake_begin_inside("cuEventElapsedTime");
}

const fake_entry fake_work_entries[] = {
    { "cuLaunchKernelEx", 11060, (fake_entry_fn *)launch_kernel },
    { "cuStreamCreate", 2000, (fake_entry_fn *)stream_create },
    { "cuStreamDestroy", 4000, (fake_entry_fn *)stream_destroy },
    { "cuStreamSynchronize", 2000, (fake_entry_fn *)stream_wait },
    { "cuThreadExchangeStreamCaptureMode", 10010, (fake_entry_fn *)capture_exchange },
    { "cuStreamBeginCapture", 10010, (fake_entry_fn *)capture_begin },
    { "cuStreamEndCapture", 10000, (fake_entry_fn *)capture_end },
    { "cuStreamIsCapturing", 10000, (fake_entry_fn *)capture_state },
    { "cuGraphDestroy", 10000, (fake_entry_fn *)graph_destroy },
    { "cuGraphInstantiateWithFlags", 11040, (fake_entry_fn *)graph_instantiate },
    { "cuGraphUpload", 11010, (fake_entry_fn *)graph_upload },
    { "cuGraphLaunch", 10000, (fake_entry_fn *)graph_launch },
    { "cuGraphExecDestroy", 10000, (fake_entry_fn *)graph_exec_destroy },
    { "cuEventCreate", 2000, (fake_entry_fn *)event_create },
    { "cuEventDestroy", 4000, (fake_entry_fn *)event_destroy },
    { "cuEventRecord", 2000, (fake_entry_fn *)event_record },
    { "cuEventSynchronize", 2000, (fake_entry_fn *)event_wait },
    { "cuEventElapsedTime", 2000, (fake_entry_fn *)event_elapsed },
    { NULL, 0, NULL },
};
