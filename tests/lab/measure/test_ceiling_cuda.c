/*
 * test_ceiling_cuda.c - measuring ceilings: times give the right rates, on an imaginary GPU and on
 * this CPU
 */
#include "run_tests.h"

#include <math.h>
#include <string.h>

#include "cuda/driver/driver.h"
#include "cuda_scene.h"
#include "lab/measure/ceiling.h"
#include "lab/measure/ceiling_cuda.h"
#include "lab/measure/kernels/ceiling.cuh"

/* ---- Rates ---- */

/* The time of the imaginary device for a round of a kernel, in seconds. */
static const struct {
    const char *entry;
    double seconds; /* of an empty launch in total */
} speeds[] = {
    { "heed_ceiling_fma", 1e-6 },    { "heed_ceiling_exp", 4e-6 },  { "heed_ceiling_mma", 2e-6 },
    { "heed_ceiling_wgmma", 5e-6 },  { "heed_ceiling_read", 1e-3 }, { "heed_ceiling_copy", 2e-3 },
    { "heed_ceiling_launch", 3e-5 },
};

static double speed_of(const char *entry)
{
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (strcmp(speeds[i].entry, entry) == 0)
            return speeds[i].seconds;
    fail_msg("nobody knows %s", entry);
    return 0;
}

/* The device's clock advances by the duration of a launch; nothing waits for it. */
static void take_time(void *data, const fake_launch *launch)
{
    const heed_ceiling_args *args = launch->args;
    (void)data;
    assert_int_equal(launch->block[0], 256);
    bool empty = strcmp(launch->function, "heed_ceiling_launch") == 0;
    double rounds = empty ? 1 : (double)args->rounds;
    fake->ahead += (long long)(1e9 * speed_of(launch->function) * rounds);
}

/* Checks that @rate is the planted one, apart from the host's overhead. */
static void check_rate(const char *what, double rate, double planted)
{
    if (!(rate <= 1.001 * planted && rate >= 0.8 * planted))
        fail_msg("%s: %.4g instead of %.4g", what, rate, planted);
}

static void check_rates(int arch)
{
    lab_ceiling_cuda found;
    fake->arch = arch;
    heed_context *context = scene_open("cuda");
    heed_device_limits limits = heed_device_get_limits(context);
    double blocks = limits.multiprocessors;
    double bytes = (double)(heed_device_memory(context) / 16 / 4096 * 4096);
    bytes = bytes < 0x1p30 ? bytes : 0x1p30;
    double at_once = blocks * 4 * 256 * 16 * 4;
    double cached = floor((double)heed_device_cache(context) / 4 / at_once) * at_once;
    fake->args_size = sizeof(heed_ceiling_args);
    fake->hook = take_time;
    assert_int_equal(lab_ceiling_cuda_measure(&found, context, NULL), HEED_OK);
    double mma = 2.0 * 16 * 8 * 16 * 32 * 8 * 2 * blocks / 2e-6;
    double wgmma = 2.0 * 64 * 256 * 16 * 16 * 2 * blocks / 5e-6;
    double best = arch == 90 ? wgmma : mma;
    assert_true(wgmma > mma && cached > 0);
    check_rate("fma", found.fma, 16.0 * 4 * 256 * 4 * blocks / 1e-6);
    check_rate("exp", found.exp, 16.0 * 4 * 256 * 4 * blocks / 4e-6);
    check_rate("f16", found.matrix[HEED_F16], best);
    check_rate("bf16", found.matrix[HEED_BF16], best);
    check_rate("lasting", found.sustained[HEED_F16], found.matrix[HEED_F16]);
    check_rate("read", found.read, bytes / 1e-3);
    check_rate("copy", found.copy, 2 * bytes / 2e-3);
    check_rate("cache", found.cache, cached / 1e-3);
    check_rate("launches", 1 / found.launch, 1 / 3e-5);
    assert_true(found.matrix[HEED_F32] == 2 * found.fma);
    assert_non_null(strstr(found.loop[HEED_F16], arch == 90 ? "wgmma" : "mma.m16n8k16"));
    fake->hook = NULL;
    fake->ahead = 0;
    heed_context_destroy(context);
}

static void test_rates(void **state)
{
    check_rates(90);
    check_rates(80);
}

/* Every failure is reported, and everything is released (scene_check). */
static void test_failures(void **state)
{
    static const char *const entries[] = { "cuMemAlloc", "cuModuleGetFunction", "cuLaunchKernelEx",
                                           "cuGraphLaunch" };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        lab_ceiling_cuda found;
        heed_context *context = scene_open("cuda");
        fake->args_size = sizeof(heed_ceiling_args);
        scene_fail_at(entries[i], 1, CU_OUT_OF_MEMORY);
        assert_int_not_equal(lab_ceiling_cuda_measure(&found, context, NULL), HEED_OK);
        scene_fail_at(NULL, 0, 0);
        heed_context_destroy(context);
    }
}

static bool at_once(void)
{
    return true;
}

static void test_interruptions_and_cpus(void **state)
{
    lab_ceiling_cuda found;
    heed_context *context = scene_open("cuda");
    assert_int_equal(lab_ceiling_cuda_measure(&found, context, at_once), HEED_ERR_SYSTEM);
    heed_context_destroy(context);
    context = scene_open("cpu");
    assert_int_equal(lab_ceiling_cuda_measure(&found, context, NULL), HEED_ERR_UNSUPPORTED);
    heed_context_destroy(context);
}

/* ---- The CPU's ---- */

/* Sanitizers check every operand, which makes a multiply-add slower than an exponential. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static void test_cpu_ceilings(void **state)
{
    static const char *const levels[] = { "scalar", "avx2", "avx512", "avx512bf16", "amx" };
    lab_ceiling exps, flops;
    double small = 0, large = 0;
    heed_context *context = scene_open("cpu");
    const char *level = heed_context_cpu(context);
    assert_int_equal(lab_ceiling_exp(&exps, 1, level), HEED_OK);
    assert_int_equal(lab_ceiling_flops(&flops, HEED_F32, 1, level), HEED_OK);
    assert_true(exps.flops > 1e6 && flops.flops > 1e6);
    /* an exponential takes at least five multiply-adds */
    assert_true(sanitized || 10 * exps.flops < 3 * flops.flops);
    assert_non_null(strstr(exps.loop, "exp2"));
    for (size_t i = 0; i < sizeof levels / sizeof *levels && strcmp(levels[i], level) != 0; i++)
        assert_int_equal(lab_ceiling_exp(&exps, 1, levels[i]), HEED_OK);
    assert_int_equal(lab_ceiling_stream(&small, 1, 64 << 10), HEED_OK);
    assert_int_equal(lab_ceiling_stream(&large, 2, 32 << 20), HEED_OK);
    assert_true(small > 1e7 && large > 1e7);
    assert_int_equal(lab_ceiling_exp(&exps, 0, level), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_exp(&exps, 1, "mmx"), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_exp(&exps, 1, NULL), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_stream(&small, 0, 1024), HEED_ERR_INVALID);
    assert_int_equal(lab_ceiling_stream(&small, 2, 255), HEED_ERR_INVALID);
    heed_context_destroy(context);
}

RUN_SCENE_TESTS(scene_begin, test_rates, test_failures, test_interruptions_and_cpus,
                test_cpu_ceilings)
