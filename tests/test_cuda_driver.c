/*
 * test_cuda_driver.c - CUDA devices behind a driver that is told how to behave (fake_cuda.h)
 *
 * What is asked of a driver once per process, whether it is there and fit, is tried in children.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/jit.h"
#include "cuda/nvml.h"
#include "device.h"
#include "expect.h"
#include "fake_cuda.h"
#include "internal.h"

static fake_cuda *fake;
static const char *program; /* this one */

/* The fake as it is at the start of every test. */
static int reset(void **state)
{
    fake->renew(); /* of what a test left that failed */
    fake->driver = 13000;
    fake->devices = 2;
    fake->arch = 90;
    fake->memory = (size_t)64 << 30;
    fake->args_size = sizeof(int);
    fake->hook = NULL;
    fake->fail_name = NULL;
    fake->fail_call = fake->fail_result = fake->launch_error = 0;
    fake->calls = fake->sticky = fake->launches = 0;
    fake->failed = NULL;
    fake->persisting = 0;
    return 0;
}

static int nothing_left(void **state)
{
    if (fake_cuda_live(fake))
        fprintf(stderr,
                "left: %d contexts, %d modules, %d blocks, %d streams, %d events, "
                "%d graphs, %d pushed\n",
                fake->retained, fake->modules, fake->blocks, fake->streams, fake->events,
                fake->graphs, fake->depth);
    return fake_cuda_live(fake);
}

static heed_context *open_device(const char *device)
{
    heed_context *context;
    heed_options options = { .device = device };
    if (heed_context_create(&context, &options) != HEED_OK)
        fail_msg("%s: %s", device, heed_message());
    return context;
}

static void fail_at(const char *name, int call, int result)
{
    fake->calls = 0;
    fake->fail_name = name;
    fake->fail_call = call;
    fake->fail_result = result;
}

static unsigned char elf[64] = "\177ELF";

static heed_cubin make_cubin(const char *key)
{
    heed_cubin cubin = { .data = elf, .size = sizeof elf };
    snprintf(cubin.key, sizeof cubin.key, "%s", key);
    return cubin;
}

/* -------------------------------------------------------------------------- */
/* Drivers that will not do                                                   */
/* -------------------------------------------------------------------------- */

/* A device that is asked for under settings of the environment, and what is said of it. */
typedef struct bad_driver {
    const char *library, *version, *devices, *arch;
    const char *device;
    const char *words[4];
} bad_driver;

static const bad_driver bad_drivers[] = {
    { "/nowhere/libcuda.so",
      "13000",
      "1",
      "90",
      "cuda",
      { "device is cuda:0", "no NVIDIA driver", "/nowhere/libcuda.so" } },
    { "/proc/self/exe", "13000", "1", "90", "cuda:1", { "device is cuda:1", "NVIDIA driver" } },
    { FAKE_CUDA, "11040", "1", "90", "cuda", { "for CUDA 11.4", "12.0 or later", "fake" } },
    { FAKE_CUDA, "13000", "0", "90", "cuda", { "cuda:0", "no CUDA device" } },
    { FAKE_CUDA, "13000", "1", "90", "cuda:1", { "cuda:1", "there is 1" } },
    { FAKE_CUDA, "13000", "2", "90", "cuda:2", { "cuda:2", "there are 2", "from cuda:0" } },
    { FAKE_CUDA,
      "13000",
      "1",
      "75",
      "cuda",
      { "Imaginary GPU 0", "capability 7.5", "8.0 or later" } },
};

static int refuse(const bad_driver *bad)
{
    heed_context *context;
    heed_options options = { .device = bad->device };
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("HEED_LIBCUDA", bad->library, 1);
    fake->driver = atoi(bad->version);
    fake->devices = atoi(bad->devices);
    fake->arch = atoi(bad->arch);
    for (int i = 0; i < 2; i++) /* the second time must say the same */
        if (!is_refused(bad->device, heed_context_create(&context, &options), HEED_ERR_DEVICE,
                        bad->words) ||
            context)
            return 1;
    return fake_cuda_live(fake) != 0;
}

