/*
 * expression.c - parser of the expressions of heed.h, from text to steps
 *
 * A recursive descent parser, one function for each level of precedence, which adds steps as it
 * reads. It allocates nothing, and an expression can do nothing but arithmetic.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../number.h"
#include "operand.h"
#include "program.h"

#define DEPTH_MAX 48 /* nesting of parentheses, indices and calls */
#define STEPS_MAX HEED_EXPRESSION_STEPS_MAX
#define QUOTE 20 /* characters of a name or number that a message quotes */

typedef struct reader {
    heed_program *program;
    const heed_problem *problem;
    const char *text;
    const char *at;
    int score;
    int first; /* steps before the expression */
    int depth;
    char *why;
    size_t size;
    const char *where; /* of the first error; NULL: none yet */
} reader;

static int read_choice(reader *r);

/* Keeps the first error; returns -1. */
static int fail(reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(reader *r, const char *at, const char *format, ...)
{
    va_list arguments;
    if (r->where)
        return -1;
    r->where = at;
    va_start(arguments, format);
    vsnprintf(r->why, r->size, format, arguments);
    va_end(arguments);
    return -1;
}

/* Fails because of the character here. */
static int fail_other(reader *r, const char *expected)
{
    const unsigned char c = (unsigned char)*r->at;
    return c > ' ' && c <= '~' ? fail(r, r->at, "%s expected here, not '%c'", expected, c)
                               : fail(r, r->at, "%s expected here, not byte 0x%02x", expected, c);
}

static int quoted(size_t length)
{
    return (int)(length < QUOTE ? length : QUOTE);
}

/* Skips blanks; returns the position after them. */
static const char *skip(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
    return r->at;
}

/* Skips @sign if it comes next, and is not the beginning of a longer sign; returns true if so. */
static bool take(reader *r, const char *sign)
{
    static const char *const longer[] = { "//", "<=", ">=", "==", "!=", "&&", "||" };
    size_t length = strlen(sign);
    skip(r);
    if (strncmp(r->at, sign, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        if (strlen(longer[i]) > length && strncmp(r->at, longer[i], 2) == 0)
            return false;
    r->at += length;
    return true;
}

static heed_kind kind_of(const reader *r, int step)
{
    return r->program->steps[step].kind;
}

/* Adds a step of the expression. */
static int add(reader *r, const char *at, heed_op op, heed_kind kind, int a, int b, int c)
{
    int step = heed_program_add(r->program, op, kind, a, b, c);
    if (step < 0 || r->program->count - r->first > STEPS_MAX)
        return fail(r, at, "the expression has more than %d steps", STEPS_MAX);
    return step;
}

/* Converts the value to float; -1 stays -1. */
static int as_float(reader *r, const char *at, int step)
{
    if (step < 0 || kind_of(r, step) == HEED_KIND_FLOAT)
        return step;
    if (kind_of(r, step) == HEED_KIND_BOOL)
        return fail(r, at, "this is true or false, where a number is needed");
    return add(r, at, HEED_OP_TO_FLOAT, HEED_KIND_FLOAT, step, -1, -1);
}

static int expect_kind(reader *r, const char *at, int step, heed_kind kind)
{
    static const char *const names[] = { [HEED_KIND_FLOAT] = "a number",
                                         [HEED_KIND_INT] = "a whole number",
                                         [HEED_KIND_BOOL] = "true or false" };
    if (step < 0 || kind_of(r, step) == kind)
        return step;
    if (kind == HEED_KIND_FLOAT)
        return as_float(r, at, step);
    return fail(r, at, "this is %s, where %s is needed", names[kind_of(r, step)], names[kind]);
}

/* Converts both values, which begin at @left and @right, to numbers of one kind. Returns false
 * after an error. */
static bool match(reader *r, const char *left, int *a, const char *right, int *b)
{
    if (*a < 0 || *b < 0)
        return false;
    if (kind_of(r, *a) == HEED_KIND_INT && kind_of(r, *b) == HEED_KIND_INT)
        return true;
    *a = as_float(r, left, *a);
    *b = as_float(r, right, *b);
    return *a >= 0 && *b >= 0;
}

/* ---- Names, calls and indices ---------------------------------------------------------------- */

static int constant(reader *r, const char *at, int64_t size)
{
    if (size > INT32_MAX)
        return fail(r, at, "this size is %lld here; a whole number is at most %d", (long long)size,
                    INT32_MAX);
    return heed_program_int(r->program, HEED_KIND_INT, (int32_t)size);
}

/* Reads the variable of this name; returns -2 if there is none. */
static int read_variable(reader *r, const char *at, const char *name)
{
    static const struct {
        const char *name;
        heed_op op;
    } leaves[] = { { "q", HEED_OP_QUERY },
                   { "k", HEED_OP_KEY },
                   { "p", HEED_OP_POSITION },
                   { "head", HEED_OP_HEAD },
                   { "batch", HEED_OP_BATCH } };
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = { { "heads", r->problem->heads_q },
                  { "queries", r->problem->seq_q },
                  { "keys", r->problem->seq_k } };
    if (strcmp(name, "s") == 0)
        return r->score >= 0 ? r->score : fail(r, at, "s is the logit, which visible cannot use");
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (strcmp(name, leaves[i].name) == 0)
            return leaves[i].op == HEED_OP_POSITION ? heed_program_position(r->program, r->problem)
                                                    : heed_program_leaf(r->program, leaves[i].op);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(name, sizes[i].name) == 0)
            return constant(r, at, sizes[i].size);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return heed_program_int(r->program, HEED_KIND_BOOL, name[0] == 't');
    return -2;
}

/* Reads the values between the brackets after a name, up to @most of them, and sets where each
 * begins. Returns their number, or -1. */
static int read_list(reader *r, const char *close, int most, int values[], const char *at[])
{
    int count = 0;
    if (take(r, close))
        return 0;
    do {
        if (count == most)
            return fail(r, r->at, "there are more than %d values here", most);
        at[count] = skip(r);
        values[count] = read_choice(r);
        if (values[count++] < 0)
            return -1;
    } while (take(r, ","));
    return take(r, close) ? count : fail(r, r->at, "'%s' is missing here", close);
}

static int read_element(reader *r, const char *at, const char *name)
{
    int index = 0, indices[4] = { -1, -1, -1, -1 };
    const char *places[HEED_ARRAY_RANK_MAX];
    while (index < HEED_ARRAYS_MAX && strcmp(r->problem->arrays[index].name, name) != 0)
        index++;
    if (index == HEED_ARRAYS_MAX)
        return fail(r, at, "there is no array \"%s\"", name);
    const heed_array *array = &r->problem->arrays[index];
    heed_load load = { .type = array->type,
                       .buffer = offsetof(heed_buffers, arrays) + (size_t)index * sizeof(void *),
                       .rank = array->rank };
    int count = read_list(r, "]", HEED_ARRAY_RANK_MAX, indices, places);
    if (count < 0)
        return -1;
    if (count != array->rank)
        return fail(r, at, "%s has %d dimension%s and takes an index for each, not %d", name,
                    array->rank, array->rank == 1 ? "" : "s", count);
    int64_t stride = 1;
    for (int i = array->rank - 1; i >= 0; i--) {
        load.size[i] = (int32_t)array->size[i];
        load.stride[i] = stride;
        stride *= array->size[i];
        indices[i] = expect_kind(r, places[i], indices[i], HEED_KIND_INT);
        if (indices[i] < 0)
            return -1;
    }
    int step = heed_program_load(r->program, &load, indices);
    return step < 0 || r->program->count - r->first > STEPS_MAX
               ? fail(r, at, "the expression has more than %d steps", STEPS_MAX)
               : step;
}

/* How a function treats its arguments. */
typedef enum treat {
    FLOATS,  /* arguments are converted to float, and the result is one */
    NUMBERS, /* arguments are converted to one kind, which the result has too */
    CONVERTS /* converts any other kind; an argument of the result's kind stays as it is */
} treat;

static const struct {
    const char *name;
    heed_op op;
    int values;
    treat treat;
    heed_kind kind; /* of the result of CONVERTS */
} functions[] = {
    { "abs", HEED_OP_ABS, 1, NUMBERS, 0 },
    { "min", HEED_OP_MIN, 2, NUMBERS, 0 },
    { "max", HEED_OP_MAX, 2, NUMBERS, 0 },
    { "exp", HEED_OP_EXP, 1, FLOATS, 0 },
    { "log", HEED_OP_LOG, 1, FLOATS, 0 },
    { "tanh", HEED_OP_TANH, 1, FLOATS, 0 },
    { "sqrt", HEED_OP_SQRT, 1, FLOATS, 0 },
    { "floor", HEED_OP_FLOOR, 1, FLOATS, 0 },
    { "float", HEED_OP_TO_FLOAT, 1, CONVERTS, HEED_KIND_FLOAT },
    { "int", HEED_OP_TO_INT, 1, CONVERTS, HEED_KIND_INT },
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static int call(reader *r, const char *at, size_t function, int values[2], const char *places[2])
{
    heed_op op = functions[function].op;
    int b = functions[function].values > 1 ? values[1] : -1;
    if (functions[function].treat == CONVERTS) {
        heed_kind kind = functions[function].kind;
        return kind_of(r, values[0]) == kind ? values[0] : add(r, at, op, kind, values[0], -1, -1);
    }
    if (functions[function].treat == FLOATS || b < 0) {
        bool whole = functions[function].treat == NUMBERS && kind_of(r, values[0]) == HEED_KIND_INT;
        int a = whole ? values[0] : as_float(r, places[0], values[0]);
        return a < 0 ? -1 : add(r, at, op, kind_of(r, a), a, -1, -1);
    }
    return match(r, places[0], &values[0], places[1], &b)
               ? add(r, at, op, kind_of(r, values[0]), values[0], b, -1)
               : -1;
}

static int read_call(reader *r, const char *at, const char *name)
{
    int values[2] = { -1, -1 };
    const char *places[2];
    size_t i = 0;
    while (i < FUNCTIONS && strcmp(functions[i].name, name) != 0)
        i++;
    if (i == FUNCTIONS)
        return fail(r, at,
                    "there is no function \"%s\"; there are abs, min, max, exp, log, tanh, sqrt, "
                    "floor, float and int",
                    name);
    int count = read_list(r, ")", 2, values, places);
    if (count < 0)
        return -1;
    if (count != functions[i].values)
        return fail(r, at, "%s takes %d value%s, not %d", name, functions[i].values,
                    functions[i].values == 1 ? "" : "s", count);
    return call(r, at, i, values, places);
}

static int read_name(reader *r)
{
    char name[HEED_ARRAY_NAME_SIZE];
    const char *at = r->at;
    size_t length = 0;
    while (heed_is_letter(at[length]) || heed_is_digit(at[length]))
        length++;
    r->at += length;
    if (length >= sizeof name)
        return fail(r, at, "unknown name \"%.*s\"", quoted(length), at);
    memcpy(name, at, length);
    name[length] = '\0';
    if (take(r, "("))
        return read_call(r, at, name);
    if (take(r, "["))
        return read_element(r, at, name);
    int step = read_variable(r, at, name);
    return step != -2 ? step
                      : fail(r, at,
                             "unknown name \"%s\"; the names are s, q, k, p, head, batch, heads, "
                             "queries, keys, true, false and arrays",
                             name);
}

/* ---- Precedence, the highest first ----------------------------------------------------------- */

static int read_number(reader *r)
{
    const char *at = r->at;
    size_t length = strspn(at, "0123456789");
    bool whole = !(at[length] == '.' || at[length] == 'e' || at[length] == 'E');
    if (whole) {
        int64_t number = 0;
        if (heed_number_int(at, &number) == 0 || number > INT32_MAX)
            return fail(r, at, "%.*s is too large: a whole number is at most %d", quoted(length),
                        at, INT32_MAX);
        r->at += length;
        return heed_program_int(r->program, HEED_KIND_INT, (int32_t)number);
    }
    length += at[length] == '.' ? 1 + strspn(at + length + 1, "0123456789") : 0;
    if (at[length] == 'e' || at[length] == 'E') {
        size_t sign = at[length + 1] == '+' || at[length + 1] == '-' ? 1 : 0;
        length += 1 + sign + strspn(at + length + 1 + sign, "0123456789");
    }
    float real;
    if (!heed_number_float(at, length, &real))
        return fail(r, at, "\"%.*s\" is not a decimal number in the range of float32",
                    quoted(length), at);
    r->at += length;
    return heed_program_float(r->program, real);
}

static int read_primary(reader *r)
{
    const char *at = skip(r);
    if (heed_is_digit(*at) || *at == '.')
        return read_number(r);
    if (heed_is_letter(*at))
        return read_name(r);
    if (take(r, "(")) {
        int step = read_choice(r);
        if (step >= 0 && !take(r, ")"))
            return fail(r, r->at, "')' is missing here");
        return step;
    }
    return *at ? fail_other(r, "a value is") : fail(r, at, "a value is missing here");
}

static int read_unary(reader *r)
{
    const char *at = skip(r);
    if (++r->depth > DEPTH_MAX)
        return fail(r, at, "more than %d levels of nesting", DEPTH_MAX);
    int step;
    if (take(r, "-")) {
        const char *value = skip(r);
        step = read_unary(r);
        if (step >= 0 && kind_of(r, step) != HEED_KIND_INT)
            step = as_float(r, value, step);
        step = step < 0 ? -1 : add(r, at, HEED_OP_NEG, kind_of(r, step), step, -1, -1);
    } else if (take(r, "!")) {
        const char *value = skip(r);
        step = expect_kind(r, value, read_unary(r), HEED_KIND_BOOL);
        step = step < 0 ? -1 : add(r, at, HEED_OP_NOT, HEED_KIND_BOOL, step, -1, -1);
    } else {
        step = read_primary(r);
    }
    r->depth--;
    return step;
}

static int read_product(reader *r)
{
    static const struct {
        const char *sign;
        heed_op op;
        int kind; /* of both sides; -1: any that match */
    } signs[] = { { "*", HEED_OP_MUL, -1 },
                  { "//", HEED_OP_DIV, HEED_KIND_INT },
                  { "/", HEED_OP_DIV, HEED_KIND_FLOAT },
                  { "%", HEED_OP_MOD, HEED_KIND_INT } };
    const char *left = skip(r);
    int a = read_unary(r);
    for (size_t i = 0; a >= 0 && i < sizeof signs / sizeof *signs; i++) {
        const char *at = skip(r);
        if (!take(r, signs[i].sign))
            continue;
        const char *right = skip(r);
        int b = read_unary(r);
        if (signs[i].kind >= 0) {
            a = expect_kind(r, left, a, (heed_kind)signs[i].kind);
            b = expect_kind(r, right, b, (heed_kind)signs[i].kind);
        }
        a = match(r, left, &a, right, &b) ? add(r, at, signs[i].op, kind_of(r, a), a, b, -1) : -1;
        i = (size_t)-1; /* start again at the first sign */
    }
    return a;
}

static int read_sum(reader *r)
{
    const char *left = skip(r);
    int a = read_product(r);
    for (;;) {
        const char *at = skip(r);
        bool plus = take(r, "+");
        if (a < 0 || (!plus && !take(r, "-")))
            return a;
        const char *right = skip(r);
        int b = read_product(r);
        a = match(r, left, &a, right, &b)
                ? add(r, at, plus ? HEED_OP_ADD : HEED_OP_SUB, kind_of(r, a), a, b, -1)
                : -1;
    }
}

static int read_comparison(reader *r)
{
    static const struct {
        const char *sign;
        heed_op op;
        bool turned; /* swap the sides */
    } signs[] = { { "<=", HEED_OP_LESS_EQUAL, false }, { ">=", HEED_OP_LESS_EQUAL, true },
                  { "==", HEED_OP_EQUAL, false },      { "!=", HEED_OP_NOT_EQUAL, false },
                  { "<", HEED_OP_LESS, false },        { ">", HEED_OP_LESS, true } };
    const char *left = skip(r);
    int a = read_sum(r);
    for (size_t i = 0; a >= 0 && i < sizeof signs / sizeof *signs; i++) {
        const char *at = skip(r);
        if (!take(r, signs[i].sign))
            continue;
        const char *right = skip(r);
        int b = read_sum(r);
        bool bools = b >= 0 && kind_of(r, a) == HEED_KIND_BOOL && kind_of(r, b) == HEED_KIND_BOOL &&
                     (signs[i].op == HEED_OP_EQUAL || signs[i].op == HEED_OP_NOT_EQUAL);
        if (!bools && !match(r, left, &a, right, &b))
            return -1;
        return add(r, at, signs[i].op, HEED_KIND_BOOL, signs[i].turned ? b : a,
                   signs[i].turned ? a : b, -1);
    }
    return a;
}

/* Reads values joined by && (@either 0) or || (1). */
static int read_joined(reader *r, int either)
{
    const char *left = skip(r);
    int a = either ? read_joined(r, 0) : read_comparison(r);
    for (;;) {
        const char *at = skip(r);
        if (a < 0 || !take(r, either ? "||" : "&&"))
            return a;
        const char *right = skip(r);
        int b = either ? read_joined(r, 0) : read_comparison(r);
        a = expect_kind(r, left, a, HEED_KIND_BOOL);
        b = expect_kind(r, right, b, HEED_KIND_BOOL);
        if (a < 0 || b < 0)
            return -1;
        a = add(r, at, either ? HEED_OP_OR : HEED_OP_AND, HEED_KIND_BOOL, a, b, -1);
    }
}

static int read_choice(reader *r)
{
    const char *at = skip(r);
    if (++r->depth > DEPTH_MAX)
        return fail(r, at, "more than %d levels of nesting", DEPTH_MAX);
    int a = read_joined(r, 1);
    if (a >= 0 && take(r, "?")) {
        a = expect_kind(r, at, a, HEED_KIND_BOOL);
        const char *left = skip(r);
        int b = read_choice(r);
        if (b >= 0 && !take(r, ":"))
            return fail(r, r->at, "':' is missing here");
        const char *right = skip(r);
        int c = b < 0 ? -1 : read_choice(r);
        if (a < 0 || b < 0 || c < 0)
            return -1;
        bool bools = kind_of(r, b) == HEED_KIND_BOOL && kind_of(r, c) == HEED_KIND_BOOL;
        if (!bools && !match(r, left, &b, right, &c))
            return -1;
        a = add(r, at, HEED_OP_SELECT, kind_of(r, b), a, b, c);
    }
    r->depth--;
    return a;
}

int heed_expression_add(heed_program *program, const heed_problem *problem, const char *text,
                        heed_kind kind, int score, char *why, size_t size, size_t *at)
{
    reader r = { .program = program,
                 .problem = problem,
                 .text = text,
                 .at = text,
                 .score = score,
                 .first = program->count,
                 .why = why,
                 .size = size };
    int step = read_choice(&r);
    skip(&r);
    if (step >= 0 && *r.at)
        step = fail_other(&r, "an operator or the end is");
    step = expect_kind(&r, text, step, kind);
    *at = step < 0 ? (size_t)(r.where - text) : 0;
    return step;
}

bool heed_expression_check(const heed_problem *problem, const char *text, heed_kind kind, char *why,
                           size_t size, size_t *at)
{
    heed_program program = { .score = -1, .visible = -1 };
    if (!*text)
        return true;
    int score = kind == HEED_KIND_FLOAT ? heed_program_leaf(&program, HEED_OP_SCORE) : -1;
    return heed_expression_add(&program, problem, text, kind, score, why, size, at) >= 0;
}

void heed_expression_squeeze(char text[HEED_EXPRESSION_SIZE])
{
    size_t length = 0;
    for (size_t i = 0; i < HEED_EXPRESSION_SIZE && text[i]; i++)
        if (text[i] != ' ' && text[i] != '\t')
            text[length++] = text[i];
    memset(text + length, 0, HEED_EXPRESSION_SIZE - length);
}
