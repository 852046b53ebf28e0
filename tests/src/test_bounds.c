/*
 * test_bounds.c - tile visibility derived from bounds, checked against every pair of the tile
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/bounds.h"
#include "cpu/cpu.h"
#include "expect.h"
#include "lab/tensor/random.h"
#include "random_expression.h"

#define EXPRESSIONS 4000
#define ELEMENTS 8192

/* A problem, its program, and data for all of its sources. */
typedef struct scene {
    heed_problem problem;
    heed_program program;
    uint32_t words[HEED_SOURCES_MAX][ELEMENTS];
    const void *data[HEED_SOURCES_MAX];
} scene;

static scene *make(const char *spec)
{
    scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    if (heed_problem_parse(&s->problem, spec) != HEED_OK)
        fail_msg("%s: %s", spec, heed_message());
    heed_program_make(&s->program, &s->problem);
    for (int i = 0; i < s->program.source_count; i++)
        s->data[i] = s->words[i];
    return s;
}

/* ---- Pair by pair ---- */

static heed_value load(const scene *s, const heed_step *step, const heed_value values[])
{
    const heed_load *from = &s->program.sources[step->value.whole];
    const int indices[4] = { step->a, step->b, step->c, step->d };
    const char *at = s->data[step->value.whole];
    heed_value value = { .whole = 0 };
    int64_t row = 0, index = 0;
    for (int d = 0; d < from->rank; d++) {
        index = values[indices[d]].whole;
        index = index < 0 ? 0 : index >= from->size[d] ? from->size[d] - 1 : index;
        row += d + 1 < from->rank ? index * from->stride[d] : 0;
    }
    switch (from->type) {
    case HEED_DATA_BITS:
        memcpy(&value, at + (row + index / 32) * 4, 4);
        value.whole = (uint32_t)value.whole >> index % 32 & 1;
        break;
    case HEED_DATA_BYTES:
        value.whole = at[row + index] != 0;
        break;
    case HEED_DATA_F16:
        heed_load_row(&value.real, at + (row + index) * 2, 1, HEED_F16);
        break;
    default:
        memcpy(&value, at + (row + index) * 4, 4);
    }
    return value;
}

static bool sees(const scene *s, int32_t batch, int32_t head, int32_t query, int32_t key)
{
    const heed_program *program = &s->program;
    heed_value values[HEED_STEPS_MAX];
    const heed_value none = { .whole = 0 };
    for (int i = 0; i < program->count; i++) {
        const heed_step *x = &program->steps[i];
        const int32_t leaves[] = { query, query + (int32_t)heed_problem_view(&s->problem).first,
                                   key, head, batch };
        if (x->op <= HEED_OP_BOOL)
            values[i] = x->value;
        else if (x->op >= HEED_OP_QUERY && x->op <= HEED_OP_BATCH)
            values[i].whole = leaves[x->op - HEED_OP_QUERY];
        else if (x->op == HEED_OP_LOAD)
            values[i] = load(s, x, values);
        else
            values[i] = heed_program_apply(x->op, program->steps[x->a].kind, values[x->a],
                                           x->b < 0 ? none : values[x->b],
                                           x->c < 0 ? none : values[x->c]);
    }
    return values[program->visible].whole != 0;
}

static heed_sight look(const scene *s, const heed_pairs *pairs)
{
    bool always = true, ever = false;
    for (int32_t batch = pairs->batch.first; batch <= pairs->batch.last; batch++)
        for (int32_t head = pairs->head.first; head <= pairs->head.last; head++)
            for (int32_t query = pairs->query.first; query <= pairs->query.last; query++)
                for (int32_t key = pairs->key.first; key <= pairs->key.last; key++) {
                    bool one = sees(s, batch, head, query, key);
                    always = always && one;
                    ever = ever || one;
                }
    return always ? HEED_SEES_ALL : ever ? HEED_SEES_SOME : HEED_SEES_NONE;
}

