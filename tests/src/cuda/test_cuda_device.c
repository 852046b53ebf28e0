/*
 * test_cuda_device.c - memory, code, launches and replays on a CUDA device (fake_cuda.h)
 */
#include "run_tests.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_scene.h"
#include "device.h"
#include "expect.h"
#include "internal.h"

/* -------------------------------------------------------------------------- */
/* Memory                                                                     */
/* -------------------------------------------------------------------------- */

/* Data uploaded to device memory is downloaded unchanged. */
static void there_and_back(heed_context *context)
{
    char text[] = "there and back", back[sizeof text] = "";
    void *memory;
    assert_int_equal(heed_device_allocate(context, sizeof text, &memory), HEED_OK);
    assert_int_equal((uintptr_t)memory % 256, 0);
    assert_int_equal(heed_device_upload(context, memory, text, sizeof text), HEED_OK);
    assert_int_equal(heed_device_wait(context), HEED_OK);
    assert_int_equal(heed_device_download(context, back, memory, sizeof text), HEED_OK);
    assert_string_equal(back, text);
    assert_int_equal(heed_device_upload(context, memory, text, 0), HEED_OK);
    heed_device_free(context, memory);
}

static void test_memory(void **state)
{
    heed_context *context = scene_open("cuda");
    void *none;
    there_and_back(context);
    heed_device_free(context, NULL);
    assert_int_equal(heed_device_allocate(context, 0, &none), HEED_OK);
    heed_device_free(context, none);
    assert_int_equal(fake->depth, 0);
    heed_context_destroy(context);
}

static void test_too_little_memory(void **state)
{
    static const char *const words[] = { "68719476737 bytes", "cuda:0", "out of memory", NULL };
    heed_context *context = scene_open("cuda");
    size_t size = fake->memory + 1;
    void *memory;
    assert_true(is_refused("allocate", heed_device_allocate(context, size, &memory),
                           HEED_ERR_NO_MEMORY, words));
    assert_null(memory);
    assert_true(is_refused("reserve", heed_device_reserve(context, size, true, &memory),
                           HEED_ERR_NO_MEMORY, words));
    assert_null(memory);
    assert_int_equal(heed_device_reserve(context, SIZE_MAX - 1, true, &memory), HEED_ERR_NO_MEMORY);
    assert_int_equal(heed_device_wait(context), HEED_OK); /* the device still works */
    heed_context_destroy(context);
}

/* Returns whether a child that touches @byte is killed by the access. */
static bool is_wall(volatile unsigned char *byte)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        *byte = 1;
        raise(SIGKILL); /* an exit that memory checkers do not report */
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) != SIGKILL;
}

static void check_walls(heed_context *context, size_t size)
{
    size_t granule = heed_device_is_host(context) ? 4096 : (size_t)2 << 20;
    for (int at_end = 0; at_end < 2; at_end++) {
        void *memory;
        assert_int_equal(heed_device_reserve(context, size, at_end, &memory), HEED_OK);
        unsigned char *bytes = memory;
        assert_int_equal(((uintptr_t)bytes + (at_end ? size : 0)) % granule, 0);
        bytes[0] = bytes[size - 1] = 1;
        if (at_end)
            assert_true(is_wall(bytes + size));
        else
            assert_true(is_wall(bytes - 1));
        assert_false(is_wall(bytes + size / 2));
        heed_device_release(context, memory, size);
    }
}

static void test_walls(void **state)
{
    heed_context *contexts[] = { scene_open("cpu"), scene_open("cuda") };
    for (int i = 0; i < 2; i++) {
        check_walls(contexts[i], 1);
        check_walls(contexts[i], 4096);
        check_walls(contexts[i], 5000001);
        heed_device_release(contexts[i], NULL, 1);
        heed_context_destroy(contexts[i]);
    }
}

