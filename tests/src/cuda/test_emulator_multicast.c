/*
 * test_emulator_multicast.c - the emulator of CUDA kernels: boxes loaded for all blocks of a
 * cluster, barriers at which threads of other blocks arrive, and which mistakes show
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEED_BF16 0

#include "emulator/map.h"
#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"
#include "hopper_scene.h"

#define THREADS 64
#define BLOCKS 2
#define ROUNDS 5
#define ROWS 8 /* of a box */
#define COLUMNS 64
#define BOX_BYTES (ROWS * COLUMNS * 2)
#define BOX_AT 1024
#define SHARED (BOX_AT + BOX_BYTES)

typedef enum mistake {
    NO_MISTAKE,
    NO_MEETING,     /* blocks load without knowing that the other one has begun */
    ONE_BLOCK,      /* a box is loaded for the other block alone */
    OWN_BARRIER,    /* a block tells itself twice that the box may be overwritten */
    ONE_ARRIVAL,    /* no block waits for the other one's arrival */
    NOT_FREE,       /* it waits for neither */
    LEAVES,         /* a block leaves without having met the other one */
    NO_EXPECTATION, /* nobody announces the bytes */
    MISTAKES
} mistake;

/* The blocks take turns at loading a box for both. */
typedef struct turns {
    heed_cuda_map map;
    mistake mistake;
    _Alignas(16) u16 tensor[ROUNDS * ROWS * COLUMNS];
    u16 got[BLOCKS][ROUNDS][ROWS][COLUMNS];
} turns;

static u32 full_at(void)
{
    return ptx_shared_base();
}

static u32 empty_at(void)
{
    return ptx_shared_base() + 8;
}

static void begin(mistake wrong)
{
    if (ptx_thread() == 0) {
        ptx_mbarrier_init(full_at(), 1);
        ptx_mbarrier_init(empty_at(), wrong == ONE_ARRIVAL ? 1 : BLOCKS);
        ptx_fence_mbarrier_init();
    }
    ptx_barrier();
    if (wrong != NO_MEETING) {
        ptx_cluster_arrive();
        ptx_cluster_wait();
    }
}

static void load_box(const turns *it, u32 round)
{
    mistake wrong = it->mistake;
    u32 rank = ptx_cluster_rank(), both = (1u << BLOCKS) - 1;
    if (round > 0 && wrong != NOT_FREE)
        ptx_mbarrier_wait(empty_at(), (round - 1) % 2);
    ptx_mbarrier_arrive_expect(full_at(), wrong == NO_EXPECTATION ? 0 : BOX_BYTES);
    if (round % BLOCKS == rank)
        ptx_tensor_load_cluster(ptx_shared_base() + BOX_AT, &it->map, full_at(), 0, 0,
                                (i32)(round * ROWS), 0, wrong == ONE_BLOCK ? 2U >> rank : both);
}

static void take_box(turns *it, u32 round)
{
    u16(*got)[COLUMNS] = it->got[ptx_cluster_rank()][round];
    ptx_mbarrier_wait(full_at(), round % 2);
    for (u32 row = 0; row < ROWS; row++)
        got[row][ptx_thread()] = ptx_ld_shared_u16(
            place(ptx_shared_base() + BOX_AT, row, ptx_thread()));
    ptx_barrier();
    if (ptx_thread() < BLOCKS) {
        u32 to = it->mistake == OWN_BARRIER ? ptx_cluster_rank() : ptx_thread();
        if (it->mistake != ONE_ARRIVAL || to == ptx_cluster_rank())
            ptx_mbarrier_arrive_cluster(ptx_mapa(empty_at(), to));
    }
}

static void take_turns(const void *args)
{
    turns *const *p = args;
    turns *it = *p;
    begin(it->mistake);
    for (u32 round = 0; round < ROUNDS; round++) {
        if (ptx_thread() == 0)
            load_box(it, round);
        take_box(it, round);
    }
    if (it->mistake != LEAVES) {
        ptx_cluster_arrive();
        ptx_cluster_wait();
    }
}

static turns *make_turns(void)
{
    static const int64_t dims[4] = { COLUMNS, 1, ROUNDS * ROWS, 1 };
    static const int64_t strides[3] = { COLUMNS * 2, COLUMNS * 2, 16 };
    static const int box[4] = { COLUMNS, 1, ROWS, 1 };
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, sizeof(turns)), 0);
    turns *it = memory;
    memset(it, 0, sizeof *it);
    emulator_map(&it->map, it->tensor, dims, strides, box);
    fill(it->tensor, ROUNDS * ROWS, COLUMNS, 0);
    return it;
}

static emulator_report run_turns(turns *it, mistake wrong, uint64_t seed)
{
    const emulator_launch launch = { .kernel = take_turns,
                                     .args = &it,
                                     .grid = { BLOCKS, 1, 1 },
                                     .threads = THREADS,
                                     .shared_bytes = SHARED,
                                     .seed = seed,
                                     .cluster = BLOCKS };
    it->mistake = wrong;
    return emulate(&launch);
}

static void test_boxes_reach_all_blocks(void **state)
{
    turns *it = make_turns();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        emulator_report report = run_turns(it, NO_MISTAKE, seed);
        assert_clean(&report);
        for (u32 block = 0; block < BLOCKS; block++)
            assert_memory_equal(it->got[block], it->tensor, sizeof it->tensor);
        memset(it->got, 0, sizeof it->got);
    }
    free(it);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *race, *error; /* NULL: differs from seed to seed */
    } says[MISTAKES] = {
        [NO_MEETING] = { "copies to block 1, which may not have begun", "" },
        [ONE_BLOCK] = { "", "deadlock: " },
        [OWN_BARRIER] = { "thread 0 of block 1 copies to shared byte 2048 of block 0", NULL },
        [ONE_ARRIVAL] = { "thread 0 of block 1 copies to shared byte 2048 of block 0", NULL },
        [NOT_FREE] = { "thread 0 of block 1 copies to shared byte 2048 of block 0", NULL },
        [LEAVES] = { "", ", which has left" },
        [NO_EXPECTATION] = { "thread 0 of block 0 reads shared byte 2048 of block 0",
                             "is over before this copy is done" },
    };
    turns *it = make_turns();
    for (int wrong = NO_MISTAKE + 1; wrong < MISTAKES; wrong++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            emulator_report report = run_turns(it, (mistake)wrong, seed);
            assert_says(report.race, says[wrong].race);
            if (says[wrong].error)
                assert_report(&report, says[wrong].race, says[wrong].error);
        }
    free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes_reach_all_blocks),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
