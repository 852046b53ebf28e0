/*
 * test_modify.c - vectorized logit programs, in every instruction set of this machine, compared
 * with the meaning of each step
 */
#include "run_tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/features.h"
#include "cpu/modify/modify.h"
#include "expect.h"

#define PROGRAMS 3000
#define STEPS 40 /* in a random program */
#define KEYS 64  /* in a patch, along the lanes */
#define ELEMENTS 1024
#define FIRST 5 /* position of query 0 */
#define QUERIES 100

/* An instruction set. */
typedef struct set {
    const heed_modifier *by;
    unsigned feature;
    int lanes;
} set;

static const set sets[] = {
    { &heed_modifier_scalar, HEED_CPU_SCALAR, 4 },
#ifdef HEED_X86
    { &heed_modifier_avx2, HEED_CPU_AVX2, 8 },
    { &heed_modifier_avx512, HEED_CPU_AVX512, 16 },
#endif
};

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(seed >> 33) % below;
}

static const float specials[] = {
    0.0F,      -0.0F,      1.0F,        -1.0F,  0.5F,           -2.5F,         INFINITY,
    -INFINITY, NAN,        1e30F,       -1e30F, 1e-40F,         -1e-45F,       0x1p31F,
    -0x1p31F,  8388607.5F, -8388609.0F, 3.0F,   0x1.fffffep30F, 2147483520.0F, -0.7F
};
static const int32_t wholes[] = { 0,  1,    -1,        2,         -3,       7,
                                  31, 1000, INT32_MAX, INT32_MIN, -1000000, 65537 };

/* Rows per query: 1 and 3 allow lines, 9 is too many for them; 0: rows of any queries. */
static const int groups[] = { 1, 3, 9, 0 };

static float draw_float(void)
{
    if (draw(3) == 0)
        return specials[draw(COUNT(specials))];
    return ((float)draw(2000001) - 1e6F) / 1e5F;
}

/* -------------------------------------------------------------------------- */
/* Data and meaning                                                           */
/* -------------------------------------------------------------------------- */

typedef struct scene {
    heed_program program;
    float f32[ELEMENTS];
    uint16_t f16[ELEMENTS], bf16[ELEMENTS];
    int32_t i32[ELEMENTS];
    uint8_t bytes[ELEMENTS];
    uint32_t bits[ELEMENTS];
    const void *data[HEED_SOURCES_MAX];
} scene;

/* Sources by number: type, sizes, strides. */
static const heed_load sources[] = {
    { HEED_DATA_F32, 0, 1, { 50 }, { 1 } },
    { HEED_DATA_F16, 8, 2, { 9, 70 }, { 71, 1 } },
    { HEED_DATA_BF16, 16, 3, { 2, 5, 90 }, { 460, 92, 1 } },
    { HEED_DATA_I32, 24, 2, { 11, 80 }, { 83, 1 } },
    { HEED_DATA_BYTES, 32, 2, { 10, 85 }, { 100, 1 } },
    { HEED_DATA_BITS, 40, 4, { 2, 3, 4, 100 }, { 60, 20, 5, 1 } },
};

typedef struct place {
    int32_t query, head, batch, key;
    float score;
} place;

static float half(uint16_t bits, heed_type type)
{
    float wide;
    heed_load_row(&wide, &bits, 1, type);
    return wide;
}

static heed_value load(const scene *s, int source, const int64_t index[4])
{
    const heed_load *x = &sources[source];
    int64_t at = 0;
    for (int i = 0; i < x->rank; i++) {
        int64_t one = index[i] < 0 ? 0 : index[i] >= x->size[i] ? x->size[i] - 1 : index[i];
        if (i == x->rank - 1 && x->type == HEED_DATA_BITS)
            return (heed_value){ .whole = s->bits[at + one / 32] >> one % 32 & 1 };
        at += one * x->stride[i];
    }
    switch (x->type) {
    case HEED_DATA_F32:
        return (heed_value){ .real = s->f32[at] };
    case HEED_DATA_F16:
        return (heed_value){ .real = half(s->f16[at], HEED_F16) };
    case HEED_DATA_BF16:
        return (heed_value){ .real = half(s->bf16[at], HEED_BF16) };
    case HEED_DATA_I32:
        return (heed_value){ .whole = s->i32[at] };
    default:
        return (heed_value){ .whole = s->bytes[at] != 0 };
    }
}

