/*
 * test_emulator_wgmma.c - the emulator of CUDA kernels: warpgroup products and their registers
 */
#include "run_tests.h"

#include <string.h>

#define HEED_BF16 0

#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"
#include "hopper_scene.h"

/* d = a b with a of 64 times 16 in registers, b of 16 times 128 in two panels of 64 columns. */
typedef struct product {
    u16 a[64 * 16];
    u16 b[16 * 128];
    float d[64][128];
    bool no_fence, no_barrier, a_written, two_groups;
} product;

static void store_b(const product *it, u32 smem)
{
    for (u32 i = ptx_thread(); i < 16 * 128; i += GROUP) {
        u32 k = i / 128, n = i % 128;
        ptx_st_shared_u16(place(smem + n / 64 * 2048, k, n % 64), it->b[i]);
    }
    if (!it->no_fence)
        ptx_fence_async();
}

static void load_a(const product *it, u32 a[4])
{
    u32 row = ptx_thread() / 32 * 16 + ptx_lane() / 4, column = ptx_lane() % 4 * 2;
    for (u32 i = 0; i < 4; i++) {
        const u16 *from = it->a + (row + i % 2 * 8) * 16 + column + i / 2 * 8;
        a[i] = from[0] | (u32)from[1] << 16;
    }
}

static void multiply(const void *args)
{
    product *const *p = args;
    product *it = *p;
    u32 smem = ptx_shared_base(), a[4], again[4];
    float d[64], other[64];
    store_b(it, smem);
    load_a(it, a);
    load_a(it, again);
    if (!it->no_barrier)
        ptx_barrier();
    ptx_wgmma_fence();
    ptx_wgmma_n128_rs(d, a, describe(smem, 2048, 1024), 0);
    ptx_wgmma_commit();
    if (it->a_written)
        a[0] = 0;
    ptx_wgmma_n128_rs(other, again, describe(smem, 2048, 1024), 0);
    ptx_wgmma_commit();
    ptx_wgmma_wait(it->two_groups ? 1 : 0);
    u32 row = ptx_thread() / 32 * 16 + ptx_lane() / 4, column = ptx_lane() % 4 * 2;
    for (u32 i = 0; i < 64; i++)
        it->d[row + i / 2 % 2 * 8][i / 4 * 8 + column + i % 2] = it->two_groups && i == 7 ? other[i]
                                                                                          : d[i];
    ptx_wgmma_wait(0);
    if (d[9] != other[9])
        it->d[0][0] = -1000.0f;
}

static product *make_product(void)
{
    product *p = test_calloc(1, sizeof *p);
    fill(p->a, 64, 16, 2);
    fill(p->b, 16, 128, 5);
    return p;
}

static bool is_right(const product *p, int row, int column)
{
    float sum = 0.0f;
    for (int k = 0; k < 16; k++)
        sum += ptx_f16_to_f32(p->a[row * 16 + k]) * ptx_f16_to_f32(p->b[k * 128 + column]);
    return p->d[row][column] == sum;
}

static int count_right(const product *p)
{
    int count = 0;
    for (int r = 0; r < 64; r++)
        for (int c = 0; c < 128; c++)
            count += is_right(p, r, c);
    return count;
}

static void test_a_product_from_registers(void **state)
{
    product *p = make_product();
    emulator_report report = run(multiply, &p, GROUP, 4096, 0);
    assert_report(&report, "", "");
    assert_int_equal(count_right(p), 64 * 128);
    p->two_groups = true; /* one group is not waited for: its sum is NaN */
    report = run(multiply, &p, GROUP, 4096, 0);
    assert_report(&report, "", "");
    assert_int_equal(count_right(p), 64 * 128 - GROUP);
    assert_true(p->d[8][9] != p->d[8][9]);
    p->two_groups = false;
    p->a_written = true; /* it had not been read yet */
    report = run(multiply, &p, GROUP, 4096, 0);
    assert_report(&report, "", "");
    assert_true(count_right(p) < 64 * 128);
    test_free(p);
}

static void test_specials_in_a_product(void **state)
{
    product *p = make_product();
    memset(p->b, 0, sizeof p->b);
    p->a[0] = 0x7c00;        /* infinity times 0 */
    p->a[16] = 0x7e00;       /* NaN */
    p->a[33] = 0x3c00;       /* 1 times ... */
    p->b[128 + 70] = 0xfc00; /* ... -infinity */
    run(multiply, &p, GROUP, 4096, 0);
    assert_true(p->d[0][5] != p->d[0][5] && p->d[1][100] != p->d[1][100]);
    assert_true(p->d[2][70] == -ptx_infinity() && p->d[2][71] == 0.0f);
    test_free(p);
}

