/*
 * test_emulator_mistakes.c - the emulator of CUDA kernels: copies and barriers, and the mistakes it
 * detects
 */
#include "run_tests.h"

#include "emulator/emulator.h"
#include "emulator/ptx.cuh"
#include "emulator_scene.h"

#define WARP 32

/* Each thread copies 16 bytes to shared memory and reads those of another thread. */
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
    emulator_report report = emulate_blocks(copy_and_read, &args, 3, 64, 1024);
    assert_clean(&report);
    for (int i = 0; i < 64; i++)
        assert_true(c.out[i] == (float)((i + 1) % 64));
    c.warp_barrier = true;
    c.distance = 0;
    report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_clean(&report);
}

static void test_a_missing_wait_is_caught(void **state)
{
    copying c = copy_case();
    copying *args = &c;
    c.no_wait = true;
    emulator_report report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_int_equal(report.races, 64);
    assert_says(report.race, "is copying to");
    assert_true(c.out[5] != c.out[5]);
    c.distance = 0;
    report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_says(report.race, "has not waited");
    assert_true(c.out[5] != c.out[5]);
}

static void test_a_missing_barrier_is_caught(void **state)
{
    copying c = copy_case();
    copying *args = &c;
    c.no_barrier = true;
    emulator_report report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_true(report.races > 0);
    assert_says(report.race, "test_emulator_mistakes.c:");
    c.no_barrier = false;
    c.early = true; /* useless before the wait */
    report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_true(report.races > 0);
    c.early = false;
    c.warp_barrier = true; /* does not synchronize with the other warp */
    report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_int_equal(report.races, 2);
    c = copy_case();
    c.again = true; /* while others may still read */
    report = emulate_blocks(copy_and_read, &args, 1, 64, 1024);
    assert_int_equal(report.races, 64);
    assert_says(report.race, "copies to shared byte");
    assert_says(report.race, "read at");
}

/* Groups of copies: with one group still pending, the first has completed and the second has
 * not. */
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
    emulator_report report = emulate_blocks(copy_in_groups, &args, 1, WARP, WARP * 48);
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
    TWO_PLACES,
    APART,
    BAD_BARRIER
} mistake;

/* Mistakes of a thread whose 4 bytes of shared memory are @at. */
static void access_badly(mistake which, u32 thread, u32 at)
{
    heed_u32x4 x = { { 0 } };
    switch (which) {
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
    default:
        break;
    }
}

static void wait_badly(mistake which, u32 thread)
{
    switch (which) {
    case NO_MISTAKE:
        ptx_barrier_named(1 + (int)thread / WARP, WARP);
        break;
    case LEFT_BEFORE_A_BARRIER:
        if (thread < WARP)
            ptx_barrier();
        break;
    case LEFT_BEFORE_A_SHUFFLE:
        if (thread != 40)
            (void)ptx_shfl_xor_u32(thread, 1);
        break;
    case TWO_BARRIERS:
        ptx_barrier_named(1 + (int)thread / WARP, 64);
        break;
    case TWO_PLACES:
        if (thread < WARP)
            ptx_barrier();
        else
            ptx_barrier();
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
    default:
        break;
    }
}

static void mistaken(const void *args)
{
    const mistake which = *(const mistake *)args;
    const u32 thread = ptx_thread(), at = ptx_shared_base() + thread * 4;
    ptx_st_shared_4(at, thread);
    ptx_barrier();
    access_badly(which, thread, at);
    wait_badly(which, thread);
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
        { TWO_PLACES, "", "threads wait at barrier 0 here and at test_emulator_mistakes.c:" },
        { APART, "",
          "thread 0 waits for thread 1 of its warp, which waits at test_emulator_mistakes.c" },
        { BAD_BARRIER, "", "barrier 16 of 64 threads" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emulator_report report = emulate_blocks(mistaken, &cases[i].which, 1, 64, 512);
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
    assert_says(emulate_blocks(mistaken, &none, 1, 33, 512).error, "a block of 33 threads");
    assert_says(emulate_blocks(mistaken, &none, 1, 0, 512).error, "a block of 0 threads");
    assert_says(emulate_blocks(mistaken, &none, 1, 2048, 512).error, "a block of 2048 threads");
    assert_says(emulate_blocks(mistaken, &none, 1, 64, 232449).error,
                "232449 bytes of shared memory");
}

/* Any lane may write memory that ldmatrix has read, but not memory that other lanes have read;
 * ldmatrix may not read what lanes wrote without a warp barrier. */
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
    emulator_report report = emulate_blocks(write_after_ldmatrix, &right, 2, WARP, 512);
    assert_clean(&report);
    report = emulate_blocks(write_after_ldmatrix, &alone, 1, WARP, 512);
    assert_int_equal(report.races, WARP);
    report = emulate_blocks(write_after_ldmatrix, &early, 1, WARP, 512);
    assert_int_equal(report.races, WARP);
}

