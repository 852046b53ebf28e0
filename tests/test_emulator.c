/*
 * test_emulator.c - the emulator of CUDA kernels: what instructions do, and which mistakes show
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "emulator/ptx.cuh"
#include "emulator_scene.h"
#include "lab/tensor/convert.h"

#define WARP 32

static emulator_report run(void (*kernel)(const void *args), const void *args, uint32_t blocks,
                           uint32_t threads, uint32_t shared_bytes)
{
    const emulator_launch launch = { .kernel = kernel,
                                     .args = args,
                                     .grid = { blocks, 1, 1 },
                                     .threads = threads,
                                     .shared_bytes = shared_bytes };
    return emulate(&launch);
}

static void assert_clean(const emulator_report *report)
{
    assert_string_equal(report->error, "");
    assert_string_equal(report->race, "");
    assert_int_equal(report->races, 0);
    assert_int_equal(report->uninitialised, 0);
}

/* -------------------------------------------------------------------------- */
/* Numbers                                                                    */
/* -------------------------------------------------------------------------- */

static void test_every_16_bit_float(void **state)
{
    for (uint32_t i = 0; i < 65536; i++) {
        u16 bits = (u16)i;
        double f16 = lab_element_get(HEED_F16, &bits, 0);
        double bf16 = lab_element_get(HEED_BF16, &bits, 0);
        float x = ptx_f16_to_f32(bits), y = ptx_bf16_to_f32(bits);
        assert_true(f16 == f16 ? (double)x == f16 : x != x);
        assert_true(bf16 == bf16 ? (double)y == bf16 : y != y);
        if (f16 == f16)
            assert_int_equal(ptx_f32_to_f16(x), bits);
        if (bf16 == bf16)
            assert_int_equal(ptx_f32_to_bf16(y), bits);
    }
}

static void test_rounding(void **state)
{
    for (uint32_t i = 0; i < 1u << 20; i++) {
        u32 bits = i * 2654435761u;
        float x = ptx_as_f32(bits);
        u16 f16, bf16;
        if (x != x)
            continue;
        lab_element_set(HEED_F16, &f16, 0, (double)x);
        lab_element_set(HEED_BF16, &bf16, 0, (double)x);
        assert_int_equal(ptx_f32_to_f16(x), f16);
        assert_int_equal(ptx_f32_to_bf16(x), bf16);
    }
    assert_int_equal(ptx_pack_f16(1.0f, -2.0f), 0xc0003c00u);
    assert_int_equal(ptx_pack_bf16(1.0f, -2.0f), 0xc0003f80u);
    assert_true(ptx_unpack_f16_lo(0xc0003c00u) == 1.0f && ptx_unpack_f16_hi(0xc0003c00u) == -2.0f);
    assert_true(ptx_unpack_bf16_lo(0xc0003f80u) == 1.0f &&
                ptx_unpack_bf16_hi(0xc0003f80u) == -2.0f);
    assert_int_equal(ptx_fma_f16x2(0x40003c00u, 0x42004000u, 0x3c003c00u), 0x47004200u);
}

static void test_special_values(void **state)
{
    assert_true(ptx_ex2(-ptx_infinity()) == 0.0f && ptx_ex2(-130.0f) == 0.0f);
    assert_true(ptx_ex2(3.0f) == 8.0f && ptx_lg2(8.0f) == 3.0f && ptx_rcp(4.0f) == 0.25f);
    assert_true(ptx_lg2(0.0f) == -ptx_infinity() && ptx_rcp(0.0f) == ptx_infinity());
    assert_true(ptx_max(ptx_as_f32(0x7fffffffu), 2.0f) == 2.0f);
}

/* -------------------------------------------------------------------------- */
/* Kernels that are right                                                     */
/* -------------------------------------------------------------------------- */

#define LENGTH 1000

typedef struct vectors {
    float a[LENGTH], b[LENGTH], sum[LENGTH];
} vectors;

typedef struct add_args {
    const float *a, *b;
    float *sum;
    u32 n;
} add_args;

