/*
 * expression.c - evaluates integer expressions over named values while parsing
 *
 * Precedence climbing over a table of operators. An unevaluated part (the other branch of ?:, the
 * right side of a decided && or ||) is parsed as usual, but with reader.dead set: then values are
 * zero and nothing can overflow.
 */
#include "lab/search/expression.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 64

typedef struct reader {
    const char *text;
    const char *at;
    const lab_scope *scope;
    lab_error *error;
    int dead; /* number of enclosing unevaluated parts */
    int depth;
} reader;

typedef enum operation {
    OR,
    AND,
    EQUAL,
    UNEQUAL,
    AT_MOST,
    AT_LEAST,
    LESS,
    MORE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER
} operation;

/* Longer operators come before their prefixes. */
static const struct {
    const char *sign;
    operation operation;
    int precedence; /* higher binds tighter */
} operators[] = { { "||", OR, 1 },      { "&&", AND, 2 },     { "==", EQUAL, 3 },
                  { "!=", UNEQUAL, 3 }, { "<=", AT_MOST, 4 }, { ">=", AT_LEAST, 4 },
                  { "<", LESS, 4 },     { ">", MORE, 4 },     { "+", ADD, 5 },
                  { "-", SUBTRACT, 5 }, { "*", MULTIPLY, 6 }, { "/", DIVIDE, 6 },
                  { "%", REMAINDER, 6 } };
#define OPERATORS ((int)(sizeof operators / sizeof *operators))

static heed_status read_choice(reader *r, int64_t *value);

static heed_status fail(const reader *r, const char *what)
{
    return lab_fail(r->error, HEED_ERR_INVALID, "column %td of \"%.120s\": %s", r->at - r->text + 1,
                    r->text, what);
}

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \t");
}

/* Consumes @sign if it comes next. */
static bool take(reader *r, const char *sign)
{
    skip_blanks(r);
    if (strncmp(r->at, sign, strlen(sign)) != 0)
        return false;
    r->at += strlen(sign);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t lab_name_length(const char *text)
{
    size_t length = 0;
    while (is_letter(text[length]) || (length > 0 && text[length] >= '0' && text[length] <= '9'))
        length++;
    return length < LAB_NAME_SIZE ? length : 0;
}

static heed_status read_number(reader *r, int64_t *value)
{
    *value = 0;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(*value, (int64_t)10, value) ||
            __builtin_add_overflow(*value, (int64_t)(*r->at - '0'), value))
            return fail(r, "the number is beyond 64 bits");
    return is_letter(*r->at) ? fail(r, "a letter after a number") : HEED_OK;
}

/* min(a, b) and max(a, b), from the parenthesis. */
static heed_status read_extreme(reader *r, bool larger, int64_t *value)
{
    int64_t a, b;
    heed_status status = take(r, "(") ? read_choice(r, &a) : fail(r, "( expected");
    if (status == HEED_OK && !take(r, ","))
        status = fail(r, ", expected");
    if (status == HEED_OK)
        status = read_choice(r, &b);
    if (status == HEED_OK && !take(r, ")"))
        status = fail(r, ") expected");
    if (status == HEED_OK)
        *value = (a > b) == larger ? a : b;
    return status;
}

static heed_status read_name(reader *r, int64_t *value)
{
    size_t length = lab_name_length(r->at);
    const char *name = r->at;
    if (length == 0)
        return fail(r, *r->at ? "a value expected" : "it ends where a value is expected");
    for (size_t i = 0; i < r->scope->count; i++)
        if (strlen(r->scope->items[i].name) == length &&
            memcmp(r->scope->items[i].name, name, length) == 0) {
            r->at += length;
            *value = r->dead ? 0 : r->scope->items[i].value;
            return HEED_OK;
        }
    if (length != 3 || (memcmp(name, "min", 3) != 0 && memcmp(name, "max", 3) != 0))
        return lab_fail(r->error, HEED_ERR_INVALID, "column %td of \"%.120s\": there is no '%.*s'",
                        r->at - r->text + 1, r->text, (int)length, name);
    r->at += length;
    return read_extreme(r, name[1] == 'a', value);
}

