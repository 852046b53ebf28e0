/*
 * test_on_gpu.c - what only a real GPU can show: graphs, streams, threads, refusals, a lost device
 *
 *     test_on_gpu [NAME...]        all tests, or those whose name begins so
 *
 * Each test runs in a process of its own, so that one that loses the device costs no other. Ends
 * with a line that counts them; the exit status is 1 if one failed, 77 if there is no GPU.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu.h"

/* Every feature that a kernel may treat in a way of its own. */
static const char *const specs[] = {
    "b2 h4 s256 d64 f16 causal",      "b1 h8/2 s300 d128 bf16", "b2 h8/2 s1/4096 d128 f16",
    "b1 h2 s64/100 d80/48 bf16",      "b1 h2 s70 d32 f32",      "b1 h2 s33/97 d256 f16 causal=br",
    "b1 h2 s128 d64 f16 layout=bhsd",
};
#define SPECS (sizeof specs / sizeof specs[0])

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Calls @body with every kernel of the device and every problem that it can do. */
static void each_kernel(void (*body)(heed_context *context, const heed_plan *plan))
{
    heed_context *context = gpu_context();
    int bodies = 0;
    for (size_t k = 0; heed_kernel_name(k); k++)
        for (size_t i = 0; i < SPECS; i++) {
            heed_plan *plan = gpu_plan(context, specs[i], heed_kernel_name(k));
            if (plan)
                body(context, plan);
            bodies += plan != NULL;
            heed_plan_destroy(plan);
        }
    heed_context_destroy(context);
    if (bodies == 0)
        gpu_skip("there is no kernel for this device");
    gpu_note("%d plans", bodies);
}

static void expect_equal(const gpu_scene *scene, const unsigned char *a, const unsigned char *b,
                         const char *what)
{
    for (size_t i = 0; i < gpu_scene_output_size(scene); i++)
        if (a[i] != b[i])
            gpu_fail("%s: byte %zu of %zu differs", what, i, gpu_scene_output_size(scene));
}

/* -------------------------------------------------------------------------- */
/* Results                                                                    */
/* -------------------------------------------------------------------------- */

static void check_answer(heed_context *context, const heed_plan *plan)
{
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    unsigned char *output = gpu_run(plan, &scene);
    gpu_scene_check(&scene, output, heed_plan_name(plan));
    free(output);
    gpu_scene_destroy(&scene);
}

static void test_known_answers(void)
{
    each_kernel(check_answer);
}

typedef struct replayed {
    const heed_plan *plan;
    gpu_scene *scene;
} replayed;

static heed_status execute_on(void *data, int index, void *stream)
{
    const replayed *r = data;
    heed_buffers buffers = r->scene->buffers;
    (void)index;
    buffers.stream = stream;
    return heed_execute(r->plan, &buffers);
}

/* What a graph computes is what the call computes, on the inputs of the moment. */
static void check_replay(heed_context *context, const heed_plan *plan)
{
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    unsigned char *eager = gpu_run(plan, &scene);
    replayed r = { plan, &scene };
    heed_replay replay;
    double seconds = 0;
    gpu_scene_poison(&scene);
    gpu_expect(heed_replay_create(&replay, context, execute_on, &r, 3), HEED_OK,
               "heed_replay_create");
    unsigned char *captured = gpu_scene_take(&scene);
    if (memcmp(captured, eager, gpu_scene_output_size(&scene)) == 0)
        gpu_fail("%s: capturing has computed already", heed_plan_name(plan));
    gpu_expect(heed_replay_run(&replay, &seconds), HEED_OK, "heed_replay_run");
    unsigned char *first = gpu_scene_take(&scene);
    expect_equal(&scene, first, eager, heed_plan_name(plan));

    gpu_scene_fill(&scene, 2);
    gpu_expect(heed_replay_run(&replay, &seconds), HEED_OK, "heed_replay_run");
    unsigned char *second = gpu_scene_take(&scene);
    if (memcmp(first, second, scene.size[3]) == 0)
        gpu_fail("%s: a replay on other inputs changes nothing", heed_plan_name(plan));
    gpu_scene_poison(&scene);
    unsigned char *again = gpu_run(plan, &scene);
    expect_equal(&scene, second, again, heed_plan_name(plan));
    heed_replay_destroy(&replay);
    free(captured);
    free(eager);
    free(first);
    free(second);
    free(again);
    gpu_scene_destroy(&scene);
}