static void add(const void *args)
{
    const add_args *it = args;
    u32 i = ptx_block_x() * 64 + ptx_thread();
    if (i < it->n)
        ptx_st_global_f32(it->sum + i, ptx_ld_global_f32(it->a + i) + ptx_ld_global_f32(it->b + i));
}

static void test_vectors_are_added(void **state)
{
    vectors *v = test_calloc(1, sizeof *v);
    for (int i = 0; i < LENGTH; i++) {
        v->a[i] = (float)i;
        v->b[i] = (float)(2 * i);
    }
    const add_args args = { v->a, v->b, v->sum, LENGTH };
    emulator_report report = run(add, &args, (LENGTH + 63) / 64, 64, 0);
    assert_clean(&report);
    for (int i = 0; i < LENGTH; i++)
        assert_true(v->sum[i] == (float)(3 * i));
    test_free(v);
}

/* The sum of thread numbers over a block of four warps. */
static void reduce(const void *args)
{
    float *const *out = args;
    float sum = (float)ptx_thread();
    for (int mask = 16; mask > 0; mask /= 2)
        sum += ptx_shfl_xor(sum, mask);
    if (ptx_lane() == 0)
        ptx_st_shared_f32(ptx_shared_base() + ptx_thread() / WARP * 4, sum);
    ptx_barrier();
    float total = 0.0f;
    for (u32 i = 0; i < 4; i++)
        total += ptx_ld_shared_f32(ptx_shared_base() + 4 * i);
    ptx_st_global_f32(*out + ptx_thread(), total + ptx_shfl_idx(sum, 5));
}

static void test_a_tree_sums_up(void **state)
{
    float sums[128];
    float *out = sums;
    emulator_report report = run(reduce, &out, 1, 128, 16);
    assert_clean(&report);
    for (int i = 0; i < 128; i++)
        assert_true(sums[i] == 127.0f * 64 + (float)(i / WARP * WARP * WARP + 31 * 16));
}

typedef struct votes {
    u32 any[3];
} votes;

static void count_votes(const void *args)
{
    votes *const *out = args;
    int none = ptx_vote_any(0), one = ptx_vote_any(ptx_lane() == 17), all = ptx_vote_any(-1);
    if (ptx_lane() == 3) {
        ptx_st_global_4(&(*out)->any[0], (u32)none);
        ptx_st_global_4(&(*out)->any[1], (u32)one);
        ptx_st_global_4(&(*out)->any[2], (u32)all);
    }
}

static void test_votes_are_counted(void **state)
{
    votes v = { { 9, 9, 9 } };
    votes *out = &v;
    emulator_report report = run(count_votes, &out, 1, WARP, 0);
    assert_clean(&report);
    assert_int_equal(v.any[0], 0);
    assert_int_equal(v.any[1], 1);
    assert_int_equal(v.any[2], 1);
}

/* -------------------------------------------------------------------------- */
/* Matrices                                                                   */
/* -------------------------------------------------------------------------- */

/* 32 rows of 8 elements, element c of row r being 8 r + c, loaded in every way. */
typedef struct loaded {
    u32 x4[WARP][4], x4_trans[WARP][4], x2[WARP][2], x2_trans[WARP][2];
} loaded;

static void load_all(const void *args)
{
    loaded *const *out = args;
    u32 lane = ptx_lane(), base = ptx_shared_base(), at = base + lane * 16;
    for (u32 c = 0; c < 8; c++)
        ptx_st_shared_u16(at + 2 * c, (u16)(8 * lane + c));
    ptx_warp_barrier();
    ptx_ldmatrix_x4((*out)->x4[lane], at);
    ptx_ldmatrix_x4_trans((*out)->x4_trans[lane], at);
    /* Addresses of lanes 16 to 31 are not looked at. */
    ptx_ldmatrix_x2((*out)->x2[lane], lane < 16 ? at : 1);
    ptx_ldmatrix_x2_trans((*out)->x2_trans[lane], lane < 16 ? at : 1);
}

