/*
 * test_configs.c - every config of every CUDA kernel, compiled for every kind of device: none may
 * spill, and none that the tables call legal may be more than a multiprocessor holds
 *
 * Compiled code is kept in the build folder, so only what was changed is compiled again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/facts.h"
#include "cuda/gpu.h"
#include "cuda/nvrtc.h"
#include "inspect/cubin.h"

/* Head dims and masks that differ in what registers and shared memory hold; for lengths nothing is
 * compiled. */
static const char *const specs[] = {
    "b4 h16 s4096 d64 f16",         "b4 h16 s4096 d64 bf16 causal", "b4 h16 s4096 d128 bf16",
    "b4 h16 s4096 d128 f16 causal", "b4 h16 s4096 d256 f16 causal", "b8 h32/8 s1/4096 d128 f16",
};

static int failures;
static int compiled;

static void complain(const heed_cuda_facts *facts, const char *spec, int arch, const char *what)
{
    fprintf(stderr, "%s for %s on sm_%d: %s\n", facts->name, spec, arch, what);
    failures++;
}

/* What a kernel in the code takes; only the one that is launched takes what the facts say. */
static void check_kernel(const heed_cuda_facts *facts, const char *spec, const heed_gpu *gpu,
                         const lab_cubin_kernel *kernel)
{
    bool launched = strcmp(kernel->name, facts->entry) == 0;
    int threads = launched ? facts->threads : kernel->max_threads;
    int64_t smem = kernel->smem + (launched ? facts->smem : 0);
    if (kernel->spill_stores != 0 || kernel->spill_loads != 0)
        complain(facts, spec, gpu->arch, "registers are spilled");
    if (kernel->max_threads > 0 && threads > kernel->max_threads)
        complain(facts, spec, gpu->arch, "more threads than it was compiled for");
    if (threads > 0 && heed_gpu_resident(gpu, threads, kernel->registers, smem, NULL) < 1)
        complain(facts, spec, gpu->arch, "not one block fits");
}

static void check_config(const char *name, const char *spec, int arch)
{
    heed_gpu gpu;
    heed_problem problem;
    heed_cuda_facts facts;
    heed_cubin code;
    lab_cubin cubin;
    lab_error error = { "" };
    assert_true(heed_gpu_arch(&gpu, arch));
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    heed_status status = heed_cuda_facts_find(name, &problem, arch, &facts);
    if (status == HEED_ERR_UNSUPPORTED)
        return;
    if (status != HEED_OK)
        fail_msg("%s: %s", name, heed_message());
    const heed_build build = heed_cuda_facts_build(&facts, arch);
    if (heed_jit_build(&build, &code) != HEED_OK)
        fail_msg("%s for %s: %s", name, spec, heed_message());
    if (lab_cubin_read(&cubin, code.data, code.size, name, &error) != HEED_OK)
        fail_msg("%s", error.text);
    lab_cubin_spills(&cubin, code.log);
    bool found = false;
    for (size_t i = 0; i < cubin.count; i++) {
        check_kernel(&facts, spec, &gpu, &cubin.kernels[i]);
        found = found || strcmp(cubin.kernels[i].name, facts.entry) == 0;
    }
    if (!found)
        complain(&facts, spec, arch, "the code has no such entry");
    compiled++;
    lab_cubin_free(&cubin);
    heed_cubin_free(&code);
}

static void check_arch(int arch)
{
    char name[HEED_NAME_SIZE];
    for (size_t kernel = 0; heed_kernel_name(kernel); kernel++)
        for (size_t i = 0; heed_kernel_config(kernel, i, name, sizeof name) == HEED_OK; i++)
            for (size_t j = 0; j < sizeof specs / sizeof *specs; j++)
                check_config(name, specs[j], arch);
}

static void test_every_config_fits(void **state)
{
    static const int archs[] = { 80, 89, 90 };
    const heed_nvrtc *nvrtc;
    if (heed_nvrtc_get(&nvrtc) != HEED_OK) {
        print_message("skipped: %s\n", heed_message());
        skip();
    }
    setenv("HEED_CACHE", HEED_BUILD_DIR "/cubins", 1);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        check_arch(archs[i]);
    print_message("%d compiled\n", compiled);
    assert_int_equal(failures, 0);
}

static void test_what_is_no_CUDA_kernel_has_no_facts(void **state)
{
    heed_problem problem;
    heed_cuda_facts facts;
    assert_int_equal(heed_problem_parse(&problem, specs[0]), HEED_OK);
    assert_int_equal(heed_cuda_facts_find("fwd_any_scalar_row", &problem, 80, &facts),
                     HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "another kind of device"));
    assert_int_equal(heed_cuda_facts_find("fwd_none", &problem, 80, &facts), HEED_ERR_INVALID);
    assert_int_equal(heed_cuda_facts_find("fwd_any_scalar_row", &problem, 81, &facts),
                     HEED_ERR_UNSUPPORTED);
    problem.batch = 0;
    assert_int_equal(heed_cuda_facts_find("fwd_any_scalar_row", &problem, 80, &facts),
                     HEED_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_CUDA_kernel_has_no_facts),
        cmocka_unit_test(test_every_config_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
