/*
 * modify_template.h - programs of logits over vectors
 *
 * An interpreter whose instructions work on a whole patch, so dispatch costs little per element.
 * heed_program_apply() defines each instruction; exp, log and tanh are accurate to a few ULP.
 * Values are 32 bits per lane: a float, an integer, or a bool with all bits set where it is true.
 *
 * Parameters, defined by the file that includes this template after simd_*.h:
 *
 *     MODIFIER  the heed_modifier to define
 */
#include <math.h>
#include <string.h>

#include "../../problem/operand.h"
#include "../cpu.h"
#include "../simd_quads.h"
#include "modify.h"
#include "modify_math.h"

#define TOGETHER \
    2 /* turns per loop iteration: their number is even, or there is room for one more */
#define VECTORS HEED_PATCH_VECTORS

/* The data of one step. */
typedef struct frame {
    const heed_modify *m;
    const heed_patch_rows *rows; /* used for values of rows */
    float *bases[HEED_BASES];
    int64_t turns; /* of a loop over the whole patch */
    int64_t key;
} frame;

/* How often a step is computed along outer. */
static inline int64_t turns_of(const frame *f, const heed_modify_step *x)
{
    return x->to.outer == 0 ? 1 : x->turns ? x->turns : f->turns;
}

/* Vectors of each turn. */
static inline int64_t vectors_of(const heed_modify_step *x)
{
    return x->to.inner ? VECTORS : 1;
}

#include "modify_loads.h"

/* -------------------------------------------------------------------------- */
/* Steps                                                                      */
/* -------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) vf apply_float(int op, vf a, vf b)
{
    switch (op) {
    case HEED_OP_ADD:
        return a + b;
    case HEED_OP_SUB:
        return a - b;
    case HEED_OP_MUL:
        return a * b;
    case HEED_OP_DIV:
        return a / b;
    case HEED_OP_MIN:
        return choose(a != a, a, v_min(a, b)); /* NOLINT(misc-redundant-expression): NaN */
    case HEED_OP_MAX:
        return choose(a != a, a, v_max(a, b)); /* NOLINT(misc-redundant-expression): NaN */
    case HEED_OP_NEG:
        return -a;
    case HEED_OP_ABS:
        return absolute(a);
    case HEED_OP_EXP:
        return exponential(a);
    case HEED_OP_LOG:
        return logarithm(a);
    case HEED_OP_TANH:
        return hyperbolic_tangent_of_half(a + a);
    case HEED_OP_SQRT:
        return v_sqrt(a);
    case HEED_OP_FLOOR:
        return round_down(a);
    case HEED_OP_TO_INT:
        return to_whole(a);
    case HEED_OP_LESS:
        return (vf)(a < b);
    case HEED_OP_LESS_EQUAL:
        return (vf)(a <= b);
    case HEED_OP_EQUAL:
        return (vf)(a == b);
    default:
        return (vf)(a != b);
    }
}

/* Integer sums and products wrap around. */
static inline __attribute__((always_inline)) vi apply_whole(int op, int32_t whole, vi a, vi b)
{
    switch (op) {
    case HEED_MODIFY_DIVIDE:
        return divide_by(a, whole);
    case HEED_MODIFY_REMAINDER:
        return (vi)((vu)a - (uint32_t)whole * (vu)divide_by(a, whole));
    case HEED_OP_ADD:
        return (vi)((vu)a + (vu)b);
    case HEED_OP_SUB:
        return (vi)((vu)a - (vu)b);
    case HEED_OP_MUL:
        return (vi)((vu)a * (vu)b);
    case HEED_OP_DIV:
        return divide(a, b);
    case HEED_OP_MOD:
        return (vi)((vu)a - (vu)b * (vu)divide(a, b));
    case HEED_OP_MIN:
        return (vi)choose(a < b, (vf)a, (vf)b);
    case HEED_OP_MAX:
        return (vi)choose(a > b, (vf)a, (vf)b);
    case HEED_OP_NEG:
        return (vi)(-(vu)a);
    case HEED_OP_ABS:
        return (vi)choose(a < 0, (vf)(vi)(-(vu)a), (vf)a);
    case HEED_OP_LESS:
        return a < b;
    case HEED_OP_LESS_EQUAL:
        return a <= b;
    case HEED_OP_EQUAL:
        return a == b;
    case HEED_OP_NOT_EQUAL:
        return a != b;
    case HEED_OP_AND:
        return a & b;
    case HEED_OP_OR:
        return a | b;
    default:
        return ~a;
    }
}