static heed_sight judge(const scene *s, heed_pairs pairs)
{
    pairs.first_position = heed_problem_view(&s->problem).first;
    heed_sight said = heed_program_sight(&s->program, s->data, &pairs), true_one = look(s, &pairs);
    if (said != HEED_SEES_SOME && said != true_one)
        fail_msg("%s: %d where it is %d, for queries %d to %d and keys %d to %d",
                 s->problem.visible, (int)said, (int)true_one, pairs.query.first, pairs.query.last,
                 pairs.key.first, pairs.key.last);
    return said;
}

/* ---- At random ---- */

static int32_t draw(uint64_t seed, uint64_t *drawn, int32_t below)
{
    return (int32_t)lab_random_below(seed, (*drawn)++, below);
}

/* Numbers that roughly fit together, and some that do not. */
static void fill(scene *s, uint64_t seed, uint64_t *drawn)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, -0.0F, 1e30F, 0x1p31F };
    for (int i = 0; i < s->program.source_count; i++)
        for (int j = 0; j < ELEMENTS / 16; j++) {
            float real = draw(seed, drawn, 9) ? (float)draw(seed, drawn, 9) / 4 - 1
                                              : odd[draw(seed, drawn, (int32_t)COUNT(odd))];
            if (s->program.sources[i].type == HEED_DATA_F32)
                memcpy(&s->words[i][j], &real, sizeof real);
            else
                s->words[i][j] = draw(seed, drawn, 3) ? (uint32_t)draw(seed, drawn, 9) : 0;
        }
}

static heed_span draw_span(uint64_t seed, uint64_t *drawn, int32_t size)
{
    int32_t first = draw(seed, drawn, size), most = size - first < 9 ? size - first : 9;
    return (heed_span){ first, first + draw(seed, drawn, most) };
}

static void test_random_expressions(void **state)
{
    char spec[HEED_SPEC_SIZE], text[HEED_EXPRESSION_SIZE];
    int counts[3] = { 0 };
    (void)state;
    for (uint64_t seed = 0; seed < EXPRESSIONS; seed++) {
        uint64_t drawn = 0;
        random_expression(seed, true, text);
        snprintf(spec, sizeof spec, "b3 h4 s40/45 d8 f32 causal=br " RANDOM_ARRAYS " visible=%s",
                 text);
        scene *s = make(spec);
        fill(s, seed, &drawn);
        for (int i = 0; i < 10; i++) {
            heed_pairs pairs = { .batch = draw_span(seed, &drawn, 3),
                                 .head = draw_span(seed, &drawn, 4),
                                 .query = draw_span(seed, &drawn, 40),
                                 .key = draw_span(seed, &drawn, 45) };
            counts[judge(s, pairs)]++;
        }
        free(s);
    }
    print_message("none %d, some %d, all %d\n", counts[0], counts[1], counts[2]);
    assert_true(counts[HEED_SEES_NONE] > EXPRESSIONS / 4);
    assert_true(counts[HEED_SEES_ALL] > EXPRESSIONS / 4);
}

/* ---- Tiles that the bounds must decide ---- */

static heed_pairs tile(int32_t query, int32_t key)
{
    return (heed_pairs){ .query = { query, query + 15 }, .key = { key, key + 31 } };
}

static void expect_sight(const char *spec, heed_pairs pairs, heed_sight wanted)
{
    scene *s = make(spec);
    if (judge(s, pairs) != wanted)
        fail_msg("%s: not %d", spec, (int)wanted);
    free(s);
}