/* A driver of CUDA 12.0 lacks entries of later ones, which can be done without. */
static int use_oldest(void)
{
    heed_cuda *cuda = NULL;
    heed_cuda_function *function = NULL;
    heed_cubin cubin = make_cubin("old");
    fake->driver = 12000;
    if (heed_cuda_open(&cuda, 0) != HEED_OK)
        return 1;
    bool good = heed_cuda_gpu(cuda)->driver == 12000 &&
                heed_cuda_load(cuda, &cubin, "work", 1, &function) == HEED_OK;
    heed_cuda_unload(cuda, function);
    heed_cuda_close(cuda);
    return !good || fake_cuda_live(fake) != 0;
}

/* Runs this program again, to do what the number @task stands for. */
static void run_task(int task)
{
    char number[16];
    int status = -1;
    snprintf(number, sizeof number, "%d", task);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, number, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("task %d ended with %#x", task, status);
}

#define TASK_OLDEST 100

/* What such a child does. */
static int do_task(int task)
{
    if (task == TASK_OLDEST)
        return use_oldest();
    return refuse(&bad_drivers[task]);
}

static void test_bad_drivers(void **state)
{
    for (size_t i = 0; i < sizeof bad_drivers / sizeof *bad_drivers; i++)
        run_task((int)i);
}

static void test_oldest_driver(void **state)
{
    run_task(TASK_OLDEST);
}

static void test_driver_that_does_not_start(void **state)
{
    static const char *const words[] = { "does not start", "CUDA_ERROR_INVALID_VALUE, 1", NULL };
    heed_driver driver;
    fail_at("cuInit", 1, 1);
    assert_true(is_refused("cuInit", heed_driver_load(&driver), HEED_ERR_DEVICE, words));
}

