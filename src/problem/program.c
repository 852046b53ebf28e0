/*
 * program.c - the steps from the product of Q and K to the logit, and a scalar implementation of
 * each
 */
#include "program.h"

#include <math.h>
#include <string.h>

#include "operand.h"

/* -------------------------------------------------------------------------- */
/* Values                                                                     */
/* -------------------------------------------------------------------------- */

static int32_t wrap(uint32_t bits)
{
    int32_t whole;
    memcpy(&whole, &bits, sizeof whole);
    return whole;
}

static int32_t divide(int32_t a, int32_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return wrap(0U - (uint32_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

static int32_t to_int(float x)
{
    if (isnan(x))
        return 0;
    return x <= -0x1p31F ? INT32_MIN : x >= 0x1p31F ? INT32_MAX : (int32_t)x;
}

static float apply_float(heed_op op, float a, float b)
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
        return a < b || isnan(a) ? a : b;
    case HEED_OP_MAX:
        return a > b || isnan(a) ? a : b;
    case HEED_OP_NEG:
        return -a;
    case HEED_OP_ABS:
        return fabsf(a);
    case HEED_OP_EXP:
        return expf(a);
    case HEED_OP_LOG:
        return logf(a);
    case HEED_OP_TANH:
        return tanhf(a);
    case HEED_OP_SQRT:
        return sqrtf(a);
    default:
        return floorf(a);
    }
}

static int32_t apply_int(heed_op op, int32_t a, int32_t b)
{
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    switch (op) {
    case HEED_OP_ADD:
        return wrap(x + y);
    case HEED_OP_SUB:
        return wrap(x - y);
    case HEED_OP_MUL:
        return wrap(x * y);
    case HEED_OP_DIV:
        return divide(a, b);
    case HEED_OP_MOD:
        return wrap(x - y * (uint32_t)divide(a, b));
    case HEED_OP_MIN:
        return a < b ? a : b;
    case HEED_OP_MAX:
        return a > b ? a : b;
    case HEED_OP_NEG:
        return wrap(0U - x);
    default:
        return a < 0 ? wrap(0U - x) : a;
    }
}

/* A comparison of two values; a NaN is neither less nor equal. */
static bool compare(heed_op op, bool less, bool equal)
{
    switch (op) {
    case HEED_OP_LESS:
        return less;
    case HEED_OP_LESS_EQUAL:
        return less || equal;
    case HEED_OP_EQUAL:
        return equal;
    default:
        return !equal;
    }
}

heed_value heed_program_apply(heed_op op, heed_kind from, heed_value a, heed_value b, heed_value c)
{
    switch (op) {
    case HEED_OP_TO_FLOAT:
        return (heed_value){ .real = (float)a.whole };
    case HEED_OP_TO_INT:
        return (heed_value){ .whole = from == HEED_KIND_FLOAT ? to_int(a.real) : a.whole };
    case HEED_OP_LESS:
    case HEED_OP_LESS_EQUAL:
    case HEED_OP_EQUAL:
    case HEED_OP_NOT_EQUAL:
        if (from == HEED_KIND_FLOAT)
            return (heed_value){ .whole = compare(op, a.real < b.real, a.real == b.real) };
        return (heed_value){ .whole = compare(op, a.whole < b.whole, a.whole == b.whole) };
    case HEED_OP_AND:
        return (heed_value){ .whole = a.whole & b.whole };
    case HEED_OP_OR:
        return (heed_value){ .whole = a.whole | b.whole };
    case HEED_OP_NOT:
        return (heed_value){ .whole = !a.whole };
    case HEED_OP_SELECT:
        return a.whole ? b : c;
    default:
        if (from == HEED_KIND_FLOAT)
            return (heed_value){ .real = apply_float(op, a.real, b.real) };
        return (heed_value){ .whole = apply_int(op, a.whole, b.whole) };
    }
}

/* -------------------------------------------------------------------------- */
/* Steps                                                                      */
/* -------------------------------------------------------------------------- */

static bool is_constant(const heed_program *program, int step)
{
    return step < 0 || program->steps[step].op <= HEED_OP_BOOL;
}

int heed_program_step(heed_program *program, const heed_step *step)
{
    for (int i = 0; i < program->count; i++) {
        const heed_step *other = &program->steps[i];
        if (other->op == step->op && other->kind == step->kind && other->a == step->a &&
            other->b == step->b && other->c == step->c && other->d == step->d &&
            other->value.whole == step->value.whole)
            return i;
    }
    if (program->count == HEED_STEPS_MAX)
        return -1;
    program->steps[program->count] = *step;
    return program->count++;
}

static int add_constant(heed_program *program, heed_kind kind, heed_value value)
{
    static const heed_op ops[] = { [HEED_KIND_FLOAT] = HEED_OP_FLOAT,
                                   [HEED_KIND_INT] = HEED_OP_INT,
                                   [HEED_KIND_BOOL] = HEED_OP_BOOL };
    return heed_program_step(program, &(heed_step){ ops[kind], kind, -1, -1, -1, value, -1 });
}

int heed_program_float(heed_program *program, float real)
{
    return add_constant(program, HEED_KIND_FLOAT, (heed_value){ .real = real });
}

int heed_program_int(heed_program *program, heed_kind kind, int32_t whole)
{
    return add_constant(program, kind, (heed_value){ .whole = whole });
}

int heed_program_leaf(heed_program *program, heed_op op)
{
    heed_kind kind = op == HEED_OP_SCORE ? HEED_KIND_FLOAT : HEED_KIND_INT;
    return heed_program_step(
        program, &(heed_step){ .op = op, .kind = kind, .a = -1, .b = -1, .c = -1, .d = -1 });
}

int heed_program_add(heed_program *program, heed_op op, heed_kind kind, int a, int b, int c)
{
    const heed_step *steps = program->steps;
    if (is_constant(program, a) && is_constant(program, b) && is_constant(program, c)) {
        heed_value none = { .whole = 0 };
        return add_constant(program, kind,
                            heed_program_apply(op, steps[a].kind, steps[a].value,
                                               b < 0 ? none : steps[b].value,
                                               c < 0 ? none : steps[c].value));
    }
    return heed_program_step(
        program, &(heed_step){ .op = op, .kind = kind, .a = a, .b = b, .c = c, .d = -1 });
}

int heed_program_load(heed_program *program, const heed_load *from, const int indices[4])
{
    int source = 0;
    while (source < program->source_count && program->sources[source].buffer != from->buffer)
        source++;
    if (source == program->source_count)
        program->sources[program->source_count++] = *from;
    heed_kind kind = from->type == HEED_DATA_I32 ? HEED_KIND_INT
                     : from->type == HEED_DATA_BYTES || from->type == HEED_DATA_BITS
                         ? HEED_KIND_BOOL
                         : HEED_KIND_FLOAT;
    heed_step step = { .op = HEED_OP_LOAD, .kind = kind, .value.whole = source };
    int *places[] = { &step.a, &step.b, &step.c, &step.d };
    for (int i = 0; i < 4; i++)
        *places[i] = i < from->rank ? indices[i] : -1;
    return heed_program_step(program, &step);
}

/* -------------------------------------------------------------------------- */
/* Programs of problems                                                       */
/* -------------------------------------------------------------------------- */

/* Loads the element of an operand for the query and the key. */
static int load_operand(heed_program *program, const heed_problem *problem, int index)
{
    const heed_operand_row *row = &heed_operand_rows[index];
    const heed_operand *operand = heed_problem_operand(problem, index);
    const struct {
        unsigned bit;
        heed_op op;
        int64_t size, stride;
    } dimensions[] = {
        { HEED_ALONG_BATCH, HEED_OP_BATCH, problem->batch, operand->strides.batch },
        { HEED_ALONG_HEAD, HEED_OP_HEAD, problem->heads_q, operand->strides.head },
        { HEED_ALONG_QUERY, HEED_OP_QUERY, problem->seq_q, operand->strides.seq },
        { HEED_ALONG_KEY, HEED_OP_KEY, problem->seq_k, 1 },
    };
    heed_load load = { .type = operand->type, .buffer = row->buffer };
    int indices[4];
    for (int i = 0; i < 4; i++) {
        if (!(operand->along & dimensions[i].bit))
            continue;
        load.size[load.rank] = (int32_t)(dimensions[i].size < INT32_MAX ? dimensions[i].size
                                                                        : INT32_MAX);
        load.stride[load.rank] = dimensions[i].stride;
        indices[load.rank++] = heed_program_leaf(program, dimensions[i].op);
    }
    if (load.stride[load.rank - 1] != 1) { /* lengths with gaps: the last stride must be 1 */
        load.size[load.rank] = 1;
        load.stride[load.rank] = 1;
        indices[load.rank++] = heed_program_int(program, HEED_KIND_INT, 0);
    }
    return heed_program_load(program, &load, indices);
}

/* Loads the length of a packed sequence, the difference of two cumulative lengths; 64-bit ones are
 * read as two words. */
static int load_packed(heed_program *program, const heed_problem *problem, int index)
{
    const int32_t words = heed_problem_operand(problem, index)->type == HEED_DATA_I64 ? 2 : 1;
    const heed_load load = {
        .type = HEED_DATA_I32,
        .buffer = heed_operand_rows[index].buffer,
        .rank = 2,
        .size = { (int32_t)(problem->batch < INT32_MAX ? problem->batch + 1 : INT32_MAX), words },
        .stride = { words, 1 }
    };
    int first = heed_program_leaf(program, HEED_OP_BATCH);
    int one = heed_program_int(program, HEED_KIND_INT, 1);
    int low = heed_program_int(program, HEED_KIND_INT, 0);
    int next = heed_program_add(program, HEED_OP_ADD, HEED_KIND_INT, first, one, -1);
    int begin = heed_program_load(program, &load, (const int[]){ first, low, -1, -1 });
    int end = heed_program_load(program, &load, (const int[]){ next, low, -1, -1 });
    return heed_program_add(program, HEED_OP_SUB, HEED_KIND_INT, end, begin, -1);
}

/* Loads the number of keys of the batch element. */
static int load_keys(heed_program *program, const heed_problem *problem)
{
    int keys = -1, length = -1;
    if (problem->tokens_k > 0)
        keys = load_packed(program, problem, HEED_OPERAND_CU_K);
    if (problem->lengths.type != HEED_DATA_NONE)
        length = load_operand(program, problem, HEED_OPERAND_LENGTHS);
    if (keys < 0 || length < 0)
        return keys < 0 ? length : keys;
    return heed_program_add(program, HEED_OP_MIN, HEED_KIND_INT, keys, length, -1);
}

int heed_program_position(heed_program *program, const heed_problem *problem)
{
    int position = heed_program_leaf(program, HEED_OP_POSITION);
    if (!heed_problem_follows_lengths(problem))
        return position;
    if (heed_problem_varies_k(problem))
        position = heed_program_add(program, HEED_OP_ADD, HEED_KIND_INT, position,
                                    load_keys(program, problem), -1);
    if (!heed_problem_varies_q(problem))
        return position;
    return heed_program_add(program, HEED_OP_SUB, HEED_KIND_INT, position,
                            load_packed(program, problem, HEED_OPERAND_CU_Q), -1);
}

/* softcap * tanh(t / softcap) */
static int add_softcap(heed_program *program, int t, float softcap)
{
    int cap = heed_program_float(program, softcap);
    t = heed_program_add(program, HEED_OP_DIV, HEED_KIND_FLOAT, t, cap, -1);
    t = heed_program_add(program, HEED_OP_TANH, HEED_KIND_FLOAT, t, -1, -1);
    return heed_program_add(program, HEED_OP_MUL, HEED_KIND_FLOAT, cap, t, -1);
}

/* t - slope * |p - j| */
static int add_alibi(heed_program *program, const heed_problem *problem, int t)
{
    int slope = load_operand(program, problem, HEED_OPERAND_SLOPES);
    int p = heed_program_position(program, problem);
    int k = heed_program_leaf(program, HEED_OP_KEY);
    int distance = heed_program_add(program, HEED_OP_SUB, HEED_KIND_INT, p, k, -1);
    distance = heed_program_add(program, HEED_OP_ABS, HEED_KIND_INT, distance, -1, -1);
    distance = heed_program_add(program, HEED_OP_TO_FLOAT, HEED_KIND_FLOAT, distance, -1, -1);
    int less = heed_program_add(program, HEED_OP_MUL, HEED_KIND_FLOAT, slope, distance, -1);
    return heed_program_add(program, HEED_OP_SUB, HEED_KIND_FLOAT, t, less, -1);
}

/* Logical and of @a and @b; -1 counts as true. */
static int both(heed_program *program, int a, int b)
{
    if (b < 0)
        return a;
    return a < 0 ? b : heed_program_add(program, HEED_OP_AND, HEED_KIND_BOOL, a, b, -1);
}

static int add_expression(heed_program *program, const heed_problem *problem, const char *text,
                          heed_kind kind, int score)
{
    char why[128];
    size_t at;
    return heed_expression_add(program, problem, text, kind, score, why, sizeof why, &at);
}

static bool changes_logits(const heed_problem *problem)
{
    return problem->softcap != 0 || problem->bias.type != HEED_DATA_NONE ||
           problem->slopes.type != HEED_DATA_NONE || problem->score[0] != '\0';
}

bool heed_problem_hides_by_program(const heed_problem *problem)
{
    return problem->starts.type != HEED_DATA_NONE || problem->shown.type != HEED_DATA_NONE ||
           problem->visible[0] != '\0';
}

bool heed_problem_modifies(const heed_problem *problem)
{
    return changes_logits(problem) || heed_problem_hides_by_program(problem);
}

static int make_score(heed_program *program, const heed_problem *problem)
{
    int t = heed_program_leaf(program, HEED_OP_SCORE);
    if (problem->softcap != 0)
        t = add_softcap(program, t, problem->softcap);
    if (problem->bias.type != HEED_DATA_NONE) {
        int bias = load_operand(program, problem, HEED_OPERAND_BIAS);
        t = heed_program_add(program, HEED_OP_ADD, HEED_KIND_FLOAT, t, bias, -1);
    }
    if (problem->slopes.type != HEED_DATA_NONE)
        t = add_alibi(program, problem, t);
    if (problem->score[0] != '\0')
        t = add_expression(program, problem, problem->score, HEED_KIND_FLOAT, t);
    return t;
}

static int make_visible(heed_program *program, const heed_problem *problem)
{
    int visible = -1;
    if (problem->starts.type != HEED_DATA_NONE) {
        int start = load_operand(program, problem, HEED_OPERAND_STARTS);
        int k = heed_program_leaf(program, HEED_OP_KEY);
        visible = heed_program_add(program, HEED_OP_LESS_EQUAL, HEED_KIND_BOOL, start, k, -1);
    }
    if (problem->shown.type != HEED_DATA_NONE)
        visible = both(program, visible, load_operand(program, problem, HEED_OPERAND_SHOWN));
    if (problem->visible[0] != '\0')
        visible = both(program, visible,
                       add_expression(program, problem, problem->visible, HEED_KIND_BOOL, -1));
    return visible;
}

void heed_program_make(heed_program *program, const heed_problem *problem)
{
    *program = (heed_program){ .score = -1, .visible = -1 };
    if (changes_logits(problem))
        program->score = make_score(program, problem);
    if (heed_problem_hides_by_program(problem))
        program->visible = make_visible(program, problem);
}

void heed_program_needed(const heed_program *program, int last, bool needed[HEED_STEPS_MAX])
{
    memset(needed, 0, HEED_STEPS_MAX * sizeof *needed);
    needed[last] = true;
    for (int i = last; i >= 0; i--) {
        const heed_step *step = &program->steps[i];
        const int takes[4] = { step->a, step->b, step->c, step->d };
        for (int j = 0; j < 4 && needed[i]; j++)
            if (takes[j] >= 0)
                needed[takes[j]] = true;
    }
}
