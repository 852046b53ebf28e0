/*
 * test_cuda_later.c - plans whose kernel is compiled in the background while another one serves
 * (fake_cuda.h)
 *
 * The fake compiler is held back, so that the other kernel does serve.
 */
#include "run_tests.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver/driver.h"
#include "cuda_trial.h"
#include "device.h"
#include "expect.h"
#include "internal.h"
#include "later.h"
#include "prefix.h"
#include "scratch.h"

#define NAIVE "fwd_any_sm80_naive"
#define PATIENCE_S 60

/* A cache for each test, without precompiled kernels. */
static int open_cache(void **state)
{
    setenv("HEED_CUBINS", "", 1);
    if (scene_reset(NULL) != 0 || scratch_open(state) != 0)
        return -1;
    return setenv("HEED_CACHE", *state, 1);
}

static int close_cache(void **state)
{
    atomic_store(&fake->hold_compiler, 0);
    return scratch_close(state) == 0 ? scene_check(NULL) : -1;
}

/* A context that compiles in the background, and tensors. The plan is made later. */
static trial begin(void)
{
    trial t = { .context = NULL };
    const heed_options options = { .size = sizeof options,
                                   .device = "cuda",
                                   .compile = HEED_COMPILE_BACKGROUND };
    assert_int_equal(heed_context_create(&t.context, &options), HEED_OK);
    t.buffers = trial_tensors(t.context, 8 << 20);
    return t;
}

/* Compiles @name for @spec. */
static void compile_named(heed_context *context, const char *spec, const char *name)
{
    heed_plan *plan;
    const heed_problem problem = parsed(spec);
    assert_int_equal(heed_plan_create_named(&plan, context, &problem, name), HEED_OK);
    assert_int_equal(heed_plan_wait(plan), HEED_OK);
    heed_plan_destroy(plan);
}

