/*
 * test_config_facts.c - facts about the configs of CUDA kernels, for every architecture
 */
#include "run_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_specs.h"
#include "cuda/backend.h"
#include "inspect/cubin.h"
#include "jit_scene.h"
#include "problems.h"

/* By the cost model, no device is faster than its data sheet. */
static void test_no_prediction_passes_the_roofline(void **state)
{
    static const int all[] = { 80, 86, 89, 90 };
    static const int lengths[] = { 1, 16, 100, 512, 4096, 65536 };
    char name[HEED_NAME_SIZE];
    for (size_t n = 0; n < 4 * 6 * CONFIG_SPECS; n++) {
        heed_problem problem = parsed(config_specs[n % CONFIG_SPECS]);
        problem.seq_q = problem.seq_k = lengths[n / CONFIG_SPECS % 6];
        for (size_t kernel = 0; heed_kernel_name(kernel); kernel++)
            for (size_t i = 0; heed_kernel_config(kernel, i, name, sizeof name) == HEED_OK; i++) {
                heed_cuda_facts facts;
                int arch = all[n / CONFIG_SPECS / 6];
                if (heed_cuda_facts_find(name, &problem, arch, &facts) == HEED_OK &&
                    facts.seconds < facts.roofline)
                    fail_msg("%s for %s, length %d, on sm_%d: %g s, roofline %g s", name,
                             config_specs[n % CONFIG_SPECS], lengths[n / CONFIG_SPECS % 6], arch,
                             facts.seconds, facts.roofline);
            }
    }
}

/* Counts the legal configs for a problem that sum in half precision. */
static int count_half(const char *spec, int arch)
{
    char name[HEED_NAME_SIZE];
    int legal = 0;
    heed_problem problem = parsed(spec);
    for (size_t kernel = 0; heed_kernel_name(kernel); kernel++)
        for (size_t i = 0; heed_kernel_config(kernel, i, name, sizeof name) == HEED_OK; i++) {
            heed_cuda_facts facts;
            if (strstr(name, "_mma__") && strcmp(name + strlen(name) - 2, "a2") == 0)
                legal += heed_cuda_facts_find(name, &problem, arch, &facts) == HEED_OK;
        }
    return legal;
}

static void test_half_precision_is_for_those_who_ask(void **state)
{
    static const char *const dims[] = { "d64", "d128", "d256" };
    for (size_t i = 0; i < CONFIG_ARCHS * 3; i++) {
        char spec[64], half[96];
        int arch = config_archs[i % CONFIG_ARCHS];
        snprintf(spec, sizeof spec, "b4 h16 s4096 %s f16 causal", dims[i / CONFIG_ARCHS]);
        snprintf(half, sizeof half, "%s acc=f16", spec);
        assert_int_equal(count_half(spec, arch), 0);
        assert_true(count_half(half, arch) > 0);
    }
}

/* float32 runs on tensor cores, even with few queries. */
static void test_float32_is_for_tensor_cores(void **state)
{
    static const char *const specs[] = {
        "b1 h1 s16 d64 f32",           "b1 h8 s512 d64 f32",       "b1 h32/8 s1/4096 d128 f32",
        "b1 h8 s77 d40 f32 causal",    "b64 h16/2 s1/512 d80 f32", "b1 h2 s40 d16 f32",
        "b2 h4 s1024 d128 f32 causal", "b4 h16 s4096 d256 f32",    "b1 h8 s3/65536 d128 f32",
        "b1 h4 s300 d96/8 f32 alibi"
    };
    for (size_t i = 0; i < CONFIG_ARCHS * sizeof specs / sizeof *specs; i++) {
        const char *spec = specs[i / CONFIG_ARCHS];
        int arch = config_archs[i % CONFIG_ARCHS];
        heed_problem problem = parsed(spec);
        heed_cuda_facts mma, naive;
        assert_int_equal(heed_cuda_facts_find("fwd_f32_sm80_mma", &problem, arch, &mma), HEED_OK);
        assert_int_equal(heed_cuda_facts_find("fwd_any_sm80_naive", &problem, arch, &naive),
                         HEED_OK);
        if (mma.seconds >= naive.seconds)
            fail_msg("%s on sm_%d: %s %g s, the plain kernel %g", spec, arch, mma.name, mma.seconds,
                     naive.seconds);
    }
}