static heed_value value_of(const scene *s, int step, const place *at, const heed_value *values)
{
    const heed_step *x = &s->program.steps[step];
    const heed_value none = { .whole = 0 };
    const int from[] = { x->a, x->b, x->c, x->d };
    int64_t index[4] = { 0 };
    switch (x->op) {
    case HEED_OP_FLOAT:
    case HEED_OP_INT:
    case HEED_OP_BOOL:
        return x->value;
    case HEED_OP_SCORE:
        return (heed_value){ .real = at->score };
    case HEED_OP_QUERY:
        return (heed_value){ .whole = at->query };
    case HEED_OP_POSITION:
        return (heed_value){ .whole = at->query + FIRST };
    case HEED_OP_KEY:
        return (heed_value){ .whole = at->key };
    case HEED_OP_HEAD:
        return (heed_value){ .whole = at->head };
    case HEED_OP_BATCH:
        return (heed_value){ .whole = at->batch };
    case HEED_OP_LOAD:
        for (int i = 0; i < 4; i++)
            index[i] = from[i] < 0 ? 0 : values[from[i]].whole;
        for (int i = 0; i < (int)COUNT(sources); i++)
            if (sources[i].buffer == s->program.sources[x->value.whole].buffer)
                return load(s, i, index);
        return none;
    default:
        return heed_program_apply(
            x->op, s->program.steps[x->op == HEED_OP_SELECT ? x->b : x->a].kind, values[x->a],
            x->b < 0 ? none : values[x->b], x->c < 0 ? none : values[x->c]);
    }
}

static void fill(scene *s)
{
    for (int i = 0; i < ELEMENTS; i++) {
        s->f32[i] = draw_float();
        s->f16[i] = (uint16_t)draw(0x7c00);
        s->bf16[i] = (uint16_t)draw(0x7f80);
        s->i32[i] = draw(2) ? (int32_t)draw(100) - 50 : wholes[draw(COUNT(wholes))];
        s->bytes[i] = (uint8_t)(draw(2) ? 0 : 1 + draw(255));
        s->bits[i] = draw(1U << 31) * 2 + draw(2);
    }
    const void *all[] = { s->f32, s->f16, s->bf16, s->i32, s->bytes, s->bits };
    memcpy(s->data, all, sizeof all);
}

/* -------------------------------------------------------------------------- */
/* Random programs                                                            */
/* -------------------------------------------------------------------------- */

/* Picks a step of @kind, or returns -1. */
static int pick(const heed_program *p, heed_kind kind)
{
    for (int tries = 0; tries < 50 && p->count > 0; tries++) {
        int step = (int)draw((uint32_t)p->count);
        if (p->steps[step].kind == kind)
            return step;
    }
    return -1;
}

/* Operations whose results are exact to the last bit. */
static const struct {
    heed_op op;
    int takes;
    unsigned kinds; /* 1: float, 2: int, 4: bool */
    int gives;      /* a kind, or -1: the kind of its operands */
} operations[] = {
    { HEED_OP_ADD, 2, 3, -1 },
    { HEED_OP_SUB, 2, 3, -1 },
    { HEED_OP_MUL, 2, 3, -1 },
    { HEED_OP_DIV, 2, 3, -1 },
    { HEED_OP_MOD, 2, 2, -1 },
    { HEED_OP_MIN, 2, 3, -1 },
    { HEED_OP_MAX, 2, 3, -1 },
    { HEED_OP_NEG, 1, 3, -1 },
    { HEED_OP_ABS, 1, 3, -1 },
    { HEED_OP_SQRT, 1, 1, -1 },
    { HEED_OP_FLOOR, 1, 1, -1 },
    { HEED_OP_TO_FLOAT, 1, 6, HEED_KIND_FLOAT },
    { HEED_OP_TO_INT, 1, 5, HEED_KIND_INT },
    { HEED_OP_LESS, 2, 3, HEED_KIND_BOOL },
    { HEED_OP_LESS_EQUAL, 2, 3, HEED_KIND_BOOL },
    { HEED_OP_EQUAL, 2, 7, HEED_KIND_BOOL },
    { HEED_OP_NOT_EQUAL, 2, 7, HEED_KIND_BOOL },
    { HEED_OP_AND, 2, 4, -1 },
    { HEED_OP_OR, 2, 4, -1 },
    { HEED_OP_NOT, 1, 4, -1 },
};

