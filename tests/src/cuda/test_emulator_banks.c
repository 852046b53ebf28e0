/*
 * test_emulator_banks.c - the emulator of CUDA kernels: conflicts between the banks of shared
 * memory
 */
#include "run_tests.h"

#include "emulator/emulator.h"
#include "emulator/ptx.cuh"
#include "emulator_scene.h"

#define WARP 32

/* A tile of 16 rows of 64 elements, written by rows and read by ldmatrix, 16x16 at a time. */
static void read_tile(const void *args)
{
    bool swizzled = *(const bool *)args;
    u32 lane = ptx_lane(), base = ptx_shared_base();
    heed_u32x4 x = { { 0 } };
    u32 r[4];
    for (u32 i = lane; i < 128; i += WARP)
        ptx_st_shared_16(base + i / 8 * 128 + (i % 8 ^ (swizzled ? i / 8 % 8 : 0)) * 16, x);
    ptx_warp_barrier();
    for (u32 i = 0; i < 4; i++) {
        u32 row = lane % 16, chunk = 2 * i + lane / 16;
        ptx_ldmatrix_x4(r, base + row * 128 + (chunk ^ (swizzled ? row % 8 : 0)) * 16);
    }
}

static void read_column(const void *args)
{
    u32 stride = *(const u32 *)args;
    u32 at = ptx_shared_base() + ptx_lane() * stride * 4;
    ptx_st_shared_4(at, 0);
    if (ptx_lane() % 2 == 0)
        (void)ptx_ld_shared_4(at);
}

static void test_bank_conflicts_are_counted(void **state)
{
    bool swizzled = false;
    u32 stride = 32;
    emulator_report report = emulate_blocks(read_tile, &swizzled, 1, WARP, 2048);
    assert_clean(&report);
    assert_int_equal(report.conflicts, 4 * 4 * 7);
    assert_int_equal(report.passes, 16 + 4 * 4 * 8);
    assert_says(report.worst, ": 112");
    swizzled = true;
    report = emulate_blocks(read_tile, &swizzled, 1, WARP, 2048);
    assert_clean(&report);
    assert_int_equal(report.conflicts, 0);
    assert_int_equal(report.passes, 16 + 4 * 4);
    assert_string_equal(report.worst, "");

    report = emulate_blocks(read_column, &stride, 1, WARP, 4096);
    assert_int_equal(report.conflicts, 31 + 15);
    stride = 2;
    report = emulate_blocks(read_column, &stride, 1, WARP, 4096);
    assert_int_equal(report.conflicts, 1 + 1);
    stride = 1;
    report = emulate_blocks(read_column, &stride, 1, WARP, 4096);
    assert_int_equal(report.conflicts, 0);
}

/* More accesses than the log of one lane holds. */
static void read_on_and_on(const void *args)
{
    u32 at = ptx_shared_base() + ptx_lane() * 64;
    (void)args;
    ptx_st_shared_4(at, 1);
    for (u32 i = 0; i < 3000; i++)
        (void)ptx_ld_shared_4(at);
}

static void test_long_runs_without_meeting(void **state)
{
    emulator_report report = emulate_blocks(read_on_and_on, NULL, 2, 64, 2048);
    assert_int_equal(report.races, 2 * 32); /* writes of the second warp */
    assert_int_equal(report.conflicts, 2 * 2 * 3001 * 15);
}

RUN_TESTS(test_bank_conflicts_are_counted, test_long_runs_without_meeting)
