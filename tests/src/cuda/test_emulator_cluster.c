/*
 * test_emulator_cluster.c - the emulator of CUDA kernels: blocks of a cluster that store to each
 * other's shared memory, and the mistakes it detects
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#define HEED_BF16 0

#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"
#include "hopper_scene.h"

#define THREADS 64
#define BLOCKS 8
#define ROUNDS 3
#define BYTES (THREADS * 8)
#define SLOTS_AT 1024
#define SHARED (SLOTS_AT + BYTES)

typedef enum mistake {
    NO_MISTAKE,
    NO_BARRIER,
    NO_CLUSTER_WAIT,
    NO_CLUSTER_ARRIVAL,
    ONE_BARRIER,
    TWO_ARRIVALS,
    TWO_WAITS,
    ONE_STAYS_AWAY,
    LATE_INIT,
    NO_INIT_FENCE,
    EARLY_READ,
    HALF_WAIT,
    SLOT_WRITTEN,
    SLOT_READ,
    TWO_STORES,
    FEWER_BYTES,
    MORE_BYTES,
    LEFT_BEFORE_BYTES,
    LEFT_BEFORE_STORES,
    LEFT_BEFORE_ALL,
    NEVER_WAITED,
    OTHER_BARRIER,
    NO_MAPA,
    NO_SUCH_BLOCK,
    MAPPED_TWICE,
    MAPPED_LOAD,
    MISALIGNED,
    OUT_OF_BOUNDS,
    MISTAKES
} mistake;

/* Each thread of a block passes a value to the next block of the cluster, several times. */
typedef struct ring {
    u32 blocks; /* per cluster */
    mistake mistake;
    u32 got[BLOCKS][ROUNDS][THREADS][2];
} ring;

static u32 barrier_at(void)
{
    return ptx_shared_base();
}

static u32 slot_at(u32 thread)
{
    return ptx_shared_base() + SLOTS_AT + thread * 8;
}

static void make_barrier(mistake wrong)
{
    if (ptx_thread() == 0) {
        ptx_mbarrier_init(barrier_at(), 1);
        if (wrong != NO_INIT_FENCE)
            ptx_fence_mbarrier_init();
    }
    ptx_barrier();
}

static u32 bytes_expected(mistake wrong)
{
    return wrong == FEWER_BYTES ? BYTES - 8 : wrong == MORE_BYTES ? BYTES + 8 : BYTES;
}

/* All blocks have started and have read the previous values. */
static void meet(mistake wrong, u32 round)
{
    bool none = wrong == NO_BARRIER || (wrong == ONE_BARRIER && round > 0) ||
                (wrong == ONE_STAYS_AWAY && ptx_cluster_rank() == 1 && ptx_thread() == 37);
    if (!none && wrong != NO_CLUSTER_ARRIVAL)
        ptx_cluster_arrive();
    if (wrong == TWO_ARRIVALS)
        ptx_cluster_arrive();
    if (wrong == SLOT_READ)
        ptx_ld_shared_8(slot_at(ptx_thread()));
    if (!none && wrong != NO_CLUSTER_WAIT)
        ptx_cluster_wait();
    if (wrong == TWO_WAITS)
        ptx_cluster_wait();
}

static void hand_on(const ring *it, u32 round)
{
    mistake wrong = it->mistake;
    u32 thread = ptx_thread(), slot = slot_at(thread), barrier = barrier_at();
    u32 to = wrong == NO_SUCH_BLOCK ? it->blocks : (ptx_cluster_rank() + 1) % it->blocks;
    heed_u32x2 x = { { ptx_block_x() * 1000 + round, thread } };
    if (wrong == MISALIGNED)
        slot += 4;
    if (wrong == OUT_OF_BOUNDS)
        slot += BYTES;
    if (wrong != NO_MAPA)
        slot = ptx_mapa(slot, to);
    if (wrong != OTHER_BARRIER)
        barrier = ptx_mapa(barrier, to);
    if (wrong == MAPPED_TWICE)
        slot = ptx_mapa(slot, to);
    if (wrong == MAPPED_LOAD)
        ptx_ld_shared_8(slot);
    ptx_st_async_8(slot, x, barrier);
    if (wrong == TWO_STORES)
        ptx_st_async_8(slot, x, barrier);
}

