/*
 * modify.c - compile a program to vector steps: once-per-row values, and the place of each value
 */
#include "modify_arrange.h"

#include <math.h>
#include <stddef.h>

#include "../../problem/operand.h"
#include "../cpu.h"

typedef struct lowering {
    heed_modify *m;
    heed_arranged arranged;
    int last[HEED_STEPS_MAX]; /* the last step that uses the value; -1: none */
    heed_spot spots[HEED_STEPS_MAX];
    heed_spot spread[HEED_STEPS_MAX]; /* values of keys after spreading */
    bool is_spread[HEED_STEPS_MAX];
    int free[HEED_STEPS_MAX]; /* offsets of free places for a whole patch */
    int free_count;
    heed_spot origin; /* kept for all steps: the first row, */
    heed_spot all;    /* true, */
    heed_spot hidden; /* and the logit of hidden keys */
} lowering;

/* The shape in which a value is computed: where keys go along the lanes, all values that depend on
 * them are in their order. */
static heed_shape shape_of(const lowering *l, int i)
{
    heed_shape shape = l->arranged.shapes[i];
    return shape > HEED_SHAPE_ROW && !l->m->grid.rows ? HEED_SHAPE_PAIR : shape;
}

static bool is_line(heed_shape shape)
{
    return shape == HEED_SHAPE_DIFFERENCE || shape == HEED_SHAPE_SUM;
}

/* Finds which steps are needed, and until when. */
static void find_last(lowering *l)
{
    const heed_program *program = &l->arranged.program;
    for (int i = 0; i < program->count; i++)
        l->last[i] = -1;
    if (program->score >= 0)
        l->last[program->score] = program->count;
    if (program->visible >= 0)
        l->last[program->visible] = program->count;
    for (int i = program->count - 1; i >= 0; i--) {
        const heed_step *step = &program->steps[i];
        int values[4];
        heed_step_operands(step, values);
        if (l->last[i] < 0)
            continue;
        if (heed_arranged_reads_keys(&l->arranged, step)) /* it does not need a vector of keys */
            values[program->sources[step->value.whole].rank - 1] = -1;
        for (int j = 0; j < 4; j++)
            if (values[j] >= 0 && l->last[values[j]] < i)
                l->last[values[j]] = i;
    }
}

/* Vectors in a line, an even number. */
static int line_turns(const heed_modify *m)
{
    int64_t elements = m->grid.inner * m->grid.lanes + (int64_t)m->group * (m->grid.outer - 1);
    return (int)(2 * heed_div_up(elements, 2 * m->grid.lanes));
}

/* How often a value of @shape is computed along outer; 0: once for each turn of the patch. */
static int turns_of(const heed_modify *m, heed_shape shape)
{
    return is_line(shape)            ? line_turns(m)
           : shape == HEED_SHAPE_KEY ? m->grid.outer / m->grid.lanes
                                     : 0;
}

/* Allocates a place. */
static heed_spot place(lowering *l, heed_shape shape)
{
    heed_modify *m = l->m;
    const heed_grid *grid = &m->grid;
    heed_spot spot = { .base = shape <= HEED_SHAPE_ROW ? HEED_BASE_KEPT : HEED_BASE_PATCH };
    int64_t *end = spot.base == HEED_BASE_KEPT ? &m->need.kept : &m->need.patch;
    int64_t turns = turns_of(m, shape) ? turns_of(m, shape) : grid->outer;
    int64_t size = grid->lanes;
    if (grid->rows && (shape == HEED_SHAPE_ROW || shape == HEED_SHAPE_PAIR)) {
        spot.inner = grid->lanes;
        size *= grid->inner;
    }
    if (spot.base == HEED_BASE_PATCH) {
        spot.outer = (int)size;
        size *= turns;
    }
    spot.offset = (int)*end;
    *end += size;
    return spot;
}

static heed_modify_step *append(lowering *l, int op)
{
    heed_modify_step *to = &l->m->steps[l->m->count++];
    *to = (heed_modify_step){ .op = op };
    return to;
}

/* The place where pairs find the value of their key; it is computed before its first use. */
static heed_spot spread(lowering *l, int value)
{
    const heed_grid *grid = &l->m->grid;
    if (!l->is_spread[value]) {
        heed_modify_step *step = append(l, HEED_MODIFY_SPREAD);
        step->from_spots[0] = l->spots[value];
        step->to = (heed_spot){ HEED_BASE_PATCH, (int)l->m->need.patch, grid->lanes, 0 };
        l->m->need.patch += (int64_t)grid->lanes * grid->outer;
        l->spread[value] = step->to;
        l->is_spread[value] = true;
    }
    return l->spread[value];
}

/* The place where a step that is computed in @shape finds a value. */
static heed_spot spot_for(lowering *l, int value, heed_shape shape)
{
    const heed_modify *m = l->m;
    const heed_shape own = shape_of(l, value);
    heed_spot spot = l->spots[value];
    if (shape != HEED_SHAPE_PAIR || own <= HEED_SHAPE_ROW || own == HEED_SHAPE_PAIR)
        return spot;
    if (own == HEED_SHAPE_KEY)
        return spread(l, value);
    spot.inner = m->grid.lanes;
    spot.outer = own == HEED_SHAPE_SUM ? m->group : -m->group;
    if (own == HEED_SHAPE_DIFFERENCE)
        spot.offset += m->group * (m->grid.outer - 1);
    return spot;
}

