/*
 * test_emulated_merge.c - merge.cu on the emulator: two partial results are merged by their LSEs as
 * in double precision, nothing else is written, and rows that see no key or have NaN are handled
 */
#include "run_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/prefix.h"
#include "emulator/emulator.h"
#include "emulator/kernels/merge.h"
#include "lab/tensor/convert.h"
#include "lab/tensor/random.h"
#include "lab/verify/stage/region.h"

/* Strides of O and of the other part, for [3, 5, 2] rows. */
static const struct {
    heed_type type;
    int64_t dim;
    heed_strides o, part;
    bool wide;
} cases[] = {
    { HEED_F32, 24, { 240, 48, 24 }, { 240, 48, 24 }, true },
    { HEED_F16, 128, { 1280, 256, 128 }, { 256, 768, 128 }, true },
    { HEED_BF16, 576, { 5800, 1160, 576 }, { 5760, 1152, 576 }, true },
    { HEED_F16, 40, { 80, 240, 40 }, { 400, 80, 40 }, true },
    { HEED_F32, 3, { 31, 6, 3 }, { 30, 6, 3 }, false },
    { HEED_BF16, 17, { 34, 102, 17 }, { 170, 34, 17 }, false },
};

enum {
    BATCH = 3,
    SEQ = 5,
    HEADS = 2,
    ROWS = BATCH * SEQ * HEADS
};

typedef struct scene {
    heed_merge merge;
    lab_region o, part, rest_lse, part_lse, lse;
    float *expected_lse;
    void *before; /* O */
} scene;

static int64_t at(const heed_strides *s, int64_t row)
{
    return row / HEADS / SEQ * s->batch + row / HEADS % SEQ * s->seq + row % HEADS * s->head;
}

static int64_t extent(const heed_strides *s, int64_t dim)
{
    return (BATCH - 1) * s->batch + (SEQ - 1) * s->seq + (HEADS - 1) * s->head + dim;
}

static void make(lab_region *region, int64_t elements, size_t element)
{
    const size_t size = (size_t)elements * element;
    assert_int_equal(lab_region_create(region, size, 16, LAB_EDGE_START), HEED_OK);
    memset(region->data, 0xff, size);
}

/* Ordinary numbers, distant ones, and those of rows that see no key or have NaN. */
static float lse_of(int64_t row, bool part)
{
    static const float some[][2] = { { 0, 0 },         { 1, -1 },          { -3, 5 },
                                     { -INFINITY, 2 }, { 2, -INFINITY },   { -INFINITY, -INFINITY },
                                     { 300, -300 },    { -8000, -7999.5F } };
    return row == 20 && part ? NAN : some[row % 8][part];
}

static void fill(lab_region *region, const scene *s, const heed_strides *strides, uint64_t seed)
{
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t c = 0; c < s->merge.dim; c++)
            lab_element_set(s->merge.type, region->data, at(strides, row) + c,
                            lab_random_normal(seed, (uint64_t)(row * s->merge.dim + c)));
}

static void open_scene(scene *s, size_t n)
{
    const size_t element = heed_type_size(cases[n].type);
    *s = (scene){ .merge = { .type = cases[n].type,
                             .batch = BATCH,
                             .seq = SEQ,
                             .heads = HEADS,
                             .dim = cases[n].dim,
                             .o = cases[n].o,
                             .part = cases[n].part,
                             .lse = { HEADS * SEQ, 1, SEQ },
                             .part_lse = { SEQ, 1, BATCH * SEQ } } };
    make(&s->o, extent(&s->merge.o, s->merge.dim), element);
    make(&s->part, extent(&s->merge.part, s->merge.dim), element);
    make(&s->rest_lse, ROWS, sizeof(float));
    make(&s->part_lse, ROWS, sizeof(float));
    make(&s->lse, ROWS, sizeof(float));
    fill(&s->o, s, &s->merge.o, 1);
    fill(&s->part, s, &s->merge.part, 2);
    for (int64_t row = 0; row < ROWS; row++) {
        ((float *)(void *)s->rest_lse.data)[at(&s->merge.lse, row)] = lse_of(row, false);
        ((float *)(void *)s->part_lse.data)[at(&s->merge.part_lse, row)] = lse_of(row, true);
    }
    s->before = malloc(s->o.size);
    memcpy(s->before, s->o.data, s->o.size);
}

static void close_scene(scene *s)
{
    lab_region *const all[] = { &s->o, &s->part, &s->rest_lse, &s->part_lse, &s->lse };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        lab_region_destroy(all[i]);
    free(s->before);
}