/* Reserves a range for a tensor of which only a little is touched. */
static void test_vast_range(void **state)
{
    heed_context *context = scene_open("cuda");
    size_t size = ((size_t)9 << 30) + 2;
    void *memory;
    assert_int_equal(heed_device_reserve(context, size, true, &memory), HEED_OK);
    assert_int_equal(heed_device_upload(context, (char *)memory + size - 2, "x", 2), HEED_OK);
    assert_string_equal((char *)memory + size - 2, "x");
    heed_device_release(context, memory, size);
    assert_true(fake->used == 0);
    heed_context_destroy(context);
}

static void test_pointers(void **state)
{
    static const char *const host[] = { "q is 0x", "host memory", "cuda:0", NULL };
    static const char *const foreign[] = { "v is 0x", "memory of cuda:1", "for cuda:0", NULL };
    heed_cuda *cuda, *other;
    void *own, *others;
    int pinned = 0, plain = 0;
    assert_int_equal(heed_cuda_open(&cuda, 0), HEED_OK);
    assert_int_equal(heed_cuda_open(&other, 1), HEED_OK);
    assert_int_equal(heed_cuda_allocate(cuda, 64, &own), HEED_OK);
    assert_int_equal(heed_cuda_allocate(other, 64, &others), HEED_OK);
    fake->pin(&pinned, sizeof pinned);
    assert_int_equal(heed_cuda_enter(cuda), HEED_OK);
    fake->calls = 0;
    assert_int_equal(heed_cuda_check_pointer(cuda, "q", (char *)own + 63), HEED_OK);
    assert_int_equal(fake->calls, 1); /* one query per pointer */
    assert_int_equal(heed_cuda_check_pointer(cuda, "q", &pinned), HEED_OK);
    assert_true(is_refused("host memory", heed_cuda_check_pointer(cuda, "q", &plain),
                           HEED_ERR_INVALID, host));
    assert_true(is_refused("the other's", heed_cuda_check_pointer(cuda, "v", others),
                           HEED_ERR_INVALID, foreign));
    heed_cuda_leave(cuda);
    fake->pin(&pinned, 0);
    heed_cuda_free(cuda, own);
    heed_cuda_free(other, others);
    heed_cuda_close(cuda);
    heed_cuda_close(other);
}

/* -------------------------------------------------------------------------- */
/* Code                                                                       */
/* -------------------------------------------------------------------------- */

static void test_shared_code(void **state)
{
    heed_cuda *cuda;
    heed_cuda_function *f[4];
    heed_cubin a = scene_cubin("a"), b = scene_cubin("b");
    assert_int_equal(heed_cuda_open(&cuda, 0), HEED_OK);
    assert_int_equal(heed_cuda_load(cuda, &a, "one", 0, &f[0]), HEED_OK);
    assert_int_equal(heed_cuda_load(cuda, &a, "one", 0, &f[1]), HEED_OK);
    assert_ptr_equal(f[0], f[1]);
    assert_int_equal(heed_cuda_load(cuda, &a, "two", 0, &f[2]), HEED_OK);
    assert_int_equal(fake->modules, 1);
    assert_int_equal(heed_cuda_load(cuda, &b, "one", 0, &f[3]), HEED_OK);
    assert_ptr_not_equal(f[0], f[3]);
    assert_int_equal(fake->modules, 2);
    heed_cuda_unload(cuda, f[0]);
    heed_cuda_unload(cuda, f[2]);
    assert_int_equal(fake->modules, 2);
    heed_cuda_unload(cuda, f[1]);
    assert_int_equal(fake->modules, 1);
    heed_cuda_unload(cuda, f[3]);
    assert_int_equal(fake->modules, 0);
    heed_cuda_unload(cuda, NULL);
    assert_int_equal(fake->depth, 0);
    heed_cuda_close(cuda);
}