/* Records of 16 bytes as a whole, and their parts individually. */
typedef enum parts {
    PART_AFTER_WHOLE_READ,
    WHOLE_AFTER_PART_READ,
    PART_AFTER_WHOLE_WRITE,
    WHOLE_AFTER_PART_WRITE,
    PARTS_BY_THEMSELVES,
    WHOLE_AGAIN,
    PART_NEVER_WRITTEN
} parts;

static void access_parts(const void *args)
{
    parts which = *(const parts *)args;
    u32 at = ptx_shared_base();
    bool first = ptx_thread() == 0, second = ptx_thread() == WARP;
    heed_u32x4 x = { { 0 } };
    if (first)
        ptx_st_shared_16(at, x);
    if (first && which == WHOLE_AGAIN)
        ptx_st_shared_u16(at + 6, 1);
    ptx_barrier();
    if (first && which == PART_AFTER_WHOLE_READ)
        (void)ptx_ld_shared_16(at);
    if (first && which == WHOLE_AFTER_PART_READ)
        (void)ptx_ld_shared_u16(at + 6);
    if (first && (which == PART_AFTER_WHOLE_WRITE || which == WHOLE_AGAIN))
        ptx_st_shared_16(at, x);
    if (first && (which == WHOLE_AFTER_PART_WRITE || which == PARTS_BY_THEMSELVES))
        ptx_st_shared_u16(at + 6, 1);
    if (which == WHOLE_AGAIN)
        ptx_barrier();
    if (second && which == PART_AFTER_WHOLE_READ)
        ptx_st_shared_u16(at + 14, 1);
    if (second && which == WHOLE_AFTER_PART_READ)
        ptx_st_shared_16(at, x);
    if (second && (which == PART_AFTER_WHOLE_WRITE || which == WHOLE_AGAIN))
        (void)ptx_ld_shared_u16(at + 14);
    if (second && which == WHOLE_AFTER_PART_WRITE)
        (void)ptx_ld_shared_16(at);
    if (second && which == PARTS_BY_THEMSELVES)
        ptx_st_shared_u16(at + 8, 1);
    if (second && which == PART_NEVER_WRITTEN) {
        ptx_st_shared_u16(at + 16, 1);
        (void)ptx_ld_shared_u16(at + 16);
        (void)ptx_ld_shared_16(at + 16);
    }
}

static void test_parts_and_wholes(void **state)
{
    static const struct {
        parts which;
        const char *race;
    } cases[] = {
        { PART_AFTER_WHOLE_READ, "thread 32 writes shared byte 1038, which thread 0 read" },
        { WHOLE_AFTER_PART_READ, "thread 32 writes shared byte 1024, which thread 0 read" },
        { PART_AFTER_WHOLE_WRITE, "thread 32 reads shared byte 1038, which thread 0 wrote" },
        { WHOLE_AFTER_PART_WRITE, "thread 32 reads shared byte 1024, which thread 0 wrote" },
        { PARTS_BY_THEMSELVES, "" },
        { WHOLE_AGAIN, "" },
        { PART_NEVER_WRITTEN, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emulator_report report = emulate_blocks(access_parts, &cases[i].which, 2, 64, 32);
        assert_report(&report, cases[i].race, "");
        assert_int_equal(report.races, cases[i].race[0] ? 2 : 0);
        assert_int_equal(report.uninitialised, cases[i].which == PART_NEVER_WRITTEN ? 2 : 0);
    }
}

RUN_TESTS(test_a_copy_arrives, test_a_missing_wait_is_caught, test_a_missing_barrier_is_caught,
          test_groups_arrive_in_order, test_mistakes_are_caught, test_launches_that_cannot_be,
          test_matrices_and_other_accesses, test_parts_and_wholes)