static void test_ldmatrix(void **state)
{
    loaded l;
    loaded *out = &l;
    emulator_report report = run(load_all, &out, 1, WARP, 512);
    assert_clean(&report);
    for (u32 lane = 0; lane < WARP; lane++) {
        u32 g = lane / 4, t = lane % 4;
        for (u32 i = 0; i < 4; i++) {
            u32 low = 64 * i + 8 * g + 2 * t, low_trans = 64 * i + 8 * (2 * t) + g;
            assert_int_equal(l.x4[lane][i], low | (low + 1) << 16);
            assert_int_equal(l.x4_trans[lane][i], low_trans | (low_trans + 8) << 16);
        }
        for (u32 i = 0; i < 2; i++) {
            assert_int_equal(l.x2[lane][i], l.x4[lane][i]);
            assert_int_equal(l.x2_trans[lane][i], l.x4_trans[lane][i]);
        }
    }
}

/* d += a b for 16x16 times 16x8, each lane reading its elements by the definition. */
typedef struct product {
    u16 a[16][16], b[16][8];
    float d[16][8];
    u16 d16[16][8];
    bool bf16;
} product;

static void multiply(const void *args)
{
    product *const *p = args;
    product *it = *p;
    u32 g = ptx_lane() / 4, t = ptx_lane() % 4;
    u32 a[4], b[2], d16[2];
    float d[4];
    for (u32 i = 0; i < 4; i++)
        memcpy(&a[i], &it->a[g + i % 2 * 8][2 * t + i / 2 * 8], 4);
    for (u32 i = 0; i < 2; i++)
        b[i] = it->b[2 * t + 8 * i][g] | (u32)it->b[2 * t + 8 * i + 1][g] << 16;
    for (u32 i = 0; i < 4; i++)
        d[i] = it->d[g + i / 2 * 8][2 * t + i % 2];
    for (u32 i = 0; i < 2; i++)
        memcpy(&d16[i], &it->d16[g + i * 8][2 * t], 4);
    if (it->bf16)
        ptx_mma_bf16(d, a, b);
    else
        ptx_mma_f16(d, a, b);
    if (!it->bf16)
        ptx_mma_f16_acc16(d16, a, b);
    for (u32 i = 0; i < 4; i++)
        it->d[g + i / 2 * 8][2 * t + i % 2] = d[i];
    for (u32 i = 0; i < 2; i++)
        memcpy(&it->d16[g + i * 8][2 * t], &d16[i], 4);
}

static void test_mma(void **state)
{
    for (int bf16 = 0; bf16 < 2; bf16++) {
        heed_type type = bf16 ? HEED_BF16 : HEED_F16;
        product p = { .bf16 = bf16 };
        product *args = &p;
        double expected[16][8];
        for (int i = 0; i < 16 * 16; i++)
            lab_element_set(type, p.a, i, (i * 37 % 101 - 50) / 64.0);
        for (int i = 0; i < 16 * 8; i++)
            lab_element_set(type, p.b, i, (i * 53 % 97 - 48) / 64.0);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                p.d[i][j] = (float)(i - j);
                lab_element_set(HEED_F16, &p.d16[i][j], 0, i - j);
                expected[i][j] = i - j;
                for (int k = 0; k < 16; k++)
                    expected[i][j] += lab_element_get(type, p.a, i * 16 + k) *
                                      lab_element_get(type, p.b, k * 8 + j);
            }
        emulator_report report = run(multiply, &args, 1, WARP, 0);
        assert_clean(&report);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                assert_true(p.d[i][j] == (float)expected[i][j]);
                if (!bf16)
                    assert_true(lab_element_get(HEED_F16, &p.d16[i][j], 0) ==
                                lab_element_round(HEED_F16, expected[i][j]));
            }
    }
}

/* -------------------------------------------------------------------------- */
/* Mistakes                                                                   */
/* -------------------------------------------------------------------------- */

/* Copies 16 bytes a thread to shared memory and reads those of another thread. */
typedef struct copying {
    bool no_wait, no_barrier, warp_barrier, early, again;
    u32 distance; /* to the thread whose bytes are read */
    HEED_ALIGNAS(16) float in[64][4];
    float out[64];
} copying;