static void test_graphs(void)
{
    each_kernel(check_replay);
}

/* -------------------------------------------------------------------------- */
/* Streams and threads                                                        */
/* -------------------------------------------------------------------------- */

#define STREAM_CALLS 50

static void test_two_streams(void)
{
    for (size_t i = 0; i < SPECS; i++) {
        heed_context *context = gpu_context();
        heed_plan *plan = gpu_plan(context, specs[i], NULL);
        if (!plan)
            gpu_skip("no kernel can do '%s'", specs[i]);
        gpu_scene scenes[2] = { gpu_scene_create(context, plan, 1),
                                gpu_scene_create(context, plan, 2) };
        unsigned char *alone[2];
        void *streams[2];
        for (int s = 0; s < 2; s++) {
            alone[s] = gpu_run(plan, &scenes[s]);
            gpu_scene_poison(&scenes[s]);
            streams[s] = gpu_stream_create(context);
            scenes[s].buffers.stream = streams[s];
        }
        for (int c = 0; c < 2 * STREAM_CALLS; c++)
            gpu_expect(heed_execute(plan, &scenes[c % 2].buffers), HEED_OK, specs[i]);
        for (int s = 0; s < 2; s++) {
            gpu_stream_wait(streams[s]);
            unsigned char *output = gpu_scene_take(&scenes[s]);
            expect_equal(&scenes[s], output, alone[s], specs[i]);
            gpu_stream_destroy(streams[s]);
            free(output);
            free(alone[s]);
            gpu_scene_destroy(&scenes[s]);
        }
        heed_plan_destroy(plan);
        heed_context_destroy(context);
    }
}

#define THREADS 8
#define THREAD_CALLS 100

typedef struct worker {
    pthread_t thread;
    const heed_plan *plan;
    heed_context *context;
    gpu_scene scene;
    const unsigned char *expected;
} worker;

/* Executes the shared plan, and makes plans of its own meanwhile. */
static void *work(void *data)
{
    worker *w = data;
    for (int i = 0; i < THREAD_CALLS; i++) {
        gpu_expect(heed_execute(w->plan, &w->scene.buffers), HEED_OK, "heed_execute in a thread");
        if (i % 25 == 0)
            heed_plan_destroy(gpu_plan(w->context, specs[(size_t)i / 25 % SPECS], NULL));
    }
    gpu_expect(heed_device_wait(w->context), HEED_OK, "heed_device_wait in a thread");
    unsigned char *output = gpu_scene_take(&w->scene);
    expect_equal(&w->scene, output, w->expected, "in a thread");
    free(output);
    return NULL;
}

static void test_many_threads(void)
{
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, specs[2], NULL); /* with a workspace, if any has one */
    if (!plan)
        gpu_skip("no kernel can do '%s'", specs[2]);
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    unsigned char *expected = gpu_run(plan, &scene);
    worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){ .plan = plan, .context = context, .expected = expected };
        workers[t].scene = gpu_scene_create(context, plan, 1);
        if (t % 2)
            workers[t].scene.buffers.stream = gpu_stream_create(context);
    }
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            gpu_fail("there can be no thread");
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        gpu_scene_destroy(&workers[t].scene);
    }
    gpu_scene_destroy(&scene);
    free(expected);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Bad input                                                                  */
/* -------------------------------------------------------------------------- */

static void refuse(const heed_plan *plan, const heed_buffers *buffers, const char *field,
                   const char *what)
{
    gpu_expect(heed_execute(plan, buffers), HEED_ERR_INVALID, what);
    if (!strstr(heed_message(), field))
        gpu_fail("%s: the message does not name %s: %s", what, field, heed_message());
}

