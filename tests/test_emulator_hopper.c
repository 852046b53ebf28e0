/*
 * test_emulator_hopper.c - the emulator of CUDA kernels: what is asynchronous since compute
 * capability 9.0, and which mistakes show
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEED_BF16 0

#include "emulator/emulator.h"
#include "emulator/map.h"
#include "emulator/ptx.cuh"
#include "emulator/ptx_hopper.cuh"

#define GROUP 128
#define SEEDS 8

static emulator_report run(void (*kernel)(const void *args), const void *args, uint32_t threads,
                           uint32_t shared_bytes, uint64_t seed)
{
    const emulator_launch launch = { .kernel = kernel,
                                     .args = args,
                                     .grid = { 2, 1, 1 },
                                     .threads = threads,
                                     .shared_bytes = shared_bytes,
                                     .seed = seed };
    emulator_report report;
    bool fine = emulator_run(&launch, &report);
    assert_int_equal(fine, report.error[0] == '\0' && report.races == 0);
    return report;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* What a run must say: nothing where a text is "". */
static void assert_report(const emulator_report *report, const char *race, const char *error)
{
    assert_says(report->race, race);
    assert_says(report->error, error);
    if (race[0] == '\0')
        assert_string_equal(report->race, "");
    if (error[0] == '\0')
        assert_string_equal(report->error, "");
}

/* Small whole numbers and halves, of which all sums are exact. */
static float number(int row, int column)
{
    return (float)((row * 7 + column * 5 + row * column) % 17 - 8) * 0.5f;
}

static void fill(u16 *to, int rows, int columns, int salt)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            to[r * columns + c] = ptx_f32_to_f16(number(r + salt, c));
}

/* The descriptor of what is at @smem. */
static u64 describe(u32 smem, u32 leading, u32 stride)
{
    return (u64)(smem >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | 1ull << 62;
}

/* Where element @column of row @row of a box at @smem is. */
static u32 place(u32 smem, u32 row, u32 column)
{
    return smem + row * 128 + (column / 8 ^ row % 8) * 16 + column % 8 * 2;
}

/* -------------------------------------------------------------------------- */
/* Boxes                                                                      */
/* -------------------------------------------------------------------------- */

#define COLUMNS 72
#define HEADS 3
#define ROWS 10

/* A tensor of batch 1, in boxes of 2 heads and 8 rows, and what of a box came. */
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
    b->misplaced = 2048; /* ends too late */
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
/* A pipeline                                                                 */
/* -------------------------------------------------------------------------- */

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
    float early; /* a sum that was read before the wait */
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

/* A warpgroup that computes, and a warp of which a thread loads. */
static void pipe(const void *args)
{
    pipeline *const *p = args;
    pipeline *it = *p;
    if (ptx_thread() == GROUP && it->mistake != NO_INIT) {
        ptx_mbarrier_init(full(), 1);
        ptx_mbarrier_init(empty(), 4);
        ptx_mbarrier_init(a_full(), it->mistake == TOO_MANY_ARRIVALS ? 2 : 1);
        if (it->mistake == TOO_MANY_ARRIVALS)
            ptx_mbarrier_arrive_expect(a_full(), 128); /* which never come */
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
        [FULL_PARITY] = { "", NULL }, /* it waits in vain, or not at all */
        [NO_EMPTY_WAIT] = { "", "for whose phase all 1 have come" },
        [FULL_FOR_EMPTY] = { "a wgmma reads", NULL },
        [EMPTY_PARITY] = { "", "deadlock: thread 0 waits for a barrier in shared memory at "
                               "test_emulator_hopper.c:" },
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
        [NO_SWIZZLE] = { "", "128-byte swizzle" },
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

/* -------------------------------------------------------------------------- */
/* Products                                                                   */
/* -------------------------------------------------------------------------- */

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
    p->two_groups = true; /* of which one is not waited for: a sum of it is NaN */
    report = run(multiply, &p, GROUP, 4096, 0);
    assert_report(&report, "", "");
    assert_int_equal(count_right(p), 64 * 128 - GROUP);
    assert_true(p->d[8][9] != p->d[8][9]);
    p->two_groups = false;
    p->a_written = true; /* it was still to be read */
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

/* -------------------------------------------------------------------------- */
/* Stores                                                                     */
/* -------------------------------------------------------------------------- */

typedef struct storing {
    heed_cuda_map map;
    _Alignas(16) u16 tensor[(ROWS + 1) * 64];
    bool no_fence, late_fence, no_barrier, no_commit, no_wait, no_wait_before_write;
} storing;

/* Threads leave a box of 16 rows, which goes to a tensor of fewer; then they write it anew. */
static void store_box(const void *args)
{
    storing *const *p = args;
    storing *it = *p;
    u32 smem = ptx_shared_base(), thread = ptx_thread();
    for (u32 turn = 0; turn < 2; turn++) {
        for (u32 i = thread; i < 16 * 64; i += 64)
            ptx_st_shared_u16(place(smem, i / 64, i % 64), (u16)(i + turn));
        if (!it->no_fence && !it->late_fence)
            ptx_fence_async();
        if (!it->no_barrier)
            ptx_barrier();
        if (it->late_fence)
            ptx_fence_async();
        if (thread == 63) {
            ptx_tensor_store(&it->map, smem, 0, 0, 0, 0);
            if (!it->no_commit)
                ptx_bulk_commit();
            if (turn == 0 ? !it->no_wait_before_write : !it->no_wait)
                ptx_bulk_wait_read();
        }
        ptx_barrier();
    }
}

static void test_a_box_is_stored(void **state)
{
    static const int64_t dims[4] = { 56, 1, ROWS, 1 }, strides[3] = { 128, 128, 16 };
    static const int box[4] = { 64, 1, 16, 1 };
    _Alignas(64) static storing clean;
    emulator_map(&clean.map, clean.tensor, dims, strides, box);
    memset(clean.tensor, 0x55, sizeof clean.tensor);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        storing it = clean, *args = &it;
        emulator_map(&it.map, it.tensor, dims, strides, box);
        emulator_report report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "", "");
        for (int i = 0; i < (ROWS + 1) * 64; i++)
            assert_int_equal(it.tensor[i], i % 64 < 56 && i < ROWS * 64 ? i + 1 : 0x5555);
        it.no_fence = true;
        report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "missing fence.proxy.async", "");
        it.no_fence = false;
        it.late_fence = true; /* those who stored had to */
        report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "missing fence.proxy.async", "");
        it.late_fence = false;
        it.no_barrier = true;
        report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "stores from shared byte 1024, which thread", "");
        it.no_barrier = false;
        it.no_wait_before_write = true;
        report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "which a store that thread 63 started reads at", "");
        it.no_wait_before_write = false;
        it.no_wait = true;
        report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "", "leaves before this store has read");
        it.no_commit = true;
        report = run(store_box, &args, 64, 2048, seed);
        assert_report(&report, "", "is not in a group");
    }
}