/* Merges the rows of the first @end queries; the LSE is written to @lse. */
static void run(scene *s, bool wide, const int64_t *end, void *lse)
{
    const emulated_merge *code = emulated_merges[s->merge.type];
    const heed_merged merged = { .o = s->o.data,
                                 .part = s->part.data,
                                 .rest_lse = (float *)(void *)s->rest_lse.data,
                                 .part_lse = (float *)(void *)s->part_lse.data,
                                 .lse = lse };
    heed_cuda_merge_args args;
    emulator_report report;
    assert_int_equal(heed_cuda_merge_fill(&args, &s->merge), HEED_OK);
    heed_cuda_merge_place(&args, &merged, end, HEED_DATA_I64, 0);
    assert_true(!wide || heed_cuda_merge_aligned(&args));
    const emulator_launch launch = { .kernel = wide ? code->wide : code->any,
                                     .args = &args,
                                     .grid = { heed_cuda_merge_grid(&args), 1, 1 },
                                     .threads = HEED_MERGE_ROWS * 32 };
    if (!emulator_run(&launch, &report))
        fail_msg("%s: %s", code->name, emulator_complaint(&report));
}

static bool is_near(double x, double expected, double tolerance)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(x) : x == expected;
    return fabs(x - expected) <= tolerance * (1 + fabs(expected));
}

static void compare_row(const scene *s, int64_t row, const float *lse)
{
    static const double units[] = { 2e-6, 6e-4, 5e-3 };
    const heed_merge *m = &s->merge;
    const double a = (double)lse_of(row, false), b = (double)lse_of(row, true);
    const double top = a > b ? a : b;
    const double x = a == -INFINITY ? 0 : exp(a - top), y = b == -INFINITY ? 0 : exp(b - top);
    for (int64_t c = 0; c < m->dim; c++) {
        double mean = (x * lab_element_get(m->type, s->before, at(&m->o, row) + c) +
                       y * lab_element_get(m->type, s->part.data, at(&m->part, row) + c)) /
                      (x + y);
        mean = x + y == 0 ? 0 : mean;
        const double is = lab_element_get(m->type, s->o.data, at(&m->o, row) + c);
        if (!is_near(is, mean, units[m->type]))
            fail_msg("row %lld, column %lld: %g, not %g", (long long)row, (long long)c, is, mean);
    }
    const double all = x + y == 0 ? -INFINITY : top + log(x + y);
    if (lse && !is_near((double)lse[at(&m->lse, row)], all, 5e-7))
        fail_msg("row %lld: LSE %g, not %g", (long long)row, (double)lse[at(&m->lse, row)], all);
}

/* Only the rows are written: O is unchanged in padding and in rows from @end on. */
static void compare(const scene *s, int64_t end, const void *lse)
{
    const size_t element = heed_type_size(s->merge.type);
    unsigned char *mask = calloc(1, s->o.size);
    for (int64_t row = 0; row < ROWS; row++) {
        if (row / HEADS < end)
            compare_row(s, row, lse);
        for (size_t i = 0; row / HEADS < end && i < (size_t)s->merge.dim * element; i++)
            mask[(size_t)at(&s->merge.o, row) * element + i] = 1;
    }
    for (size_t i = 0; i < s->o.size; i++)
        assert_true(mask[i] || s->o.data[i] == ((unsigned char *)s->before)[i]);
    free(mask);
}

static void test_both_are_weighed(void **state)
{
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        for (int wide = 0; wide <= (cases[n].wide ? 1 : 0); wide++) {
            scene s;
            open_scene(&s, n);
            assert_int_equal(heed_cuda_merge_wide(&s.merge), cases[n].wide);
            run(&s, wide, NULL, s.lse.data);
            compare(&s, BATCH * SEQ, s.lse.data);
            close_scene(&s);
        }
}

/* The LSE may overwrite that of the other part, or not be requested. */
static void test_lse_in_place_or_not(void **state)
{
    scene s;
    open_scene(&s, 0);
    run(&s, true, NULL, s.rest_lse.data);
    compare(&s, BATCH * SEQ, s.rest_lse.data);
    close_scene(&s);
    open_scene(&s, 0);
    run(&s, true, NULL, NULL);
    compare(&s, BATCH * SEQ, NULL);
    close_scene(&s);
}

static void test_rows_behind_the_end(void **state)
{
    const int64_t ends[] = { 0, 7, BATCH * SEQ };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        scene s;
        open_scene(&s, 1);
        run(&s, true, &ends[i], s.lse.data);
        compare(&s, ends[i], s.lse.data);
        for (int64_t row = ends[i] * HEADS; row < ROWS; row++)
            assert_true(isnan(((float *)(void *)s.lse.data)[at(&s.merge.lse, row)]));
        close_scene(&s);
    }
}

static void test_too_many(void **state)
{
    const heed_merge merge = { .batch = 1 << 20, .seq = 1 << 8, .heads = 8, .dim = 1 };
    heed_cuda_merge_args args;
    assert_int_equal(heed_cuda_merge_fill(&args, &merge), HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(heed_message(), "31 bits"));
}

RUN_TESTS(test_both_are_weighed, test_lse_in_place_or_not, test_rows_behind_the_end, test_too_many)