/* Code for sm_90a runs on no other device. */
static void test_hopper_alone(void **state)
{
    heed_problem problem = parsed("b4 h16 s4096 d64 f16 causal");
    heed_cuda_facts facts;
    const char *name = "fwd_16bit_sm90_wgmma";
    assert_int_equal(heed_cuda_facts_find(name, &problem, 80, &facts), HEED_ERR_UNSUPPORTED);
    assert_int_equal(heed_cuda_facts_find(name, &problem, 89, &facts), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "needs a newer device"));
    assert_int_equal(heed_cuda_facts_find(name, &problem, 90, &facts), HEED_OK);
    assert_string_equal(facts.source, "attn_wgmma.cu");
}

/* A register cap is a compiler option and takes effect; the configs that planning considers have
 * none, and have separate code. */
static void test_caps(void **state)
{
    heed_problem problem = parsed("b2 h8 s512 d64 f16");
    heed_cuda_facts plain, capped;
    heed_cubin built;
    lab_cubin cubin;
    lab_error error;
    assert_int_equal(
        heed_cuda_facts_find("fwd_16bit_sm80_mma__m32n32w2k2s2q1o1b2p1l1a1", &problem, 90, &plain),
        HEED_OK);
    assert_int_equal(heed_cuda_facts_find("fwd_16bit_sm80_mma__m32n32w2k2s2q1o1b72p1l1a1", &problem,
                                          90, &capped),
                     HEED_OK);
    assert_int_equal(plain.launch.registers, 0);
    assert_int_equal(capped.launch.registers, 72);
    assert_int_equal(capped.define_count, plain.define_count + 1);
    assert_string_equal(capped.defines[plain.define_count].name, "HEED_CAPPED");
    assert_int_equal(heed_cuda_facts_find("fwd_16bit_sm80_mma__m128n16w8k2s2q1o1b128p1l1a1",
                                          &problem, 90, &capped),
                     HEED_OK);
    assert_int_equal(heed_cuda_facts_find("fwd_16bit_sm80_mma__m128n16w8k3s2q1o1b128p1l1a1",
                                          &problem, 90, &capped),
                     HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "more than its block can have"));
    jit_scene_compiler();
    assert_int_equal(heed_cuda_facts_find("fwd_16bit_sm80_mma__m32n32w2k2s2q1o1b72p1l1a1", &problem,
                                          90, &capped),
                     HEED_OK);
    const heed_build build = heed_cuda_facts_build(&capped, 90);
    assert_int_equal(heed_jit_build(&build, &built), HEED_OK);
    assert_int_equal(lab_cubin_read(&cubin, built.data, built.size, "capped", &error), HEED_OK);
    for (size_t i = 0; i < cubin.count; i++)
        assert_in_range(cubin.kernels[i].registers, 16, 72);
    lab_cubin_free(&cubin);
    heed_cubin_free(&built);
}

static void test_what_is_no_CUDA_kernel_has_no_facts(void **state)
{
    heed_problem problem = parsed(config_specs[0]);
    heed_cuda_facts facts;
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
    setenv("HEED_CACHE", HEED_BUILD_DIR "/cubins", 1);
    return run_test_list(TEST_LIST(test_what_is_no_CUDA_kernel_has_no_facts,
                                   test_float32_is_for_tensor_cores, test_hopper_alone, test_caps,
                                   test_half_precision_is_for_those_who_ask,
                                   test_no_prediction_passes_the_roofline),
                         NULL, NULL);
}