static void plan_it(trial *t, const char *spec)
{
    const heed_problem problem = parsed(spec);
    if (heed_plan_create(&t->plan, t->context, &problem, HEED_ESTIMATE) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
}

static bool explains(const heed_plan *plan, const char *words)
{
    char text[8192];
    assert_true(heed_plan_explain(plan, text, sizeof text) < sizeof text);
    return strstr(text, words) != NULL;
}

/* The launch of an execution as a number, which differs between the kernels here. */
static unsigned long launch_number(const fake_launch *it)
{
    return ((unsigned long)it->grid[0] * 1024 + it->block[0]) * (256 << 10) + it->smem;
}

static unsigned long launch_of(const trial *t)
{
    assert_int_equal(trial_execute(t, &t->buffers), 1);
    return launch_number(&trial_launches[0]);
}

/* A trial with a compiled naive kernel and a compiler that is held back. */
static trial begin_held(const char *spec)
{
    trial t = begin();
    compile_named(t.context, spec, NAIVE);
    atomic_store(&fake->hold_compiler, 1);
    plan_it(&t, spec);
    return t;
}

static void test_another_kernel_serves(void **state)
{
    static const char *const specs[] = { PLAIN, DECODING };
    (void)state;
    for (int i = 0; i < 2; i++) {
        trial t = begin_held(specs[i]);
        char name[HEED_NAME_SIZE];
        snprintf(name, sizeof name, "%s", heed_plan_name(t.plan));
        assert_null(strstr(name, "naive"));
        assert_true(explains(t.plan, "is being compiled; " NAIVE " runs meanwhile"));
        assert_int_equal(heed_plan_deterministic(t.plan), 0);
        unsigned long slow = launch_of(&t);
        assert_int_equal(heed_device_launch_of(t.plan).blocks, trial_launches[0].grid[0]);
        atomic_store(&fake->hold_compiler, 0);
        assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
        assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
        assert_string_equal(heed_plan_name(t.plan), name);
        assert_true(explains(t.plan, "it is in use; " NAIVE " ran while it was compiled"));
        unsigned long fast = launch_of(&t);
        assert_int_equal(heed_device_launch_of(t.plan).blocks, trial_launches[0].grid[0]);
        assert_int_not_equal(fast, slow);
        trial now = trial_make(specs[i]); /* same as a plan whose kernel was already compiled */
        heed_plan_destroy(now.plan);
        const heed_problem problem = parsed(specs[i]);
        int compilations = fake->compilations;
        assert_int_equal(heed_plan_create(&now.plan, now.context, &problem, HEED_ESTIMATE),
                         HEED_OK);
        assert_int_equal(fake->compilations, compilations); /* from the cache */
        assert_string_equal(heed_plan_name(now.plan), name);
        assert_int_equal(heed_plan_deterministic(now.plan), 1);
        assert_int_equal(launch_of(&now), fast);
        trial_end(&now);
        trial_end(&t);
    }
}

/* If no other kernel is ready, the one for unaligned addresses is compiled first, and serves. In
 * all nothing is compiled that a plan would not need. */
static void test_the_fallback_serves(void **state)
{
    static const char *const specs[] = { PLAIN, DECODING, "b1 h4 s16/512 d576/512 f16" };
    (void)state;
    for (int i = 0; i < 3; i++) {
        trial t = begin();
        fake->compilations = 0;
        plan_it(&t, specs[i]);
        assert_non_null(t.plan->later);
        assert_true(explains(t.plan, t.plan->later->standin.name));
        assert_true(strcmp(t.plan->later->standin.name, heed_plan_name(t.plan)) != 0);
        assert_true(trial_execute(&t, &t.buffers) > 0);
        assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
        assert_int_equal(fake->compilations, 2);
        assert_true(trial_execute(&t, &t.buffers) > 0);
        trial_end(&t);
    }
}

/* A plan without a fallback is complete at once. */
static void test_no_fallback(void **state)
{
    (void)state;
    trial t = begin();
    plan_it(&t, "b1 h4 s4/1000 d8 f32");
    assert_non_null(strstr(heed_plan_name(t.plan), "naive"));
    assert_null(t.plan->later);
    trial_end(&t);
}

/* If nothing needs compiling, the plan is complete at once. */
static void test_without_a_need(void **state)
{
    (void)state;
    trial t = begin();
    plan_it(&t, PLAIN);
    assert_true(fake->compilations > 0);
    assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
    heed_plan_destroy(t.plan);
    atomic_store(&fake->hold_compiler, 1);
    plan_it(&t, PLAIN);
    assert_null(t.plan->later);
    assert_false(explains(t.plan, NAIVE " r"));
    assert_int_equal(heed_plan_deterministic(t.plan), 1);
    trial_end(&t);
}

/* Plans whose bits must not change, or that were created by name, are not deferred. */
static void test_never_in_the_background(void **state)
{
    (void)state;
    trial t = begin();
    compile_named(t.context, PLAIN " invariant", NAIVE);
    plan_it(&t, PLAIN " invariant");
    assert_null(t.plan->later);
    heed_plan_destroy(t.plan);
    const heed_problem problem = parsed("b1 h4 s512 d128 f16");
    compile_named(t.context, "b1 h4 s512 d128 f16", NAIVE);
    assert_int_equal(heed_plan_create_named(&t.plan, t.context, &problem, "fwd_16bit_sm80_mma"),
                     HEED_OK);
    assert_null(t.plan->later);
    trial_end(&t);
    t = trial_make(PLAIN); /* in a context without background compilation */
    compile_named(t.context, PLAIN " causal", NAIVE);
    heed_plan_destroy(t.plan);
    plan_it(&t, PLAIN " causal");
    assert_null(t.plan->later);
    trial_end(&t);
}

static void test_a_compilation_that_fails(void **state)
{
    static const char *const words[] = { "does not compile", "error: no such thing", NULL };
    (void)state;
    trial t = begin();
    compile_named(t.context, PLAIN, NAIVE);
    fake->compile_error = "line 3: error: no such thing";
    heed_fail(HEED_ERR_INVALID, "as it was");
    plan_it(&t, PLAIN);
    assert_string_equal(heed_message(), "as it was");
    assert_true(is_refused("a plan", heed_plan_wait(t.plan), HEED_ERR_DEVICE, words));
    assert_true(explains(t.plan, "it could not be made: "));
    assert_true(explains(t.plan, "no such thing"));
    assert_true(explains(t.plan, NAIVE " runs instead"));
    assert_true(launch_of(&t) > 0);
    trial_end(&t);
}

static void *let_go(void *data)
{
    usleep(20000);
    atomic_store(&fake->hold_compiler, 0);
    return data;
}

/* Plans that are destroyed before their compilation starts, and one during it. */
static void test_destroyed_early(void **state)
{
    heed_plan *all[8];
    pthread_t thread;
    (void)state;
    trial t = begin_held(PLAIN);
    const heed_problem problem = parsed(PLAIN);
    for (int i = 0; i < 8; i++)
        assert_int_equal(heed_plan_create(&all[i], t.context, &problem, HEED_ESTIMATE), HEED_OK);
    int compilations = fake->compilations;
    while (compilations <= 1) { /* until one of them is being compiled */
        usleep(1000);
        compilations = fake->compilations;
    }
    pthread_create(&thread, NULL, let_go, NULL);
    for (int i = 0; i < 8; i++)
        heed_plan_destroy(all[i]);
    pthread_join(thread, NULL);
    assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
    trial_end(&t);
}

/* Code that many plans need is compiled once. */
static void test_one_compiles_for_all(void **state)
{
    heed_plan *all[8];
    (void)state;
    trial t = begin_held(PLAIN);
    const heed_problem problem = parsed(PLAIN);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(heed_plan_create(&all[i], t.context, &problem, HEED_ESTIMATE), HEED_OK);
        assert_non_null(all[i]->later);
        assert_string_equal(heed_plan_name(all[i]), heed_plan_name(t.plan));
    }
    atomic_store(&fake->hold_compiler, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(heed_plan_wait(all[i]), HEED_OK);
    assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
    assert_int_equal(fake->compilations, 1 + 2); /* naive; the kernel, and its fallback */
    for (int i = 0; i < 8; i++)
        heed_plan_destroy(all[i]);
    trial_end(&t);
}

/* Code is loaded while a stream is captured in each mode, in this thread, whose execution waits for
 * it: the graph has the chosen kernel. */
static void test_captures_are_not_disturbed(void **state)
{
    static const int modes[] = { CU_CAPTURE_GLOBAL, CU_CAPTURE_THREAD_LOCAL, CU_CAPTURE_RELAXED };
    const heed_driver *driver;
    pthread_t thread;
    (void)state;
    assert_int_equal(heed_driver_get(&driver), HEED_OK);
    for (int i = 0; i < 3; i++) {
        char spec[64];
        cu_stream *stream;
        cu_graph *graph = NULL;
        snprintf(spec, sizeof spec, DECODING " scale=0.%d", i + 1);
        trial t = begin_held(spec);
        assert_int_equal(heed_cuda_enter(t.context->cuda), HEED_OK);
        assert_int_equal(driver->stream_create(&stream, 0), CU_SUCCESS); /* ordered with NULL */
        assert_int_equal(driver->capture_begin(stream, modes[i]), CU_SUCCESS);
        heed_buffers captured = t.buffers;
        captured.stream = stream;
        pthread_create(&thread, NULL, let_go, NULL);
        trial_launch_count = 0;
        if (heed_execute(t.plan, &captured) != HEED_OK)
            fail_msg("mode %d: %s", modes[i], heed_message());
        pthread_join(thread, NULL);
        unsigned long first = launch_number(&trial_launches[0]);
        assert_ptr_equal(heed_later_serving(t.plan), t.plan);
        trial_launch_count = 0;
        assert_int_equal(heed_execute(t.plan, &captured), HEED_OK);
        assert_int_equal(launch_number(&trial_launches[0]), first);
        assert_int_equal(driver->capture_end(stream, &graph), CU_SUCCESS);
        assert_int_equal(driver->graph_destroy(graph), CU_SUCCESS);
        assert_int_equal(driver->stream_destroy(stream), CU_SUCCESS);
        heed_cuda_leave(t.context->cuda);
        trial_end(&t);
        fake->compilations = 0;
    }
}

/* If the chosen kernel does not compile, the graph has the one that serves instead. */
static void test_a_capture_whose_compilation_fails(void **state)
{
    const heed_driver *driver;
    cu_stream *stream;
    cu_graph *graph = NULL;
    pthread_t thread;
    (void)state;
    assert_int_equal(heed_driver_get(&driver), HEED_OK);
    trial t = begin_held(DECODING);
    const heed_plan *serving = heed_later_serving(t.plan);
    unsigned long serves = launch_of(&t);
    fake->compile_error = "line 3: error: no such thing";
    assert_int_equal(heed_cuda_enter(t.context->cuda), HEED_OK);
    assert_int_equal(driver->stream_create(&stream, 0), CU_SUCCESS);
    assert_int_equal(driver->capture_begin(stream, CU_CAPTURE_THREAD_LOCAL), CU_SUCCESS);
    heed_buffers captured = t.buffers;
    captured.stream = stream;
    pthread_create(&thread, NULL, let_go, NULL);
    trial_launch_count = 0;
    assert_int_equal(heed_execute(t.plan, &captured), HEED_OK);
    pthread_join(thread, NULL);
    assert_int_equal(launch_number(&trial_launches[0]), serves);
    assert_ptr_equal(heed_later_serving(t.plan), serving);
    assert_true(explains(t.plan, "it could not be made: "));
    assert_int_equal(driver->capture_end(stream, &graph), CU_SUCCESS);
    assert_int_equal(driver->graph_destroy(graph), CU_SUCCESS);
    assert_int_equal(driver->stream_destroy(stream), CU_SUCCESS);
    heed_cuda_leave(t.context->cuda);
    trial_end(&t);
}

/* ---- Threads ---- */

typedef struct busy {
    const trial *t;
    atomic_int executions;
    atomic_bool over;
    heed_status status;
} busy;

static void *execute(void *data)
{
    busy *all = data;
    heed_status status = HEED_OK;
    while (!atomic_load(&all->over) && status == HEED_OK) {
        status = heed_execute(all->t->plan, &all->t->buffers);
        atomic_fetch_add(&all->executions, 1);
    }
    if (status != HEED_OK)
        all->status = status;
    return NULL;
}

static void count_launches(void *data, const fake_launch *launch)
{
    (void)launch;
    atomic_fetch_add((atomic_int *)data, 1);
}

static void wait_for(atomic_int *counter, int least)
{
    while (atomic_load(counter) < least)
        usleep(1000);
}

static void test_threads(void **state)
{
    pthread_t threads[3];
    atomic_int launches = 0;
    (void)state;
    trial t = begin_held(PLAIN);
    busy all = { .t = &t, .status = HEED_OK };
    fake->hook_data = &launches;
    fake->hook = count_launches;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, execute, &all), 0);
    wait_for(&all.executions, 30);
    atomic_store(&fake->hold_compiler, 0);
    assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
    wait_for(&all.executions, atomic_load(&all.executions) + 30);
    atomic_store(&all.over, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(all.status, HEED_OK);
    assert_int_equal(atomic_load(&launches), atomic_load(&all.executions));
    fake->hook = trial_note;
    trial_end(&t);
}

