/*
 * test_stage.c - guarded memory: writes to all places, and which of them are detected
 */
#include "run_tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "contexts.h"
#include "lab/tensor/convert.h"
#include "lab/verify/append.h"
#include "lab/verify/inputs.h"
#include "lab/verify/stage/mirror.h"
#include "lab/verify/stage/stage.h"
#include "problems.h"

/* -------------------------------------------------------------------------- */
/* Regions                                                                    */
/* -------------------------------------------------------------------------- */

static void test_regions_lie_against_a_wall(void **state)
{
    static const size_t sizes[] = { 1, 2, 100, 4095, 4096, 4097, 100000 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t alignment = 1; alignment <= 64; alignment *= 4) {
            lab_region region;
            assert_int_equal(lab_region_create(&region, sizes[i], alignment, LAB_EDGE_END),
                             HEED_OK);
            size_t after = (size_t)(region.room + region.room_size - region.data) - sizes[i];
            assert_true(after < alignment);
            assert_int_equal((uintptr_t)region.data % alignment, 0);
            lab_region_destroy(&region);
            assert_int_equal(lab_region_create(&region, sizes[i], alignment, LAB_EDGE_START),
                             HEED_OK);
            assert_ptr_equal(region.data, region.room);
            assert_true(region.map < region.room &&
                        region.room + region.room_size < region.map + region.map_size);
            lab_region_destroy(&region);
            assert_null(region.map);
            assert_int_equal(lab_region_create(&region, sizes[i], alignment, LAB_EDGE_ODD),
                             HEED_OK);
            after = (size_t)(region.room + region.room_size - region.data) - sizes[i];
            assert_true(after < (alignment > LAB_ODD_BYTES ? alignment : LAB_ODD_BYTES));
            assert_int_equal((uintptr_t)region.data % LAB_ODD_BYTES, alignment % LAB_ODD_BYTES);
            lab_region_destroy(&region);
        }
    }
}

static void test_regions_that_cannot_be(void **state)
{
    lab_region region;
    assert_int_equal(lab_region_create(&region, SIZE_MAX, 1, LAB_EDGE_END), HEED_ERR_NO_MEMORY);
    assert_int_equal(lab_region_create(&region, SIZE_MAX / 2, 1, LAB_EDGE_END), HEED_ERR_NO_MEMORY);
    assert_null(region.map);
    lab_region_destroy(&region);
}

static void test_paint_shows_every_byte(void **state)
{
    static const size_t places[] = { 3, 4, 511, 512, 513, 1000, 4095, 5000 };
    lab_region region;
    assert_int_equal(lab_region_create(&region, 8192, 1, LAB_EDGE_START), HEED_OK);
    for (uint64_t pattern = 0; pattern < 3; pattern++) {
        lab_region_paint(&region, 3, 8000, pattern);
        assert_int_equal(lab_region_spoiled(&region, 3, 8000, pattern), 8000);
        assert_int_equal(lab_region_spoiled(&region, 700, 701, pattern), 701);
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            region.room[places[i]] ^= 0x10;
            assert_int_equal(lab_region_spoiled(&region, 3, 8000, pattern), places[i]);
            region.room[places[i]] ^= 0x10;
        }
        lab_region_paint(&region, 100, 107, pattern); /* aligned parts agree with the whole */
        assert_int_equal(lab_region_spoiled(&region, 3, 8000, pattern), 8000);
    }
    lab_region_destroy(&region);
}

/* -------------------------------------------------------------------------- */
/* Stages                                                                     */
/* -------------------------------------------------------------------------- */

typedef struct scene {
    heed_problem problem;
    lab_values values;
    lab_stage stage;
    heed_buffers buffers;
} scene;

