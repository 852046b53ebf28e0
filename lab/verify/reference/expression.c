/*
 * expression.c - parses and evaluates the expressions of heed.h for the reference
 */
#include "lab/verify/reference/expression.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/tensor/convert.h"

enum {
    FLOAT,
    INT,
    BOOL
};

enum {
    CONSTANT,
    LOGIT,
    QUERY,
    KEY,
    POSITION,
    HEAD,
    BATCH,
    ELEMENT,
    ADD,
    SUB,
    MUL,
    DIV,
    QUOTIENT,
    REST,
    LESS,
    AT_MOST,
    EQUAL,
    UNEQUAL,
    AND,
    OR,
    NOT,
    NEGATE,
    CHOOSE,
    ABS,
    LEAST,
    MOST,
    EXP,
    LOG,
    TANH,
    SQRT,
    FLOOR,
    TO_FLOAT,
    TO_INT
};

/* ---------------------------------------------------------------------------------------------- */
/* Reading                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

typedef struct reader {
    lab_expression *to;
    const heed_problem *problem;
    const char *at;
    bool failed;
} reader;

static int read_all(reader *r);

static int fail(reader *r)
{
    r->failed = true;
    return 0;
}

static int add_node(reader *r, lab_node node)
{
    if (r->failed || r->to->count == LAB_NODES)
        return fail(r);
    r->to->nodes[r->to->count] = node;
    return r->to->count++;
}

static int add_constant(reader *r, int kind, double value)
{
    return add_node(r, (lab_node){ .op = CONSTANT, .kind = kind, .value = value });
}

static int kind_of(const reader *r, int node)
{
    return r->to->nodes[node].kind;
}

static bool accept(reader *r, const char *sign)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    if (strncmp(r->at, sign, strlen(sign)) != 0)
        return false;
    r->at += strlen(sign);
    return true;
}

/* The common kind of two operands; bools match only bools. */
static int common_kind(reader *r, int a, int b)
{
    int x = kind_of(r, a), y = kind_of(r, b);
    if ((x == BOOL) != (y == BOOL))
        return fail(r);
    return x == y ? x : FLOAT;
}

/* Binary operators: a higher level binds tighter. Longer signs come first. */
static const struct {
    const char *sign;
    int op, level;
    bool turned;
} binaries[] = {
    { "||", OR, 1, false },     { "&&", AND, 2, false },   { "<=", AT_MOST, 3, false },
    { ">=", AT_MOST, 3, true }, { "==", EQUAL, 3, false }, { "!=", UNEQUAL, 3, false },
    { "<", LESS, 3, false },    { ">", LESS, 3, true },    { "+", ADD, 4, false },
    { "-", SUB, 4, false },     { "*", MUL, 5, false },    { "//", QUOTIENT, 5, false },
    { "/", DIV, 5, false },     { "%", REST, 5, false },
};
#define BINARIES (sizeof binaries / sizeof *binaries)

static int kind_of_binary(reader *r, int op, int a, int b)
{
    int kind = common_kind(r, a, b);
    bool both_whole = kind_of(r, a) == INT && kind_of(r, b) == INT;
    if (op == AND || op == OR)
        return kind == BOOL ? BOOL : fail(r);
    if (kind == BOOL)
        return op == EQUAL || op == UNEQUAL ? BOOL : fail(r);
    if (op == QUOTIENT || op == REST)
        return both_whole ? INT : fail(r);
    if (op >= LESS && op <= UNEQUAL)
        return BOOL;
    return op == DIV ? FLOAT : kind;
}

static double number_at(reader *r, int *kind)
{
    char *end;
    const char *start = r->at;
    size_t digits = strspn(start, "0123456789");
    *kind = strchr(".eE", start[digits]) && start[digits] ? FLOAT : INT;
    double value = *kind == INT ? (double)strtoll(start, &end, 10) : strtod(start, &end);
    r->at = end;
    if (end == start || (*kind == INT && value > INT32_MAX))
        fail(r);
    return *kind == INT ? value : (double)(float)value;
}

