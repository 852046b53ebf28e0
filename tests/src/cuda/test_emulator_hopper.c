/*
 * test_emulator_hopper.c - the emulator of CUDA kernels: tensor copies and barriers of compute
 * capability 9.0, and the mistakes it detects
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

/* -------------------------------------------------------------------------- */
/* Boxes                                                                      */
/* -------------------------------------------------------------------------- */

#define COLUMNS 72
#define HEADS 3
#define ROWS 10

/* A tensor of batch 1, in boxes of 2 heads and 8 rows, and the contents of a box after the copy. */
typedef struct boxes {
    heed_cuda_map map;
    _Alignas(16) u16 tensor[ROWS * HEADS * COLUMNS];
    int column, head, row;
    u32 misplaced;
    u16 box[16][64];
} boxes;

static void load_box(const void *args)
{
    boxes *const *p = args;
    boxes *it = *p;
    u32 barrier = ptx_shared_base(), smem = barrier + 1024 + it->misplaced;
    if (ptx_thread() == 0) {
        ptx_mbarrier_init(barrier, 1);
        ptx_fence_mbarrier_init();
        ptx_mbarrier_arrive_expect(barrier, 2048);
        ptx_tensor_load(smem, &it->map, barrier, it->column, it->head, it->row, 0);
        ptx_mbarrier_wait(barrier, 0);
        for (u32 r = 0; r < 16; r++)
            for (u32 c = 0; c < 64; c++)
                it->box[r][c] = ptx_ld_shared_u16(place(smem, r, c));
    }
}

static boxes *make_boxes(void)
{
    static const int64_t dims[4] = { COLUMNS, HEADS, ROWS, 1 };
    static const int64_t strides[3] = { COLUMNS * 2, COLUMNS * HEADS * 2, 16 };
    static const int box[4] = { 64, 2, 8, 1 };
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, sizeof(boxes)), 0);
    boxes *b = memory;
    memset(b, 0, sizeof *b);
    emulator_map(&b->map, b->tensor, dims, strides, box);
    fill(b->tensor, ROWS * HEADS, COLUMNS, 0);
    return b;
}

static void test_a_box_is_loaded(void **state)
{
    static const int at[][3] = { { 0, 0, 0 },     { 8, 1, 2 },   { 64, 2, 5 },
                                 { -16, -1, -3 }, { 0, 0, 100 }, { 200, 0, 0 } };
    boxes *b = make_boxes();
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        b->column = at[i][0];
        b->head = at[i][1];
        b->row = at[i][2];
        emulator_report report = run(load_box, &b, 32, 4096, i);
        assert_report(&report, "", "");
        for (int r = 0; r < 16; r++)
            for (int c = 0; c < 64; c++) {
                int column = b->column + c, head = b->head + r % 2, row = b->row + r / 2;
                bool there = column >= 0 && column < COLUMNS && head >= 0 && head < HEADS &&
                             row >= 0 && row < ROWS;
                u16 wanted = there ? b->tensor[(row * HEADS + head) * COLUMNS + column] : 0;
                assert_int_equal(b->box[r][c], wanted);
            }
    }
    free(b);
}

static void test_boxes_that_cannot_be(void **state)
{
    boxes *b = make_boxes();
    b->misplaced = 512;
    emulator_report report = run(load_box, &b, 32, 4096, 0);
    assert_report(&report, "", "copies to 2048 bytes at shared byte 2560");
    b->misplaced = 2048; /* ends past the limit */
    report = run(load_box, &b, 32, 4096, 0);
    assert_report(&report, "", "there are 1024 to 5120");
    b->misplaced = 0;
    b->map.word[1] += 2; /* the address */
    report = run(load_box, &b, 32, 4096, 0);
    assert_report(&report, "", "no map");
    memset(&b->map, 0, sizeof b->map);
    report = run(load_box, &b, 32, 4096, 0);
    assert_report(&report, "", "no map");
    free(b);
}

/* -------------------------------------------------------------------------- */
/* Stores                                                                     */
/* -------------------------------------------------------------------------- */