static void test_stores_before_a_product(void **state)
{
    product *p = make_product();
    p->no_fence = true;
    emulator_report report = run(multiply, &p, GROUP, 4096, 0);
    assert_report(&report, "missing fence.proxy.async", "");
    p->no_fence = false;
    p->no_barrier = true;
    report = run(multiply, &p, GROUP, 4096, 0);
    assert_report(&report, "a wgmma reads shared byte", "");
    test_free(p);
}

/* d = a b with a of 64 times 16 in shared memory, after b of 16 times 192 in three panels. */
typedef struct across {
    u16 a[64 * 16];
    u16 b[16 * 192];
    float d[64][192];
} across;

static void multiply_across(const void *args)
{
    across *const *p = args;
    across *it = *p;
    u32 b = ptx_shared_base(), a = b + 3 * 2048;
    float d[96];
    for (u32 i = ptx_thread(); i < 16 * 192; i += GROUP)
        ptx_st_shared_u16(place(b + i % 192 / 64 * 2048, i / 192, i % 64), it->b[i]);
    for (u32 i = ptx_thread(); i < 64 * 16; i += GROUP)
        ptx_st_shared_u16(place(a, i / 16, i % 16), it->a[i]);
    ptx_fence_async();
    ptx_barrier();
    ptx_wgmma_fence();
    ptx_wgmma_n192_ss_across(d, describe(a, 0, 1024), describe(b, 2048, 1024), 0);
    ptx_wgmma_commit();
    ptx_wgmma_wait(0);
    u32 row = ptx_thread() / 32 * 16 + ptx_lane() / 4, column = ptx_lane() % 4 * 2;
    for (u32 i = 0; i < 96; i++)
        it->d[row + i / 2 % 2 * 8][i / 4 * 8 + column + i % 2] = d[i];
}

static void test_a_product_across_rows(void **state)
{
    across *p = test_calloc(1, sizeof *p);
    fill(p->a, 64, 16, 2);
    fill(p->b, 16, 192, 5);
    emulator_report report = run(multiply_across, &p, GROUP, 3 * 2048 + 8192, 0);
    assert_report(&report, "", "");
    for (int i = 0; i < 64 * 192; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 16; k++)
            sum += ptx_f16_to_f32(p->a[i / 192 * 16 + k]) * ptx_f16_to_f32(p->b[k * 192 + i % 192]);
        assert_true(p->d[i / 192][i % 192] == sum);
    }
    test_free(p);
}

/* -------------------------------------------------------------------------- */
/* Registers                                                                  */
/* -------------------------------------------------------------------------- */

static void share_registers(const void *args)
{
    const int *counts = args;
    if (ptx_thread() < GROUP)
        ptx_setmaxnreg_inc(counts[0]);
    else
        ptx_setmaxnreg_dec(ptx_thread() / 32 == 4 ? counts[1] : counts[2]);
}

/* The warps of the second warpgroup use two separate instructions. */
static void share_registers_apart(const void *args)
{
    const int *counts = args;
    if (ptx_thread() < GROUP)
        ptx_setmaxnreg_inc(counts[0]);
    else if (ptx_thread() / 32 == 4)
        ptx_setmaxnreg_dec(counts[1]);
    else
        ptx_setmaxnreg_dec(counts[2]);
}

static void share_registers_of_three(const void *args)
{
    const int *counts = args;
    if (ptx_thread() < 2 * GROUP)
        ptx_setmaxnreg_inc(counts[0]);
    else
        ptx_setmaxnreg_dec(counts[1]);
}

/* Three warpgroups start with 168 registers per thread. */
static void test_a_block_has_its_registers(void **state)
{
    static const int right[2] = { 240, 24 }, many[2] = { 240, 32 };
    emulator_report report = run(share_registers_of_three, right, 3 * GROUP, 0, 0);
    assert_report(&report, "", "");
    report = run(share_registers_of_three, many, 3 * GROUP, 0, 0);
    assert_report(&report, "", "65536 registers in all; the block has 64512");
}

static void test_registers_are_shared(void **state)
{
    static const int right[3] = { 240, 24, 24 }, apart[3] = { 240, 24, 32 },
                     many[3] = { 256, 264, 264 };
    emulator_report report = run(share_registers, right, 2 * GROUP, 0, 0);
    assert_report(&report, "", "");
    report = run(share_registers, apart, 2 * GROUP, 0, 0);
    assert_report(&report, "", "warps of a warpgroup have 32 registers and 24");
    report = run(share_registers, many, 2 * GROUP, 0, 0);
    assert_report(&report, "", "264 registers of a thread");
    report = run(share_registers, right, 5 * GROUP, 0, 0);
    assert_report(&report, "", "");
    report = run(share_registers_apart, right, 2 * GROUP, 0, 0);
    assert_report(&report, "", "warps of a warpgroup set registers here and at ");
}

RUN_TESTS(test_a_product_from_registers, test_specials_in_a_product, test_stores_before_a_product,
          test_a_product_across_rows, test_registers_are_shared, test_a_block_has_its_registers)