static void copy_and_read(const void *args)
{
    copying *const *p = args;
    copying *it = *p;
    u32 thread = ptx_thread(), base = ptx_shared_base();
    ptx_cp_async_16(base + thread * 16, it->in[thread], 16);
    ptx_cp_async_commit();
    if (it->early)
        ptx_barrier();
    if (!it->no_wait)
        ptx_cp_async_wait(0);
    if (it->warp_barrier)
        ptx_warp_barrier();
    else if (!it->no_barrier && !it->early)
        ptx_barrier();
    it->out[thread] = ptx_ld_shared_f32(base + (thread + it->distance) % 64 * 16);
    if (it->again)
        ptx_cp_async_16(base + thread * 16, it->in[thread], 16);
}

static copying copy_case(void)
{
    copying c = { .distance = 1 };
    for (int i = 0; i < 64; i++)
        c.in[i][0] = (float)i;
    return c;
}

static void test_a_copy_arrives(void **state)
{
    copying c = copy_case();
    copying *args = &c;
    emulator_report report = run(copy_and_read, &args, 3, 64, 1024);
    assert_clean(&report);
    for (int i = 0; i < 64; i++)
        assert_true(c.out[i] == (float)((i + 1) % 64));
    c.warp_barrier = true;
    c.distance = 0;
    report = run(copy_and_read, &args, 1, 64, 1024);
    assert_clean(&report);
}

static void test_a_missing_wait_is_caught(void **state)
{
    copying c = copy_case();
    copying *args = &c;
    c.no_wait = true;
    emulator_report report = run(copy_and_read, &args, 1, 64, 1024);
    assert_int_equal(report.races, 64);
    assert_says(report.race, "is copying to");
    assert_true(c.out[5] != c.out[5]);
    c.distance = 0;
    report = run(copy_and_read, &args, 1, 64, 1024);
    assert_says(report.race, "has not waited");
    assert_true(c.out[5] != c.out[5]);
}

static void test_a_missing_barrier_is_caught(void **state)
{
    copying c = copy_case();
    copying *args = &c;
    c.no_barrier = true;
    emulator_report report = run(copy_and_read, &args, 1, 64, 1024);
    assert_true(report.races > 0);
    assert_says(report.race, "test_emulator.c:");
    c.no_barrier = false;
    c.early = true; /* before the wait it is of no use */
    report = run(copy_and_read, &args, 1, 64, 1024);
    assert_true(report.races > 0);
    c.early = false;
    c.warp_barrier = true; /* does not reach the other warp */
    report = run(copy_and_read, &args, 1, 64, 1024);
    assert_int_equal(report.races, 2);
    c = copy_case();
    c.again = true; /* while others may still read */
    report = run(copy_and_read, &args, 1, 64, 1024);
    assert_int_equal(report.races, 64);
    assert_says(report.race, "copies to shared byte");
    assert_says(report.race, "read at");
}

/* Groups of copies: with one left under way, the first has arrived and the second has not. */
static void copy_in_groups(const void *args)
{
    copying *const *p = args;
    copying *it = *p;
    u32 base = ptx_shared_base() + ptx_thread() * 48;
    for (u32 i = 0; i < 3; i++) {
        ptx_cp_async_16(base + 16 * i, it->in[i], i < 2 ? 16 : 0);
        ptx_cp_async_commit();
    }
    ptx_cp_async_wait(1);
    if (ptx_thread() > 0)
        return;
    it->out[0] = ptx_ld_shared_f32(base);
    it->out[1] = ptx_ld_shared_f32(base + 16);
    it->out[2] = ptx_ld_shared_f32(base + 32);
    ptx_cp_async_wait(0);
    it->out[3] = ptx_ld_shared_f32(base + 32);
}

static void test_groups_arrive_in_order(void **state)
{
    copying c = copy_case();
    copying *args = &c;
    emulator_report report = run(copy_in_groups, &args, 1, WARP, WARP * 48);
    assert_int_equal(report.races, 1);
    assert_true(c.out[0] == 0.0f && c.out[1] == 1.0f && c.out[2] != c.out[2]);
    assert_true(c.out[3] == 0.0f); /* of 0 bytes */
}

