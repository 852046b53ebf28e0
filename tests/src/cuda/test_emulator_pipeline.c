/*
 * test_emulator_pipeline.c - the emulator of CUDA kernels: a pipeline of tensor copies and
 * warpgroup products, and every mistake that can be made in one
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEED_BF16 0

#include "emulator/map.h"
#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"
#include "hopper_scene.h"

#define TILES 5
#define TILE_ROWS 80
#define A_AT 1024
#define A_BYTES (64 * 128)
#define B_AT (A_AT + A_BYTES)
#define B_BYTES (TILE_ROWS * 128)

typedef enum mistake {
    NO_MISTAKE,
    NO_FULL_WAIT,
    FULL_PARITY,
    NO_EMPTY_WAIT,
    FULL_FOR_EMPTY,
    EMPTY_PARITY,
    EARLY_ARRIVAL,
    NO_GROUP_WAIT,
    NO_COMMIT,
    NO_INIT_FENCE,
    NO_INIT,
    NO_BLOCK_BARRIER,
    FEWER_BYTES,
    MORE_BYTES,
    TOO_MANY_ARRIVALS,
    BARRIER_OVERWRITTEN,
    COPY_LEFT,
    WRITTEN_EARLY,
    ONE_WARP_STAYS_AWAY,
    WARPS_DIFFER,
    NO_SWIZZLE,
    ODD_START,
    MISTAKES
} mistake;

/* d = a times the sum of the transposed tiles of b; one stage of b. */
typedef struct pipeline {
    heed_cuda_map a_map, b_map;
    _Alignas(16) u16 a[64 * 64];
    u16 b[TILES * TILE_ROWS * 64];
    float d[64][TILE_ROWS];
    float early; /* a sum read before the wait */
    mistake mistake;
} pipeline;

/* The barriers. */
static u32 full(void)
{
    return ptx_shared_base();
}

static u32 empty(void)
{
    return ptx_shared_base() + 8;
}

static u32 a_full(void)
{
    return ptx_shared_base() + 16;
}

static void produce(const pipeline *it)
{
    mistake wrong = it->mistake;
    u32 b_at = ptx_shared_base() + B_AT;
    ptx_mbarrier_arrive_expect(a_full(), A_BYTES);
    ptx_tensor_load(ptx_shared_base() + A_AT, &it->a_map, a_full(), 0, 0, 0, 0);
    for (int t = 0; t < TILES; t++) {
        u32 parity = (u32)t % 2;
        if (wrong == FULL_FOR_EMPTY)
            ptx_mbarrier_wait(full(), parity ^ 1);
        else if (wrong != NO_EMPTY_WAIT)
            ptx_mbarrier_wait(empty(), wrong == EMPTY_PARITY ? parity : parity ^ 1);
        ptx_mbarrier_arrive_expect(full(), wrong == FEWER_BYTES  ? B_BYTES - 128
                                           : wrong == MORE_BYTES ? 1u << 20
                                                                 : B_BYTES);
        ptx_tensor_load(b_at, &it->b_map, full(), 0, 0, t * TILE_ROWS, 0);
    }
    if (wrong == COPY_LEFT) {
        ptx_mbarrier_wait(empty(), TILES % 2 ^ 1);
        ptx_mbarrier_arrive_expect(full(), B_BYTES);
        ptx_tensor_load(b_at, &it->b_map, full(), 0, 0, 0, 0);
    }
}

static void start_products(const pipeline *it, float d[40])
{
    mistake wrong = it->mistake;
    u32 a_at = ptx_shared_base() + A_AT, b_at = ptx_shared_base() + B_AT;
    ptx_wgmma_fence();
    for (u32 k = 0; k < 4; k++) {
        u64 a = describe(a_at + k * 32, 0, 1024), b = describe(b_at + k * 32, 0, 1024);
        if (wrong == WARPS_DIFFER && ptx_thread() / 32 == 2)
            b += 2;
        if (wrong == NO_SWIZZLE)
            a &= ~(3ull << 62);
        if (wrong == ODD_START)
            a += 8;
        ptx_wgmma_n80_ss(d, a, b, 1);
    }
}

static void consume(pipeline *it)
{
    mistake wrong = it->mistake;
    float d[40];
    memset(d, 0, sizeof d);
    if (wrong == ONE_WARP_STAYS_AWAY && ptx_thread() / 32 == 1)
        return;
    ptx_mbarrier_wait(a_full(), 0);
    for (int t = 0; t < TILES; t++) {
        if (wrong != NO_FULL_WAIT)
            ptx_mbarrier_wait(full(), (u32)t % 2 ^ (wrong == FULL_PARITY));
        start_products(it, d);
        if (wrong == WRITTEN_EARLY)
            d[3] = 0.0f;
        if (ptx_thread() == 0)
            it->early = d[5];
        if (wrong != NO_COMMIT)
            ptx_wgmma_commit();
        if (wrong == EARLY_ARRIVAL && ptx_lane() == 0)
            ptx_mbarrier_arrive(empty());
        if (wrong != NO_GROUP_WAIT)
            ptx_wgmma_wait(0);
        if (wrong != EARLY_ARRIVAL && ptx_lane() == 0)
            ptx_mbarrier_arrive(empty());
        if (wrong == TOO_MANY_ARRIVALS && t == 0 && ptx_thread() == 0)
            for (int i = 0; i < 4; i++)
                ptx_mbarrier_arrive(a_full());
    }
    u32 row = ptx_thread() / 32 * 16 + ptx_lane() / 4, column = ptx_lane() % 4 * 2;
    for (u32 i = 0; i < 40; i++)
        it->d[row + i / 2 % 2 * 8][i / 4 * 8 + column + i % 2] = d[i];
}