static void test_windows_as_expressions(void **state)
{
    static const char window[] = "b1 h1 s256 d8 f32 visible=k<4||p-k<64&&k<=p";
    (void)state;
    expect_sight(window, tile(128, 32), HEED_SEES_NONE);
    expect_sight(window, tile(128, 0), HEED_SEES_SOME);
    expect_sight(window, tile(128, 80), HEED_SEES_ALL);
    expect_sight(window, tile(128, 160), HEED_SEES_NONE);
    expect_sight("b1 h1 s256 d8 f32 visible=k//64==q//64", tile(64, 96), HEED_SEES_ALL);
    expect_sight("b1 h1 s256 d8 f32 visible=k//64==q//64", tile(64, 128), HEED_SEES_NONE);
    expect_sight("b1 h1 s256 d8 f32 visible=abs(q-k)>16", tile(0, 64), HEED_SEES_ALL);
    expect_sight("b1 h1 s256 d8 f32 visible=k%128<64", tile(0, 64), HEED_SEES_NONE);
    expect_sight("b1 h1 s256 d8 f32 visible=tanh(float(k))<2", tile(0, 64), HEED_SEES_ALL);
    expect_sight("b1 h1 s256 d8 f32 visible=k*100000000<0", tile(0, 0), HEED_SEES_SOME);
}

static void test_documents(void **state)
{
    scene *s = make("b1 h1 s256 d8 f32 array=doc:i32:256 visible=doc[q]==doc[k]");
    (void)state;
    for (int i = 0; i < 256; i++)
        s->words[0][i] = (uint32_t)(i / 64);
    assert_int_equal(judge(s, tile(64, 64)), HEED_SEES_ALL);
    assert_int_equal(judge(s, tile(64, 48)), HEED_SEES_SOME);
    assert_int_equal(judge(s, tile(64, 128)), HEED_SEES_NONE);
    free(s);
    s = make("b1 h1 s256 d8 f32 starts");
    for (int i = 0; i < 256; i++)
        s->words[0][i] = (uint32_t)(i / 64 * 64);
    assert_int_equal(judge(s, tile(64, 64)), HEED_SEES_ALL);
    assert_int_equal(judge(s, tile(64, 32)), HEED_SEES_NONE);
    assert_int_equal(judge(s, tile(56, 16)), HEED_SEES_SOME);
    free(s);
}

/* Makes key @at of row 5 of a mask the opposite of all others, which are @shown. */
static void fill_mask(scene *s, bool bits, int32_t at, bool shown)
{
    const int64_t row = bits ? 12 : 70; /* bytes */
    uint8_t *bytes = (uint8_t *)s->words[0];
    memset(bytes, !shown ? 0 : bits ? 255 : 3, sizeof s->words[0]);
    if (bits)
        bytes[5 * row + at / 8] ^= (uint8_t)(1 << at % 8);
    else
        bytes[5 * row + at] = shown ? 0 : 2;
}

static void test_masks(void **state)
{
    static const char *const specs[] = { "b1 h1 s16/70 d8 f32 shown=bytes:q",
                                         "b1 h1 s16/70 d8 f32 shown=bits:q" };
    (void)state;
    for (int32_t n = 0; n < 70 * 4; n++) {
        const bool bits = n % 2, shown = n / 2 % 2;
        const int32_t at = n / 4;
        scene *s = make(specs[bits]);
        fill_mask(s, bits, at, shown);
        for (int32_t first = 0; first < 70; first += 7) {
            const heed_pairs pairs = { .query = { 2, 9 }, .key = { first, first + 6 } };
            const bool within = at >= first && at <= first + 6;
            assert_int_equal(judge(s, pairs), within  ? HEED_SEES_SOME
                                              : shown ? HEED_SEES_ALL
                                                      : HEED_SEES_NONE);
        }
        free(s);
    }
}

static void test_too_much_to_look_at(void **state)
{
    scene *s = make("b1 h1 s4096 d8 f32 array=x:f32:4096 visible=x[k]>0.5");
    (void)state;
    assert_int_equal(judge(s, (heed_pairs){ .key = { 0, 2047 } }), HEED_SEES_NONE);
    heed_pairs pairs = { .key = { 0, 2048 } };
    assert_int_equal(heed_program_sight(&s->program, s->data, &pairs), HEED_SEES_SOME);
    free(s);
}

RUN_TESTS(test_random_expressions, test_windows_as_expressions, test_documents, test_masks,
          test_too_much_to_look_at)