static void add_operation(heed_program *p)
{
    size_t i = draw(COUNT(operations) + 1);
    heed_kind kind = (heed_kind)draw(3);
    if (i == COUNT(operations)) {
        int condition = pick(p, HEED_KIND_BOOL), b = pick(p, kind), c = pick(p, kind);
        if (condition >= 0 && b >= 0 && c >= 0)
            heed_program_add(p, HEED_OP_SELECT, kind, condition, b, c);
        return;
    }
    int a = pick(p, kind), b = operations[i].takes > 1 ? pick(p, kind) : -1;
    if (!(operations[i].kinds >> kind & 1) || a < 0 || (operations[i].takes > 1 && b < 0))
        return;
    heed_program_add(p, operations[i].op,
                     operations[i].gives < 0 ? kind : (heed_kind)operations[i].gives, a, b, -1);
}

static void add_load(heed_program *p)
{
    const heed_load *source = &sources[draw(COUNT(sources))];
    int indices[4] = { -1, -1, -1, -1 };
    for (int i = 0; i < source->rank; i++) {
        indices[i] = pick(p, HEED_KIND_INT);
        if (i == source->rank - 1 && draw(2))
            indices[i] = heed_program_leaf(p, HEED_OP_KEY);
        if (indices[i] < 0)
            return;
    }
    heed_program_load(p, source, indices);
}

/* Adds steps that may become a line: factor * (query +- key) + a constant, and comparisons of
 * it. */
static void add_line(heed_program *p)
{
    static const heed_op compare[] = { HEED_OP_LESS, HEED_OP_LESS_EQUAL, HEED_OP_EQUAL,
                                       HEED_OP_NOT_EQUAL };
    int row = heed_program_leaf(p, draw(2) ? HEED_OP_QUERY : HEED_OP_POSITION);
    int key = heed_program_leaf(p, HEED_OP_KEY);
    int some = heed_program_int(p, HEED_KIND_INT, wholes[draw(COUNT(wholes))]);
    bool turned = draw(2);
    int a = turned ? key : row, b = turned ? row : key;
    if (draw(2))
        a = heed_program_add(p, draw(2) ? HEED_OP_ADD : HEED_OP_MUL, HEED_KIND_INT, a, some, -1);
    if (draw(2))
        heed_program_add(p, compare[draw(4)], HEED_KIND_BOOL, a, b, -1);
    a = heed_program_add(p, draw(2) ? HEED_OP_SUB : HEED_OP_ADD, HEED_KIND_INT, a, b, -1);
    heed_program_add(p, draw(2) ? HEED_OP_DIV : HEED_OP_MOD, HEED_KIND_INT, a, some, -1);
}

/* Adds the sum of a number of each pair and another value: a bias. */
static void add_bias(heed_program *p)
{
    const heed_load *source = &sources[1 + draw(2)];
    int indices[4] = { -1, -1, -1, -1 };
    for (int i = 0; i < source->rank; i++)
        indices[i] = heed_program_leaf(p, i == source->rank - 1 ? HEED_OP_KEY : HEED_OP_QUERY);
    int to = draw(2) ? heed_program_leaf(p, HEED_OP_SCORE) : pick(p, HEED_KIND_FLOAT);
    int read = heed_program_load(p, source, indices);
    bool turned = draw(2);
    if (to >= 0)
        heed_program_add(p, HEED_OP_ADD, HEED_KIND_FLOAT, turned ? read : to, turned ? to : read,
                         -1);
}

static void make_program(heed_program *p)
{
    *p = (heed_program){ .score = -1, .visible = -1 };
    const int steps = draw(50) ? STEPS
                               : HEED_STEPS_MAX - 8; /* few: more than rewriting has room for */
    while (p->count < steps) {
        uint32_t what = draw(20);
        if (what == 0)
            heed_program_float(p, draw_float());
        else if (what == 1)
            heed_program_int(p, HEED_KIND_INT, wholes[draw(COUNT(wholes))]);
        else if (what < 6)
            heed_program_leaf(p, (heed_op)(HEED_OP_SCORE + (int)draw(6)));
        else if (what < 9)
            add_load(p);
        else if (what == 9)
            draw(2) ? add_line(p) : add_bias(p);
        else
            add_operation(p);
    }
    if (draw(8))
        p->score = pick(p, HEED_KIND_FLOAT);
    if (draw(8))
        p->visible = pick(p, HEED_KIND_BOOL);
}

/* -------------------------------------------------------------------------- */
/* Comparison                                                                 */
/* -------------------------------------------------------------------------- */