static void test_results(void **state)
{
    static const struct {
        int result;
        heed_status status;
    } cases[] = {
        { 0, HEED_OK },
        { 1, HEED_ERR_DEVICE },
        { 2, HEED_ERR_NO_MEMORY },
        { 46, HEED_ERR_DEVICE },
        { 209, HEED_ERR_DEVICE },
        { 214, HEED_ERR_LOST },
        { 700, HEED_ERR_LOST },
        { 701, HEED_ERR_DEVICE },
        { 716, HEED_ERR_LOST },
        { 719, HEED_ERR_LOST },
        { 720, HEED_ERR_DEVICE },
        { 900, HEED_ERR_DEVICE },
        { 12345, HEED_ERR_DEVICE },
    };
    const heed_driver *driver;
    char words[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(heed_driver_status(cases[i].result), cases[i].status);
    assert_int_equal(heed_driver_get(&driver), HEED_OK);
    heed_driver_words(driver, 700, words, sizeof words);
    assert_string_equal(words,
                        "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, "
                        "700)");
    heed_driver_words(driver, 12345, words, sizeof words);
    assert_non_null(strstr(words, "12345"));
}

/* -------------------------------------------------------------------------- */
/* A device                                                                   */
/* -------------------------------------------------------------------------- */

static void test_facts(void **state)
{
    heed_context *context = open_device("cuda:1");
    const heed_gpu *gpu = context->machine.gpu;
    char features[32];
    assert_string_equal(heed_context_device(context), "Imaginary GPU 1");
    assert_string_equal(heed_context_backend(context), "cuda");
    assert_int_equal(heed_context_threads(context), 1);
    assert_int_equal(heed_device_arch(context), 90);
    assert_int_equal(context->machine.level, 90);
    assert_false(heed_device_is_host(context));
    assert_int_equal(heed_device_cache(context), 60 << 20);
    assert_true(heed_device_memory(context) == (size_t)64 << 30);
    assert_int_equal(gpu->multiprocessors, 132);
    assert_int_equal(gpu->registers, 65536);
    assert_int_equal(gpu->threads, 2048);
    assert_int_equal(gpu->blocks, 32);
    assert_int_equal(gpu->smem, 228 << 10);
    assert_int_equal(gpu->smem_block, 227 << 10);
    assert_int_equal(gpu->smem_reserved, 1024);
    assert_int_equal(gpu->l2_window, 37 << 20);
    assert_int_equal(gpu->driver, 13000);
    assert_true(gpu->clock == 1.98e9);
    assert_true(gpu->bandwidth > 4.8e12 && gpu->bandwidth < 5.0e12);
    heed_machine_features(&context->machine, features);
    assert_string_equal(features, "sm_90-driver13.0-nvrtc13.0");
    heed_context_destroy(context);
}

static void test_state(void **state)
{
    heed_context *context = open_device("cuda:1");
    heed_device_state now;
    assert_true(heed_device_read_state(context, &now));
    assert_true(now.sm_clock_hz == 1.755e9);
    assert_true(now.memory_clock_hz == 3.201e9);
    assert_true(now.power_w > 654 && now.power_w < 655);
    assert_true(now.temperature_c == 51);
    assert_string_equal(now.throttle, "power cap, thermal, reason 0x8000");
    assert_int_equal(now.other_processes, 1);
    assert_false(heed_nvml_read_state("0000:ff:00.0", &now));
    assert_true(now.power_w == -1 && now.other_processes == -1 && !*now.throttle);
    heed_context_destroy(context);
}

/* The caller's context stays what it was, and is not pushed again where it is the device's. */
static void test_current_context(void **state)
{
    heed_cuda *first, *second;
    const heed_driver *driver;
    cu_context *popped;
    assert_int_equal(heed_driver_get(&driver), HEED_OK);
    assert_int_equal(heed_cuda_open(&first, 0), HEED_OK);
    assert_int_equal(heed_cuda_open(&second, 1), HEED_OK);
    assert_int_equal(fake->retained, 2);
    assert_int_equal(heed_cuda_enter(first), HEED_OK);
    assert_int_equal(heed_cuda_enter(first), HEED_OK);
    assert_int_equal(fake->depth, 1);
    assert_int_equal(heed_cuda_enter(second), HEED_OK);
    assert_int_equal(heed_cuda_enter(first), HEED_OK);
    assert_int_equal(fake->depth, 3);
    heed_cuda_leave(first);
    assert_int_equal(fake->depth, 2);
    heed_cuda_leave(second);
    heed_cuda_leave(first);
    assert_int_equal(fake->depth, 1);
    heed_cuda_leave(first);
    assert_int_equal(fake->depth, 0);

    cu_context *context = NULL;
    assert_int_equal(driver->primary_retain(&context, 0), CU_SUCCESS);
    assert_int_equal(driver->context_push(context), CU_SUCCESS);
    assert_int_equal(heed_cuda_wait(first), HEED_OK);
    assert_int_equal(heed_cuda_wait(second), HEED_OK);
    assert_int_equal(fake->depth, 1);
    driver->context_pop(&popped);
    assert_ptr_equal(popped, context);
    driver->primary_release(0);
    heed_cuda_close(first);
    heed_cuda_close(second);
}

/* -------------------------------------------------------------------------- */
/* Memory                                                                     */
/* -------------------------------------------------------------------------- */

static void test_memory(void **state)
{
    heed_context *context = open_device("cuda");
    char text[] = "up and down", back[sizeof text] = "";
    void *memory, *none;
    assert_int_equal(heed_device_allocate(context, sizeof text, &memory), HEED_OK);
    assert_int_equal((uintptr_t)memory % 256, 0);
    assert_int_equal(heed_device_upload(context, memory, text, sizeof text), HEED_OK);
    assert_int_equal(heed_device_wait(context), HEED_OK);
    assert_int_equal(heed_device_download(context, back, memory, sizeof text), HEED_OK);
    assert_string_equal(back, text);
    assert_int_equal(heed_device_upload(context, memory, text, 0), HEED_OK);
    heed_device_free(context, memory);
    heed_device_free(context, NULL);
    assert_int_equal(heed_device_allocate(context, 0, &none), HEED_OK);
    heed_device_free(context, none);
    assert_int_equal(fake->depth, 0);
    heed_context_destroy(context);
}

static void test_too_little_memory(void **state)
{
    static const char *const words[] = { "68719476737 bytes", "cuda:0", "out of memory", NULL };
    heed_context *context = open_device("cuda");
    size_t size = fake->memory + 1;
    void *memory;
    assert_true(is_refused("allocate", heed_device_allocate(context, size, &memory),
                           HEED_ERR_NO_MEMORY, words));
    assert_null(memory);
    assert_true(is_refused("reserve", heed_device_reserve(context, size, true, &memory),
                           HEED_ERR_NO_MEMORY, words));
    assert_null(memory);
    assert_int_equal(heed_device_reserve(context, SIZE_MAX - 1, true, &memory), HEED_ERR_NO_MEMORY);
    assert_int_equal(heed_device_wait(context), HEED_OK); /* the device is as good as before */
    heed_context_destroy(context);
}

/* Does a child that touches @byte die of it? */
static bool is_wall(volatile unsigned char *byte)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        *byte = 1;
        raise(SIGKILL); /* an end that no checker of memory asks questions about */
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
    heed_context *contexts[] = { open_device("cpu"), open_device("cuda") };
    for (int i = 0; i < 2; i++) {
        check_walls(contexts[i], 1);
        check_walls(contexts[i], 4096);
        check_walls(contexts[i], 5000001);
        heed_device_release(contexts[i], NULL, 1);
        heed_context_destroy(contexts[i]);
    }
}

