/*
 * test_cuda_maps.c - tensor maps for the tensor memory accelerator (fake_cuda.h)
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>

#include "cuda/driver/driver.h"
#include "cuda/maps.h"
#include "cuda_scene.h"
#include "expect.h"
#include "internal.h"

#define TILE 128

/* Makes the maps of @spec on a new device. */
static heed_status make_wide(const char *spec, int64_t tile, int columns,
                             heed_cuda_mapped_args *args)
{
    heed_problem problem = scene_problem(spec);
    heed_context *context = scene_open("cuda");
    memset(args, 0, sizeof *args);
    assert_int_equal(heed_cuda_enter(context->cuda), HEED_OK);
    heed_status status = heed_cuda_make_maps(context->cuda, &problem, tile, columns, args);
    heed_cuda_leave(context->cuda);
    heed_context_destroy(context);
    return status;
}

static heed_status make(const char *spec, int64_t tile, heed_cuda_mapped_args *args)
{
    return make_wide(spec, tile, HEED_MAP_COLUMNS, args);
}

static fake_map read_map(const heed_cuda_map *map)
{
    fake_map seen;
    memcpy(&seen, map, sizeof seen);
    assert_true(seen.mark == FAKE_MAP_MARK);
    return seen;
}

/* The expected map, from the innermost dimension outwards. */
typedef struct expected {
    unsigned long long dims[4], strides[3]; /* in bytes */
    unsigned box[4];
} expected;

static void expect_map(const char *spec, char name, const heed_cuda_map *map, const expected *it,
                       int type)
{
    fake_map seen = read_map(map);
    for (int i = 0; i < 4; i++)
        if (seen.dims[i] != it->dims[i] || seen.box[i] != it->box[i] ||
            (i < 3 && seen.strides[i] != it->strides[i]))
            fail_msg("%s: %c: dimension %d is of %llu in boxes of %u, stride %llu", spec, name, i,
                     seen.dims[i], seen.box[i], i < 3 ? seen.strides[i] : 0);
    assert_int_equal(seen.type, type);
    assert_int_equal(seen.swizzle, CU_MAP_SWIZZLE_128);
    assert_int_equal(seen.l2, CU_MAP_L2_256);
    assert_int_equal(seen.fill, CU_MAP_ZEROS);
}

/* Narrower rows have a smaller swizzle, and rows of at most 16 bytes none. */
static void test_narrow(void **state)
{
    static const struct {
        int columns, swizzle;
    } cases[] = { { 8, CU_MAP_SWIZZLE_NONE },
                  { 16, CU_MAP_SWIZZLE_32 },
                  { 32, CU_MAP_SWIZZLE_64 },
                  { 64, CU_MAP_SWIZZLE_128 } };
    heed_cuda_mapped_args args;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const heed_cuda_map *const maps[] = { &args.q, &args.k, &args.v, &args.o };
        assert_int_equal(make_wide("b1 h2 s200 d64 f16", TILE, cases[i].columns, &args), HEED_OK);
        for (size_t j = 0; j < 4; j++) {
            fake_map seen = read_map(maps[j]);
            assert_int_equal(seen.box[0], cases[i].columns);
            assert_int_equal(seen.swizzle, cases[i].swizzle);
        }
    }
    assert_int_equal(make_wide("b1 h2 s200 d64 f16", TILE, 24, &args), HEED_ERR_INVALID);
    assert_string_equal(heed_message(), "a box has 24 columns; it must be 8, 16, 32 or 64");
}

/* Groups whose size divides 64 are packed into a box, others are not; strides of dimensions of size
 * 1 are replaced by valid ones. */
