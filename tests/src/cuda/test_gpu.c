/*
 * test_gpu.c - occupancy of a multiprocessor by the rules of the CUDA occupancy calculator, and the
 * bound of a problem
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#include "cuda/gpu.h"

static void test_only_known_architectures_are_known(void **state)
{
    static const int known[] = { 80, 86, 89, 90 };
    heed_gpu gpu;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(heed_gpu_arch(&gpu, known[i]));
        assert_int_equal(gpu.arch, known[i]);
        assert_true(gpu.smem_block + gpu.smem_reserved <= gpu.smem);
    }
    assert_false(heed_gpu_arch(&gpu, 75));
    assert_false(heed_gpu_arch(&gpu, 81));
}

/* For an architecture without a device in the table only the limits are known. */
static void test_limits_are_known_of_more(void **state)
{
    static const struct {
        int arch, threads;
        int64_t smem_block;
    } known[] = { { 87, 1536, 163 * 1024 },
                  { 90, 2048, 227 * 1024 },
                  { 103, 2048, 227 * 1024 },
                  { 120, 1536, 99 * 1024 },
                  { 121, 1536, 99 * 1024 } };
    heed_gpu gpu;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(heed_gpu_limits(&gpu, known[i].arch));
        assert_int_equal(gpu.arch, known[i].arch);
        assert_int_equal(gpu.threads, known[i].threads);
        assert_int_equal(gpu.smem_block, known[i].smem_block);
        assert_int_equal(gpu.multiprocessors, 0);
    }
    assert_false(heed_gpu_limits(&gpu, 75));
    assert_false(heed_gpu_arch(&gpu, 121));
    assert_true(heed_gpu_get_rates(121).matrix == 0);
}

static void test_what_binds_is_named(void **state)
{
    static const struct {
        int arch, threads, registers;
        int64_t smem;
        int blocks;
        const char *limit;
    } cases[] = {
        { 80, 128, 168, 0, 3, "registers" },
        { 80, 256, 255, 0, 1, "registers" },
        { 80, 288, 224, 0, 0, "registers" }, /* three in one of four partitions, which holds two */
        { 80, 128, 256, 0, 0, "registers" }, /* more than a thread can have */
        { 90, 32, 96, 0, 20, "registers" },  /* five per partition, though the total allows 21 */
        { 80, 32, 16, 0, 32, "blocks" },
        { 86, 32, 16, 0, 16, "blocks" },
        { 89, 32, 16, 0, 24, "blocks" },
        { 90, 32, 16, 0, 32, "blocks" },
        { 80, 1024, 16, 0, 2, "threads" },
        { 86, 1024, 16, 0, 1, "threads" },
        { 89, 512, 32, 0, 3, "threads" },
        { 80, 128, 64, 49152, 3, "shared memory" },
        { 89, 128, 64, 49152, 2, "shared memory" },
        { 90, 128, 64, 49152, 4, "shared memory" },
        { 80, 128, 64, 163 * 1024, 1, "shared memory" },
        { 80, 128, 64, 163 * 1024 + 1, 0, "shared memory" },
        { 89, 128, 64, 99 * 1024, 1, "shared memory" },
        { 89, 128, 64, 99 * 1024 + 1, 0, "shared memory" },
        { 90, 128, 64, 227 * 1024, 1, "shared memory" },
        { 90, 128, 64, 227 * 1024 + 1, 0, "shared memory" },
        { 89, 128, 64, 50 * 1024 - 1023, 1, "shared memory" }, /* allocated in units of 128 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_gpu gpu;
        const char *limit;
        assert_true(heed_gpu_arch(&gpu, cases[i].arch));
        int blocks = heed_gpu_resident(&gpu, cases[i].threads, cases[i].registers, cases[i].smem,
                                       &limit);
        if (blocks != cases[i].blocks || strcmp(limit, cases[i].limit) != 0)
            fail_msg("case %zu: %d blocks by %s instead of %d by %s", i, blocks, limit,
                     cases[i].blocks, cases[i].limit);
        assert_int_equal(
            heed_gpu_resident(&gpu, cases[i].threads, cases[i].registers, cases[i].smem, NULL),
            blocks);
    }
}

static void test_the_roofline_is_the_higher_of_two(void **state)
{
    static const struct {
        int arch;
        const char *spec;
        double seconds;
    } cases[] = {
        { 89, "b4 h32 s4096 d64 f16", 4.0 * 4 * 32 * 4096 * 4096 * 64 / 121e12 },
        { 80, "b4 h32 s4096 d64 bf16", 4.0 * 4 * 32 * 4096 * 4096 * 64 / 312e12 },
        { 89, "b1 h8/1 s1/65536 d128 f16", (2.0 * 65536 * 128 + 2 * 8 * 128) * 2 / 300e9 },
        { 90, "b1 h8/1 s1/65536 d128 f16", (2.0 * 65536 * 128 + 2 * 8 * 128) * 2 / 4.8e12 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_gpu gpu;
        heed_problem problem;
        assert_true(heed_gpu_arch(&gpu, cases[i].arch));
        assert_int_equal(heed_problem_parse(&problem, cases[i].spec), HEED_OK);
        assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
        double ratio = heed_gpu_roofline(&gpu, &problem) / cases[i].seconds;
        assert_true(ratio > 1 - 1e-12 && ratio < 1 + 1e-12);
    }
}

RUN_TESTS(test_only_known_architectures_are_known, test_limits_are_known_of_more,
          test_what_binds_is_named, test_the_roofline_is_the_higher_of_two)