static void open_scene(scene *s, const char *spec, lab_edge edge, size_t workspace)
{
    const lab_layout layout = {
        .edge = edge, .lse = true, .seed = 5, .sign = 1, .workspace = workspace
    };
    s->problem = parsed(spec);
    assert_int_equal(lab_values_create(&s->values, &s->problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("normal"), &s->values, 3);
    assert_int_equal(lab_stage_create(&s->stage, &s->values, &layout), HEED_OK);
    s->buffers = lab_stage_buffers(&s->stage);
}

static void close_scene(scene *s)
{
    lab_stage_destroy(&s->stage);
    lab_values_destroy(&s->values);
}

static const char *const specs[] = {
    "b1 h1 s1 d1 f16",
    "b2 h4/2 s9/5 d3/7 f32",
    "b2 h2 s5 d8 bf16 q=100:20:8 k=300:9:60 v=64:0:8 o=500:50:11",
    "b2 h2 s5 d8 f16 k=2147483649:24:8 o=3000000000:16:8",
};
#define SPECS (sizeof specs / sizeof specs[0])

/* Every element is a copy of the values, and everything between them is NaN or pattern. */
static void test_a_fresh_stage_is_whole(void **state)
{
    char text[160];
    for (size_t i = 0; i < SPECS; i++)
        for (int edge = 0; edge < 2; edge++) {
            scene s;
            open_scene(&s, specs[i], edge ? LAB_EDGE_START : LAB_EDGE_END, 77);
            assert_int_equal((uintptr_t)s.buffers.workspace % HEED_ALIGNMENT, 0);
            assert_int_equal(s.buffers.workspace_size, 77);
            assert_false(lab_stage_changed(&s.stage, &s.values, text, sizeof text));
            assert_false(lab_stage_spoiled(&s.stage, true, text, sizeof text));
            close_scene(&s);
        }
}

/* A problem that has every input. */
static const char operands[] =
    "b2 h2 s6 d4 f32 bias=f16:q alibi sinks=bh lengths paged=2 starts shown=bits:h "
    "array=a:f32:5 array=b:i32:2x3 array=c:bytes:7 array=d:f32:2 "
    "score=s+a[k]*float(b[0,q]) visible=c[k]||d[head]>0";
static const char packed[] = "b2 h2 s6 d4 f32 varlen=10/9";
static const char appends[] = "b2 h2 s2/6 d4 f32 lengths append=2 rotary=4 paged=3/5";

/* Writes a byte at @offset from a block's data, or from its end if @from_end. */
static void assert_noticed(const char *spec, lab_edge edge, int block, ptrdiff_t offset,
                           bool from_end, const char *what)
{
    char text[160] = "";
    scene s;
    open_scene(&s, spec, edge, 77);
    const lab_region *region = &s.stage.block[block].region;
    region->data[offset + (from_end ? (ptrdiff_t)region->size : 0)] ^= 0x40;
    bool noticed = lab_stage_changed(&s.stage, &s.values, text, sizeof text) ||
                   lab_stage_spoiled(&s.stage, true, text, sizeof text);
    if (!noticed || !strstr(text, what))
        fail_msg("%s, block %d, byte %td: '%s' is not '%s'", spec, block, offset, text, what);
    close_scene(&s);
}

static void test_every_kind_of_damage_is_noticed(void **state)
{
    for (int block = 0; block < LAB_BLOCKS; block++) {
        char name[32];
        const bool packs = block == LAB_CU_Q || block == LAB_CU_K;
        const bool new = block >= LAB_COS &&block <= LAB_V_NEW;
        const char *spec = new                                         ? appends
                           : packs                                     ? packed
                           : block >= LAB_VECTORS &&block < LAB_INPUTS ? operands
                                                                       : specs[1];
        snprintf(name, sizeof name, "%s: ", lab_block_name(block));
        assert_noticed(spec, LAB_EDGE_START, block, 0, true, name);
        assert_noticed(spec, LAB_EDGE_START, block, 200, true, name);
        assert_noticed(spec, LAB_EDGE_END, block, -1, false, name);
        if (block < LAB_INPUTS) {
            snprintf(name, sizeof name, "%s was written to", lab_block_name(block));
            assert_noticed(spec, LAB_EDGE_END, block, 1, false, name);
        }
    }
    assert_noticed(specs[1], LAB_EDGE_END, LAB_WORKSPACE, 3, true, "past its end");
    assert_noticed(specs[2], LAB_EDGE_END, LAB_O, 16, false, "a gap was written to at byte 16");
    assert_noticed(specs[2], LAB_EDGE_END, LAB_Q, 35, false, "a gap");
    assert_noticed(specs[2], LAB_EDGE_END, LAB_V, 17, false, "V was written to");
    assert_noticed(specs[1], LAB_EDGE_END, LAB_K, 5, false, "K was written to");
    assert_noticed(specs[3], LAB_EDGE_END, LAB_O, 2 * 80 + 20, false, "a gap");
    assert_noticed(specs[3], LAB_EDGE_END, LAB_K, -3, true, "K was written to");
}

/* The content of an unwritten O differs everywhere between the two signs. */
static void test_poison(void **state)
{
    for (int type = HEED_F32; type <= HEED_BF16; type++)
        for (int64_t i = 0; i < 1000; i++) {
            uint32_t a = lab_poison(5, 1, false, (heed_type)type, i);
            uint32_t b = lab_poison(5, -1, false, (heed_type)type, i);
            uint16_t half = (uint16_t)a;
            double value = lab_element_get((heed_type)type, type == HEED_F32 ? (void *)&a : &half,
                                           0);
            assert_true(a != b && value >= 0.5 && value <= 1);
        }
    assert_true(lab_poison(5, 1, false, HEED_F32, 1) != lab_poison(5, 1, true, HEED_F32, 1));
}

static void test_outputs_are_taken_densely(void **state)
{
    scene s;
    uint16_t o[2 * 2 * 5 * 8];
    float lse[20];
    open_scene(&s, specs[2], LAB_EDGE_END, 0);
    lab_view view = lab_view_of(&s.problem, LAB_O);
    for (int64_t n = 0; n < 20; n++) {
        s.buffers.lse[n] = (float)n;
        for (int64_t c = 0; c < 8; c++)
            lab_element_set(HEED_BF16, s.buffers.o, lab_view_vector(&view, n) + c, (double)n);
    }
    lab_stage_take(&s.stage, o, lse);
    for (int64_t i = 0; i < 160; i++)
        assert_true(lab_element_get(HEED_BF16, o, i) == (double)(i / 8));
    for (int n = 0; n < 20; n++)
        assert_true(lse[n] == (float)n);
    close_scene(&s);
}

static void test_slices_are_parts_of_the_whole(void **state)
{
    heed_problem whole_problem = parsed("b3 h2 s4/7 d5 f32 k=200:11:5");
    heed_problem problem = whole_problem;
    lab_values whole, part;
    problem.batch = 1;
    problem.seq_k = 3;
    assert_int_equal(lab_values_create(&whole, &whole_problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("normal"), &whole, 9);
    assert_int_equal(lab_values_slice(&part, &problem, &whole, 2, 4), HEED_OK);
    lab_view k = lab_view_of(&whole_problem, LAB_K), q = lab_view_of(&whole_problem, LAB_Q);
    for (int64_t s = 0; s < 3; s++)
        assert_memory_equal((float *)lab_values_data(&part, LAB_K) + lab_view_at(&k, 0, s, 1),
                            (float *)lab_values_data(&whole, LAB_K) + lab_view_at(&k, 2, s + 4, 1),
                            5 * sizeof(float));
    assert_memory_equal((float *)lab_values_data(&part, LAB_Q) + lab_view_at(&q, 0, 3, 1),
                        (float *)lab_values_data(&whole, LAB_Q) + lab_view_at(&q, 2, 3, 1),
                        5 * sizeof(float));
    lab_values_destroy(&whole);
    lab_values_destroy(&part);
}

static double operand_at(const lab_values *values, lab_role role, int64_t batch, int64_t query,
                         int64_t key)
{
    const lab_view *view = &values->block[role].view;
    return lab_data_get(view->kind, lab_values_data(values, role),
                        lab_view_pair(view, batch, 1, query, key));
}

/* Operands are sliced together with the tensors, including bit masks and numbers of starts. */
static void test_operands_are_sliced_along(void **state)
{
    heed_problem whole_problem = parsed(
        "b3 h2 s4/77 d5 f32 bias=bf16:bq shown=bits:bhq starts align=br "
        "sinks=bh alibi");
    heed_problem problem = whole_problem;
    lab_values whole, part;
    problem.batch = 1;
    problem.seq_k = 37;
    problem.sinks = (heed_operand){ 0 };
    assert_int_equal(lab_values_create(&whole, &whole_problem), HEED_OK);
    lab_inputs_fill(lab_inputs_find("normal"), &whole, 9);
    assert_int_equal(lab_values_slice(&part, &problem, &whole, 2, 40), HEED_OK);
    for (int64_t q = 0; q < 4; q++) {
        for (int64_t k = 0; k < 37; k++) {
            assert_true(operand_at(&part, LAB_BIAS, 0, q, k) ==
                        operand_at(&whole, LAB_BIAS, 2, q, k + 40));
            assert_true(operand_at(&part, LAB_SHOWN, 0, q, k) ==
                        operand_at(&whole, LAB_SHOWN, 2, q, k + 40));
        }
        assert_true(operand_at(&part, LAB_STARTS, 0, q, 0) ==
                    operand_at(&whole, LAB_STARTS, 2, q, 0) - 40);
    }
    assert_true(operand_at(&part, LAB_SLOPES, 0, 0, 0) == operand_at(&whole, LAB_SLOPES, 2, 0, 0));
    assert_null(lab_values_data(&part, LAB_SINKS));
    lab_values_destroy(&whole);
    lab_values_destroy(&part);
}

/* A system promises more memory than it has: tensors that would fill it are refused at once. Widely
 * spaced elements count little. */
static void test_more_than_there_is_memory(void **state)
{
    lab_values values;
    heed_problem much = parsed("b1 h1 s2147483648 d64 f32");
    heed_problem sparse = parsed("b1 h1 s4 d4 f32 q=3000000000:4:4");
    alarm(5); /* seconds; otherwise memory would be exhausted */
    assert_int_equal(lab_values_create(&values, &much), HEED_ERR_NO_MEMORY);
    alarm(0);
    assert_int_equal(lab_values_create(&values, &sparse), HEED_OK);
    lab_values_destroy(&values);
}

/* A kernel that reuses the addresses of one call must be wrong in the next. */
static void test_an_exact_mirror_moves(void **state)
{
    heed_context *context;
    heed_buffers last = { .size = sizeof last };
    scene s;
    open_scene(&s, "b2 h4/2 s9/5 d3/7 f32", LAB_EDGE_END, 64);
    context = host_context(1);
    lab_mirror mirror = lab_mirror_create(context, true);
    for (int run = 0; run < 40; run++) { /* the heap may keep some for reuse */
        assert_int_equal(lab_mirror_place(&mirror, &s.stage), HEED_OK);
        heed_buffers now = lab_mirror_buffers(&mirror, &s.stage);
        assert_ptr_not_equal(now.q, last.q);
        assert_ptr_not_equal(now.k, last.k);
        assert_ptr_not_equal(now.v, last.v);
        assert_ptr_not_equal(now.o, last.o);
        assert_ptr_not_equal(now.lse, last.lse);
        assert_ptr_not_equal(now.workspace, last.workspace);
        last = now;
    }
    lab_mirror_destroy(&mirror);
    heed_context_destroy(context);
    close_scene(&s);
}

/* Values that are to be written are absent at first. Afterwards any change or omission in the cache
 * is detected, in elements and in gaps. */
static void test_the_cache_is_watched(void **state)
{
    char text[160];
    for (int damage = 0; damage < 4; damage++) {
        scene s;
        open_scene(&s, appends, LAB_EDGE_END, 0);
        assert_true(lab_stage_writes(&s.stage, LAB_K) && !lab_stage_writes(&s.stage, LAB_Q));
        assert_true(lab_stage_misses(&s.stage, &s.values, text, sizeof text));
        lab_append_complete(&s.problem, &s.buffers);
        assert_false(lab_stage_misses(&s.stage, &s.values, text, sizeof text));
        lab_view v = lab_view_of(&s.problem, LAB_V);
        lab_view_bind(&v, &s.problem, s.buffers.table);
        const int64_t key = lab_append_first(&s.problem, &s.buffers, 1) +
                            (damage < 2 ? damage : -1);
        unsigned char *element = s.stage.block[LAB_V].region.data +
                                 (size_t)lab_view_at(&v, 1, key < 0 ? 4 : key, 1) * sizeof(float);
        if (damage < 3) {
            *element ^= 1;
            assert_true(lab_stage_misses(&s.stage, &s.values, text, sizeof text));
            assert_non_null(strstr(text, "batch 1, head 1"));
        } else { /* a byte of a page that belongs to no batch element */
            for (int64_t page = 0; page < s.problem.pages; page++)
                if (!memchr(s.buffers.table, (int)page, 4 * sizeof(int32_t)))
                    s.stage.block[LAB_V].region.data[page * v.strides.batch * 4] ^= 1;
            assert_true(lab_stage_spoiled(&s.stage, false, text, sizeof text));
            assert_non_null(strstr(text, "V: a gap"));
        }
        close_scene(&s);
    }
}

RUN_TESTS(test_regions_lie_against_a_wall, test_regions_that_cannot_be, test_paint_shows_every_byte,
          test_a_fresh_stage_is_whole, test_every_kind_of_damage_is_noticed, test_poison,
          test_outputs_are_taken_densely, test_slices_are_parts_of_the_whole,
          test_operands_are_sliced_along, test_more_than_there_is_memory,
          test_an_exact_mirror_moves, test_the_cache_is_watched)