static const struct {
    const char *name;
    int op, count;
} functions[] = { { "abs", ABS, 1 },   { "min", LEAST, 2 },   { "max", MOST, 2 },
                  { "exp", EXP, 1 },   { "log", LOG, 1 },     { "tanh", TANH, 1 },
                  { "sqrt", SQRT, 1 }, { "floor", FLOOR, 1 }, { "float", TO_FLOAT, 1 },
                  { "int", TO_INT, 1 } };

static bool is_word(const char *word, const char *name, size_t length)
{
    return strlen(word) == length && memcmp(word, name, length) == 0;
}

static int read_function(reader *r, const char *name, size_t length)
{
    size_t i = 0;
    while (i < sizeof functions / sizeof *functions && !is_word(functions[i].name, name, length))
        i++;
    if (i == sizeof functions / sizeof *functions)
        return fail(r);
    lab_node node = { .op = functions[i].op };
    for (int n = 0; n < functions[i].count; n++) {
        if (n > 0 && !accept(r, ","))
            return fail(r);
        node.child[n] = read_all(r);
    }
    if (r->failed || !accept(r, ")"))
        return fail(r);
    int kind = kind_of(r, node.child[0]);
    if (functions[i].count == 2)
        kind = common_kind(r, node.child[0], node.child[1]);
    if (kind == BOOL && node.op < TO_FLOAT)
        return fail(r);
    node.kind = node.op == TO_INT ? INT : node.op > MOST ? FLOAT : kind;
    return add_node(r, node);
}

static int read_element(reader *r, const char *name, size_t length)
{
    const heed_array *arrays = r->problem->arrays;
    int i = 0;
    while (i < HEED_ARRAYS_MAX && !is_word(arrays[i].name, name, length))
        i++;
    if (i == HEED_ARRAYS_MAX)
        return fail(r);
    lab_node node = { .op = ELEMENT, .value = i };
    node.kind = arrays[i].type == HEED_DATA_F32   ? FLOAT
                : arrays[i].type == HEED_DATA_I32 ? INT
                                                  : BOOL;
    for (int n = 0; n < arrays[i].rank; n++) {
        if (n > 0 && !accept(r, ","))
            return fail(r);
        node.child[n] = read_all(r);
        if (r->failed || kind_of(r, node.child[n]) != INT)
            return fail(r);
    }
    return accept(r, "]") ? add_node(r, node) : fail(r);
}

static int read_name(reader *r)
{
    static const struct {
        const char *name;
        int op, kind;
    } leaves[] = { { "s", LOGIT, FLOAT },  { "q", QUERY, INT },   { "k", KEY, INT },
                   { "p", POSITION, INT }, { "head", HEAD, INT }, { "batch", BATCH, INT } };
    const struct {
        const char *name;
        int kind;
        double value;
    } constants[] = { { "heads", INT, (double)r->problem->heads_q },
                      { "queries", INT, (double)r->problem->seq_q },
                      { "keys", INT, (double)r->problem->seq_k },
                      { "true", BOOL, 1 },
                      { "false", BOOL, 0 } };
    const char *name = r->at;
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    r->at += length;
    if (accept(r, "("))
        return read_function(r, name, length);
    if (accept(r, "["))
        return read_element(r, name, length);
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (is_word(leaves[i].name, name, length))
            return add_node(r, (lab_node){ .op = leaves[i].op, .kind = leaves[i].kind });
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (is_word(constants[i].name, name, length))
            return add_constant(r, constants[i].kind, constants[i].value);
    return fail(r);
}