static void take(ring *it, u32 round)
{
    mistake wrong = it->mistake;
    u32 thread = ptx_thread();
    if (wrong == SLOT_WRITTEN)
        ptx_st_shared_4(slot_at(thread), 0);
    if (wrong == EARLY_READ) { /* all have stored, but the stores may not have arrived */
        ptx_cluster_arrive();
        ptx_cluster_wait();
    } else if (wrong != HALF_WAIT || thread < 32)
        ptx_mbarrier_wait(barrier_at(), round % 2);
    heed_u32x2 x = ptx_ld_shared_8(slot_at(thread ^ 1));
    memcpy(it->got[ptx_block_x()][round][thread], x.v, sizeof x.v);
    if (wrong == EARLY_READ)
        ptx_mbarrier_wait(barrier_at(), round % 2);
}

/* Returns whether the block exits now. Another one may do other things first. */
static bool leaves(mistake wrong)
{
    if (ptx_cluster_rank() == 1)
        return wrong == LEFT_BEFORE_BYTES || wrong == LEFT_BEFORE_STORES ||
               wrong == LEFT_BEFORE_ALL;
    for (int i = 0; wrong == LEFT_BEFORE_ALL && i < 3; i++)
        ptx_barrier();
    return false;
}

/* Lets time of the emulator pass, in which bytes arrive. */
static void linger(void)
{
    for (int i = 0; i < 10; i++)
        ptx_barrier();
}

static void hand_around(const void *args)
{
    ring *const *p = args;
    ring *it = *p;
    mistake wrong = it->mistake;
    heed_u32x2 nothing = { { 0, 0 } };
    bool expects = wrong != LEFT_BEFORE_STORES && wrong != LEFT_BEFORE_ALL;
    if (wrong != LATE_INIT)
        make_barrier(wrong);
    if (wrong == SLOT_READ)
        ptx_st_shared_8(slot_at(ptx_thread()), nothing);
    for (u32 round = 0; round < ROUNDS; round++) {
        if (ptx_thread() == 0 && expects && wrong != LATE_INIT)
            ptx_mbarrier_arrive_expect(barrier_at(), bytes_expected(wrong));
        meet(wrong, round);
        if (wrong == LATE_INIT && round == 0)
            make_barrier(wrong);
        if (leaves(wrong))
            return;
        hand_on(it, round);
        if (wrong == NEVER_WAITED) {
            linger();
            return;
        }
        take(it, round);
    }
}

static emulator_report run_ring(ring *it, u32 blocks, mistake wrong, uint64_t seed)
{
    const emulator_launch launch = { .kernel = hand_around,
                                     .args = &it,
                                     .grid = { BLOCKS, 1, 1 },
                                     .threads = THREADS,
                                     .shared_bytes = SHARED,
                                     .seed = seed,
                                     .cluster = blocks };
    *it = (ring){ .blocks = blocks, .mistake = wrong };
    return emulate(&launch);
}

static void assert_handed(const ring *it)
{
    for (u32 b = 0; b < BLOCKS; b++)
        for (u32 r = 0; r < ROUNDS; r++)
            for (u32 t = 0; t < THREADS; t++) {
                u32 first = b / it->blocks * it->blocks;
                u32 from = first + (b - first + it->blocks - 1) % it->blocks;
                assert_int_equal(it->got[b][r][t][0], from * 1000 + r);
                assert_int_equal(it->got[b][r][t][1], t ^ 1);
            }
}

static void test_blocks_store_to_each_other(void **state)
{
    static const u32 blocks[] = { 1, 2, 4, 8 };
    ring it;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            emulator_report report = run_ring(&it, blocks[i], NO_MISTAKE, seed);
            assert_clean(&report);
            assert_handed(&it);
        }
}