static void test_bad_buffers(void)
{
    static float host[1 << 16];
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, specs[2], NULL);
    if (!plan)
        gpu_skip("no kernel can do '%s'", specs[2]);
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    const heed_buffers good = scene.buffers;
    heed_buffers bad = good;
    bad.q = host;
    refuse(plan, &bad, "q", "Q in host memory");
    bad = good;
    bad.v = host;
    refuse(plan, &bad, "v", "V in host memory");
    bad = good;
    bad.o = host;
    refuse(plan, &bad, "o", "O in host memory");
    bad = good;
    bad.lse = host;
    refuse(plan, &bad, "lse", "LSE in host memory");
    bad = good;
    bad.k = NULL;
    refuse(plan, &bad, "k", "no K");
    bad = good;
    bad.k = (const char *)good.k + 1;
    refuse(plan, &bad, "k", "K at an odd address");
    if (good.workspace_size) {
        bad = good;
        bad.workspace_size--;
        refuse(plan, &bad, "workspace_size", "a workspace too small");
        bad = good;
        bad.workspace = (char *)good.workspace + HEED_ALIGNMENT / 2;
        refuse(plan, &bad, "workspace", "a misaligned workspace");
        bad = good;
        bad.workspace = host;
        refuse(plan, &bad, "workspace", "a workspace in host memory");
    } else {
        gpu_note("this plan needs no workspace: nothing to refuse there");
    }
    unsigned char *output = gpu_run(plan, &scene);
    gpu_scene_check(&scene, output, "after refusals");
    free(output);
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* Element-aligned pointers and strides are slower at worst. */
static void check_shifted(heed_context *context, const heed_plan *plan)
{
    size_t element = heed_type_size(heed_plan_problem(plan)->type);
    gpu_scene scene = gpu_scene_create(context, plan, 3);
    unsigned char *even = gpu_run(plan, &scene);
    gpu_scene shifted = scene;
    void *memory = NULL;
    gpu_expect(heed_device_allocate(context, scene.size[1] + element, &memory), HEED_OK,
               "heed_device_allocate");
    shifted.buffers.k = (char *)memory + element;
    gpu_scene_fill(&shifted, 3);
    gpu_scene_poison(&shifted);
    unsigned char *odd = gpu_run(plan, &shifted);
    gpu_scene_check(&shifted, odd, "with K at an odd element");
    heed_device_free(context, memory);
    free(even);
    free(odd);
    gpu_scene_destroy(&scene);
}

static void test_unaligned_pointers(void)
{
    each_kernel(check_shifted);
}