static int read_single(reader *r)
{
    int kind;
    if (r->failed)
        return 0;
    if (accept(r, "-")) {
        int a = read_single(r);
        return kind_of(r, a) == BOOL
                   ? fail(r)
                   : add_node(r, (lab_node){ .op = NEGATE, .kind = kind_of(r, a), .child = { a } });
    }
    if (accept(r, "!")) {
        int a = read_single(r);
        return kind_of(r, a) != BOOL
                   ? fail(r)
                   : add_node(r, (lab_node){ .op = NOT, .kind = BOOL, .child = { a } });
    }
    if (accept(r, "(")) {
        int a = read_all(r);
        return accept(r, ")") ? a : fail(r);
    }
    if (isdigit((unsigned char)*r->at) || *r->at == '.') {
        double value = number_at(r, &kind);
        return add_constant(r, kind, value);
    }
    return isalpha((unsigned char)*r->at) || *r->at == '_' ? read_name(r) : fail(r);
}

/* The index of the next operator, of @level or above; BINARIES if there is none. */
static size_t next_binary(reader *r, int level)
{
    for (size_t i = 0; i < BINARIES; i++) {
        const char *before = r->at;
        if (!accept(r, binaries[i].sign))
            continue;
        if (binaries[i].level >= level)
            return i;
        r->at = before;
        return BINARIES;
    }
    return BINARIES;
}

/* Reads values joined by operators of @level and above, left to right. */
static int read_binary(reader *r, int level)
{
    int a = read_single(r);
    size_t i;
    while (!r->failed && (i = next_binary(r, level)) < BINARIES) {
        int b = read_binary(r, binaries[i].level + 1);
        int kind = r->failed ? 0 : kind_of_binary(r, binaries[i].op, a, b);
        a = add_node(
            r, (lab_node){ .op = binaries[i].op,
                           .kind = kind,
                           .child = { binaries[i].turned ? b : a, binaries[i].turned ? a : b } });
    }
    return a;
}

static int read_all(reader *r)
{
    int a = read_binary(r, 1);
    if (r->failed || !accept(r, "?"))
        return a;
    int b = read_all(r);
    if (!accept(r, ":"))
        return fail(r);
    int c = read_all(r);
    if (r->failed || kind_of(r, a) != BOOL)
        return fail(r);
    return add_node(r,
                    (lab_node){ .op = CHOOSE, .kind = common_kind(r, b, c), .child = { a, b, c } });
}

bool lab_expression_parse(lab_expression *expression, const heed_problem *problem, const char *text)
{
    reader r = { .to = expression, .problem = problem, .at = text };
    expression->count = 0;
    expression->root = read_all(&r);
    return !r.failed && accept(&r, "") && *r.at == '\0';
}

/* ---------------------------------------------------------------------------------------------- */
/* Computing                                                                                      */
/* ---------------------------------------------------------------------------------------------- */

static lab_number compute(const lab_expression *e, int number, lab_evaluation *at);

lab_number lab_number_rounded(double value, double error, double units, bool single)
{
    if (fabs(value) > (double)FLT_MAX)
        value = copysign(INFINITY, value);
    if (single || !isfinite(value))
        return (lab_number){ (double)(float)value, 0 };
    if (error == 0 && units <= LAB_UNITS_SUM && (double)(float)value == value)
        return (lab_number){ value, 0 };
    error += units * lab_type_unit(HEED_F32) * fabs(value);
    if (fabs(value) < (double)FLT_MIN) /* a device may flush it */
        error += (double)FLT_MIN;
    return (lab_number){ value, error };
}

static int32_t wrapped(int64_t whole)
{
    return (int32_t)(uint32_t)(uint64_t)whole;
}

static int64_t quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static double compute_whole(int op, int64_t a, int64_t b)
{
    switch (op) {
    case ADD:
        return wrapped(a + b);
    case SUB:
        return wrapped(a - b);
    case MUL:
        return wrapped(a * b);
    case QUOTIENT:
        return wrapped(quotient(a, b));
    case REST:
        return wrapped(a - b * quotient(a, b));
    case LEAST:
        return (double)(a < b ? a : b);
    case MOST:
        return (double)(a > b ? a : b);
    case NEGATE:
        return wrapped(-a);
    default:
        return wrapped(a < 0 ? -a : a);
    }
}

