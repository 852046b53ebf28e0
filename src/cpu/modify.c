/*
 * modify.c - the steps of a program as vectors compute them: which are kept, and where values lie
 */
#include "modify.h"

#include "../operand.h"
#include "cpu.h"

/* The dimensions that a value depends on. */
enum {
    ALONG_ROW = 1,
    ALONG_KEY = 2,
    ALONG_BOTH = ALONG_ROW | ALONG_KEY
};

typedef struct lowering {
    heed_modify *m;
    const heed_program *program;
    unsigned along[HEED_STEPS_MAX];
    int last[HEED_STEPS_MAX]; /* the last step that takes the value; -1: none does */
    heed_spot spots[HEED_STEPS_MAX];
    int free[HEED_STEPS_MAX]; /* offsets of places for a whole patch that nothing needs any more */
    int free_count;
} lowering;

static void operands_of(const heed_step *step, int values[4])
{
    const int all[4] = { step->a, step->b, step->c, step->d };
    memcpy(values, all, sizeof all);
}

/* Does the load read neighbouring keys, in the order of keys? */
static bool reads_keys(const lowering *l, const heed_step *step)
{
    int values[4];
    if (step->op != HEED_OP_LOAD)
        return false;
    operands_of(step, values);
    int rank = l->program->sources[step->value.whole].rank;
    for (int i = 0; i < rank - 1; i++)
        if (l->along[values[i]] & ALONG_KEY)
            return false;
    return l->program->steps[values[rank - 1]].op == HEED_OP_KEY;
}

static void find_dimensions(lowering *l)
{
    for (int i = 0; i < l->program->count; i++) {
        const heed_step *step = &l->program->steps[i];
        int values[4];
        operands_of(step, values);
        unsigned along = step->op == HEED_OP_SCORE ? ALONG_BOTH
                         : step->op == HEED_OP_KEY ? ALONG_KEY
                         : step->op == HEED_OP_QUERY || step->op == HEED_OP_POSITION ||
                                 step->op == HEED_OP_HEAD
                             ? ALONG_ROW
                             : 0;
        for (int j = 0; j < 4; j++)
            along |= values[j] < 0 ? 0 : l->along[values[j]];
        l->along[i] = along;
    }
}

/* Which steps anything needs, and for how long. */
static void find_last(lowering *l)
{
    const heed_program *program = l->program;
    for (int i = 0; i < program->count; i++)
        l->last[i] = -1;
    if (program->score >= 0)
        l->last[program->score] = program->count;
    if (program->visible >= 0)
        l->last[program->visible] = program->count;
    for (int i = program->count - 1; i >= 0; i--) {
        const heed_step *step = &program->steps[i];
        int values[4];
        operands_of(step, values);
        if (l->last[i] < 0)
            continue;
        if (reads_keys(l, step)) /* it needs no vector of keys */
            values[program->sources[step->value.whole].rank - 1] = -1;
        for (int j = 0; j < 4; j++)
            if (values[j] >= 0 && l->last[values[j]] < i)
                l->last[values[j]] = i;
    }
}

/* A new place. */
static heed_spot place(lowering *l, heed_base base, unsigned along)
{
    heed_modify *m = l->m;
    const heed_grid *grid = &m->grid;
    int64_t *end = base == HEED_BASE_KEPT ? &m->need.kept : &m->need.patch;
    heed_spot spot = { .base = base, .offset = (int)*end };
    int64_t size = grid->lanes;
    if (along & (grid->rows ? ALONG_ROW : ALONG_KEY)) {
        spot.inner = grid->lanes;
        size *= grid->inner;
    }
    if (grid->rows && along & ALONG_KEY) {
        spot.outer = (int)size;
        size *= grid->outer;
    }
    *end += size;
    return spot;
}

/* Gives the places of values that step @i was the last to take to others. */
static void free_places(lowering *l, int i)
{
    for (int j = 0; j < i; j++)
        if (l->last[j] == i && l->spots[j].base == HEED_BASE_PATCH && l->along[j] == ALONG_BOTH)
            l->free[l->free_count++] = l->spots[j].offset;
}

/* Does a step after @i take the product of Q and K? */
static bool needs_product(const lowering *l, int i)
{
    for (int j = 0; j < l->program->count; j++)
        if (l->program->steps[j].op == HEED_OP_SCORE && l->last[j] > i)
            return true;
    return false;
}

static heed_spot place_of(lowering *l, int i)
{
    const heed_step *step = &l->program->steps[i];
    if (!(l->along[i] & ALONG_KEY))
        return place(l, HEED_BASE_KEPT, l->along[i]);
    if (step->op == HEED_OP_SCORE)
        return l->m->score;
    bool read = reads_keys(l, step);
    if (!read) /* elementwise, so it may take the place of what it takes */
        free_places(l, i);
    if (!read && i == l->program->score && l->along[i] == ALONG_BOTH && !needs_product(l, i))
        return l->m->score;
    if (l->along[i] != ALONG_BOTH || l->free_count == 0)
        return place(l, HEED_BASE_PATCH, l->along[i]);
    heed_spot spot = l->m->score;
    spot.base = HEED_BASE_PATCH;
    spot.offset = l->free[--l->free_count];
    return spot;
}

static heed_modify_step *append(lowering *l, const heed_step *step, int op)
{
    heed_modify_step *to = &l->m->steps[l->m->count++];
    int values[4];
    operands_of(step, values);
    *to = (heed_modify_step){ .op = op, .value = step->value };
    int of = step->op == HEED_OP_SELECT ? step->b : step->a;
    to->from = of < 0 ? step->kind : l->program->steps[of].kind;
    for (int j = 0; j < 4; j++)
        if (values[j] >= 0)
            to->from_spots[j] = l->spots[values[j]];
    return to;
}