static inline __attribute__((always_inline)) vf apply(int op, heed_kind from, int32_t whole, vf a,
                                                      vf b, vf c)
{
    if (op == HEED_OP_SELECT)
        return choose((vi)a, b, c);
    if (op == HEED_MODIFY_CAP)
        return c * hyperbolic_tangent_of_half(a * (b + b));
    if (op == HEED_OP_TO_FLOAT)
        return __builtin_convertvector(from == HEED_KIND_BOOL ? (vi)(-(vu)a) : (vi)a, vf);
    if (op == HEED_OP_TO_INT && from == HEED_KIND_BOOL)
        return (vf)(-(vu)a);
    if (from == HEED_KIND_FLOAT)
        return apply_float(op, a, b);
    return (vf)apply_whole(op, whole, (vi)a, (vi)b);
}

/* How an operand moves from one vector to the next. */
enum {
    MOVES_NOT,  /* only from turn to turn */
    MOVES_WITH, /* as the result does */
    MOVES_ANYHOW
};

typedef struct operand {
    const float *at;
    int64_t outer, inner;
    vf fixed[VECTORS];
} operand;

static inline operand operand_of(const frame *f, const heed_spot *spot)
{
    const float *at = f->bases[spot->base] + spot->offset;
    return (operand){ at, spot->outer, spot->inner, { v_load(at), v_load(at + spot->inner) } };
}

/* Vector @i of turn @t, which has @vectors. */
static inline vf fetch(const operand *o, int moves, int vectors, int t, int i)
{
    return moves == MOVES_NOT    ? o->fixed[i]
           : moves == MOVES_WITH ? v_load(o->at + (t * vectors + i) * LANES)
                                 : v_load(o->at + t * o->outer + i * o->inner);
}

/* Runs one step, with @vectors in each turn and @together turns per iteration. All but the first
 * two arguments are constants. */
static inline __attribute__((always_inline)) void turns(const frame *f, const heed_modify_step *x,
                                                        int op, heed_kind from, int vectors,
                                                        int a_moves, int b_moves, int c_moves,
                                                        int together)
{
    operand a = operand_of(f, &x->from_spots[0]), b = operand_of(f, &x->from_spots[1]);
    operand c = operand_of(f, &x->from_spots[2]);
    const int32_t whole = x->value.whole;
    float *to = f->bases[x->to.base] + x->to.offset;
    for (int64_t turn = turns_of(f, x); turn > 0; turn -= together) {
        vf result[TOGETHER][VECTORS];
        for (int t = 0; t < together; t++)
            for (int i = 0; i < vectors; i++)
                result[t][i] = apply(op, from, whole, fetch(&a, a_moves, vectors, t, i),
                                     fetch(&b, b_moves, vectors, t, i),
                                     fetch(&c, c_moves, vectors, t, i));
        for (int t = 0; t < together; t++)
            for (int i = 0; i < vectors; i++)
                v_store(to + (t * vectors + i) * LANES, result[t][i]);
        to += together * vectors * LANES;
        a.at += together * (a_moves == MOVES_WITH ? vectors * LANES : a.outer);
        b.at += together * (b_moves == MOVES_WITH ? vectors * LANES : b.outer);
        c.at += together * (c_moves == MOVES_NOT ? 0 : c.outer);
    }
}

static inline bool moves_with(const heed_spot *spot, const heed_spot *to)
{
    return spot->outer == to->outer && spot->inner == to->inner;
}

/* Runs one step for all of its vectors; @op, @from and @takes, the number of inputs, are constants.
 * Steps with one vector a turn are rare, and specialized code for each way to move would double the
 * size. */
