/*
 * modify_arrange.c - reorder and rewrite a program for vectors
 *
 * The steps that hide keys come first, since hidden keys need no logits. Steps that are cheaper in
 * another form are rewritten, each by a rule in a table; their values stay the same, except for a
 * softcap, which multiplies by the inverse.
 */
#include "modify_arrange.h"

#include <math.h>

#include "../../problem/operand.h"

/* Most rows of one query for a line: with more, it is about as long as the patch has pairs. */
#define GROUP_MAX 8

/* Operations without a rule. */
#define OTHER (-2)

/* An integer that equals query * the query's number + key * the key's + rest, without overflow
 * beyond 32 bits in any intermediate result. */
typedef struct affine {
    bool known;
    int64_t query, key, rest;
} affine;

typedef struct arranging {
    heed_arranged *to;
    const heed_problem *problem;
    const heed_program *from;
    bool lines; /* values can be lines */
    bool one_head;
    bool rewrites;
    int shaped;                   /* steps whose shape is known */
    int at[HEED_STEPS_MAX];       /* new numbers of the steps of from */
    affine forms[HEED_STEPS_MAX]; /* their affine forms */
} arranging;

/* -------------------------------------------------------------------------- */
/* Shapes                                                                     */
/* -------------------------------------------------------------------------- */

bool heed_arranged_reads_keys(const heed_arranged *arranged, const heed_step *step)
{
    const heed_program *program = &arranged->program;
    int values[4];
    if (step->op != HEED_OP_LOAD)
        return false;
    heed_step_operands(step, values);
    int last = program->sources[step->value.whole].rank - 1;
    for (int i = 0; i < last; i++)
        if (arranged->shapes[values[i]] > HEED_SHAPE_ROW)
            return false;
    return program->steps[values[last]].op == HEED_OP_KEY;
}

static heed_shape join(heed_shape a, heed_shape b)
{
    return a == HEED_SHAPE_ONE ? b : b == HEED_SHAPE_ONE || a == b ? a : HEED_SHAPE_PAIR;
}

static heed_shape shape_of(const arranging *x, const heed_step *step)
{
    heed_shape shape = HEED_SHAPE_ONE;
    int values[4];
    switch ((int)step->op) {
    case HEED_OP_SCORE:
        return HEED_SHAPE_PAIR;
    case HEED_OP_KEY:
        return HEED_SHAPE_KEY;
    case HEED_OP_QUERY:
    case HEED_OP_POSITION:
        return HEED_SHAPE_ROW;
    case HEED_OP_HEAD:
        return x->one_head ? HEED_SHAPE_ONE : HEED_SHAPE_ROW;
    case HEED_MODIFY_LINE:
        return step->value.whole < 0 ? HEED_SHAPE_DIFFERENCE : HEED_SHAPE_SUM;
    default:
        heed_step_operands(step, values);
        for (int i = 0; i < 4; i++)
            if (values[i] >= 0)
                shape = join(shape, x->to->shapes[values[i]]);
        return shape;
    }
}

/* -------------------------------------------------------------------------- */
/* Affine values                                                              */
/* -------------------------------------------------------------------------- */

static int64_t size_of(int64_t x)
{
    return x < 0 ? -x : x;
}

static affine bounded(const heed_problem *p, affine form)
{
    const int64_t limit = 1 << 20;
    form.known = size_of(form.query) < limit && size_of(form.key) < limit &&
                 size_of(form.rest) <= INT32_MAX &&
                 size_of(form.query) * p->seq_q + size_of(form.key) * p->seq_k +
                         size_of(form.rest) <=
                     INT32_MAX;
    return form;
}

/* a + factor * b */
static affine affine_sum(const heed_problem *p, affine a, int64_t factor, affine b)
{
    if (!a.known || !b.known)
        return (affine){ .known = false };
    return bounded(p, (affine){ true, a.query + factor * b.query, a.key + factor * b.key,
                                a.rest + factor * b.rest });
}

static affine affine_product(const heed_problem *p, affine a, affine b)
{
    const affine zero = { .known = true };
    if (b.known && b.query == 0 && b.key == 0)
        return affine_sum(p, zero, b.rest, a);
    return a.known && a.query == 0 && a.key == 0 ? affine_sum(p, zero, a.rest, b)
                                                 : (affine){ .known = false };
}