/* Offsets of the rows that step @i reads: 64 bits for each lane. */
static heed_spot append_offsets(lowering *l, const heed_step *step)
{
    const heed_grid *grid = &l->m->grid;
    int values[4];
    unsigned along = 0;
    operands_of(step, values);
    for (int j = 0; j < l->program->sources[step->value.whole].rank - 1; j++)
        along |= l->along[values[j]];
    heed_spot spot = { .base = HEED_BASE_KEPT, .offset = (int)l->m->need.kept };
    spot.inner = grid->rows && along & ALONG_ROW ? grid->lanes : 0;
    l->m->need.kept += 2 * (int64_t)grid->lanes * (spot.inner ? grid->inner : 1);
    append(l, step, HEED_MODIFY_OFFSETS)->to = spot;
    return spot;
}

/* The steps that are computed once for each row. */
static void append_kept(lowering *l)
{
    const heed_program *program = l->program;
    for (int i = 0; i < program->count; i++) {
        const heed_step *step = &program->steps[i];
        if (l->last[i] < 0 || l->along[i] & ALONG_KEY)
            continue;
        l->spots[i] = place_of(l, i);
        append(l, step, step->op)->to = l->spots[i];
    }
    for (int i = 0; i < program->count; i++)
        if (l->last[i] >= 0 && reads_keys(l, &program->steps[i]))
            l->spots[i] = append_offsets(l, &program->steps[i]);
    l->m->kept_count = l->m->count;
}

static void append_others(lowering *l)
{
    const heed_program *program = l->program;
    for (int i = 0; i < program->count; i++) {
        const heed_step *step = &program->steps[i];
        if (l->last[i] < 0 || !(l->along[i] & ALONG_KEY))
            continue;
        bool read = reads_keys(l, step);
        heed_spot offsets = l->spots[i];
        l->spots[i] = place_of(l, i);
        if (step->op == HEED_OP_SCORE)
            continue;
        heed_modify_step *to = append(l, step, read ? HEED_MODIFY_READ : (int)step->op);
        to->to = l->spots[i];
        if (read)
            to->from_spots[0] = offsets;
    }
}

void heed_modify_make(heed_modify *m, const heed_problem *problem, const heed_program *program,
                      const heed_grid *grid)
{
    lowering l = { .m = m, .program = program };
    const int width = grid->inner * grid->lanes;
    *m = (heed_modify){ .grid = *grid, .first_position = heed_problem_view(problem).first };
    memcpy(m->sources, program->sources, sizeof m->sources);
    m->score = (heed_spot){ .base = HEED_BASE_LOGITS,
                            .outer = grid->rows ? width : 0,
                            .inner = grid->lanes };
    m->need.patch = (int64_t)width * grid->outer; /* logits that nobody needs */
    find_dimensions(&l);
    find_last(&l);
    append_kept(&l);
    append_others(&l);
    m->changes = program->score >= 0;
    m->hides = program->visible >= 0;
    if (m->changes)
        m->score = l.spots[program->score];
    if (m->hides)
        m->visible = l.spots[program->visible];
    m->copies = m->changes && m->score.base != HEED_BASE_LOGITS;
}

heed_modify_need heed_modify_need_of(const heed_problem *problem, const heed_grid *grid)
{
    heed_program program;
    heed_modify m;
    if (!heed_problem_modifies(problem))
        return (heed_modify_need){ 0, 0 };
    heed_program_make(&program, problem);
    heed_modify_make(&m, problem, &program, grid);
    return m.need;
}

/* Costs in units of an exponential. */
static double cost_of(const heed_modify_step *step)
{
    switch (step->op) {
    case HEED_OP_EXP:
    case HEED_OP_LOG:
        return 2;
    case HEED_OP_TANH:
        return 4;
    case HEED_OP_DIV:
    case HEED_OP_MOD:
        return step->from == HEED_KIND_INT ? 4 : 0.7;
    case HEED_OP_SQRT:
        return 0.7;
    case HEED_OP_LOAD:
        return 5;
    case HEED_MODIFY_READ:
        return 0.6;
    default:
        return 0.3;
    }
}

double heed_modify_cost(const heed_problem *problem)
{
    heed_program program;
    heed_modify m;
    double cost = 0;
    if (!heed_problem_modifies(problem))
        return 0;
    heed_program_make(&program, problem);
    heed_modify_make(&m, problem, &program,
                     &(heed_grid){ .lanes = 1, .inner = 1, .outer = 1, .rows = true });
    for (int i = m.kept_count; i < m.count; i++) /* nearly free where the value is one of keys */
        cost += m.steps[i].to.inner ? cost_of(&m.steps[i]) : 0;
    return cost + (m.hides ? 0.3 : 0);
}

int32_t heed_modify_element(const heed_load *source, const void *data, int64_t row, int64_t index)
{
    float real;
    int32_t whole;
    const char *at = data;
    int64_t size = (int64_t)heed_data_size(source->type);
    switch (source->type) {
    case HEED_DATA_BITS:
        memcpy(&whole, at + (row + index / 32) * size, sizeof whole);
        return (uint32_t)whole >> index % 32 & 1 ? -1 : 0;
    case HEED_DATA_BYTES:
        return at[row + index] ? -1 : 0;
    case HEED_DATA_F16:
    case HEED_DATA_BF16:
        heed_load_row(&real, at + (row + index) * size, 1,
                      source->type == HEED_DATA_F16 ? HEED_F16 : HEED_BF16);
        memcpy(&whole, &real, sizeof whole);
        return whole;
    default:
        memcpy(&whole, at + (row + index) * size, sizeof whole);
        return whole;
    }
}