/* One warpgroup computes, and one thread of an extra warp loads. */
static void pipe(const void *args)
{
    pipeline *const *p = args;
    pipeline *it = *p;
    if (ptx_thread() == GROUP && it->mistake != NO_INIT) {
        ptx_mbarrier_init(full(), 1);
        ptx_mbarrier_init(empty(), 4);
        ptx_mbarrier_init(a_full(), it->mistake == TOO_MANY_ARRIVALS ? 2 : 1);
        if (it->mistake == TOO_MANY_ARRIVALS)
            ptx_mbarrier_arrive_expect(a_full(), 128); /* which never arrive */
        if (it->mistake == BARRIER_OVERWRITTEN)
            ptx_st_shared_4(empty() + 4, 0);
        if (it->mistake != NO_INIT_FENCE)
            ptx_fence_mbarrier_init();
    }
    if (it->mistake != NO_BLOCK_BARRIER)
        ptx_barrier();
    if (it->mistake == TOO_MANY_ARRIVALS && ptx_thread() == 0) {
        ptx_mbarrier_arrive(a_full());
        ptx_mbarrier_arrive(a_full());
    }
    if (ptx_thread() == GROUP)
        produce(it);
    else if (ptx_thread() < GROUP)
        consume(it);
}

static pipeline *make_pipeline(void)
{
    static const int64_t strides[3] = { 128, 128, 16 };
    static const int64_t a_dims[4] = { 64, 1, 64, 1 }, b_dims[4] = { 64, 1, TILES * TILE_ROWS, 1 };
    static const int a_box[4] = { 64, 1, 64, 1 }, b_box[4] = { 64, 1, TILE_ROWS, 1 };
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, sizeof(pipeline)), 0);
    pipeline *p = memory;
    memset(p, 0, sizeof *p);
    emulator_map(&p->a_map, p->a, a_dims, strides, a_box);
    emulator_map(&p->b_map, p->b, b_dims, strides, b_box);
    fill(p->a, 64, 64, 3);
    fill(p->b, TILES * TILE_ROWS, 64, 1);
    return p;
}

static float wanted_sum(const pipeline *p, int row, int column)
{
    float sum = 0.0f;
    for (int t = 0; t < TILES; t++)
        for (int k = 0; k < 64; k++)
            sum += ptx_f16_to_f32(p->a[row * 64 + k]) *
                   ptx_f16_to_f32(p->b[(t * TILE_ROWS + column) * 64 + k]);
    return sum;
}

static emulator_report run_pipeline(pipeline *p, mistake wrong, uint64_t seed)
{
    p->mistake = wrong;
    return run(pipe, &p, GROUP + 32, B_AT + B_BYTES, seed);
}

static void test_a_pipeline(void **state)
{
    pipeline *p = make_pipeline();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        memset(p->d, 0, sizeof p->d);
        emulator_report report = run_pipeline(p, NO_MISTAKE, seed);
        assert_report(&report, "", "");
        assert_true(p->early != p->early);
        for (int r = 0; r < 64; r++)
            for (int c = 0; c < TILE_ROWS; c++)
                assert_true(p->d[r][c] == wanted_sum(p, r, c));
    }
    free(p);
}

static void test_mistakes_in_a_pipeline(void **state)
{
    static const struct {
        const char *race, *error;
    } says[MISTAKES] = {
        [NO_FULL_WAIT] = { "a wgmma reads", NULL },
        [FULL_PARITY] = { "", NULL }, /* it waits forever, or not at all */
        [NO_EMPTY_WAIT] = { "", "for whose phase all 1 have come" },
        [FULL_FOR_EMPTY] = { "a wgmma reads", NULL },
        [EMPTY_PARITY] = { "", "deadlock: thread 0 waits for a barrier in shared memory at "
                               "test_emulator_pipeline.c:" },
        [EARLY_ARRIVAL] = { "copies to shared byte 10240, which a wgmma reads at", "" },
        [NO_GROUP_WAIT] = { "", "leaves before its warp has waited for this" },
        [NO_COMMIT] = { "", "leaves before its warp has waited for this" },
        [NO_INIT_FENCE] = { "missing fence.mbarrier_init", "" },
        [NO_INIT] = { "", "shared byte 1040, which no barrier was made at" },
        [NO_BLOCK_BARRIER] = { "", "which no barrier was made at" },
        [FEWER_BYTES] = { "", "deadlock" },
        [MORE_BYTES] = { "", "awaits more than 1048575 bytes" },
        [TOO_MANY_ARRIVALS] = { "", "for whose phase all 2 have come" },
        [BARRIER_OVERWRITTEN] = { "", "writes 4 bytes at shared byte 1036, where a barrier is" },
        [COPY_LEFT] = { "", "barrier 1024 counts copies that no thread has waited for" },
        [WRITTEN_EARLY] = { "", "sums of wgmma are written before it is waited for" },
        [ONE_WARP_STAYS_AWAY] = { "", "waits for a group of wgmma at" },
        [WARPS_DIFFER] = { "", "starts another wgmma than its warpgroup" },
        [NO_SWIZZLE] = { "", "without swizzle needs two distances" },
        [ODD_START] = { "", "begins amid eight rows" },
    };
    pipeline *p = make_pipeline();
    for (int wrong = NO_MISTAKE + 1; wrong < MISTAKES; wrong++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            emulator_report report = run_pipeline(p, (mistake)wrong, seed);
            assert_true(report.race[0] || report.error[0]);
            assert_says(report.race, says[wrong].race);
            if (says[wrong].error)
                assert_report(&report, says[wrong].race, says[wrong].error);
        }
    free(p);
}

RUN_TESTS(test_a_pipeline, test_mistakes_in_a_pipeline)