static void test_mistakes_between_blocks(void **state)
{
    static const struct {
        const char *race, *error; /* NULL: not checked */
    } says[MISTAKES] = {
        [NO_BARRIER] = { "stores to block 1, which may not have begun", "" },
        [NO_CLUSTER_WAIT] = { "stores to block 1, which may not have begun", "has not waited" },
        [NO_CLUSTER_ARRIVAL] = { "", "waits for the barrier of the cluster without having "
                                     "arrived" },
        [ONE_BARRIER] = { "stores to shared byte", NULL },
        [TWO_ARRIVALS] = { "", "arrives at the barrier of the cluster, but has not waited" },
        [TWO_WAITS] = { "", "waits for the barrier of the cluster without having arrived" },
        [ONE_STAYS_AWAY] = { "thread 37 of block 1 stores to block 0, which may not have begun",
                             "deadlock: thread 0 of block 0 waits for the barrier of the cluster "
                             "at test_emulator_cluster.c:" },
        [LATE_INIT] = { "counts a store at shared byte 1024 of block 1, which thread 0 of block 1 "
                        "wrote at",
                        NULL },
        [NO_INIT_FENCE] = { "missing fence.mbarrier_init", "" },
        [EARLY_READ] = { "which a copy that barrier 1024 of block", "" },
        [HALF_WAIT] = { "stores to shared byte", "" },
        [SLOT_WRITTEN] = { "stores to shared byte", NULL },
        [SLOT_READ] = { "stores to shared byte", "" },
        [TWO_STORES] = { "which a copy that barrier 1024 of block", NULL },
        [FEWER_BYTES] = { "", "is over before this store has come" },
        [MORE_BYTES] = { "", "deadlock: thread 0 of block 0 waits for a barrier in shared memory" },
        [LEFT_BEFORE_BYTES] = { "", "block 1 leaves, but barrier 1024 still awaits " },
        [LEFT_BEFORE_STORES] = { "", "block 1 leaves before this store to it has come" },
        [LEFT_BEFORE_ALL] = { "", "stores to block 1, which has left" },
        [NEVER_WAITED] = { "", "counts copies that no thread has waited for" },
        [OTHER_BARRIER] = { "", "and counts it at a barrier of block" },
        [NO_MAPA] = { "", "and counts it at a barrier of block" },
        [NO_SUCH_BLOCK] = { "", "to block 2 of a cluster of 2" },
        [MAPPED_TWICE] = { "", "maps shared byte" },
        [MAPPED_LOAD] = { "", "reads 8 bytes at shared byte 16" },
        [MISALIGNED] = { "", "stores to 8 bytes at shared byte" },
        [OUT_OF_BOUNDS] = { "", "; there are 1024 to 2560" },
    };
    ring it;
    for (int wrong = NO_MISTAKE + 1; wrong < MISTAKES; wrong++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            emulator_report report = run_ring(&it, 2, (mistake)wrong, seed);
            assert_true(report.race[0] || report.error[0]);
            assert_says(report.race, says[wrong].race);
            if (says[wrong].error)
                assert_report(&report, says[wrong].race, says[wrong].error);
        }
}

/* Until a store arrives, its target holds no defined value, not even the old one. */
static void test_stores_take_their_time(void **state)
{
    u32 under_way = 0;
    ring it;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        run_ring(&it, 2, EARLY_READ, seed);
        for (u32 r = 1; r < ROUNDS; r++)
            for (u32 t = 0; t < THREADS; t++) {
                const u32 *x = it.got[0][r][t];
                under_way += x[0] == UINT32_MAX && x[1] == UINT32_MAX;
                assert_true(x[0] == UINT32_MAX || x[0] == 1000 + r);
            }
    }
    assert_true(under_way > SEEDS);
}

RUN_TESTS(test_blocks_store_to_each_other, test_mistakes_between_blocks,
          test_stores_take_their_time)
