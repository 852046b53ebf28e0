/*
 * test_emulator.c - the emulator of CUDA kernels: numbers, threads and matrices
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#include "emulator/emulator.h"
#include "emulator/ptx.cuh"
#include "emulator_scene.h"
#include "lab/tensor/convert.h"

#define WARP 32

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
    emulator_report report = emulate_blocks(add, &args, (LENGTH + 63) / 64, 64, 0);
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
    emulator_report report = emulate_blocks(reduce, &out, 1, 128, 16);
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
    emulator_report report = emulate_blocks(count_votes, &out, 1, WARP, 0);
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
    /* The addresses of lanes 16 to 31 are ignored. */
    ptx_ldmatrix_x2((*out)->x2[lane], lane < 16 ? at : 1);
    ptx_ldmatrix_x2_trans((*out)->x2_trans[lane], lane < 16 ? at : 1);
}

static void test_ldmatrix(void **state)
{
    loaded l;
    loaded *out = &l;
    emulator_report report = emulate_blocks(load_all, &out, 1, WARP, 512);
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

/* d += a b for 16x16 times 16x8; each lane reads its elements as defined by the instruction. */
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
        emulator_report report = emulate_blocks(multiply, &args, 1, WARP, 0);
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

/* d += a b for 16x8 times 8x8 of tf32. */
typedef struct single_product {
    float a[16][8], b[8][8], d[16][8], number, rounded;
} single_product;

static void multiply_single(const void *args)
{
    single_product *const *p = args;
    single_product *it = *p;
    u32 g = ptx_lane() / 4, t = ptx_lane() % 4;
    u32 a[4], b[2];
    float d[4];
    for (u32 i = 0; i < 4; i++)
        a[i] = ptx_as_u32(it->a[g + i % 2 * 8][t + i / 2 * 4]);
    for (u32 i = 0; i < 2; i++)
        b[i] = ptx_as_u32(it->b[t + i * 4][g]);
    for (u32 i = 0; i < 4; i++)
        d[i] = it->d[g + i / 2 * 8][2 * t + i % 2];
    ptx_mma_tf32(d, a, b);
    for (u32 i = 0; i < 4; i++)
        it->d[g + i / 2 * 8][2 * t + i % 2] = d[i];
    it->rounded = ptx_as_f32(ptx_f32_to_tf32(it->number));
}

/* Sums that are not representable in float32 are truncated toward zero; so are operands that are
 * not in tf32, which cvt rounds. */
static void test_mma_tf32(void **state)
{
    single_product p = { .number = 1 + 0x1.8p-11f };
    single_product *args = &p;
    double expected[16][8];
    for (int i = 0; i < 16 * 8; i++) {
        p.a[i / 8][i % 8] = (float)(i * 37 % 101 - 50) / 64;
        p.d[i / 8][i % 8] = (float)(i - 60);
    }
    for (int i = 0; i < 8 * 8; i++)
        p.b[i / 8][i % 8] = (float)(i * 53 % 97 - 48) / 64;
    for (int i = 0; i < 8; i++) { /* the last row, times one or minus one */
        p.b[0][i] = i % 2 ? -1 : 1;
        p.a[15][i] = i == 0 ? p.number : 0;
        p.d[15][i] = p.b[0][i] * 0x1.cp-24f;
    }
    for (int i = 0; i < 15; i++)
        for (int j = 0; j < 8; j++) {
            expected[i][j] = (double)p.d[i][j];
            for (int k = 0; k < 8; k++)
                expected[i][j] += (double)p.a[i][k] * (double)p.b[k][j];
        }
    emulator_report report = emulate_blocks(multiply_single, &args, 1, WARP, 0);
    assert_clean(&report);
    for (int i = 0; i < 15; i++)
        for (int j = 0; j < 8; j++)
            assert_true(p.d[i][j] == (float)expected[i][j]);
    for (int j = 0; j < 8; j++)
        assert_true(p.d[15][j] == p.b[0][j]);
    assert_true(p.rounded == 1 + 0x1p-10f);
}

RUN_TESTS(test_every_16_bit_float, test_rounding, test_special_values, test_vectors_are_added,
          test_a_tree_sums_up, test_votes_are_counted, test_ldmatrix, test_mma, test_mma_tf32)