/* The value of a child as a floating-point number. */
static lab_number real(const lab_expression *e, int node, lab_evaluation *at)
{
    lab_number x = compute(e, node, at);
    if (e->nodes[node].kind == FLOAT)
        return x;
    return lab_number_rounded(x.value, 0, LAB_UNITS_SUM, at->single);
}

/* Counts a decision in doubt. Returns true if it is to be taken the other way. */
static bool is_turned(lab_evaluation *at)
{
    int number = at->doubt.count++;
    return number < 32 && at->doubt.turned >> number & 1;
}

/* Applies @of to @x, or to a number close to @x if the decision is turned. */
static double take_step(lab_evaluation *at, lab_number x, double (*of)(double))
{
    double reach = LAB_DOUBT * x.error, value = of(x.value);
    double low = of(x.value - reach), high = of(x.value + reach);
    if (!(reach > 0) || low == high)
        return value;
    at->doubt.open |= low != value && high != value;
    return is_turned(at) ? low != value ? low : high : value;
}

static lab_number compute_function(int op, lab_number x, lab_evaluation *at)
{
    double v = x.value, reach = LAB_DOUBT * x.error, y, slope;
    switch (op) {
    case EXP:
        y = exp(v);
        return lab_number_rounded(y, y * expm1(x.error), LAB_UNITS_FUNCTION, at->single);
    case LOG:
        at->doubt.open |= reach > 0 && v - reach <= 0;
        return lab_number_rounded(log(v), reach < v ? x.error / (v - reach) : 0, LAB_UNITS_FUNCTION,
                                  at->single);
    case TANH:
        y = tanh(v);
        slope = 1 - tanh(fmax(0, fabs(v) - reach)) * tanh(fmax(0, fabs(v) - reach));
        return lab_number_rounded(y, x.error * slope + LAB_UNITS_FUNCTION * lab_type_unit(HEED_F32),
                                  LAB_UNITS_SUM, at->single);
    case SQRT:
        at->doubt.open |= reach > 0 && v - reach < 0;
        y = sqrt(v);
        return lab_number_rounded(y, reach < v ? y - sqrt(v - x.error) : 0, LAB_UNITS_QUOTIENT,
                                  at->single);
    default:
        return (lab_number){ take_step(at, x, floor), 0 };
    }
}

static lab_number compute_pair(int op, lab_number a, lab_number b, lab_evaluation *at)
{
    double x = a.value, y = b.value, error = a.error + b.error, z;
    switch (op) {
    case ADD:
        return lab_number_rounded(x + y, error, LAB_UNITS_SUM, at->single);
    case SUB:
        return lab_number_rounded(x - y, error, LAB_UNITS_SUM, at->single);
    case MUL:
        error = fabs(x) * b.error + fabs(y) * a.error + a.error * b.error;
        return lab_number_rounded(x * y, error, LAB_UNITS_SUM, at->single);
    case DIV:
        z = x / y;
        at->doubt.open |= b.error > 0 && fabs(y) <= LAB_DOUBT * b.error;
        error = (a.error + fabs(z) * b.error) / fmax(fabs(y) - b.error, fabs(y) / 2);
        return lab_number_rounded(z, isnan(error) ? 0 : error, LAB_UNITS_QUOTIENT, at->single);
    default: /* minimum or maximum; a NaN stays */
        if (isnan(x) || isnan(y))
            return (lab_number){ NAN, 0 };
        return (lab_number){ op == LEAST ? fmin(x, y) : fmax(x, y), fmax(a.error, b.error) };
    }
}