static void test_bad_code(void **state)
{
    static const char *const garbage[] = { "loading code", "9.0", "CUDA_ERROR_INVALID_IMAGE",
                                           NULL };
    static const char *const wrong[] = { "from PTX", "ptxas: line 2: wrong is wrong",
                                         "CUDA_ERROR_INVALID_PTX", NULL };
    static const char *const missing[] = { "\"missing\"", "CUDA_ERROR_NOT_FOUND", NULL };
    static const char *const smem[] = { "work needs 232449 bytes", "at most 232448", NULL };
    static const char *const name[] = { "too long", NULL };
    char text[] = "this is no code", ptx[] = ".version 9.0 wrong", good[] = ".version 9.0";
    char long_name[80];
    heed_cuda *cuda;
    heed_cuda_function *function;
    heed_cubin cubin = scene_cubin("k");
    assert_int_equal(heed_cuda_open(&cuda, 0), HEED_OK);
    cubin.data = (unsigned char *)text;
    assert_true(is_refused("garbage", heed_cuda_load(cuda, &cubin, "f", 0, &function),
                           HEED_ERR_DEVICE, garbage));
    assert_null(function);
    cubin.data = (unsigned char *)ptx;
    cubin.ptx = true;
    assert_true(is_refused("wrong PTX", heed_cuda_load(cuda, &cubin, "f", 0, &function),
                           HEED_ERR_DEVICE, wrong));
    cubin.data = (unsigned char *)good;
    assert_true(is_refused("a missing function",
                           heed_cuda_load(cuda, &cubin, "missing", 0, &function), HEED_ERR_DEVICE,
                           missing));
    assert_true(is_refused("too much shared memory",
                           heed_cuda_load(cuda, &cubin, "work", (227 << 10) + 1, &function),
                           HEED_ERR_DEVICE, smem));
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_true(is_refused("a long name", heed_cuda_load(cuda, &cubin, long_name, 0, &function),
                           HEED_ERR_INVALID, name));
    assert_int_equal(fake->modules, 0);
    heed_cuda_close(cuda);
}

/* -------------------------------------------------------------------------- */
/* Launches                                                                   */
/* -------------------------------------------------------------------------- */

static void test_launch(void **state)
{
    scene s = scene_make(200000);
    int args = 4711;
    heed_cuda_launch launch = {
        .function = s.function, .grid = { 3, 2, 1 }, .threads = 128, .smem = 200000, .args = &args
    };
    assert_int_equal(scene_start(&s, launch, NULL), HEED_OK);
    assert_string_equal(fake->last.function, "work");
    assert_int_equal(fake->last.grid[0], 3);
    assert_int_equal(fake->last.grid[1], 2);
    assert_int_equal(fake->last.grid[2], 1);
    assert_int_equal(fake->last.block[0], 128);
    assert_int_equal(fake->last.block[1] * fake->last.block[2], 1);
    assert_int_equal(fake->last.smem, 200000);
    assert_memory_equal(fake->last.kept, &args, sizeof args);
    assert_false(fake->last.overlap);
    assert_null(fake->last.window);

    launch.overlap = true;
    launch.window = &args;
    launch.window_size = (size_t)74 << 20;
    assert_int_equal(heed_cuda_allow_window(s.cuda), HEED_OK);
    assert_true(fake->persisting == (size_t)37 << 20);
    assert_int_equal(scene_start(&s, launch, NULL), HEED_OK);
    assert_true(fake->last.overlap);
    assert_ptr_equal(fake->last.window, &args);
    assert_true(fake->last.window_size == (size_t)74 << 20);
    assert_true(fake->last.window_ratio == 0.5F);
    launch.window_size = (size_t)1 << 40;
    assert_int_equal(scene_start(&s, launch, NULL), HEED_OK);
    assert_true(fake->last.window_size == (size_t)128 << 20);
    assert_int_equal(fake->launches, 3);
    scene_end(&s);
}

