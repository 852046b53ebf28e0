/*
 * test_emulator_blocks.c - the emulator of CUDA kernels: shared and private state of a cluster's
 * blocks
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#define HEED_BF16 0

#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"
#include "hopper_scene.h"

/* -------------------------------------------------------------------------- */
/* Arrivals at the barrier                                                    */
/* -------------------------------------------------------------------------- */

/* Some threads exit before the barrier, some after arriving, and some wait; twice. */
static void some_leave(const void *args)
{
    u32 *const *p = args;
    if (ptx_thread() % 4 == 1)
        return;
    ptx_cluster_arrive();
    if (ptx_thread() % 4 == 2)
        return;
    ptx_cluster_wait();
    ptx_cluster_arrive();
    if (ptx_thread() % 4 == 3 && ptx_cluster_rank() == 1)
        return;
    ptx_cluster_wait();
    (*p)[ptx_block_x() * 32 + ptx_thread()]++;
}

static void test_who_has_left_is_not_awaited(void **state)
{
    u32 went_on[64] = { 0 }, *p = went_on;
    const emulator_launch launch = {
        .kernel = some_leave, .args = &p, .grid = { 2, 1, 1 }, .threads = 32, .cluster = 2
    };
    emulator_report report = emulate(&launch);
    assert_clean(&report);
    for (u32 i = 0; i < 64; i++)
        assert_int_equal(went_on[i], i % 4 == 0 || i == 3 || (i % 4 == 3 && i < 32));
}

/* -------------------------------------------------------------------------- */
/* State of each block                                                        */
/* -------------------------------------------------------------------------- */

/* Barriers and registers of a block are independent of the other one's. */
static void apart(const void *args)
{
    u32 *const *p = args;
    u32 warp = ptx_thread() / 32, group = ptx_thread() / GROUP, smem = ptx_shared_base();
    ptx_setmaxnreg_inc(168);
    if (ptx_cluster_rank() == 0) {
        if (ptx_thread() == 4 * 32)
            ptx_st_shared_4(smem, 5);
        if (warp == 4)
            ptx_barrier_named_arrive(3, 64);
        if (warp == 0) {
            ptx_barrier_named(3, 64);
            ptx_ld_shared_4(smem);
        }
    } else
        ptx_barrier_named(3, GROUP * 3);
    ptx_barrier();
    if (ptx_thread() == GROUP * 2 + 1)
        ptx_st_shared_4(smem + 4, ptx_block_x());
    ptx_barrier();
    if (group == 0)
        (*p)[ptx_block_x() * GROUP + ptx_thread()] = ptx_ld_shared_4(smem + 4) * 1000 +
                                                     ptx_thread() + ptx_block_y() * 7;
}

static void test_blocks_keep_to_themselves(void **state)
{
    static u32 got[4 * GROUP];
    u32 *p = got;
    const emulator_launch launch = { .kernel = apart,
                                     .args = &p,
                                     .grid = { 4, 1, 1 },
                                     .threads = GROUP * 3,
                                     .shared_bytes = 8,
                                     .cluster = 2 };
    emulator_report report = emulate(&launch);
    assert_clean(&report);
    for (u32 i = 0; i < 4 * GROUP; i++)
        assert_int_equal(got[i], i / GROUP * 1000 + i % GROUP);
}

static void take_registers(const void *args)
{
    (void)args;
    ptx_setmaxnreg_inc(ptx_cluster_rank() == 1 ? 176 : 168);
}

static void test_each_block_has_so_many_registers(void **state)
{
    const emulator_launch launch = {
        .kernel = take_registers, .grid = { 2, 1, 1 }, .threads = GROUP * 3, .cluster = 2
    };
    emulator_report report = emulate(&launch);
    assert_report(&report, "", "67584 registers in all");
}

/* Products of a warpgroup, in blocks with one more warp. */
typedef struct products {
    u16 a[2][64 * 64], b[64 * 64];
    float d[2][64][64];
} products;

static void write_rows(const u16 *from, u32 smem)
{
    for (u32 i = ptx_thread(); i < 64 * 64; i += GROUP)
        ptx_st_shared_u16(place(smem, i / 64, i % 64), from[i]);
}

static void multiply(const void *args)
{
    products *const *p = args;
    products *it = *p;
    u32 rank = ptx_cluster_rank(), a_at = ptx_shared_base(), b_at = a_at + 64 * 128;
    float d[32];
    memset(d, 0, sizeof d);
    if (ptx_thread() >= GROUP)
        return;
    write_rows(it->a[rank], a_at);
    write_rows(it->b, b_at);
    ptx_fence_async();
    ptx_barrier_named(1, GROUP);
    ptx_wgmma_fence();
    for (u32 k = 0; k < 4; k++)
        ptx_wgmma_n64_ss(d, describe(a_at + k * 32, 0, 1024), describe(b_at + k * 32, 0, 1024), 1);
    ptx_wgmma_commit();
    ptx_wgmma_wait(0);
    u32 row = ptx_thread() / 32 * 16 + ptx_lane() / 4, column = ptx_lane() % 4 * 2;
    for (u32 i = 0; i < 32; i++)
        it->d[rank][row + i / 2 % 2 * 8][i / 4 * 8 + column + i % 2] = d[i];
}

static float wanted(const products *it, int rank, int row, int column)
{
    float sum = 0.0f;
    for (int k = 0; k < 64; k++)
        sum += ptx_f16_to_f32(it->a[rank][row * 64 + k]) * ptx_f16_to_f32(it->b[column * 64 + k]);
    return sum;
}

static void test_each_block_multiplies(void **state)
{
    static products it;
    products *p = &it;
    const emulator_launch launch = { .kernel = multiply,
                                     .args = &p,
                                     .grid = { 2, 1, 1 },
                                     .threads = GROUP + 32,
                                     .shared_bytes = 2 * 64 * 128,
                                     .cluster = 2 };
    fill(it.a[0], 64, 64, 1);
    fill(it.a[1], 64, 64, 2);
    fill(it.b, 64, 64, 3);
    emulator_report report = emulate(&launch);
    assert_clean(&report);
    for (int rank = 0; rank < 2; rank++)
        for (int r = 0; r < 64; r++)
            for (int c = 0; c < 64; c++)
                assert_true(it.d[rank][r][c] == wanted(&it, rank, r, c));
}

/* -------------------------------------------------------------------------- */
/* Launches                                                                   */
/* -------------------------------------------------------------------------- */

static void test_clusters_are_whole(void **state)
{
    static const struct {
        uint32_t blocks, cluster;
    } bad[] = { { 3, 2 }, { 9, 9 }, { 4, 8 } };
    u32 none[64], *p = none;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const emulator_launch launch = { .kernel = some_leave,
                                         .args = &p,
                                         .grid = { bad[i].blocks, 1, 1 },
                                         .threads = 32,
                                         .cluster = bad[i].cluster };
        emulator_report report = emulate(&launch);
        assert_says(report.error, "8 is the most, and clusters are whole");
    }
}

RUN_TESTS(test_who_has_left_is_not_awaited, test_blocks_keep_to_themselves,
          test_each_block_has_so_many_registers, test_each_block_multiplies,
          test_clusters_are_whole)