static inline __attribute__((always_inline)) void each(const frame *f, const heed_modify_step *x,
                                                       int op, heed_kind from, int takes)
{
    const heed_spot *to = &x->to, *a = &x->from_spots[0], *b = &x->from_spots[1];
    const bool fixed = x->from_spots[2].outer == 0;
    if (!to->inner)
        turns(f, x, op, from, 1, MOVES_ANYHOW, MOVES_ANYHOW, MOVES_ANYHOW, 1);
    else if (moves_with(a, to) && b->outer == 0 && fixed)
        turns(f, x, op, from, VECTORS, MOVES_WITH, MOVES_NOT, MOVES_NOT, TOGETHER);
    else if (takes > 1 && moves_with(a, to) && moves_with(b, to) && fixed)
        turns(f, x, op, from, VECTORS, MOVES_WITH, MOVES_WITH, MOVES_NOT, TOGETHER);
    else if (takes > 1 && a->outer == 0 && moves_with(b, to) && fixed)
        turns(f, x, op, from, VECTORS, MOVES_NOT, MOVES_WITH, MOVES_NOT, TOGETHER);
    else
        turns(f, x, op, from, VECTORS, MOVES_ANYHOW, MOVES_ANYHOW, MOVES_ANYHOW, 1);
}

/* -------------------------------------------------------------------------- */
/* Programs                                                                   */
/* -------------------------------------------------------------------------- */

/* 0, 1, 2 and so on. */
static inline vi numbers(void)
{
    vi lanes = { 0 };
    for (int i = 0; i < LANES; i++)
        lanes[i] = i;
    return lanes;
}

static void run_keys(const frame *f, const heed_modify_step *x)
{
    float *to = f->bases[x->to.base] + x->to.offset;
    for (int64_t turn = 0; turn < turns_of(f, x); turn++)
        v_store(to + turn * LANES, (vf)(numbers() + (vi)spread((int32_t)(f->key + turn * LANES))));
}

/* Runs a leaf: numbers of rows, batch elements, constants. */
static void run_leaf(const frame *f, const heed_modify_step *x)
{
    float *to = f->bases[x->to.base] + x->to.offset;
    for (int64_t lane = 0; lane < vectors_of(x) * LANES; lane++) {
        int64_t row = x->to.inner ? lane : 0;
        int64_t whole = x->op == HEED_OP_QUERY      ? f->rows->query[row]
                        : x->op == HEED_OP_POSITION ? f->rows->query[row] + f->m->first_position
                        : x->op == HEED_OP_HEAD     ? f->rows->head[row]
                        : x->op == HEED_OP_BATCH    ? f->rows->batch
                        : x->op == HEED_OP_BOOL     ? -(int64_t)x->value.whole
                                                    : x->value.whole;
        uint32_t bits = (uint32_t)whole;
        memcpy(to + lane, &bits, sizeof bits);
    }
}

static void run_origin(const frame *f, const heed_modify_step *x)
{
    const int64_t origin[] = { f->rows->row / f->m->group, f->rows->row % f->m->group };
    memcpy(f->bases[x->to.base] + x->to.offset, origin, sizeof origin);
}

/* query + key or query - key, in order: element e of the line is that of the row e rows after the
 * first one, with the first key or the last one. */
static void run_line(const frame *f, const heed_modify_step *x)
{
    const heed_spot *from = &x->from_spots[0];
    const int64_t last = f->key + f->m->grid.outer - 1;
    const vf inverse = v_set(1.0F / (float)f->m->group);
    float *to = f->bases[x->to.base] + x->to.offset;
    int64_t origin[2];
    memcpy(origin, f->bases[from->base] + from->offset, sizeof origin);
    const int64_t first = origin[0] + (x->value.whole > 0 ? f->key : -last);
    for (int64_t turn = 0; turn < turns_of(f, x); turn++) {
        vi row = numbers() + (vi)spread((int32_t)(origin[1] + turn * LANES));
        vf query = (__builtin_convertvector(row, vf) + 0.5F) * inverse; /* exact below 2^12 */
        vi whole = f->m->group == 1 ? row : __builtin_convertvector(query, vi);
        v_store(to + turn * LANES, (vf)(whole + (vi)spread((int32_t)first)));
    }
}