/* A child has neither the thread nor the device: nothing in it waits. */
static void test_fork(void **state)
{
    int status = 0;
    (void)state;
    trial t = begin_held(PLAIN);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        if (heed_plan_wait(t.plan) != HEED_ERR_INVALID)
            _exit(1);
        if (heed_execute(t.plan, &t.buffers) != HEED_ERR_INVALID)
            _exit(2);
        heed_plan_destroy(t.plan);
        heed_context_destroy(t.context);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    atomic_store(&fake->hold_compiler, 0);
    assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
    trial_end(&t);
}

/* A graph contains the chosen kernel and launches it like an execution. */
static void test_graph(void **state)
{
    static const char *const plan[] = { "plan is NULL", NULL };
    static const char *const missing[] = { "k is NULL", NULL };
    pthread_t thread;
    heed_graph *graph;
    (void)state;
    trial t = begin_held(DECODING);
    pthread_create(&thread, NULL, let_go, NULL);
    int launches = fake->launches;
    assert_int_equal(heed_graph_create(&graph, t.plan, &t.buffers), HEED_OK);
    pthread_join(thread, NULL);
    assert_int_equal(fake->launches, launches); /* it was only captured */
    unsigned long chosen = launch_of(&t);
    trial_launch_count = 0;
    int stream;
    assert_int_equal(heed_graph_launch(graph, &stream), HEED_OK);
    assert_int_equal(trial_launch_count, 1);
    assert_true(trial_launches[0].captured);
    assert_ptr_equal(trial_launches[0].stream, &stream);
    assert_int_equal(launch_number(&trial_launches[0]), chosen);
    heed_graph_destroy(graph);
    heed_buffers bad = t.buffers;
    bad.k = NULL;
    assert_true(
        is_refused("k", heed_graph_create(&graph, t.plan, &bad), HEED_ERR_INVALID, missing));
    assert_null(graph);
    assert_true(is_refused("plan", heed_graph_create(&graph, NULL, &bad), HEED_ERR_INVALID, plan));
    assert_int_equal(heed_graph_launch(NULL, NULL), HEED_ERR_INVALID);
    heed_graph_destroy(NULL);
    trial_end(&t);
}