/* Frees the places of values that step @i was the last to use. */
static void free_places(lowering *l, int i)
{
    for (int j = 0; j < i; j++)
        if (l->last[j] == i && l->spots[j].base == HEED_BASE_PATCH &&
            shape_of(l, j) == HEED_SHAPE_PAIR)
            l->free[l->free_count++] = l->spots[j].offset;
}

/* True if the product of Q and K is available, and no step after @i uses it. */
static bool has_done_with_product(const lowering *l, int i)
{
    const heed_program *program = &l->arranged.program;
    for (int j = 0; j < program->count; j++)
        if (program->steps[j].op == HEED_OP_SCORE && l->last[j] > i)
            return false;
    return i >= l->arranged.see_count;
}

/* The place of a patch's logits. */
static heed_spot logits_of(const heed_grid *grid)
{
    return (heed_spot){ HEED_BASE_LOGITS, 0, grid->inner * grid->lanes,
                        grid->rows ? grid->lanes : 0 };
}

static heed_spot place_of(lowering *l, int i)
{
    const heed_step *step = &l->arranged.program.steps[i];
    const heed_spot logits = logits_of(&l->m->grid);
    if (step->op == HEED_OP_SCORE)
        return logits;
    if (shape_of(l, i) != HEED_SHAPE_PAIR)
        return place(l, shape_of(l, i));
    bool read = heed_arranged_reads_keys(&l->arranged, step);
    if (!read) /* elementwise, so it may overwrite its input */
        free_places(l, i);
    if (!read && i == l->arranged.program.score && has_done_with_product(l, i))
        return logits;
    if (l->free_count == 0)
        return place(l, HEED_SHAPE_PAIR);
    heed_spot spot = logits;
    spot.base = HEED_BASE_PATCH;
    spot.offset = l->free[--l->free_count];
    return spot;
}

/* Appends step @i. */
static heed_modify_step *append_step(lowering *l, int i, int op)
{
    const heed_step *step = &l->arranged.program.steps[i];
    const int of = step->op == HEED_OP_SELECT ? step->b : step->a;
    heed_spot spots[4] = { { 0 } };
    int values[4];
    heed_step_operands(step, values);
    for (int j = 0; j < 4 && op != HEED_MODIFY_READ; j++)
        if (values[j] >= 0)
            spots[j] = spot_for(l, values[j], shape_of(l, i));
    heed_modify_step *to = append(l, op);
    to->from = of < 0 ? step->kind : l->arranged.program.steps[of].kind;
    to->value = step->value;
    to->turns = turns_of(l->m, shape_of(l, i));
    memcpy(to->from_spots, spots, sizeof spots);
    return to;
}

static bool is_at(const lowering *l, int value, const heed_spot *spot)
{
    return memcmp(&l->spots[value], spot, sizeof *spot) == 0;
}

/* Makes the last step, a read, compute step @i, if that adds another pair to what it reads and
 * nothing else uses it. Returns NULL if not. */
static heed_modify_step *extend_read(lowering *l, int i)
{
    const heed_step *step = &l->arranged.program.steps[i];
    heed_modify_step *last = &l->m->steps[l->m->count - 1];
    if (step->op != HEED_OP_ADD || step->kind != HEED_KIND_FLOAT || last->op != HEED_MODIFY_READ ||
        last->to.inner == 0)
        return NULL;
    const bool second = is_at(l, step->b, &last->to);
    const int reads = second ? step->b : step->a, other = second ? step->a : step->b;
    if (!is_at(l, reads, &last->to) || l->last[reads] != i || reads == other ||
        shape_of(l, other) != HEED_SHAPE_PAIR)
        return NULL;
    last->op = HEED_MODIFY_READ_ADD;
    last->from_spots[1] = l->spots[other];
    return last;
}

/* Appends the offsets of the rows that step @i reads: 64 bits for each lane. */
static heed_spot append_offsets(lowering *l, int i)
{
    const heed_program *program = &l->arranged.program;
    const heed_step *step = &program->steps[i];
    const heed_grid *grid = &l->m->grid;
    int values[4];
    bool rows = false;
    heed_step_operands(step, values);
    for (int j = 0; j < program->sources[step->value.whole].rank - 1; j++)
        rows = rows || (grid->rows && shape_of(l, values[j]) == HEED_SHAPE_ROW);
    heed_spot spot = { .base = HEED_BASE_KEPT, .offset = (int)l->m->need.kept };
    spot.inner = rows ? grid->lanes : 0;
    l->m->need.kept += 2 * (int64_t)grid->lanes * (rows ? grid->inner : 1);
    heed_modify_step *to = append(l, HEED_MODIFY_OFFSETS);
    to->value = step->value;
    to->to = spot;
    for (int j = 0; j < program->sources[step->value.whole].rank - 1; j++)
        to->from_spots[j] = l->spots[values[j]];
    return spot;
}