static affine affine_of(const arranging *x, const heed_step *step)
{
    const heed_problem *p = x->problem;
    const affine zero = { .known = true };
    const affine a = step->a < 0 ? zero : x->forms[step->a];
    const affine b = step->b < 0 ? zero : x->forms[step->b];
    if (step->kind != HEED_KIND_INT)
        return (affine){ .known = false };
    switch (step->op) {
    case HEED_OP_INT:
        return bounded(p, (affine){ true, 0, 0, step->value.whole });
    case HEED_OP_QUERY:
        return bounded(p, (affine){ true, 1, 0, 0 });
    case HEED_OP_POSITION:
        return bounded(p, (affine){ true, 1, 0, heed_problem_view(p).first });
    case HEED_OP_KEY:
        return bounded(p, (affine){ true, 0, 1, 0 });
    case HEED_OP_ADD:
        return affine_sum(p, a, 1, b);
    case HEED_OP_SUB:
        return affine_sum(p, a, -1, b);
    case HEED_OP_NEG:
        return affine_sum(p, zero, -1, a);
    case HEED_OP_MUL:
        return affine_product(p, a, b);
    default:
        return (affine){ .known = false };
    }
}

static bool is_line(const arranging *x, affine form)
{
    return x->lines && form.known && form.query != 0 && size_of(form.query) == size_of(form.key);
}

/* -------------------------------------------------------------------------- */
/* Rules                                                                      */
/* -------------------------------------------------------------------------- */

/* Every addition below may fail, and then gives -1; steps that use such a value fail too. */
static int add(arranging *x, heed_op op, heed_kind kind, int a, int b)
{
    return a < 0 || b < 0 ? -1 : heed_program_add(&x->to->program, op, kind, a, b, -1);
}

static int add_step(arranging *x, int op, heed_kind kind, int a, int32_t whole)
{
    return heed_program_step(&x->to->program,
                             &(heed_step){ (heed_op)op, kind, a, -1, -1, { .whole = whole }, -1 });
}

static int add_int(arranging *x, int64_t whole)
{
    return heed_program_int(&x->to->program, HEED_KIND_INT, (int32_t)whole);
}

static int add_line(arranging *x, affine form)
{
    int sign = form.query == form.key ? 1 : -1;
    int line = add_step(x, HEED_MODIFY_LINE, HEED_KIND_INT, -1, sign);
    if (form.query != 1)
        line = add(x, HEED_OP_MUL, HEED_KIND_INT, line, add_int(x, form.query));
    if (form.rest != 0)
        line = add(x, HEED_OP_ADD, HEED_KIND_INT, line, add_int(x, form.rest));
    return line;
}

static int as_line(arranging *x, int i)
{
    return is_line(x, x->forms[i]) ? add_line(x, x->forms[i]) : OTHER;
}

/* Rewrites comparisons of affine values as the comparison of a line with 0. */
static int as_comparison(arranging *x, int i)
{
    const heed_step *step = &x->from->steps[i];
    if (step->op < HEED_OP_LESS || step->op > HEED_OP_NOT_EQUAL)
        return OTHER;
    affine form = affine_sum(x->problem, x->forms[step->a], -1, x->forms[step->b]);
    if (!is_line(x, form))
        return OTHER;
    return add(x, step->op, HEED_KIND_BOOL, add_line(x, form), add_int(x, 0));
}

/* Loads at arbitrary indices: the arithmetic of each index becomes steps, which are computed only
 * where their values vary. */
static int as_gather(arranging *x, int i)
{
    const heed_step *step = &x->from->steps[i];
    if (step->op != HEED_OP_LOAD)
        return OTHER;
    const heed_load *source = &x->from->sources[step->value.whole];
    int64_t last = 0;
    int values[4], index = -1;
    heed_shape shape = HEED_SHAPE_ONE;
    if (source->type == HEED_DATA_BITS)
        return OTHER;
    heed_step mapped = *step;
    int *const places[] = { &mapped.a, &mapped.b, &mapped.c, &mapped.d };
    heed_step_operands(step, values);
    for (int d = 0; d < source->rank; d++) {
        *places[d] = x->at[values[d]];
        shape = join(shape, x->to->shapes[*places[d]]);
        last += (int64_t)(source->size[d] - 1) * source->stride[d];
    }
    if (shape <= HEED_SHAPE_ROW || last > INT32_MAX || heed_arranged_reads_keys(x->to, &mapped))
        return OTHER;
    for (int d = 0; d < source->rank; d++) {
        int one = add(x, HEED_OP_MAX, HEED_KIND_INT, *places[d], add_int(x, 0));
        one = add(x, HEED_OP_MIN, HEED_KIND_INT, one, add_int(x, source->size[d] - 1));
        if (source->stride[d] != 1)
            one = add(x, HEED_OP_MUL, HEED_KIND_INT, one, add_int(x, source->stride[d]));
        index = d == 0 ? one : add(x, HEED_OP_ADD, HEED_KIND_INT, index, one);
    }
    return index < 0 ? -1 : add_step(x, HEED_MODIFY_GATHER, step->kind, index, step->value.whole);
}

static int as_division(arranging *x, int i)
{
    const heed_step *step = &x->from->steps[i];
    if (step->kind != HEED_KIND_INT || (step->op != HEED_OP_DIV && step->op != HEED_OP_MOD))
        return OTHER;
    const heed_step *divisor = &x->from->steps[step->b];
    if (divisor->op != HEED_OP_INT || divisor->value.whole == 0)
        return OTHER;
    return add_step(x, step->op == HEED_OP_DIV ? HEED_MODIFY_DIVIDE : HEED_MODIFY_REMAINDER,
                    HEED_KIND_INT, x->at[step->a], divisor->value.whole);
}