typedef enum mistake {
    NO_MISTAKE,
    WARP_WITHOUT_BARRIER,
    SAME_BYTE,
    NEVER_WRITTEN,
    PAST_THE_END,
    BEFORE_THE_START,
    MISALIGNED,
    MISALIGNED_GLOBAL,
    LEFT_BEFORE_A_BARRIER,
    LEFT_BEFORE_A_SHUFFLE,
    TWO_BARRIERS,
    APART,
    BAD_BARRIER
} mistake;

static void mistaken(const void *args)
{
    mistake which = *(const mistake *)args;
    u32 thread = ptx_thread(), at = ptx_shared_base() + thread * 4;
    heed_u32x4 x = { { 0 } };
    ptx_st_shared_4(at, thread);
    ptx_barrier();
    switch (which) {
    case NO_MISTAKE:
        ptx_barrier_named(1 + (int)thread / WARP, WARP);
        break;
    case WARP_WITHOUT_BARRIER:
        ptx_st_shared_4(at, ptx_shfl_xor_u32(thread, 1));
        (void)ptx_ld_shared_4(at ^ 4);
        break;
    case SAME_BYTE:
        ptx_st_shared_4(ptx_shared_base(), thread);
        break;
    case NEVER_WRITTEN:
        (void)ptx_ld_shared_4(at + 256);
        break;
    case PAST_THE_END:
        (void)ptx_ld_shared_4(at + 320);
        break;
    case BEFORE_THE_START:
        ptx_st_shared_4(at - 8, 0);
        break;
    case MISALIGNED:
        (void)ptx_ld_shared_16(at);
        break;
    case MISALIGNED_GLOBAL:
        ptx_st_global_16((u8 *)&x + 1, x);
        break;
    case LEFT_BEFORE_A_BARRIER:
        if (thread >= WARP)
            return;
        ptx_barrier();
        break;
    case LEFT_BEFORE_A_SHUFFLE:
        if (thread == 40)
            return;
        (void)ptx_shfl_xor_u32(thread, 1);
        break;
    case TWO_BARRIERS:
        ptx_barrier_named(1 + (int)thread / WARP, 64);
        break;
    case APART:
        if (thread % 2)
            (void)ptx_shfl_xor_u32(thread, 1);
        else
            ptx_warp_barrier();
        break;
    case BAD_BARRIER:
        ptx_barrier_named(16, 64);
        break;
    }
}