static bool equal(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

typedef struct patch_scene {
    heed_grid grid;
    heed_modify m;
    heed_patch patch;
    int32_t query[HEED_PATCH_ROWS_MAX], head[HEED_PATCH_ROWS_MAX];
    int32_t batch, row; /* row: first row */
    float score[ELEMENTS], logits[ELEMENTS];
} patch_scene;

/* The query, key and score of element @n of the patch. */
static place place_of(const patch_scene *p, int n)
{
    int width = p->grid.inner * p->grid.lanes, row = p->grid.rows ? n % width : 0;
    return (place){ .query = p->query[row],
                    .head = p->head[row],
                    .batch = p->batch,
                    .key = (int32_t)p->patch.key + (p->grid.rows ? n / width : n),
                    .score = p->score[n] };
}

/* Draws the rows of a kernel with @group rows per query, or arbitrary ones. */
static void draw_rows(patch_scene *p, int group)
{
    int32_t head = (int32_t)draw(3);
    p->batch = (int32_t)draw(3);
    p->row = (int32_t)draw(40);
    for (int i = 0; i < HEED_PATCH_ROWS_MAX; i++) {
        p->query[i] = group ? (p->row + i) / group : (int32_t)draw(40);
        p->head[i] = group ? head * group + (p->row + i) % group : (int32_t)draw(6);
    }
}

static void begin_patch(patch_scene *p, const scene *s, const set *by, bool rows, bool random)
{
    const int group = groups[draw(COUNT(groups))];
    heed_problem problem = { .seq_q = QUERIES,
                             .seq_k = QUERIES + FIRST,
                             .heads_q = group ? group : HEED_PATCH_ROWS_MAX,
                             .heads_kv = 1,
                             .align = HEED_ALIGN_BOTTOM_RIGHT };
    p->grid = (heed_grid){ by->lanes, rows ? 2 : 1, rows ? HEED_PATCH_KEYS : KEYS / by->lanes,
                           rows };
    heed_modify_make(&p->m, &problem, &s->program, &p->grid);
    p->m.by = by->by;
    for (int i = 0; i < s->program.source_count; i++)
        p->m.data[i] = s->data[s->program.sources[i].buffer / 8];
    int count = p->grid.inner * p->grid.lanes * p->grid.outer;
    draw_rows(p, group);
    for (int i = 0; i < count && random; i++)
        p->score[i] = draw_float();
    memcpy(p->logits, p->score, sizeof p->logits);
    float *kept = aligned_alloc(64, (size_t)(p->m.need.kept + 16) * 4 / 64 * 64 + 64);
    float *scratch = aligned_alloc(64, (size_t)(p->m.need.patch + 16) * 4 / 64 * 64 + 64);
    assert_true(kept && scratch);
    memset(kept, 0x55, (size_t)p->m.need.kept * 4);
    memset(scratch, 0x55, (size_t)p->m.need.patch * 4);
    p->patch = (heed_patch){ .logits = p->logits,
                             .kept = kept,
                             .scratch = scratch,
                             .key = draw(3) * 16 + (rows ? draw(2) * 16 : 0),
                             .keys = rows ? 1 + draw(HEED_PATCH_KEYS) : KEYS };
    p->m.by->begin(&p->m, &(heed_patch_rows){ p->batch, p->row, p->query, p->head }, kept);
    for (int part = 0; part < 3; part++)
        p->m.by->prefetch(&p->m, kept,
                          (heed_interval){ p->patch.key, p->patch.key + p->patch.keys }, part, 3);
    if (p->m.hides)
        p->patch.shows = p->m.by->see(&p->m, &p->patch);
    p->m.by->run(&p->m, &p->patch);
}

static void end_patch(patch_scene *p)
{
    free((void *)p->patch.kept);
    free(p->patch.scratch);
}

static void compare(const patch_scene *p, const scene *s, int number)
{
    const heed_program *program = &s->program;
    int width = p->grid.inner * p->grid.lanes;
    int count = p->grid.rows ? (int)p->patch.keys * width : width * p->grid.outer;
    for (int n = 0; n < count; n++) {
        heed_value values[HEED_STEPS_MAX];
        place at = place_of(p, n);
        for (int i = 0; i < program->count; i++)
            values[i] = value_of(s, i, &at, values);
        float wanted = program->score < 0 ? at.score : values[program->score].real;
        bool sees = program->visible < 0 || values[program->visible].whole;
        if (!sees)
            wanted = -INFINITY;
        if (!equal(p->logits[n], wanted))
            fail_msg("program %d, %d lanes, element %d: %g instead of %g", number, p->grid.lanes, n,
                     (double)p->logits[n], (double)wanted);
        if (program->visible >= 0)
            assert_int_equal(heed_modify_sees(&p->m, &p->patch, p->grid.rows ? n / width : n,
                                              p->grid.rows ? n % width : 0),
                             sees);
    }
}

/* Calls body(set) for every instruction set of this machine. */
static void for_sets(void (*body)(const set *by))
{
    for (size_t i = 0; i < COUNT(sets); i++)
        if ((heed_cpu_detect(heed_cpu_features) & sets[i].feature) == sets[i].feature)
            body(&sets[i]);
}

static void run_random(const set *by)
{
    static scene s;
    static patch_scene p;
    seed = 7;
    for (int i = 0; i < PROGRAMS; i++) {
        fill(&s);
        make_program(&s.program);
        begin_patch(&p, &s, by, i % 2, true);
        compare(&p, &s, i);
        end_patch(&p);
    }
}

static void test_random_programs(void **state)
{
    for_sets(run_random);
}

/* -------------------------------------------------------------------------- */
/* Divisions                                                                  */
/* -------------------------------------------------------------------------- */

static const int32_t divisors[] = { 1,   -1,        2,          -2,        3,         -3,
                                    4,   5,         7,          -7,        10,        16,
                                    641, 1 << 30,   -(1 << 30), 65537,     INT32_MAX, -INT32_MAX,
                                    0,   INT32_MIN, 0x55555555, 715827883, -64,       46341 };

/* A whole number near a multiple of the divisor, near a limit, or arbitrary. */
static int32_t draw_dividend(int32_t divisor)
{
    uint32_t some = draw(1U << 31) * 2 + draw(2), near = draw(5) - 2;
    switch (draw(4)) {
    case 0:
        return (int32_t)some;
    case 1:
        return (int32_t)((draw(2) ? 0x80000000U : 0) + near);
    case 2:
        return (int32_t)near;
    default:
        return (int32_t)(divisor ? some / (uint32_t)divisor * (uint32_t)divisor + near : near);
    }
}

/* a op b of whole numbers from an array, with a divisor that is known beforehand or comes from
 * another array. */
static void check_division(const set *by, heed_op op, int32_t divisor, bool known)
{
    static scene s;
    static patch_scene p;
    s.program = (heed_program){ .score = -1, .visible = -1 };
    const int row = heed_program_int(&s.program, HEED_KIND_INT, 0);
    const int other = heed_program_int(&s.program, HEED_KIND_INT, 1);
    const int key = heed_program_leaf(&s.program, HEED_OP_KEY);
    int a = heed_program_load(&s.program, &sources[3], (const int[]){ row, key, -1, -1 });
    int b = known ? heed_program_int(&s.program, HEED_KIND_INT, divisor)
                  : heed_program_load(&s.program, &sources[3], (const int[]){ other, key, -1, -1 });
    int c = heed_program_add(&s.program, op, HEED_KIND_INT, a, b, -1);
    /* in two halves, since a float has too few digits */
    int half = heed_program_int(&s.program, HEED_KIND_INT, 65536);
    int low = heed_program_add(&s.program, HEED_OP_MOD, HEED_KIND_INT, c, half, -1);
    int high = heed_program_add(&s.program, HEED_OP_DIV, HEED_KIND_INT, c, half, -1);
    int *const halves[] = { &low, &high };
    for (int i = 0; i < ELEMENTS; i++)
        s.i32[i] = i >= 83 && i < 166 ? divisor : draw_dividend(divisor);
    s.data[3] = s.i32;
    for (int h = 0; h < 2; h++) {
        s.program.score = heed_program_add(&s.program, HEED_OP_TO_FLOAT, HEED_KIND_FLOAT,
                                           *halves[h], -1, -1);
        begin_patch(&p, &s, by, h, true);
        compare(&p, &s, (int)op);
        end_patch(&p);
    }
}

static void run_divisions(const set *by)
{
    seed = 11;
    for (int round = 0; round < 60; round++)
        for (size_t i = 0; i < COUNT(divisors); i++) {
            int32_t divisor = round < 20 ? divisors[i] : (int32_t)(draw(1U << 31) * 2 + draw(2));
            check_division(by, HEED_OP_DIV, divisor, round % 2);
            check_division(by, HEED_OP_MOD, divisor, round % 2);
        }
}

static void test_divisions(void **state)
{
    for_sets(run_divisions);
}

/* -------------------------------------------------------------------------- */
/* Functions                                                                  */
/* -------------------------------------------------------------------------- */

/* Distance of @got from @wanted in ULPs of @wanted. */
static double units_away(float got, double wanted)
{
    float rounded = (float)wanted;
    if (isnan(wanted) || isinf(rounded) || isinf(got) || isnan(got))
        return equal(got, rounded) ? 0 : INFINITY;
    float unit = nextafterf(fabsf(rounded), INFINITY) - fabsf(rounded);
    return fabs((double)got - wanted) / (double)unit;
}

static double exact(heed_op op, double x)
{
    return op == HEED_OP_EXP ? exp(x) : op == HEED_OP_LOG ? log(x) : tanh(x);
}

static void check_function(const set *by, heed_op op, float from, float step)
{
    static scene s;
    static patch_scene p;
    s.program = (heed_program){ .score = -1, .visible = -1 };
    s.program.score = heed_program_add(&s.program, op, HEED_KIND_FLOAT,
                                       heed_program_leaf(&s.program, HEED_OP_SCORE), -1, -1);
    for (int block = 0; block < 2000; block++) {
        for (int i = 0; i < KEYS; i++)
            p.score[i] = block == 0 && i < (int)COUNT(specials)
                             ? specials[i]
                             : from + step * (float)(block * KEYS + i);
        begin_patch(&p, &s, by, false, false);
        for (int i = 0; i < KEYS; i++) {
            double away = units_away(p.logits[i], exact(op, (double)p.score[i]));
            if (!(away <= 3))
                fail_msg("%d lanes, function %d of %.9g is %.9g, %g ULPs away", by->lanes, (int)op,
                         (double)p.score[i], (double)p.logits[i], away);
        }
        end_patch(&p);
    }
}

static void run_functions(const set *by)
{
    check_function(by, HEED_OP_EXP, -110, 205.0F / 128000);
    check_function(by, HEED_OP_EXP, -1e-3F, 2e-3F / 128000);
    check_function(by, HEED_OP_LOG, 0, 3.0F / 128000);
    check_function(by, HEED_OP_LOG, 1e-38F, 1e-39F);
    check_function(by, HEED_OP_LOG, 0.9F, 0.2F / 128000);
    check_function(by, HEED_OP_LOG, -3, 1e30F);
    check_function(by, HEED_OP_TANH, -12, 24.0F / 128000);
    check_function(by, HEED_OP_TANH, -1e-3F, 2e-3F / 128000);
    check_function(by, HEED_OP_TANH, -1e-42F, 2e-42F / 128000);
}

static void test_functions_to_the_last_places(void **state)
{
    for_sets(run_functions);
}

/* Appends 26 elements of an array to an expression, from the @first one. */
static void append_elements(char *text, const char *sign, int first)
{
    for (int i = 0; i < 26; i++)
        sprintf(text + strlen(text), "%s[%d]", sign, first + i);
}

/* Two expressions of 80 steps beside all words that add steps, none of which they share. */
static void test_the_longest_program_is_complete(void **state)
{
    char spec[1024] = "b2 h2 s8 d4 f32 causal=br softcap=3 bias=f32:bhq alibi=bh starts=bq lengths "
                      "shown=bytes:bhq varlen=16/16 cu_q=i64 cu_k=i64 array=a:f32:50 "
                      "array=m:bytes:90 score=--s";
    heed_problem problem;
    static heed_program program;
    append_elements(spec, "+a", 10);
    snprintf(spec + strlen(spec), sizeof spec - strlen(spec), " visible=m[9]");
    append_elements(spec, "||m", 50);
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_OK);
    assert_int_equal(heed_problem_normalize(&problem, &problem), HEED_OK);
    heed_program_make(&program, &problem);
    assert_in_range(program.count, 2 * HEED_EXPRESSION_STEPS_MAX + 36, HEED_STEPS_MAX);
    assert_int_equal(program.visible, program.count - 1); /* the last one joins all conditions */
    assert_in_range(program.score, HEED_EXPRESSION_STEPS_MAX, program.count - 1);

    snprintf(spec + strlen(spec), sizeof spec - strlen(spec), "||m[8]");
    assert_int_equal(heed_problem_parse(&problem, spec), HEED_ERR_INVALID);
}

RUN_TESTS(test_random_programs, test_the_longest_program_is_complete, test_divisions,
          test_functions_to_the_last_places)