static void test_bad_launch(void **state)
{
    static const char *const words[] = { "launching work", "grid 1 x 70000 x 1",       "64 threads",
                                         "128 bytes",      "CUDA_ERROR_INVALID_VALUE", NULL };
    scene s = scene_make(128);
    heed_cuda_launch launch = {
        .function = s.function, .grid = { 1, 70000, 1 }, .threads = 64, .smem = 128, .args = &launch
    };
    assert_true(is_refused("a wide grid", scene_start(&s, launch, NULL), HEED_ERR_DEVICE, words));
    launch.grid[1] = 1;
    launch.smem = 129; /* more than was requested */
    assert_int_equal(scene_start(&s, launch, NULL), HEED_ERR_DEVICE);
    launch.smem = 128;
    assert_int_equal(scene_start(&s, launch, NULL), HEED_OK);
    scene_end(&s);
}

/* After an illegal access nothing works any more, and every call reports why. */
static void test_lost_device(void **state)
{
    static const char *const words[] = { "cuda:0 is lost", "waiting for the CUDA device",
                                         "CUDA_ERROR_ILLEGAL_ADDRESS", "restart the process",
                                         NULL };
    scene s = scene_make(0);
    heed_replay replay;
    heed_cuda_function *function;
    heed_cubin cubin = scene_cubin("other");
    void *memory, *held;
    char text[4] = "";
    heed_cuda_launch launch = {
        .function = s.function, .grid = { 1, 1, 1 }, .threads = 1, .args = &launch
    };
    assert_int_equal(heed_device_allocate(s.context, 4, &held), HEED_OK);
    fake->launch_error = 700;
    assert_int_equal(scene_start(&s, launch, NULL), HEED_OK);
    assert_true(is_refused("wait", heed_device_wait(s.context), HEED_ERR_LOST, words));
    int calls = fake->calls;
    assert_true(is_refused("start", scene_start(&s, launch, NULL), HEED_ERR_LOST, words));
    assert_true(
        is_refused("allocate", heed_device_allocate(s.context, 1, &memory), HEED_ERR_LOST, words));
    assert_true(is_refused("reserve", heed_device_reserve(s.context, 1, true, &memory),
                           HEED_ERR_LOST, words));
    assert_true(
        is_refused("upload", heed_device_upload(s.context, held, text, 4), HEED_ERR_LOST, words));
    assert_true(is_refused("download", heed_device_download(s.context, text, held, 4),
                           HEED_ERR_LOST, words));
    assert_true(is_refused("load", heed_cuda_load(s.cuda, &cubin, "f", 0, &function), HEED_ERR_LOST,
                           words));
    assert_true(is_refused("window", heed_cuda_allow_window(s.cuda), HEED_ERR_LOST, words));
    assert_true(is_refused("replay", heed_replay_create(&replay, s.context, NULL, NULL, 1),
                           HEED_ERR_LOST, words));
    heed_device_free(s.context, held);
    assert_int_equal(fake->calls, calls); /* the driver was not called again */
    scene_end(&s);

    assert_int_equal(fake->modules, 1); /* lost with the device */
    assert_int_equal(fake->blocks, 1);
    assert_int_equal(fake->depth, 0);
    fake->renew();
}

/* -------------------------------------------------------------------------- */
/* Replays                                                                    */
/* -------------------------------------------------------------------------- */

static void see(void *data, const fake_launch *launch)
{
    scene_job *j = data;
    if (launch->captured && j->count < 8)
        memcpy(&j->seen[j->count++], launch->args, sizeof(int));
}