static bool compare(int op, double a, double b)
{
    switch (op) {
    case LESS:
        return a < b;
    case AT_MOST:
        return a <= b;
    case EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

static double truth(const lab_expression *e, const lab_node *node, lab_evaluation *at)
{
    const int *child = node->child;
    if (node->op == NOT)
        return compute(e, child[0], at).value == 0;
    if (node->op == AND)
        return compute(e, child[0], at).value != 0 && compute(e, child[1], at).value != 0;
    if (node->op == OR)
        return compute(e, child[0], at).value != 0 || compute(e, child[1], at).value != 0;
    bool reals = e->nodes[child[0]].kind == FLOAT || e->nodes[child[1]].kind == FLOAT;
    lab_number a = reals ? real(e, child[0], at) : compute(e, child[0], at);
    lab_number b = reals ? real(e, child[1], at) : compute(e, child[1], at);
    double reach = LAB_DOUBT * (a.error + b.error);
    bool holds = compare(node->op, a.value, b.value);
    if (reach > 0 && fabs(a.value - b.value) <= reach)
        return holds != is_turned(at);
    return holds;
}

static lab_number element(const lab_expression *e, const lab_node *node, lab_evaluation *at)
{
    int number = (int)node->value;
    const heed_array *array = &at->problem->arrays[number];
    int64_t index = 0;
    for (int i = 0; i < array->rank; i++) {
        int64_t one = (int64_t)compute(e, node->child[i], at).value;
        one = one < 0 ? 0 : one >= array->size[i] ? array->size[i] - 1 : one;
        index = index * array->size[i] + one;
    }
    return (lab_number){ lab_data_get(array->type, at->data->arrays[number], index), 0 };
}

static lab_number to_int(const lab_expression *e, int child, lab_evaluation *at)
{
    lab_number x = compute(e, child, at);
    if (e->nodes[child].kind != FLOAT)
        return x;
    double v = isnan(x.value) ? 0 : take_step(at, x, trunc);
    return (lab_number){ (double)(int64_t)fmax(INT32_MIN, fmin(INT32_MAX, v)), 0 }; /* no -0 */
}

static double leaf(const lab_evaluation *at, int op)
{
    const int64_t leaves[] = { [QUERY] = at->query,
                               [KEY] = at->key,
                               [POSITION] = at->position,
                               [HEAD] = at->head,
                               [BATCH] = at->batch };
    return (double)leaves[op];
}

/* Operations on one or two children of the same kind. */
static lab_number compute_arithmetic(const lab_expression *e, const lab_node *node,
                                     lab_evaluation *at)
{
    const int *child = node->child;
    bool two = (node->op >= ADD && node->op <= REST) || node->op == LEAST || node->op == MOST;
    if (node->kind == INT) {
        int64_t a = (int64_t)compute(e, child[0], at).value;
        int64_t b = two ? (int64_t)compute(e, child[1], at).value : 0;
        return (lab_number){ compute_whole(node->op, a, b), 0 };
    }
    lab_number a = real(e, child[0], at);
    if (two)
        return compute_pair(node->op, a, real(e, child[1], at), at);
    if (node->op == NEGATE)
        return (lab_number){ -a.value, a.error };
    if (node->op == ABS)
        return (lab_number){ fabs(a.value), a.error };
    return compute_function(node->op, a, at);
}

static lab_number compute(const lab_expression *e, int number, lab_evaluation *at)
{
    const lab_node *node = &e->nodes[number];
    switch (node->op) {
    case CONSTANT:
        return (lab_number){ node->value, 0 };
    case LOGIT:
        return at->s;
    case QUERY:
    case KEY:
    case POSITION:
    case HEAD:
    case BATCH:
        return (lab_number){ leaf(at, node->op), 0 };
    case ELEMENT:
        return element(e, node, at);
    case CHOOSE:
        number = compute(e, node->child[0], at).value != 0 ? node->child[1] : node->child[2];
        return node->kind == FLOAT ? real(e, number, at) : compute(e, number, at);
    case TO_FLOAT:
        return real(e, node->child[0], at);
    case TO_INT:
        return to_int(e, node->child[0], at);
    default:
        return node->kind == BOOL ? (lab_number){ truth(e, node, at), 0 }
                                  : compute_arithmetic(e, node, at);
    }
}

lab_number lab_expression_number(const lab_expression *expression, lab_evaluation *at)
{
    return real(expression, expression->root, at);
}

bool lab_expression_truth(const lab_expression *expression, lab_evaluation *at)
{
    return compute(expression, expression->root, at).value != 0;
}