typedef enum mistake {
    NO_MISTAKE,
    NO_FENCE,
    LATE_FENCE, /* the storing threads must execute it */
    NO_BARRIER,
    NO_WAIT_BEFORE_WRITE,
    NO_WAIT,
    NO_COMMIT, /* so there is nothing to wait for */
    MISTAKES
} mistake;

typedef struct storing {
    heed_cuda_map map;
    _Alignas(16) u16 tensor[(ROWS + 1) * 64];
    mistake mistake;
} storing;

/* Threads store a box of 16 rows to a tensor with fewer rows, and then overwrite the box. */
static void store_box(const void *args)
{
    storing *const *p = args;
    storing *it = *p;
    mistake wrong = it->mistake;
    u32 smem = ptx_shared_base(), thread = ptx_thread();
    for (u32 turn = 0; turn < 2; turn++) {
        for (u32 i = thread; i < 16 * 64; i += 64)
            ptx_st_shared_u16(place(smem, i / 64, i % 64), (u16)(i + turn));
        if (wrong != NO_FENCE && wrong != LATE_FENCE)
            ptx_fence_async();
        if (wrong != NO_BARRIER)
            ptx_barrier();
        if (wrong == LATE_FENCE)
            ptx_fence_async();
        if (thread == 63) {
            ptx_tensor_store(&it->map, smem, 0, 0, 0, 0);
            if (wrong != NO_COMMIT)
                ptx_bulk_commit();
            if (wrong != (turn == 0 ? NO_WAIT_BEFORE_WRITE : NO_WAIT))
                ptx_bulk_wait_read();
        }
        ptx_barrier();
    }
}

static void test_a_box_is_stored(void **state)
{
    static const int64_t dims[4] = { 56, 1, ROWS, 1 }, strides[3] = { 128, 128, 16 };
    static const int box[4] = { 64, 1, 16, 1 };
    static const struct {
        const char *race, *error;
    } says[MISTAKES] = {
        [NO_MISTAKE] = { "", "" },
        [NO_FENCE] = { "missing fence.proxy.async", "" },
        [LATE_FENCE] = { "missing fence.proxy.async", "" },
        [NO_BARRIER] = { "stores from shared byte 1024, which thread", "" },
        [NO_WAIT_BEFORE_WRITE] = { "which a store that thread 63 started reads at", "" },
        [NO_WAIT] = { "", "leaves before this store has read" },
        [NO_COMMIT] = { "", "is not in a group" },
    };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        storing it, *args = &it;
        emulator_map(&it.map, it.tensor, dims, strides, box);
        memset(it.tensor, 0x55, sizeof it.tensor);
        for (int wrong = NO_MISTAKE; wrong < MISTAKES; wrong++) {
            it.mistake = (mistake)wrong;
            emulator_report report = run(store_box, &args, 64, 2048, seed);
            assert_report(&report, says[wrong].race, says[wrong].error);
            for (int i = 0; wrong == NO_MISTAKE && i < (ROWS + 1) * 64; i++)
                assert_int_equal(it.tensor[i], i % 64 < 56 && i < ROWS * 64 ? i + 1 : 0x5555);
        }
    }
}

/* -------------------------------------------------------------------------- */
/* Barriers                                                                   */
/* -------------------------------------------------------------------------- */

/* Threads wait for a barrier at which one thread arrives after storing. */
typedef struct arrival {
    bool alone; /* another thread stored */
    bool twice; /* arrives a second time before the others have seen the first */
    u32 seen[64];
} arrival;

static void arrive(const void *args)
{
    arrival *const *p = args;
    arrival *it = *p;
    u32 barrier = ptx_shared_base(), thread = ptx_thread();
    if (thread == 0)
        ptx_mbarrier_init(barrier, 1);
    ptx_barrier();
    ptx_st_shared_4(barrier + 64 + thread * 4, thread + 5);
    if (thread == 63) {
        ptx_mbarrier_arrive(barrier);
        if (it->twice)
            ptx_mbarrier_arrive(barrier);
        return;
    }
    ptx_mbarrier_wait(barrier, 0);
    it->seen[thread] = ptx_ld_shared_4(barrier + 64 + (it->alone ? 62 : 63) * 4);
}

