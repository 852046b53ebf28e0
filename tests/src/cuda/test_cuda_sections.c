/*
 * test_cuda_sections.c - number of heads that the blocks of a GPU work on at a time (cuda/args.c)
 */
#include "run_tests.h"

#include <stdint.h>

#include "cuda/backend.h"
#include "cuda/gpu.h"

#define ARCH 90 /* an H200 */

static unsigned section_of_tiles(const char *spec, int64_t rows, int mapped, bool persistent,
                                 int resident)
{
    heed_gpu gpu;
    heed_problem problem;
    heed_cuda_args args;
    const heed_launch_facts launch = {
        .rows = rows, .splits = 1, .mapped = mapped, .persistent = persistent, .resident = resident
    };
    assert_true(heed_gpu_arch(&gpu, ARCH));
    assert_int_equal(gpu.multiprocessors, 132);
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    heed_cuda_fill_args(&args, &problem, &gpu, &launch);
    return args.section.value;
}

static unsigned section_of(const char *spec, int64_t rows, bool persistent, int resident)
{
    return section_of_tiles(spec, rows, 128, persistent, resident);
}

/* If blocks take items in turn, section lengths that give some blocks half as much again as others
 * are skipped: with 2 heads one block has 1.52 times its share, with 1 or 3 all have about the
 * same; and of 16 heads of 16384 only all 16 will do, although they exceed the L2. */
static void test_items_are_shared_out(void **state)
{
    (void)state;
    assert_int_equal(section_of("b2 h16 s8192 d128 f16 causal", 128, true, 1), 1);
    assert_int_equal(section_of("b1 h16 s16384 d128 f16 causal", 128, true, 1), 16);
    assert_int_equal(section_of("b16 h16 s1024 d128 f16 causal", 128, true, 1), 4);
    assert_int_equal(section_of("b32 h16 s512 d128 f16 causal", 128, true, 1), 8);
}

/* If all blocks run at once, the longest blocks of all heads come first, unless two blocks start on
 * one multiprocessor. */
static void test_blocks_that_run_at_once(void **state)
{
    (void)state;
    assert_int_equal(section_of("b4 h16 s512 d64 f16 causal", 256, true, 1), 64);
    assert_int_equal(section_of("b2 h8 s512 d64 f16 causal", 64, false, 1), 16);
    assert_int_equal(section_of("b2 h8 s512 d64 f16 causal", 64, false, 2), 1);
}

/* Without a mask the blocks of a head are consecutive. */
static void test_no_mask(void **state)
{
    (void)state;
    assert_int_equal(section_of("b4 h32 s4096 d64 f16", 256, true, 1), 1);
    assert_int_equal(section_of("b2 h8 s512 d64 f16", 64, false, 2), 1);
}

/* A source may declare that its blocks take items in turn without declaring its tiles. */
static void test_no_tiles(void **state)
{
    (void)state;
    assert_true(section_of_tiles("b4 h16 s4096 d64 f16 causal", 128, 0, true, 1) >= 1);
}

RUN_TESTS(test_items_are_shared_out, test_blocks_that_run_at_once, test_no_mask, test_no_tiles)