static void run_spread(const frame *f, const heed_modify_step *x)
{
    const heed_spot *from = &x->from_spots[0];
    const float *values = f->bases[from->base] + from->offset;
    float *to = f->bases[x->to.base] + x->to.offset;
    for (int64_t turn = 0; turn < f->m->grid.outer; turn++)
        v_store(to + turn * LANES, v_set(values[turn]));
}

/* Separate code for every operation and every kind of its inputs, where the kind matters. */
#define KEY_OF(op, from) ((op)*3 + (int)(from))
#define CASE(op, from, takes)                    \
    case KEY_OF(op, HEED_KIND_##from):           \
        each(f, x, op, HEED_KIND_##from, takes); \
        break
#define CASE_NUMBER(op, takes) \
    CASE(op, FLOAT, takes);    \
    CASE(op, INT, takes)
#define CASE_ANY(op, takes)          \
    CASE(op, FLOAT, takes);          \
    case KEY_OF(op, HEED_KIND_BOOL): \
        CASE(op, INT, takes)

static void run_arithmetic(const frame *f, const heed_modify_step *x)
{
    switch (KEY_OF(x->op, x->from)) {
        CASE_NUMBER(HEED_OP_ADD, 2);
        CASE_NUMBER(HEED_OP_SUB, 2);
        CASE_NUMBER(HEED_OP_MUL, 2);
        CASE_NUMBER(HEED_OP_DIV, 2);
        CASE(HEED_OP_MOD, INT, 2);
        CASE(HEED_MODIFY_DIVIDE, INT, 1);
        CASE(HEED_MODIFY_REMAINDER, INT, 1);
        CASE(HEED_MODIFY_CAP, FLOAT, 1);
        CASE_NUMBER(HEED_OP_MIN, 2);
        CASE_NUMBER(HEED_OP_MAX, 2);
        CASE_NUMBER(HEED_OP_NEG, 1);
        CASE_NUMBER(HEED_OP_ABS, 1);
        CASE(HEED_OP_EXP, FLOAT, 1);
        CASE(HEED_OP_LOG, FLOAT, 1);
        CASE(HEED_OP_TANH, FLOAT, 1);
        CASE(HEED_OP_SQRT, FLOAT, 1);
        CASE(HEED_OP_FLOOR, FLOAT, 1);
        CASE(HEED_OP_TO_FLOAT, INT, 1);
        CASE(HEED_OP_TO_FLOAT, BOOL, 1);
        CASE(HEED_OP_TO_INT, FLOAT, 1);
        CASE(HEED_OP_TO_INT, BOOL, 1);
        CASE_NUMBER(HEED_OP_LESS, 2);
        CASE_NUMBER(HEED_OP_LESS_EQUAL, 2);
        CASE_ANY(HEED_OP_EQUAL, 2);
        CASE_ANY(HEED_OP_NOT_EQUAL, 2);
        CASE(HEED_OP_AND, BOOL, 2);
        CASE(HEED_OP_OR, BOOL, 2);
        CASE(HEED_OP_NOT, BOOL, 1);
    case KEY_OF(HEED_OP_SELECT, HEED_KIND_FLOAT):
    case KEY_OF(HEED_OP_SELECT, HEED_KIND_BOOL):
        CASE(HEED_OP_SELECT, INT, 2);
    }
}

typedef void run_fn(const frame *f, const heed_modify_step *x);

/* Operations other than arithmetic. */
static run_fn *const others[] = {
    [HEED_OP_QUERY] = run_leaf,        [HEED_OP_POSITION] = run_leaf,
    [HEED_OP_KEY] = run_keys,          [HEED_OP_HEAD] = run_leaf,
    [HEED_OP_BATCH] = run_leaf,        [HEED_OP_FLOAT] = run_leaf,
    [HEED_OP_INT] = run_leaf,          [HEED_OP_BOOL] = run_leaf,
    [HEED_OP_LOAD] = run_load,         [HEED_MODIFY_LINE] = run_line,
    [HEED_MODIFY_GATHER] = run_gather, [HEED_MODIFY_OFFSETS] = run_offsets,
    [HEED_MODIFY_READ] = run_read,     [HEED_MODIFY_ORIGIN] = run_origin,
    [HEED_MODIFY_SPREAD] = run_spread, [HEED_MODIFY_READ_ADD] = run_read,
};

static void run_steps(const frame *f, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        const heed_modify_step *x = &f->m->steps[i];
        run_fn *other = others[x->op];
        if (other)
            other(f, x);
        else
            run_arithmetic(f, x);
    }
}

static void begin(const heed_modify *m, const heed_patch_rows *rows, float *kept)
{
    const frame f = { .m = m, .rows = rows, .bases = { kept, kept, kept }, .turns = 1 };
    run_steps(&f, 0, m->kept_count);
}

static void prefetch(const heed_modify *m, const float *kept, heed_interval keys, int64_t part,
                     int64_t parts)
{
    const frame f = { .m = m, .bases = { (float *)kept }, .key = keys.begin };
    for (int i = m->kept_count; i < m->count; i++)
        if (m->steps[i].op == HEED_MODIFY_READ || m->steps[i].op == HEED_MODIFY_READ_ADD)
            prefetch_rows(&f, &m->steps[i], keys.end - keys.begin, part, parts);
}

static frame frame_of(const heed_modify *m, const heed_patch *patch)
{
    return (frame){ .m = m,
                    .bases = { (float *)patch->kept, patch->scratch, patch->logits },
                    .turns = m->grid.rows ? patch->keys : m->grid.outer,
                    .key = patch->key };
}

/* Combines the visibility of @turns turns. */
static inline void look(const heed_spot *visible, const float *sees, int vectors, int64_t turns,
                        vi *any, vi *all)
{
    for (int64_t turn = 0; turn < turns; turn++, sees += visible->outer)
        for (int i = 0; i < vectors; i++) {
            *any |= (vi)v_load(sees + i * visible->inner);
            *all &= (vi)v_load(sees + i * visible->inner);
        }
}

static heed_shows see(const heed_modify *m, const heed_patch *patch)
{
    const frame f = frame_of(m, patch);
    const heed_spot *visible = &m->visible;
    const float *sees = f.bases[visible->base] + visible->offset;
    const int64_t together = 8; /* turns between checks for an early result */
    vi any = { 0 }, all = ~any;
    run_steps(&f, m->kept_count, m->see_count);
    for (int64_t turn = 0; turn < f.turns; turn += together) {
        int64_t turns = heed_min(f.turns - turn, together);
        if (m->grid.rows)
            look(visible, sees + turn * visible->outer, VECTORS, turns, &any, &all);
        else
            look(visible, sees + turn * visible->outer, 1, turns, &any, &all);
        if (v_is_any((vf)any) && !v_is_all((vf)all))
            return HEED_SHOWS_SOME;
    }
    return v_is_any((vf)any) ? HEED_SHOWS_ALL : HEED_SHOWS_NONE;
}

static void hide(const heed_modify *m, const heed_patch *patch)
{
    const int64_t turns = m->grid.rows ? patch->keys : m->grid.outer;
    for (int64_t i = 0; i < turns * m->grid.inner; i++)
        v_store(patch->logits + i * LANES, v_set(-INFINITY));
}

static void run(const heed_modify *m, const heed_patch *patch)
{
    const frame f = frame_of(m, patch);
    const bool ends = m->copies || patch->shows == HEED_SHOWS_SOME;
    if (patch->shows == HEED_SHOWS_NONE)
        hide(m, patch);
    else
        run_steps(&f, m->see_count, ends ? m->count : m->count - 1);
}

const heed_modifier MODIFIER = { .begin = begin, .prefetch = prefetch, .see = see, .run = run };