static void test_what_is_mapped(void **state)
{
    static const struct {
        const char *spec;
        int type;
        expected q, k, v, o;
    } cases[] = {
        { "b2 h4 s1000/2000 d64 f16",
          CU_MAP_F16,
          { { 64, 4, 1000, 2 }, { 128, 512, 512000 }, { 64, 1, 64, 1 } },
          { { 64, 4, 2000, 2 }, { 128, 512, 1024000 }, { 64, 1, TILE, 1 } },
          { { 64, 4, 2000, 2 }, { 128, 512, 1024000 }, { 64, 1, TILE, 1 } },
          { { 64, 4, 1000, 2 }, { 128, 512, 512000 }, { 64, 1, 64, 1 } } },
        { "b2 h16/2 s100 d128/40 bf16 layout=bhsd",
          CU_MAP_BF16,
          { { 128, 16, 100, 2 }, { 25600, 256, 409600 }, { 64, 8, 8, 1 } },
          { { 128, 2, 100, 2 }, { 25600, 256, 51200 }, { 64, 1, TILE, 1 } },
          { { 40, 2, 100, 2 }, { 8000, 80, 16000 }, { 64, 1, TILE, 1 } },
          { { 40, 16, 100, 2 }, { 8000, 80, 128000 }, { 64, 8, 8, 1 } } },
        { "b1 h6/2 s100 d64 f16", /* groups of 3 */
          CU_MAP_F16,
          { { 64, 6, 100, 1 }, { 128, 768, 16 }, { 64, 1, 64, 1 } },
          { { 64, 2, 100, 1 }, { 128, 256, 16 }, { 64, 1, TILE, 1 } },
          { { 64, 2, 100, 1 }, { 128, 256, 16 }, { 64, 1, TILE, 1 } },
          { { 64, 6, 100, 1 }, { 128, 768, 16 }, { 64, 1, 64, 1 } } },
        { "b1 h1 s1/300 d72 f16 q=3:5:7 k=0:72:1",
          CU_MAP_F16,
          { { 72, 1, 1, 1 }, { 16, 16, 16 }, { 64, 1, 64, 1 } },
          { { 72, 1, 300, 1 }, { 16, 144, 16 }, { 64, 1, TILE, 1 } },
          { { 72, 1, 300, 1 }, { 16, 144, 16 }, { 64, 1, TILE, 1 } },
          { { 72, 1, 1, 1 }, { 16, 16, 16 }, { 64, 1, 64, 1 } } },
        { "b1 h128/2 s8 d64 f16", /* groups of 64, which fill a box */
          CU_MAP_F16,
          { { 64, 128, 8, 1 }, { 128, 16384, 16 }, { 64, 64, 1, 1 } },
          { { 64, 2, 8, 1 }, { 128, 256, 16 }, { 64, 1, TILE, 1 } },
          { { 64, 2, 8, 1 }, { 128, 256, 16 }, { 64, 1, TILE, 1 } },
          { { 64, 128, 8, 1 }, { 128, 16384, 16 }, { 64, 64, 1, 1 } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_cuda_mapped_args args;
        const char *spec = cases[i].spec;
        const char *why;
        heed_problem problem = scene_problem(spec);
        assert_true(heed_cuda_can_map(&problem, &why));
        if (make(spec, TILE, &args) != HEED_OK)
            fail_msg("%s: %s", spec, heed_message());
        expect_map(spec, 'q', &args.q, &cases[i].q, cases[i].type);
        expect_map(spec, 'k', &args.k, &cases[i].k, cases[i].type);
        expect_map(spec, 'v', &args.v, &cases[i].v, cases[i].type);
        expect_map(spec, 'o', &args.o, &cases[i].o, cases[i].type);
    }
}

/* A bias has boxes of as many rows as those of q. */
static void test_bias(void **state)
{
    static const struct {
        const char *spec;
        bool fits;
        int type;
        expected it;
    } cases[] = {
        { "b2 h4 s256 d64 f16 bias=bf16:hq",
          true,
          CU_MAP_BF16,
          { { 256, 4, 256, 1 }, { 131072, 512, 16 }, { 64, 1, 64, 1 } } },
        { "b2 h4/2 s100/64 d64 bf16 bias=f16:bhq",
          true,
          CU_MAP_F16,
          { { 64, 4, 100, 2 }, { 12800, 128, 51200 }, { 64, 2, 32, 1 } } },
        { "b2 h6/2 s100/64 d64 f16 bias=f16:q",
          true,
          CU_MAP_F16,
          { { 64, 1, 100, 1 }, { 16, 128, 16 }, { 64, 1, 64, 1 } } },
        { .spec = "b2 h4/2 s100/64 d64 f16 bias=f16:q" },
        { .spec = "b2 h4 s100/64 d64 f16 bias=f16:bh" },
        { .spec = "b2 h4 s100/64 d64 f16 bias=f32:hq" },
        { .spec = "b2 h4 s64/100 d64 f16 bias=f16:hq" },
        { .spec = "b2 h4 s100/64 d64 f16" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_problem problem = scene_problem(cases[i].spec);
        heed_cuda_map map;
        if (heed_cuda_bias_mapped(&problem).fits != cases[i].fits)
            fail_msg("%s: %s", cases[i].spec, cases[i].fits ? "does not fit" : "fits");
        if (!cases[i].fits)
            continue;
        heed_context *context = scene_open("cuda");
        assert_int_equal(heed_cuda_enter(context->cuda), HEED_OK);
        assert_int_equal(heed_cuda_make_bias_map(context->cuda, &problem, HEED_MAP_COLUMNS, &map),
                         HEED_OK);
        expect_map(cases[i].spec, 'b', &map, &cases[i].it, cases[i].type);
        heed_cuda_leave(context->cuda);
        heed_context_destroy(context);
    }
}

/* The arguments describe groups that are not packed as separate heads. */
static void test_groups_that_are_not_packed(void **state)
{
    static const text_integer cases[] = {
        { "b2 h4 s100 d64 f16", 4 },     { "b2 h4/2 s100 d64 f16", 2 },
        { "b2 h6/2 s100 d64 f16", 6 },   { "b2 h64/1 s100 d64 f16", 1 },
        { "b2 h128/1 s8 d64 f16", 128 }, { "b2 h40/2 s8 d64 f16", 40 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_problem problem = scene_problem(cases[i].text);
        heed_problem seen = heed_cuda_mapped_problem(&problem);
        assert_int_equal(seen.heads_kv, cases[i].value);
        assert_int_equal(seen.heads_q, problem.heads_q);
    }
}

static void test_what_cannot_be_mapped(void **state)
{
    static const struct {
        const char *spec;
        int64_t tile;
        const char *words[5];
    } cases[] = {
        { "b2 h4 s256 d64 f16 k=66560:260:64", TILE, { "k: seq stride is 260", "multiples of 8" } },
        { "b2 h4 s256 d64 f16 q=65540:256:64", TILE, { "q: batch stride is 65540" } },
        { "b2 h4 s256 d64 f16 v=67584:264:65", TILE, { "v: head stride is 65;", "needs 8 to" } },
        { "b2 h4 s256 d64 f16 o=67592:264:66", TILE, { "o: head stride is 66" } },
        { "b2 h4 s256 d64 f16 k=0:256:64", TILE, { "k: batch stride is 0", "needs 8 to" } },
        { "b2 h1 s8 d64 f16 v=549755813888:64:64",
          TILE,
          { "v: batch stride is 549755813888", "to 549755813880" } },
        { "b1 h1 s8 d64 f16", 0, { "0 keys", "1 to 256" } },
        { "b1 h1 s8 d64 f16", 257, { "257 keys", "1 to 256" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_cuda_mapped_args args;
        const char *why = NULL;
        heed_problem problem = scene_problem(cases[i].spec);
        assert_int_equal(heed_cuda_can_map(&problem, &why), cases[i].tile != TILE);
        assert_non_null(strstr(why, "below 2^39"));
        assert_true(is_refused(cases[i].spec, make(cases[i].spec, cases[i].tile, &args),
                               HEED_ERR_UNSUPPORTED, cases[i].words));
    }
}

/* The largest stride is just below the limit. */
static void test_far_rows(void **state)
{
    heed_cuda_mapped_args args;
    assert_int_equal(make("b2 h1 s8 d64 f16 v=549755813880:64:64", TILE, &args), HEED_OK);
    assert_true(read_map(&args.v).strides[2] == ((unsigned long long)1 << 40) - 16);
}

/* The addresses of an execution are written to its copy; the template is unchanged. */
static void test_addresses(void **state)
{
    static char memory[256] __attribute__((aligned(64)));
    heed_cuda_mapped_args template, copy;
    assert_int_equal(make("b2 h4 s256 d64 f16", TILE, &template), HEED_OK);
    fake_map before = read_map(&template.k);
    heed_context *context = scene_open("cuda");
    copy = template;
    copy.args.q = memory + 16;
    copy.args.k = memory + 32;
    copy.args.v = memory + 48;
    copy.args.o = memory + 64;
    assert_int_equal(heed_cuda_enter(context->cuda), HEED_OK);
    int calls = fake->calls;
    assert_int_equal(heed_cuda_place_maps(context->cuda, &copy, NULL), HEED_OK);
    assert_int_equal(fake->calls - calls, 4);
    heed_cuda_leave(context->cuda);
    assert_ptr_equal(read_map(&copy.q).address, copy.args.q);
    assert_ptr_equal(read_map(&copy.k).address, copy.args.k);
    assert_ptr_equal(read_map(&copy.v).address, copy.args.v);
    assert_ptr_equal(read_map(&copy.o).address, copy.args.o);
    assert_true(read_map(&copy.k).strides[1] == before.strides[1]);
    assert_ptr_equal(read_map(&template.k).address, before.address);
    heed_context_destroy(context);
}

/* A map that the driver refuses is an error that names the tensor. */
static void test_what_the_driver_refuses(void **state)
{
    static const char *const encode[] = { "mapping v (2 x 256 x 4 x 64, in boxes of 128 rows by 1",
                                          "CUDA_ERROR_INVALID_VALUE", NULL };
    static const char *const replace[] = { "mapping k at 0x", "CUDA_ERROR_INVALID_VALUE", NULL };
    static const char *const outside[] = { "mapping q", "invalid device context", NULL };
    static char memory[64] __attribute__((aligned(64)));
    heed_cuda_mapped_args args;
    scene_fail_at("cuTensorMapEncodeTiled", 3, 1);
    assert_true(
        is_refused("encode", make("b2 h4 s256 d64 f16", TILE, &args), HEED_ERR_DEVICE, encode));
    scene_fail_at("cuTensorMapEncodeTiled", 1, 700);
    assert_int_equal(make("b2 h4 s256 d64 f16", TILE, &args), HEED_ERR_LOST);
    scene_fail_at(NULL, 0, 0);
    assert_int_equal(make("b2 h4 s256 d64 f16", TILE, &args), HEED_OK);
    heed_context *context = scene_open("cuda");
    args.args = (heed_cuda_args){ .q = memory, .k = memory + 8, .v = memory, .o = memory };
    assert_int_equal(heed_cuda_enter(context->cuda), HEED_OK);
    assert_true(is_refused("replace", heed_cuda_place_maps(context->cuda, &args, NULL),
                           HEED_ERR_DEVICE, replace));
    heed_cuda_leave(context->cuda);
    assert_true(is_refused("outside", heed_cuda_place_maps(context->cuda, &args, NULL),
                           HEED_ERR_DEVICE, outside));
    heed_context_destroy(context);
}

RUN_SCENE_TESTS(scene_begin, test_what_is_mapped, test_narrow, test_bias,
                test_groups_that_are_not_packed, test_what_cannot_be_mapped, test_far_rows,
                test_addresses, test_what_the_driver_refuses)