/* Room for a tensor of which little is touched. */
static void test_vast_range(void **state)
{
    heed_context *context = open_device("cuda");
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
    assert_int_equal(fake->calls, 1); /* one question per pointer */
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
    heed_cubin a = make_cubin("a"), b = make_cubin("b");
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
    heed_cubin cubin = make_cubin("k");
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

/* A device with one function. */
typedef struct scene {
    heed_context *context;
    heed_cuda *cuda;
    heed_cuda_function *function;
} scene;

static scene make_scene(int64_t smem)
{
    heed_cubin cubin = make_cubin("scene");
    scene s = { .context = open_device("cuda") };
    s.cuda = s.context->cuda;
    assert_int_equal(heed_cuda_load(s.cuda, &cubin, "work", smem, &s.function), HEED_OK);
    return s;
}

static void end_scene(scene *s)
{
    heed_cuda_unload(s->cuda, s->function);
    heed_context_destroy(s->context);
}

static heed_status start(const scene *s, heed_cuda_launch launch, void *stream)
{
    heed_status status = heed_cuda_enter(s->cuda);
    if (status != HEED_OK)
        return status;
    status = heed_cuda_start(s->cuda, &launch, stream);
    heed_cuda_leave(s->cuda);
    return status;
}

static void test_launch(void **state)
{
    scene s = make_scene(200000);
    int args = 4711;
    heed_cuda_launch launch = {
        .function = s.function, .grid = { 3, 2, 1 }, .threads = 128, .smem = 200000, .args = &args
    };
    assert_int_equal(start(&s, launch, NULL), HEED_OK);
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
    assert_int_equal(start(&s, launch, NULL), HEED_OK);
    assert_true(fake->last.overlap);
    assert_ptr_equal(fake->last.window, &args);
    assert_true(fake->last.window_size == (size_t)74 << 20);
    assert_true(fake->last.window_ratio == 0.5F);
    launch.window_size = (size_t)1 << 40;
    assert_int_equal(start(&s, launch, NULL), HEED_OK);
    assert_true(fake->last.window_size == (size_t)128 << 20);
    assert_int_equal(fake->launches, 3);
    end_scene(&s);
}

static void test_bad_launch(void **state)
{
    static const char *const words[] = { "launching work", "grid 1 x 70000 x 1",       "64 threads",
                                         "128 bytes",      "CUDA_ERROR_INVALID_VALUE", NULL };
    scene s = make_scene(128);
    heed_cuda_launch launch = {
        .function = s.function, .grid = { 1, 70000, 1 }, .threads = 64, .smem = 128, .args = &launch
    };
    assert_true(is_refused("a wide grid", start(&s, launch, NULL), HEED_ERR_DEVICE, words));
    launch.grid[1] = 1;
    launch.smem = 129; /* more than was asked for */
    assert_int_equal(start(&s, launch, NULL), HEED_ERR_DEVICE);
    launch.smem = 128;
    assert_int_equal(start(&s, launch, NULL), HEED_OK);
    end_scene(&s);
}

/* After an illegal access nothing works any more, and everything says why. */
static void test_lost_device(void **state)
{
    static const char *const words[] = { "cuda:0 is lost", "waiting for the CUDA device",
                                         "CUDA_ERROR_ILLEGAL_ADDRESS", "restart the process",
                                         NULL };
    scene s = make_scene(0);
    heed_replay replay;
    heed_cuda_function *function;
    heed_cubin cubin = make_cubin("other");
    void *memory, *held;
    char text[4] = "";
    heed_cuda_launch launch = {
        .function = s.function, .grid = { 1, 1, 1 }, .threads = 1, .args = &launch
    };
    assert_int_equal(heed_device_allocate(s.context, 4, &held), HEED_OK);
    fake->launch_error = 700;
    assert_int_equal(start(&s, launch, NULL), HEED_OK);
    assert_true(is_refused("wait", heed_device_wait(s.context), HEED_ERR_LOST, words));
    int calls = fake->calls;
    assert_true(is_refused("start", start(&s, launch, NULL), HEED_ERR_LOST, words));
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
    assert_int_equal(fake->calls, calls); /* the driver was not asked again */
    end_scene(&s);

    assert_int_equal(fake->modules, 1); /* what was lost with the device */
    assert_int_equal(fake->blocks, 1);
    assert_int_equal(fake->depth, 0);
    fake->renew();
}

/* -------------------------------------------------------------------------- */
/* Replays                                                                    */
/* -------------------------------------------------------------------------- */

/* Work that fails at call @bad_at with @failure; -1: never. */
typedef struct job {
    const scene *scene;
    int bad_at;
    heed_status failure;
    int seen[8]; /* arguments in the order of the launches that ran */
    int count;
} job;

static heed_status do_job(void *data, int index, void *stream)
{
    job *j = data;
    heed_cuda_launch launch = {
        .function = j->scene->function, .grid = { 1, 1, 1 }, .threads = 32, .args = &index
    };
    if (index == j->bad_at)
        return heed_fail(j->failure, "call %d is bad", index);
    return start(j->scene, launch, stream);
}

static void see(void *data, const fake_launch *launch)
{
    job *j = data;
    if (launch->captured && j->count < 8)
        memcpy(&j->seen[j->count++], launch->args, sizeof(int));
}

static void test_replay(void **state)
{
    scene s = make_scene(0);
    job j = { .scene = &s, .bad_at = -1 };
    heed_replay replay = { 0 };
    double seconds = -1;
    heed_replay_destroy(&replay);
    fake->hook = see;
    fake->hook_data = &j;
    assert_int_equal(heed_replay_create(&replay, s.context, do_job, &j, 3), HEED_OK);
    assert_int_equal(j.count, 0); /* nothing runs while it is captured */
    for (int i = 0; i < 2; i++)
        assert_int_equal(heed_replay_run(&replay, &seconds), HEED_OK);
    assert_int_equal(j.count, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(j.seen[i], i % 3);
    assert_true(seconds >= 0 && seconds < 1);
    heed_replay_destroy(&replay);
    assert_int_equal(fake->depth, 0);
    assert_int_equal(heed_replay_create(&replay, s.context, do_job, &j, 0), HEED_ERR_INVALID);
    heed_replay_destroy(&replay);
    end_scene(&s);
}

static void test_replay_of_failing_work(void **state)
{
    static const char *const words[] = { "call 2 is bad", NULL };
    scene s = make_scene(0);
    job j = { .scene = &s, .bad_at = 2, .failure = HEED_ERR_UNSUPPORTED };
    heed_replay replay;
    assert_true(is_refused("replay", heed_replay_create(&replay, s.context, do_job, &j, 4),
                           HEED_ERR_UNSUPPORTED, words));
    heed_replay_destroy(&replay);
    assert_int_equal(fake->streams + fake->events + fake->graphs + fake->depth, 0);
    j.bad_at = -1; /* and the next one is fine */
    assert_int_equal(heed_replay_create(&replay, s.context, do_job, &j, 4), HEED_OK);
    heed_replay_destroy(&replay);
    end_scene(&s);
}

/* Work that waits cannot be captured. */
static heed_status wait_within(void *data, int index, void *stream)
{
    return heed_device_wait(data);
}

static void test_replay_of_waiting_work(void **state)
{
    static const char *const words[] = { "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", NULL };
    heed_context *context = open_device("cuda");
    heed_replay replay;
    assert_true(is_refused("replay", heed_replay_create(&replay, context, wait_within, context, 1),
                           HEED_ERR_DEVICE, words));
    heed_context_destroy(context);
}

/* -------------------------------------------------------------------------- */
/* Every call fails once                                                      */
/* -------------------------------------------------------------------------- */

/* One life of a device. Returns the first failure, with everything that was made given back. */
static heed_status lead_life(void)
{
    heed_context *context = NULL;
    heed_options options = { .device = "cuda:1" };
    scene s = { 0 };
    job j = { .scene = &s, .bad_at = -1 };
    heed_replay replay = { 0 };
    heed_cubin cubin = make_cubin("life");
    void *memory = NULL, *walled = NULL;
    char bytes[16] = "";
    double seconds;
    heed_cuda_launch launch = { .grid = { 1, 1, 1 }, .threads = 1, .smem = 9, .args = bytes };

    heed_status status = heed_context_create(&context, &options);
    if (status != HEED_OK)
        return status;
    s = (scene){ .context = context, .cuda = context->cuda };
    status = heed_cuda_load(s.cuda, &cubin, "work", 100, &s.function);
    launch.function = s.function;
    if (status == HEED_OK)
        status = heed_cuda_allow_window(s.cuda);
    if (status == HEED_OK)
        status = heed_device_allocate(context, 16, &memory);
    if (status == HEED_OK)
        status = heed_device_reserve(context, 16, true, &walled);
    if (status == HEED_OK)
        status = heed_device_upload(context, memory, bytes, 16);
    if (status == HEED_OK)
        status = heed_cuda_enter(s.cuda);
    if (status == HEED_OK) {
        status = heed_cuda_check_pointer(s.cuda, "q", memory);
        heed_cuda_leave(s.cuda);
    }
    if (status == HEED_OK)
        status = start(&s, launch, NULL);
    if (status == HEED_OK)
        status = heed_replay_create(&replay, context, do_job, &j, 2);
    if (status == HEED_OK)
        status = heed_replay_run(&replay, &seconds);
    if (status == HEED_OK)
        status = heed_device_wait(context);
    if (status == HEED_OK)
        status = heed_device_download(context, bytes, walled, 16);
    heed_replay_destroy(&replay);
    heed_device_release(context, walled, 16);
    heed_device_free(context, memory);
    heed_cuda_unload(s.cuda, s.function);
    heed_context_destroy(context);
    return status;
}

/* A call that gives something back may fail without a word. */
static bool gives_back(const char *name)
{
    static const char *const words[] = { "Destroy", "Release", "Free", "Unload", "Unmap" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static void fail_each_call(int result, heed_status wanted)
{
    fail_at(NULL, 0, 0);
    assert_int_equal(lead_life(), HEED_OK);
    int calls = fake->calls;
    assert_true(calls > 60);
    for (int call = 1; call <= calls; call++) {
        fail_at(NULL, call, result);
        heed_status status = lead_life();
        bool quiet = fake->failed && (gives_back(fake->failed) || status == HEED_OK);
        /* the current context is asked for once more when things are given back */
        if (quiet && !gives_back(fake->failed))
            assert_true(strcmp(fake->failed, "cuCtxGetCurrent") == 0 ||
                        strcmp(fake->failed, "cuCtxPushCurrent") == 0 ||
                        strcmp(fake->failed, "cuMemGetAllocationGranularity") == 0);
        else if (!quiet && status != wanted)
            fail_msg("call %d, %s: %s, %s", call, fake->failed, heed_status_name(status),
                     heed_message());
        assert_int_equal(fake->depth, 0);
        assert_int_equal(fake->retained, 0);
        if (!quiet && wanted != HEED_ERR_LOST && fake_cuda_live(fake))
            fail_msg("call %d, %s: something is left", call, fake->failed);
        fake->renew();
    }
    fail_at(NULL, 0, 0);
}

static void test_every_refusal(void **state)
{
    fail_each_call(1, HEED_ERR_DEVICE);
}

static void test_every_lack_of_memory(void **state)
{
    fail_each_call(2, HEED_ERR_NO_MEMORY);
}

static void test_every_loss(void **state)
{
    fail_each_call(719, HEED_ERR_LOST);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bad_drivers, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_oldest_driver, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_driver_that_does_not_start, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_results, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_facts, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_state, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_current_context, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_memory, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_too_little_memory, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_walls, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_vast_range, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_pointers, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_shared_code, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_bad_code, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_launch, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_bad_launch, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_lost_device, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_replay, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_replay_of_failing_work, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_replay_of_waiting_work, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_every_refusal, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_every_lack_of_memory, reset, nothing_left),
        cmocka_unit_test_setup_teardown(test_every_loss, reset, nothing_left),
    };
    fake = fake_cuda_take(FAKE_CUDA);
    if (!fake) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    program = argv[0];
    if (argc > 1)
        return do_task(atoi(argv[1]));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