static const heed_step *constant(const heed_program *program, int step)
{
    const heed_step *it = &program->steps[step];
    return it->op == HEED_OP_FLOAT ? it : NULL;
}

/* A constant times tanh(t / another constant), in either order: a softcap. */
static int as_cap(arranging *x, int i)
{
    const heed_program *from = x->from;
    const heed_step *step = &from->steps[i];
    if (step->op != HEED_OP_MUL || step->kind != HEED_KIND_FLOAT)
        return OTHER;
    const heed_step *cap = constant(from, step->a);
    const heed_step *tanh = &from->steps[cap ? step->b : step->a];
    if (!cap)
        cap = constant(from, step->b);
    if (!cap || tanh->op != HEED_OP_TANH || from->steps[tanh->a].op != HEED_OP_DIV)
        return OTHER;
    const heed_step *quotient = &from->steps[tanh->a];
    const heed_step *divisor = constant(from, quotient->b);
    if (!divisor || !isnormal(divisor->value.real) || !isnormal(1 / divisor->value.real))
        return OTHER;
    int inverse = heed_program_float(&x->to->program, 1 / divisor->value.real);
    int factor = heed_program_float(&x->to->program, cap->value.real);
    if (inverse < 0 || factor < 0)
        return -1;
    return heed_program_step(&x->to->program, &(heed_step){ (heed_op)HEED_MODIFY_CAP,
                                                            HEED_KIND_FLOAT,
                                                            x->at[quotient->a],
                                                            inverse,
                                                            factor,
                                                            { 0 },
                                                            -1 });
}

static int as_it_is(arranging *x, int i)
{
    heed_step step = x->from->steps[i];
    int *const places[] = { &step.a, &step.b, &step.c, &step.d };
    for (int j = 0; j < 4; j++)
        if (*places[j] >= 0)
            *places[j] = x->at[*places[j]];
    return heed_program_step(&x->to->program, &step);
}

/* -------------------------------------------------------------------------- */
/* Programs                                                                   */
/* -------------------------------------------------------------------------- */

/* Adds a step in its best form. Returns false if there are too many. */
static bool emit(arranging *x, int i)
{
    static int (*const rules[])(arranging *, int) = { as_line,     as_comparison, as_gather,
                                                      as_division, as_cap,        as_it_is };
    const size_t count = sizeof rules / sizeof *rules;
    int at = OTHER;
    for (size_t r = x->rewrites ? 0 : count - 1; at == OTHER; r++)
        at = rules[r](x, i);
    x->at[i] = at;
    for (; x->shaped < x->to->program.count; x->shaped++)
        x->to->shapes[x->shaped] = shape_of(x, &x->to->program.steps[x->shaped]);
    return at >= 0;
}

/* Adds the steps that step @root needs and that have not been added. */
static bool emit_all(arranging *x, int root)
{
    bool needed[HEED_STEPS_MAX] = { false };
    if (root < 0)
        return true;
    needed[root] = true;
    for (int i = root; i >= 0; i--) {
        int values[4];
        heed_step_operands(&x->from->steps[i], values);
        for (int j = 0; j < 4; j++)
            if (needed[i] && values[j] >= 0)
                needed[values[j]] = true;
    }
    for (int i = 0; i <= root; i++)
        if (needed[i] && x->at[i] < 0 && !emit(x, i))
            return false;
    return true;
}

static bool arrange(arranging *x)
{
    heed_program *to = &x->to->program;
    to->count = x->shaped = 0;
    for (int i = 0; i < x->from->count; i++)
        x->at[i] = -1;
    if (!emit_all(x, x->from->visible))
        return false;
    x->to->see_count = to->count;
    if (!emit_all(x, x->from->score))
        return false;
    to->visible = x->from->visible < 0 ? -1 : x->at[x->from->visible];
    to->score = x->from->score < 0 ? -1 : x->at[x->from->score];
    return true;
}

void heed_modify_arrange(heed_arranged *to, const heed_problem *problem,
                         const heed_program *program, const heed_grid *grid)
{
    const int64_t group = heed_problem_group(problem);
    arranging x = { .to = to, .problem = problem, .from = program, .rewrites = true };
    x.lines = grid->rows && group <= GROUP_MAX;
    x.one_head = grid->rows && group == 1;
    to->program.source_count = program->source_count;
    memcpy(to->program.sources, program->sources, sizeof program->sources);
    for (int i = 0; i < program->count; i++)
        x.forms[i] = affine_of(&x, &program->steps[i]);
    if (arrange(&x))
        return;
    x.rewrites = false; /* too many steps; without rewriting there are no more than in @program */
    arrange(&x);
}