static void test_replay(void **state)
{
    scene s = scene_make(0);
    scene_job j = { .scene = &s, .bad_at = -1 };
    heed_replay replay = { 0 };
    double seconds = -1;
    heed_replay_destroy(&replay);
    fake->hook = see;
    fake->hook_data = &j;
    assert_int_equal(heed_replay_create(&replay, s.context, scene_do_job, &j, 3), HEED_OK);
    assert_int_equal(j.count, 0); /* nothing runs during capture */
    for (int i = 0; i < 2; i++)
        assert_int_equal(heed_replay_run(&replay, &seconds), HEED_OK);
    assert_int_equal(j.count, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(j.seen[i], i % 3);
    assert_true(seconds >= 0 && seconds < 1);
    assert_int_equal(heed_replay_repeat(&replay, 2, 4, &seconds), HEED_OK);
    assert_int_equal(fake->launches, (2 + 2 + 4) * 3);
    heed_replay_destroy(&replay);
    assert_int_equal(fake->depth, 0);
    assert_int_equal(heed_replay_create(&replay, s.context, scene_do_job, &j, 0), HEED_ERR_INVALID);
    heed_replay_destroy(&replay);
    scene_end(&s);
}

static void test_replay_of_failing_work(void **state)
{
    static const char *const words[] = { "call 2 is bad", NULL };
    scene s = scene_make(0);
    scene_job j = { .scene = &s, .bad_at = 2, .failure = HEED_ERR_UNSUPPORTED };
    heed_replay replay;
    assert_true(is_refused("replay", heed_replay_create(&replay, s.context, scene_do_job, &j, 4),
                           HEED_ERR_UNSUPPORTED, words));
    heed_replay_destroy(&replay);
    assert_int_equal(fake->streams + fake->events + fake->graphs + fake->depth, 0);
    j.bad_at = -1; /* and the next one works */
    assert_int_equal(heed_replay_create(&replay, s.context, scene_do_job, &j, 4), HEED_OK);
    heed_replay_destroy(&replay);
    scene_end(&s);
}

/* Work that waits cannot be captured. */
static heed_status wait_within(void *data, int index, void *stream)
{
    return heed_device_wait(data);
}

static void test_replay_of_waiting_work(void **state)
{
    static const char *const words[] = { "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", NULL };
    heed_context *context = scene_open("cuda");
    heed_replay replay;
    assert_true(is_refused("replay", heed_replay_create(&replay, context, wait_within, context, 1),
                           HEED_ERR_DEVICE, words));
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* The CPU                                                                    */
/* -------------------------------------------------------------------------- */

static heed_status count_call(void *data, int index, void *stream)
{
    int *calls = data;
    assert_null(stream);
    (*calls)++;
    return index == 7 ? heed_fail(HEED_ERR_SYSTEM, "seven") : HEED_OK;
}

/* The same functions on a CPU context, whose device memory is host memory. */
static void test_cpu(void **state)
{
    heed_context *context = scene_open("cpu");
    heed_device_state now;
    heed_replay replay;
    double seconds = -1;
    int calls = 0;
    void *memory;
    assert_true(heed_device_is_host(context));
    assert_int_equal(heed_device_arch(context), 0);
    there_and_back(context);
    assert_int_equal(heed_device_allocate(context, SIZE_MAX - 9, &memory), HEED_ERR_NO_MEMORY);
    assert_int_equal(heed_device_reserve(context, SIZE_MAX - 9, true, &memory), HEED_ERR_NO_MEMORY);
    assert_false(heed_device_read_state(context, &now));
    assert_int_equal(now.other_processes, -1);

    assert_int_equal(heed_replay_create(&replay, context, count_call, &calls, 3), HEED_OK);
    assert_int_equal(heed_replay_repeat(&replay, 1, 2, &seconds), HEED_OK);
    assert_int_equal(calls, 9);
    assert_true(seconds >= 0);
    heed_replay_destroy(&replay);
    assert_int_equal(heed_replay_create(&replay, context, count_call, &calls, 9), HEED_OK);
    assert_int_equal(heed_replay_run(&replay, &seconds), HEED_ERR_SYSTEM);
    assert_int_equal(calls, 9 + 8);
    heed_replay_destroy(&replay);
    heed_context_destroy(context);
    assert_int_equal(fake->calls, 0); /* no driver was called */
}

RUN_SCENE_TESTS(scene_begin, test_memory, test_too_little_memory, test_walls, test_vast_range,
                test_pointers, test_shared_code, test_bad_code, test_launch, test_bad_launch,
                test_lost_device, test_replay, test_replay_of_failing_work,
                test_replay_of_waiting_work, test_cpu)
