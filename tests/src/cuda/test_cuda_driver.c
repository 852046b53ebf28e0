/*
 * test_cuda_driver.c - unsuitable CUDA drivers and devices (fake_cuda.h)
 *
 * Results that are cached once per process, such as whether a usable driver exists, are tested in
 * child processes.
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver/driver.h"
#include "cuda/driver/nvml.h"
#include "cuda_scene.h"
#include "device.h"
#include "expect.h"
#include "internal.h"

static const char *program; /* path of this program */

/* -------------------------------------------------------------------------- */
/* Drivers that are refused                                                   */
/* -------------------------------------------------------------------------- */

/* A device requested under certain environment settings, and the expected message. */
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
    heed_options options = { .size = sizeof options, .device = bad->device };
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("HEED_LIBCUDA", bad->library, 1);
    fake->driver = atoi(bad->version);
    fake->devices = atoi(bad->devices);
    fake->arch = atoi(bad->arch);
    for (int i = 0; i < 2; i++) /* the second call must return the same */
        if (!is_refused(bad->device, heed_context_create(&context, &options), HEED_ERR_DEVICE,
                        bad->words) ||
            context)
            return 1;
    return fake_cuda_live(fake) != 0;
}

/* A driver of CUDA 12.0 lacks optional entry points of later ones. Code that it refuses may come
 * from a later compiler. */
static int use_oldest(void)
{
    static const char *const words[] = { "NVRTC 13.0", "CUDA 12.0", "nvidia-cuda-nvrtc-cu12",
                                         "CUDA_ERROR_INVALID_IMAGE", NULL };
    char garbage[] = "this is no code";
    heed_cubin bad = { .data = (unsigned char *)garbage, .key = "bad" };
    heed_cuda *cuda = NULL;
    heed_cuda_function *function = NULL;
    heed_cubin cubin = scene_cubin("old");
    fake->driver = 12000;
    if (heed_cuda_open(&cuda, 0) != HEED_OK)
        return 1;
    bool good = heed_cuda_gpu(cuda)->driver == 12000 &&
                heed_cuda_load(cuda, &cubin, "work", 1, &function) == HEED_OK;
    heed_cuda_unload(cuda, function);
    good = good && is_refused("code", heed_cuda_load(cuda, &bad, "work", 1, &function),
                              HEED_ERR_DEVICE, words);
    heed_cuda_close(cuda);
    return !good || fake_cuda_live(fake) != 0;
}

/* A GPU without a compiler. */
static int lack_compiler(void)
{
    static const char *const words[] = { "/nowhere/libnvrtc.so", NULL };
    heed_context *context;
    heed_options options = { .size = sizeof options, .device = "cuda" };
    setenv("HEED_NVRTC", "/nowhere/libnvrtc.so", 1);
    bool good = is_refused("no NVRTC", heed_context_create(&context, &options), HEED_ERR_DEVICE,
                           words);
    return !good || context || fake_cuda_live(fake) != 0;
}

/* Runs this program again to perform task number @task. */
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
#define TASK_NO_COMPILER 101

/* Performs the task in the child. */
static int do_task(int task)
{
    if (task == TASK_OLDEST)
        return use_oldest();
    if (task == TASK_NO_COMPILER)
        return lack_compiler();
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

static void test_no_compiler(void **state)
{
    run_task(TASK_NO_COMPILER);
}

static void test_driver_that_does_not_start(void **state)
{
    static const char *const words[] = { "does not start", "CUDA_ERROR_INVALID_VALUE, 1", NULL };
    heed_driver driver;
    scene_fail_at("cuInit", 1, 1);
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
    heed_context *context = scene_open("cuda:1");
    const heed_gpu *gpu = context->machine.gpu;
    char features[32];
    assert_string_equal(heed_context_device(context), "Imaginary GPU 1");
    assert_string_equal(heed_context_backend(context), "cuda");
    assert_int_equal(heed_context_threads(context), 1);
    assert_int_equal(heed_device_arch(context), 90);
    assert_int_equal(gpu->arch, 90);
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
    assert_true(gpu->matrix > 9e14 && gpu->matrix < 11e14);
    heed_machine_features(&context->machine, features);
    assert_string_equal(features, "sm_90-driver13.0-nvrtc13.0");
    heed_context_destroy(context);
}

static void test_state(void **state)
{
    heed_context *context = scene_open("cuda:1");
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

/* The caller's current context is preserved, and is not pushed again if it is the device's. */
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

int main(int argc, char **argv)
{
    if (scene_begin(NULL) != 0)
        return 1;
    program = argv[0];
    if (argc > 1)
        return do_task(atoi(argv[1]));
    return run_test_list(TEST_LIST_EACH(scene_reset, scene_check, test_bad_drivers,
                                        test_oldest_driver, test_no_compiler,
                                        test_driver_that_does_not_start, test_results, test_facts,
                                        test_state, test_current_context),
                         NULL, NULL);
}
