/*
 * test_nvtx.c - NVTX ranges for profilers
 *
 * A process looks for a tool once, so each case runs in a separate process.
 */
#include "run_tests.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_nvtx.h"
#include "heed.h"
#include "problems.h"
#include "src/device.h"

#define THREADS 4
#define CALLS 50

/* Ends the case with a reason. */
#define need(condition)                                             \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            _exit(1);                                               \
        }                                                           \
    } while (0)

static int run_case(void (*body)(void), const char *tool, const char *mood, const char *wish)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        setenv("NVTX_INJECTION64_PATH", tool, 1);
        setenv("FAKE_NVTX", mood, 1);
        unsetenv("HEED_NVTX");
        if (wish)
            setenv("HEED_NVTX", wish, 1);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool event(int index, fake_nvtx_record *record)
{
    void *library = dlopen(FAKE_NVTX_TOOL, RTLD_LAZY | RTLD_NOLOAD);
    fake_nvtx_event_fn *look = NULL;
    if (!library)
        return false;
    void *symbol = dlsym(library, "fake_nvtx_event");
    memcpy(&look, &symbol, sizeof symbol);
    return look(index, record);
}

static int count_events(void)
{
    fake_nvtx_record record;
    int count = 0;
    while (event(count, &record))
        count++;
    return count;
}

/* A context on the CPU, a plan for a small problem, and its tensors. */
static float q[64 * 32], k[64 * 32], v[64 * 32], o[THREADS][64 * 32];

static heed_plan *make_plan(heed_context **context, const char *spec)
{
    heed_problem problem;
    heed_plan *plan = NULL;
    need(heed_context_create(context, &(heed_options){ .size = sizeof(heed_options),
                                                       .device = "cpu",
                                                       .threads = 1 }) == HEED_OK);
    need(heed_problem_parse(&problem, spec) == HEED_OK);
    need(heed_plan_create(&plan, *context, &problem, HEED_ESTIMATE) == HEED_OK);
    return plan;
}

static heed_status call(const heed_plan *plan, int place)
{
    size_t size = heed_plan_workspace_size(plan);
    heed_buffers buffers = {
        .size = sizeof buffers, .q = q, .k = k, .v = v, .o = o[place], .workspace_size = size
    };
    buffers.workspace = aligned_alloc(HEED_ALIGNMENT,
                                      size + HEED_ALIGNMENT - size % HEED_ALIGNMENT);
    heed_status status = heed_execute(plan, &buffers);
    free(buffers.workspace);
    return status;
}

static void expect(int index, char kind, uint32_t category, const char *text)
{
    fake_nvtx_record record;
    need(event(index, &record));
    if (record.kind != kind || record.category != category || !strstr(record.text, text)) {
        fprintf(stderr, "event %d is %c %u '%s', not %c %u '%s'\n", index, record.kind,
                record.category, record.text, kind, category, text);
        _exit(1);
    }
}

/* -------------------------------------------------------------------------- */
/* Cases                                                                      */
/* -------------------------------------------------------------------------- */