/* Appends a value that is the same for all pairs. */
static heed_spot append_one(lowering *l, int op, heed_value value)
{
    heed_spot spot = place(l, HEED_SHAPE_ONE);
    heed_modify_step *to = append(l, op);
    to->value = value;
    to->to = spot;
    return spot;
}

/* Appends the steps that are computed once per row. */
static void append_kept(lowering *l)
{
    const heed_program *program = &l->arranged.program;
    for (int i = 0; i < program->count; i++) {
        if (l->last[i] < 0 || shape_of(l, i) > HEED_SHAPE_ROW)
            continue;
        l->spots[i] = place_of(l, i);
        append_step(l, i, (int)program->steps[i].op)->to = l->spots[i];
    }
    for (int i = 0; i < program->count; i++)
        if (l->last[i] >= 0 && heed_arranged_reads_keys(&l->arranged, &program->steps[i]))
            l->spots[i] = append_offsets(l, i);
    l->origin = append_one(l, HEED_MODIFY_ORIGIN, (heed_value){ 0 });
    l->all = append_one(l, HEED_OP_BOOL, (heed_value){ .whole = 1 });
    l->hidden = append_one(l, HEED_OP_FLOAT, (heed_value){ .real = -INFINITY });
    l->m->kept_count = l->m->count;
}

/* Appends the other steps from @begin up to @end. */
static void append_others(lowering *l, int begin, int end)
{
    const heed_program *program = &l->arranged.program;
    for (int i = begin; i < end; i++) {
        const heed_step *step = &program->steps[i];
        if (l->last[i] < 0 || shape_of(l, i) <= HEED_SHAPE_ROW)
            continue;
        bool read = heed_arranged_reads_keys(&l->arranged, step);
        heed_spot from = read ? l->spots[i] : l->origin;
        heed_spot to = place_of(l, i);
        l->spots[i] = to;
        if (step->op == HEED_OP_SCORE)
            continue;
        heed_modify_step *made = extend_read(l, i);
        if (!made)
            made = append_step(l, i, read ? HEED_MODIFY_READ : (int)step->op);
        made->to = to;
        l->m->reads = l->m->reads || read;
        if (read || (int)step->op == HEED_MODIFY_LINE)
            made->from_spots[0] = from;
    }
}

/* Moves the logits to their place, and sets those of hidden keys to -infinity. */
static void append_end(lowering *l)
{
    const heed_program *program = &l->arranged.program;
    const heed_spot logits = logits_of(&l->m->grid);
    heed_spot score = logits;
    if (program->score >= 0)
        score = spot_for(l, program->score, HEED_SHAPE_PAIR);
    l->m->copies = score.base != HEED_BASE_LOGITS;
    heed_modify_step *to = append(l, HEED_OP_SELECT);
    *to = (heed_modify_step){ .op = HEED_OP_SELECT, .from = HEED_KIND_FLOAT, .to = logits };
    to->from_spots[0] = program->visible < 0 ? l->all : l->m->visible;
    to->from_spots[1] = score;
    to->from_spots[2] = l->hidden;
}

void heed_modify_make(heed_modify *m, const heed_problem *problem, const heed_program *program,
                      const heed_grid *grid)
{
    lowering l = { .m = m };
    const heed_program *arranged = &l.arranged.program;
    memset(m, 0, offsetof(heed_modify, steps));
    m->grid = *grid;
    m->group = (int)heed_problem_group(problem);
    m->first_position = heed_problem_view(problem).first;
    memcpy(m->sources, program->sources, sizeof m->sources);
    heed_modify_arrange(&l.arranged, problem, program, grid);
    find_last(&l);
    append_kept(&l);
    append_others(&l, 0, l.arranged.see_count);
    m->changes = arranged->score >= 0;
    m->hides = arranged->visible >= 0;
    if (m->hides)
        m->visible = spot_for(&l, arranged->visible, HEED_SHAPE_PAIR);
    m->see_count = m->count;
    append_others(&l, l.arranged.see_count, arranged->count);
    append_end(&l);
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
    case HEED_MODIFY_CAP:
        return 2;
    case HEED_MODIFY_DIVIDE:
    case HEED_MODIFY_REMAINDER:
        return 1;
    case HEED_MODIFY_GATHER:
        return 2;
    case HEED_OP_DIV:
    case HEED_OP_MOD:
        return step->from == HEED_KIND_INT ? 3 : 0.7;
    case HEED_OP_SQRT:
        return 0.7;
    case HEED_OP_LOAD:
        return 5;
    case HEED_MODIFY_READ:
    case HEED_MODIFY_READ_ADD:
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
    for (int i = m.kept_count; i < m.count;
         i++) /* nearly free unless the value differs between pairs */
        cost += m.steps[i].turns == 0 ? cost_of(&m.steps[i]) : 0;
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
        heed_load_row(&real, at + (row + index) * size, 1, heed_data_type(source->type));
        memcpy(&whole, &real, sizeof whole);
        return whole;
    default:
        memcpy(&whole, at + (row + index) * size, sizeof whole);
        return whole;
    }
}