static void test_mistakes_are_caught(void **state)
{
    static const struct {
        mistake which;
        const char *race;
        const char *error;
    } cases[] = {
        { NO_MISTAKE, "", "" },
        { WARP_WITHOUT_BARRIER, "which thread 0 read", "" },
        { SAME_BYTE, "which thread 0 wrote", "" },
        { NEVER_WRITTEN, "", "" },
        { PAST_THE_END, "", "reads 4 bytes at shared byte 1536; there are 1024 to 1536" },
        { BEFORE_THE_START, "", "writes 4 bytes at shared byte 1016" },
        { MISALIGNED, "", "thread 1 reads 16 bytes at shared byte 1028" },
        { MISALIGNED_GLOBAL, "", "accesses 16 bytes of global memory" },
        { LEFT_BEFORE_A_BARRIER, "", "deadlock: 32 threads wait at barrier 0, but thread 32" },
        { LEFT_BEFORE_A_SHUFFLE, "", "waits for thread 40 of its warp, which has left" },
        { TWO_BARRIERS, "", "deadlock: 32 threads wait at barrier 1, but thread 32 waits at" },
        { APART, "", "thread 0 waits for thread 1 of its warp, which waits at test_emulator.c" },
        { BAD_BARRIER, "", "barrier 16 of 64 threads" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emulator_report report = run(mistaken, &cases[i].which, 1, 64, 512);
        assert_says(report.race, cases[i].race);
        assert_says(report.error, cases[i].error);
        assert_int_equal(report.races > 0, cases[i].race[0] != '\0');
        assert_int_equal(report.error[0] != '\0', cases[i].error[0] != '\0');
        assert_int_equal(report.uninitialised, cases[i].which == NEVER_WRITTEN  ? 64
                                               : cases[i].which == PAST_THE_END ? 48
                                                                                : 0);
    }
}

static void test_launches_that_cannot_be(void **state)
{
    const mistake none = NO_MISTAKE;
    assert_says(run(mistaken, &none, 1, 33, 512).error, "a block of 33 threads");
    assert_says(run(mistaken, &none, 1, 0, 512).error, "a block of 0 threads");
    assert_says(run(mistaken, &none, 1, 2048, 512).error, "a block of 2048 threads");
    assert_says(run(mistaken, &none, 1, 64, 232449).error, "232449 bytes of shared memory");
}

/* What ldmatrix has read may be written by any lane, what lanes read by themselves may not; nor may
 * ldmatrix read what lanes wrote without a warp barrier. */
typedef struct matrix_order {
    bool read_alone, no_barrier;
} matrix_order;

static void write_after_ldmatrix(const void *args)
{
    const matrix_order *it = args;
    u32 at = ptx_shared_base() + ptx_lane() * 16;
    heed_u32x4 x = { { 0 } };
    u32 r[4];
    ptx_st_shared_16(at, x);
    if (!it->no_barrier)
        ptx_warp_barrier();
    if (it->read_alone)
        x = ptx_ld_shared_16(at ^ 16);
    ptx_ldmatrix_x4(r, at);
    ptx_st_shared_16(at ^ 256, x);
}

static void test_matrices_and_other_accesses(void **state)
{
    static const matrix_order right = { false, false }, alone = { true, false },
                              early = { false, true };
    emulator_report report = run(write_after_ldmatrix, &right, 2, WARP, 512);
    assert_clean(&report);
    report = run(write_after_ldmatrix, &alone, 1, WARP, 512);
    assert_int_equal(report.races, WARP);
    report = run(write_after_ldmatrix, &early, 1, WARP, 512);
    assert_int_equal(report.races, WARP);
}

/* -------------------------------------------------------------------------- */
/* Banks                                                                      */
/* -------------------------------------------------------------------------- */

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
    emulator_report report = run(read_tile, &swizzled, 1, WARP, 2048);
    assert_clean(&report);
    assert_int_equal(report.conflicts, 4 * 4 * 7);
    assert_int_equal(report.passes, 16 + 4 * 4 * 8);
    assert_says(report.worst, ": 112");
    swizzled = true;
    report = run(read_tile, &swizzled, 1, WARP, 2048);
    assert_clean(&report);
    assert_int_equal(report.conflicts, 0);
    assert_int_equal(report.passes, 16 + 4 * 4);
    assert_string_equal(report.worst, "");

    report = run(read_column, &stride, 1, WARP, 4096);
    assert_int_equal(report.conflicts, 31 + 15);
    stride = 2;
    report = run(read_column, &stride, 1, WARP, 4096);
    assert_int_equal(report.conflicts, 1 + 1);
    stride = 1;
    report = run(read_column, &stride, 1, WARP, 4096);
    assert_int_equal(report.conflicts, 0);
}

/* So many accesses that the notes of one lane do not hold them. */
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
    emulator_report report = run(read_on_and_on, NULL, 2, 64, 2048);
    assert_int_equal(report.races, 2 * 32); /* the second warp's writes */
    assert_int_equal(report.conflicts, 2 * 2 * 3001 * 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_16_bit_float),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_vectors_are_added),
        cmocka_unit_test(test_a_tree_sums_up),
        cmocka_unit_test(test_votes_are_counted),
        cmocka_unit_test(test_ldmatrix),
        cmocka_unit_test(test_mma),
        cmocka_unit_test(test_a_copy_arrives),
        cmocka_unit_test(test_a_missing_wait_is_caught),
        cmocka_unit_test(test_a_missing_barrier_is_caught),
        cmocka_unit_test(test_groups_arrive_in_order),
        cmocka_unit_test(test_mistakes_are_caught),
        cmocka_unit_test(test_matrices_and_other_accesses),
        cmocka_unit_test(test_launches_that_cannot_be),
        cmocka_unit_test(test_bank_conflicts_are_counted),
        cmocka_unit_test(test_long_runs_without_meeting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