static void test_one_thread_arrives(void **state)
{
    arrival it = { 0 }, *args = &it;
    emulator_report report = run(arrive, &args, 64, 1024, 0);
    assert_report(&report, "", "");
    for (int i = 0; i < 63; i++)
        assert_int_equal(it.seen[i], 68);
    it.alone = true; /* the message does not concern the other lanes of its warp */
    report = run(arrive, &args, 64, 1024, 0);
    assert_report(&report, "which thread 62 wrote", "");
    assert_int_equal(report.races, 2 * 62);
    it.alone = false;
    it.twice = true;
    report = run(arrive, &args, 64, 1024, 0);
    assert_report(&report, "", "and the next one is over");
}

/* Warps take turns: one arrives at the barrier for which the other one waits. */
typedef struct turns {
    int arrivals; /* 1 is correct */
    bool other_count;
} turns;

static void take_turns(const void *args)
{
    const turns *it = args;
    u32 warp = ptx_thread() / 32, at = ptx_shared_base() + ptx_lane() * 4;
    for (u32 i = 0; i < 3; i++) {
        if (warp == 0) {
            ptx_st_shared_4(at, i);
            for (int k = 0; k < it->arrivals; k++)
                ptx_barrier_named_arrive(1, it->other_count ? 32 : 64);
            ptx_barrier_named(2, 64);
        } else {
            ptx_barrier_named(1, 64);
            (void)ptx_ld_shared_4(at ^ 4);
            ptx_barrier_named_arrive(2, 64);
        }
    }
}

static void test_turns(void **state)
{
    static const turns right = { 1, false }, none = { 0, false }, many = { 2, false },
                       other = { 1, true };
    emulator_report report = run(take_turns, &right, 64, 1024, 0);
    assert_report(&report, "", "");
    report = run(take_turns, &none, 64, 1024, 0);
    assert_report(&report, "", "deadlock: 32 threads wait at barrier 2");
    report = run(take_turns, &many, 64, 1024, 0);
    assert_report(&report, "", "deadlock: 32 threads wait at barrier 2");
    report = run(take_turns, &other, 64, 1024, 0);
    assert_report(&report, "", "deadlock");
}

/* -------------------------------------------------------------------------- */
/* The rest                                                                   */
/* -------------------------------------------------------------------------- */

/* ldmatrix loads matrices stored by stmatrix. */
static void store_and_load(const void *args)
{
    u32 *const *out = args;
    u32 at = ptx_shared_base() + ptx_lane() * 16, r[4], again[4];
    for (u32 i = 0; i < 4; i++)
        r[i] = ptx_lane() * 4 + i;
    ptx_stmatrix_x4(at, r);
    ptx_warp_barrier();
    ptx_ldmatrix_x4(again, at);
    for (u32 i = 0; i < 4; i++)
        (*out)[ptx_lane() * 5 + i] = again[i];
    (*out)[ptx_lane() * 5 + 4] = ptx_ld_shared_4(at + 4);
}

static void test_stmatrix(void **state)
{
    u32 words[32 * 5], *out = words;
    emulator_report report = run(store_and_load, &out, 32, 512, 0);
    assert_report(&report, "", "");
    assert_int_equal(report.conflicts, 2 * 3); /* in the load of words */
    for (u32 lane = 0; lane < 32; lane++) {
        for (u32 i = 0; i < 4; i++)
            assert_int_equal(words[lane * 5 + i], lane * 4 + i);
        /* elements 2 and 3 of row lane % 8 of matrix lane / 8 */
        assert_int_equal(words[lane * 5 + 4], (lane % 8 * 4 + 1) * 4 + lane / 8);
    }
}

RUN_TESTS(test_a_box_is_loaded, test_boxes_that_cannot_be, test_a_box_is_stored,
          test_one_thread_arrives, test_turns, test_stmatrix)