static void watched(void)
{
    heed_context *context;
    heed_plan *plan = make_plan(&context, "b1 h2 s32 d32 f32"), *none;
    int named = 0;
    void *library = dlopen(FAKE_NVTX_TOOL, RTLD_LAZY | RTLD_NOLOAD);
    need(library);
    void *symbol = dlsym(library, "fake_nvtx_domain");
    fake_nvtx_domain_fn *domain;
    memcpy(&domain, &symbol, sizeof symbol);
    need(strcmp(domain(&named), "heed") == 0 && named == 3);
    expect(0, 'p', 1, "plan b1 h2 s32 d32 f32");
    expect(1, 'l', 0, "");
    need(call(plan, 0) == HEED_OK);
    expect(2, 'p', 3, heed_plan_name(plan));
    expect(3, 'l', 0, "");
    /* a call that fails ends its range too, and one that is refused earlier starts no range */
    need(heed_plan_create_named(&none, context, heed_plan_problem(plan), "no_such_kernel") !=
         HEED_OK);
    expect(4, 'p', 1, "plan ");
    expect(5, 'l', 0, "");
    need(heed_execute(plan, &(heed_buffers){ .size = sizeof(heed_buffers), .q = NULL }) != HEED_OK);
    need(count_events() == 6);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void unwatched(void)
{
    heed_context *context;
    heed_plan *plan = make_plan(&context, "b1 h2 s32 d32 f32");
    need(call(plan, 0) == HEED_OK);
    need(count_events() == 0);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

typedef struct worker {
    const heed_plan *plan;
    int place;
} worker;

static void *work(void *data)
{
    const worker *it = data;
    for (int i = 0; i < CALLS; i++)
        need(call(it->plan, it->place) == HEED_OK);
    return NULL;
}

/* Each thread starts and ends its ranges, whatever the others do. */
static void threads(void)
{
    heed_context *context;
    heed_plan *plan = make_plan(&context, "b1 h2 s32 d32 f32");
    pthread_t all[THREADS];
    worker workers[THREADS];
    fake_nvtx_record record;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){ plan, i };
        need(pthread_create(&all[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        need(pthread_join(all[i], NULL) == 0);
    need(count_events() == 2 + 2 * THREADS * CALLS);
    for (int t = 0; t < THREADS; t++) {
        int open = 0;
        for (int i = 2; event(i, &record); i++)
            if (pthread_equal(record.thread, all[t])) {
                need(record.kind == (open ? 'l' : 'p'));
                open = !open;
            }
        need(!open);
    }
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

typedef struct gpu_work {
    heed_plan *plan;
    void *memory[4];
} gpu_work;

static heed_status gpu_call(void *data, int index, void *stream)
{
    gpu_work *it = data;
    (void)index;
    heed_buffers buffers = plain_buffers(it->memory[0], it->memory[1], it->memory[2],
                                         it->memory[3]);
    buffers.stream = stream;
    return heed_execute(it->plan, &buffers);
}

/* On a device, compilations are ranges as well, and a call that is captured into a graph is one
 * call. */
static void device(void)
{
    heed_context *context;
    heed_problem problem;
    heed_replay replay;
    gpu_work it = { .plan = NULL };
    double seconds;
    int compiled = 0;
    fake_nvtx_record record;
    setenv("HEED_LIBCUDA", FAKE_CUDA, 1);
    setenv("HEED_NVRTC", FAKE_CUDA, 1);
    setenv("HEED_NVML", FAKE_CUDA, 1);
    setenv("HEED_CACHE_LIMIT", "0", 1);
    need(heed_context_create(&context, &(heed_options){ .size = sizeof(heed_options),
                                                        .device = "cuda" }) == HEED_OK);
    need(heed_problem_parse(&problem, "b1 h2 s64 d64 f16") == HEED_OK);
    need(heed_plan_create(&it.plan, context, &problem, HEED_ESTIMATE) == HEED_OK);
    int planned = count_events();
    for (int i = 0; i < planned; i++)
        compiled += event(i, &record) && record.kind == 'p' && record.category == 2 &&
                    strncmp(record.text, "compile attn_", 13) == 0;
    need(compiled >= 1);
    for (int i = 0; i < 4; i++)
        need(heed_device_allocate(context, 64 * 64 * 2 * 2, &it.memory[i]) == HEED_OK);
    need(heed_replay_create(&replay, context, gpu_call, &it, 3) == HEED_OK);
    need(count_events() == planned + 6);
    need(heed_replay_run(&replay, &seconds) == HEED_OK);
    need(count_events() == planned + 6); /* the graph runs without heed */
    for (int i = planned; event(i, &record); i++)
        need(record.kind == ((i - planned) % 2 ? 'l' : 'p'));
    heed_replay_destroy(&replay);
    for (int i = 0; i < 4; i++)
        heed_device_free(context, it.memory[i]);
    heed_plan_destroy(it.plan);
    heed_context_destroy(context);
}

static void test_watched(void **state)
{
    assert_int_equal(run_case(watched, FAKE_NVTX_TOOL, "", NULL), 0);
    assert_int_equal(run_case(watched, FAKE_NVTX_TOOL, "", "1"), 0);
}

/* No tool, a library that is not a tool, a tool that declines, one without functions, and one that
 * heed is configured to ignore. */
static void test_unwatched(void **state)
{
    assert_int_equal(run_case(unwatched, "", "", NULL), 0);
    assert_int_equal(run_case(unwatched, "/nowhere/tool.so", "", NULL), 0);
    assert_int_equal(run_case(unwatched, "libc.so.6", "", NULL), 0);
    assert_int_equal(run_case(unwatched, FAKE_NVTX_TOOL, "refuse", NULL), 0);
    assert_int_equal(run_case(unwatched, FAKE_NVTX_TOOL, "deaf", NULL), 0);
    assert_int_equal(run_case(unwatched, FAKE_NVTX_TOOL, "", "0"), 0);
}

static void test_threads(void **state)
{
    assert_int_equal(run_case(threads, FAKE_NVTX_TOOL, "", NULL), 0);
}

static void test_device(void **state)
{
    assert_int_equal(run_case(device, FAKE_NVTX_TOOL, "", NULL), 0);
}

RUN_TESTS(test_watched, test_unwatched, test_threads, test_device)