/* A problem with a prefix has two kernels and a merge, which is compiled at once. */
static void test_prefix(void **state)
{
    static const char spec[] = "b4 h8/2 s1/4096 d128 f16 prefix=1024";
    (void)state;
    trial t = begin();
    compile_named(t.context, spec, NAIVE); /* for the other keys; the prefix has the best kernel */
    atomic_store(&fake->hold_compiler, 1);
    plan_it(&t, spec);
    assert_non_null(t.plan->later);
    assert_null(t.plan->prefix->plan->later);
    assert_true(heed_plan_workspace_size(t.plan) <= t.buffers.workspace_size);
    assert_int_equal(heed_execute(t.plan, &t.buffers), HEED_OK);
    atomic_store(&fake->hold_compiler, 0);
    assert_int_equal(heed_plan_wait(t.plan), HEED_OK);
    assert_int_equal(heed_execute(t.plan, &t.buffers), HEED_OK);
    assert_true(explains(t.plan, "it is in use; "));
    trial_end(&t);
}

static void test_misuse(void **state)
{
    static const char *const words[] = { "compile is 2", "background", NULL };
    static const char *const plan[] = { "plan is NULL", NULL };
    heed_context *context;
    const heed_options options = { .size = sizeof options, .device = "cuda", .compile = 2 };
    (void)state;
    assert_true(
        is_refused("compile", heed_context_create(&context, &options), HEED_ERR_INVALID, words));
    assert_true(is_refused("plan", heed_plan_wait(NULL), HEED_ERR_INVALID, plan));
}

int main(void)
{
    return run_test_list(TEST_LIST_EACH(open_cache, close_cache, test_another_kernel_serves,
                                        test_the_fallback_serves, test_no_fallback,
                                        test_without_a_need, test_never_in_the_background,
                                        test_a_compilation_that_fails, test_destroyed_early,
                                        test_one_compiles_for_all, test_captures_are_not_disturbed,
                                        test_a_capture_whose_compilation_fails, test_threads,
                                        test_fork, test_graph, test_prefix, test_misuse),
                         scene_begin, NULL);
}