static void test_too_large(void)
{
    heed_context *context = gpu_context();
    size_t memory = heed_device_memory(context);
    void *block = NULL;
    gpu_expect(heed_device_allocate(context, 2 * memory, &block), HEED_ERR_NO_MEMORY,
               "allocating twice the memory");
    gpu_expect(heed_device_reserve(context, 2 * memory, true, &block), HEED_ERR_NO_MEMORY,
               "reserving twice the memory");
    heed_problem problem;
    heed_plan *plan;
    gpu_expect(heed_problem_parse(&problem, "b1024 h64 s65536 d128 f16"), HEED_OK,
               "a huge problem");
    heed_status status = heed_plan_create(&plan, context, &problem, HEED_MEASURE);
    if (status != HEED_ERR_NO_MEMORY && status != HEED_ERR_UNSUPPORTED)
        gpu_fail("measuring a problem of terabytes returned %s: %s", heed_status_name(status),
                 heed_message());
    gpu_note("%s", heed_message());
    plan = gpu_plan(context, specs[0], NULL);
    if (plan)
        check_answer(context, plan);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void test_no_such_device(void)
{
    const heed_options options = { .device = "cuda:1000" };
    heed_context *context;
    gpu_expect(heed_context_create(&context, &options), HEED_ERR_DEVICE, "cuda:1000");
    if (!strstr(heed_message(), "1000"))
        gpu_fail("the message does not name the ordinal: %s", heed_message());
}

static void test_another_device(void)
{
    if (gpu_device_count() < 2)
        gpu_skip("there is one device");
    const heed_options options = { .device = "cuda:1" };
    heed_context *first = gpu_context(), *second;
    gpu_expect(heed_context_create(&second, &options), HEED_OK, "cuda:1");
    heed_plan *plan = gpu_plan(first, specs[0], NULL), *other = gpu_plan(second, specs[0], NULL);
    if (!plan || !other)
        gpu_skip("no kernel can do '%s'", specs[0]);
    gpu_scene scene = gpu_scene_create(first, plan, 1);
    gpu_expect(heed_execute(other, &scene.buffers), HEED_ERR_INVALID,
               "a plan for another device than that of the tensors");
    gpu_note("%s", heed_message());
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_plan_destroy(other);
    heed_context_destroy(first);
    heed_context_destroy(second);
}

/* -------------------------------------------------------------------------- */
/* A lost device                                                              */
/* -------------------------------------------------------------------------- */

/* Every call from now on must say so. */
static void expect_lost(heed_context *context, const heed_plan *plan, const gpu_scene *scene)
{
    void *memory = NULL;
    unsigned char byte = 0;
    gpu_expect(heed_execute(plan, &scene->buffers), HEED_ERR_LOST, "heed_execute, lost");
    gpu_expect(heed_device_wait(context), HEED_ERR_LOST, "heed_device_wait, lost");
    gpu_expect(heed_device_allocate(context, 16, &memory), HEED_ERR_LOST, "allocate, lost");
    gpu_expect(heed_device_upload(context, scene->buffers.o, &byte, 1), HEED_ERR_LOST,
               "upload, lost");
    gpu_expect(heed_device_download(context, &byte, scene->buffers.o, 1), HEED_ERR_LOST,
               "download, lost");
}

/* K ends long before the problem thinks it does, at memory that nothing is mapped to. */
static void lose_device(void)
{
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, "b1 h2 s8192 d64 f16", NULL);
    if (!plan)
        gpu_skip("there is no kernel for this device");
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    void *k = NULL;
    gpu_expect(heed_device_reserve(context, 4096, true, &k), HEED_OK, "heed_device_reserve");
    gpu_scene stray = scene;
    stray.buffers.k = k;
    gpu_expect(heed_execute(plan, &stray.buffers), HEED_OK, "the execution that strays");
    gpu_expect(heed_device_wait(context), HEED_ERR_LOST, "waiting for the execution that strays");
    gpu_note("%s", heed_message());
    expect_lost(context, plan, &scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static int in_child(gpu_test_fn *test);

/* In a child of this one, which must not have talked to the device itself. */
static void test_lost_device(void)
{
    int code = in_child(lose_device);
    if (code != 0)
        _Exit(code);
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, specs[0], NULL);
    check_answer(context, plan);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Figures                                                                    */
/* -------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define LAUNCHES 10000
#define LAUNCHES_IN_FLIGHT 100

static void test_host_cost(void)
{
    static double seconds[LAUNCHES];
    heed_context *context = gpu_context();
    heed_plan *plan = gpu_plan(context, "b1 h2 s64 d64 f16", NULL);
    if (!plan)
        gpu_skip("there is no kernel for this device");
    gpu_scene scene = gpu_scene_create(context, plan, 1);
    scene.buffers.stream = gpu_stream_create(context);
    for (int i = 0; i < LAUNCHES; i++) {
        double start = now();
        heed_status status = heed_execute(plan, &scene.buffers);
        seconds[i] = now() - start;
        gpu_expect(status, HEED_OK, "heed_execute");
        if (i % LAUNCHES_IN_FLIGHT == 0)
            gpu_expect(heed_device_wait(context), HEED_OK, "heed_device_wait");
    }
    qsort(seconds, LAUNCHES, sizeof seconds[0], compare_doubles);
    gpu_note("heed_execute: median %.2f us, 90 %% %.2f us of host time, %s",
             seconds[LAUNCHES / 2] * 1e6, seconds[LAUNCHES * 9 / 10] * 1e6, heed_plan_name(plan));
    gpu_expect(heed_device_wait(context), HEED_OK, "heed_device_wait");
    gpu_scene_destroy(&scene);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void time_plan(const char *spec, const char *what)
{
    double start = now();
    heed_context *context = gpu_context();
    double opened = now();
    heed_plan *plan = gpu_plan(context, spec, NULL);
    double planned = now();
    if (!plan)
        gpu_skip("there is no kernel for this device");
    gpu_note("%-34s %6.1f ms, after %.0f ms for the context", what, (planned - opened) * 1e3,
             (opened - start) * 1e3);
    double again = now();
    heed_plan_destroy(gpu_plan(context, "b1 h8 s777 d64 f16 causal", NULL));
    gpu_note("%-34s %6.1f ms", "  another length", (now() - again) * 1e3);
    heed_plan_destroy(plan);
    heed_context_destroy(context);
}

static void time_first_plan(void)
{
    time_plan("b1 h8 s512 d64 f16 causal", "first plan, empty cache");
}

static void time_cached_plan(void)
{
    time_plan("b1 h8 s512 d64 f16 causal", "first plan of another process");
}

/* With a cache of its own, which is gone afterwards. */
static void test_plan_times(void)
{
    char folder[] = "/tmp/heed-test-gpu-XXXXXX", command[64];
    if (!mkdtemp(folder) || setenv("HEED_CACHE", folder, 1) != 0)
        gpu_fail("no folder for a cache");
    int code = in_child(time_first_plan);
    if (code == 0)
        code = in_child(time_cached_plan);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        gpu_note("%s is left behind", folder);
    if (code != 0)
        _Exit(code);
}

/* -------------------------------------------------------------------------- */
/* All of them                                                                */
/* -------------------------------------------------------------------------- */

#define DEADLINE_S 120
#define EXIT_SKIPPED 77

/* Runs @test in a child process, and returns its exit status; 1 for a crash. */
static int in_child(gpu_test_fn *test)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        gpu_fail("the system lets no process be made");
    if (child == 0) {
        alarm(DEADLINE_S);
        test();
        fflush(stdout);
        _Exit(0);
    }
    while (waitpid(child, &status, 0) < 0)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    printf("    FAIL %s\n",
           WTERMSIG(status) == SIGALRM ? "not done in time" : strsignal(WTERMSIG(status)));
    return 1;
}

static void find_device(void)
{
    const heed_options options = { .device = "cuda" };
    heed_context *context;
    if (heed_context_create(&context, &options) != HEED_OK)
        gpu_skip("%s", heed_message());
    gpu_note("%s", heed_context_device(context));
    heed_context_destroy(context);
}

static const struct {
    const char *name;
    gpu_test_fn *run;
} tests[] = {
    { "known-answers", test_known_answers },   { "graphs", test_graphs },
    { "two-streams", test_two_streams },       { "many-threads", test_many_threads },
    { "bad-buffers", test_bad_buffers },       { "unaligned-pointers", test_unaligned_pointers },
    { "too-large", test_too_large },           { "no-such-device", test_no_such_device },
    { "another-device", test_another_device }, { "lost-device", test_lost_device },
    { "host-cost", test_host_cost },           { "plan-times", test_plan_times },
};

static bool wanted(const char *name, int argc, char **argv)
{
    bool found = argc < 2;
    for (int i = 1; i < argc; i++)
        found = found || strncmp(name, argv[i], strlen(argv[i])) == 0;
    return found;
}

int main(int argc, char **argv)
{
    int counts[3] = { 0 }; /* passed, failed, skipped */
    if (in_child(find_device) != 0)
        return EXIT_SKIPPED;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (!wanted(tests[i].name, argc, argv))
            continue;
        printf("%s\n", tests[i].name);
        int code = in_child(tests[i].run);
        counts[code == 0 ? 0 : code == EXIT_SKIPPED ? 2 : 1]++;
    }
    printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
    return counts[1] ? 1 : 0;
}