/* A number, a name, something in parentheses, or one of these after ! or -. */
static heed_status read_unary(reader *r, int64_t *value)
{
    heed_status status;
    if (++r->depth > DEPTH_MAX)
        return fail(r, "nested too deeply");
    bool opposite = take(r, "!"), negative = !opposite && take(r, "-");
    if (opposite || negative)
        status = read_unary(r, value);
    else if (take(r, "(")) {
        status = read_choice(r, value);
        if (status == HEED_OK && !take(r, ")"))
            status = fail(r, ") expected");
    } else
        status = *r->at >= '0' && *r->at <= '9' ? read_number(r, value) : read_name(r, value);
    r->depth--;
    if (status != HEED_OK)
        return status;
    if (opposite)
        *value = !*value;
    if (negative && __builtin_sub_overflow((int64_t)0, *value, value))
        return lab_fail(r->error, HEED_ERR_UNSUPPORTED, "\"%.120s\" passes 64 bits", r->text);
    return HEED_OK;
}

static heed_status compute(const reader *r, operation what, int64_t a, int64_t b, int64_t *value)
{
    const bool truths[] = {
        [OR] = a || b,      [AND] = a && b,      [EQUAL] = a == b,           [UNEQUAL] = a != b,
        [AT_MOST] = a <= b, [AT_LEAST] = a >= b, [LESS] = a<b, [MORE] = a> b
    };
    bool beyond = false;
    if ((what == DIVIDE || what == REMAINDER) && b == 0 && !r->dead)
        return lab_fail(r->error, HEED_ERR_UNSUPPORTED, "\"%.120s\" divides by zero", r->text);
    switch (what) {
    case ADD:
        beyond = __builtin_add_overflow(a, b, value);
        break;
    case SUBTRACT:
        beyond = __builtin_sub_overflow(a, b, value);
        break;
    case MULTIPLY:
        beyond = __builtin_mul_overflow(a, b, value);
        break;
    case DIVIDE:
    case REMAINDER:
        beyond = a == INT64_MIN && b == -1;
        if (r->dead || beyond)
            *value = 0;
        else
            *value = what == DIVIDE ? a / b : a % b;
        break;
    default:
        *value = truths[what];
    }
    if (beyond && !r->dead)
        return lab_fail(r->error, HEED_ERR_UNSUPPORTED, "\"%.120s\" passes 64 bits", r->text);
    return HEED_OK;
}

/* Consumes the next operator if it binds at least that tightly; -1: none. */
static int take_operator(reader *r, int precedence)
{
    skip_blanks(r);
    for (int i = 0; i < OPERATORS; i++)
        if (strncmp(r->at, operators[i].sign, strlen(operators[i].sign)) == 0) {
            if (operators[i].precedence < precedence)
                return -1;
            r->at += strlen(operators[i].sign);
            return i;
        }
    return -1;
}

static heed_status read_binary(reader *r, int precedence, int64_t *value)
{
    heed_status status = read_unary(r, value);
    while (status == HEED_OK) {
        int64_t right = 0;
        int which = take_operator(r, precedence);
        if (which < 0)
            break;
        operation what = operators[which].operation;
        bool decided = (what == OR && *value) || (what == AND && !*value);
        r->dead += decided;
        status = read_binary(r, operators[which].precedence + 1, &right);
        r->dead -= decided;
        if (status == HEED_OK)
            status = compute(r, what, *value, right, value);
    }
    return status;
}

static heed_status read_choice(reader *r, int64_t *value)
{
    int64_t condition = 0, yes = 0, no = 0;
    if (++r->depth > DEPTH_MAX)
        return fail(r, "nested too deeply");
    heed_status status = read_binary(r, 1, &condition);
    *value = condition;
    if (status == HEED_OK && take(r, "?")) {
        r->dead += !condition;
        status = read_choice(r, &yes);
        r->dead -= !condition;
        if (status == HEED_OK && !take(r, ":"))
            status = fail(r, ": expected");
        r->dead += condition != 0;
        if (status == HEED_OK)
            status = read_choice(r, &no);
        r->dead -= condition != 0;
        *value = condition ? yes : no;
    }
    r->depth--;
    return status;
}

heed_status lab_expression_value(const char *text, const lab_scope *scope, int64_t *value,
                                 lab_error *error)
{
    reader r = { .text = text, .at = text, .scope = scope, .error = error };
    *value = 0;
    heed_status status = read_choice(&r, value);
    skip_blanks(&r);
    return status == HEED_OK && *r.at ? fail(&r, "an operator expected") : status;
}