/* -------------------------------------------------------------------------- */
/* Barriers                                                                   */
/* -------------------------------------------------------------------------- */

/* Threads wait for a barrier, at which one arrives after it has stored. */
typedef struct arrival {
    bool alone; /* another thread stored */
    bool twice; /* goes round a second time before the others have seen the first */
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
    it.alone = true; /* what the rest of its warp did is not meant */
    report = run(arrive, &args, 64, 1024, 0);
    assert_report(&report, "which thread 62 wrote", "");
    assert_int_equal(report.races, 2 * 62);
    it.alone = false;
    it.twice = true;
    report = run(arrive, &args, 64, 1024, 0);
    assert_report(&report, "", "and the next one is over");
}

/* Warps take turns: one arrives where the other one waits. */
typedef struct turns {
    int arrivals; /* 1 is right */
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

/* What stmatrix stores, ldmatrix loads again. */
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
    assert_int_equal(report.conflicts, 2 * 3); /* of the load of words */
    for (u32 lane = 0; lane < 32; lane++) {
        for (u32 i = 0; i < 4; i++)
            assert_int_equal(words[lane * 5 + i], lane * 4 + i);
        /* elements 2 and 3 of row lane % 8 of matrix lane / 8 */
        assert_int_equal(words[lane * 5 + 4], (lane % 8 * 4 + 1) * 4 + lane / 8);
    }
}

static void share_registers(const void *args)
{
    const int *counts = args;
    if (ptx_thread() < GROUP)
        ptx_setmaxnreg_inc(counts[0]);
    else if (ptx_thread() / 32 == 4)
        ptx_setmaxnreg_dec(counts[1]);
    else
        ptx_setmaxnreg_dec(counts[2]);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_box_is_loaded),
        cmocka_unit_test(test_boxes_that_cannot_be),
        cmocka_unit_test(test_a_pipeline),
        cmocka_unit_test(test_mistakes_in_a_pipeline),
        cmocka_unit_test(test_a_product_from_registers),
        cmocka_unit_test(test_specials_in_a_product),
        cmocka_unit_test(test_stores_before_a_product),
        cmocka_unit_test(test_a_box_is_stored),
        cmocka_unit_test(test_one_thread_arrives),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_stmatrix),
        cmocka_unit_test(test_registers_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
