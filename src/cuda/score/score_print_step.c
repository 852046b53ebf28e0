/*
 * score_print_step.c - print a step of a problem as device code, for a row or for a key
 *
 * None of the caller's text is printed, only numbers and operations.
 */
#include "score_parts.h"

#include <math.h>

#include "../../problem/operand.h"

#define DIVISOR_MAX 0x1p100 /* its inverse is a normal number */

const char *heed_score_kind_name(heed_kind kind)
{
    static const char *const names[] = {
        [HEED_KIND_FLOAT] = "float", [HEED_KIND_INT] = "i32", [HEED_KIND_BOOL] = "int"
    };
    return names[kind];
}

void heed_score_print_float(const heed_score *p, float x)
{
    int exponent;
    if (!isfinite(x)) {
        PRINT(p, "ptx_as_f32(%s)",
              isnan(x) ? "0x7fffffffu"
              : x > 0  ? "0x7f800000u"
                       : "0xff800000u");
        return;
    }
    int whole = (int)ldexpf(frexpf(x, &exponent), 24);
    PRINT(p, "(%s0x%xp%df)", signbit(x) ? "-" : "", whole < 0 ? -whole : whole, exponent - 24);
}

static void print_int(const heed_score *p, int32_t x)
{
    if (x == INT32_MIN)
        PRINT(p, "(-2147483647 - 1)");
    else
        PRINT(p, x < 0 ? "(%d)" : "%d", x);
}

void heed_score_print_value(const heed_score *p, int i, bool in_row)
{
    const heed_step *step = heed_score_step(p, i);
    if (step->op == HEED_OP_FLOAT)
        heed_score_print_float(p, step->value.real);
    else if (step->op <= HEED_OP_BOOL)
        print_int(p, step->value.whole);
    else
        PRINT(p, in_row || p->marks[i] & OF_KEY ? "v%d" : "row->v%d", i);
}

/* Device code of operations: $a, $b and $c are values. */
static const struct {
    const char *of_float, *of_int, *of_bool;
} words[HEED_OPS] = {
    [HEED_OP_ADD] = { "$a + $b", "(i32)((u32)$a + (u32)$b)", NULL },
    [HEED_OP_SUB] = { "$a - $b", "(i32)((u32)$a - (u32)$b)", NULL },
    [HEED_OP_MUL] = { "$a * $b", "(i32)((u32)$a * (u32)$b)", NULL },
    [HEED_OP_DIV] = { "$a / $b", "step_div($a, $b)", NULL },
    [HEED_OP_MOD] = { NULL, "step_mod($a, $b)", NULL },
    [HEED_OP_MIN] = { "ptx_min_nan($a, $b)", "$a < $b ? $a : $b", NULL },
    [HEED_OP_MAX] = { "ptx_max_nan($a, $b)", "$a > $b ? $a : $b", NULL },
    [HEED_OP_NEG] = { "-$a", "(i32)(0u - (u32)$a)", NULL },
    [HEED_OP_ABS] = { "ptx_abs($a)", "$a < 0 ? (i32)(0u - (u32)$a) : $a", NULL },
    [HEED_OP_EXP] = { "ptx_exp($a)", NULL, NULL },
    [HEED_OP_LOG] = { "ptx_log($a)", NULL, NULL },
    [HEED_OP_TANH] = { "step_tanh($a)", NULL, NULL },
    [HEED_OP_SQRT] = { "ptx_sqrt($a)", NULL, NULL },
    [HEED_OP_FLOOR] = { "ptx_floor($a)", NULL, NULL },
    [HEED_OP_TO_FLOAT] = { NULL, "(float)$a", "(float)$a" },
    [HEED_OP_TO_INT] = { "step_to_int($a)", NULL, "(i32)$a" },
    [HEED_OP_LESS] = { "$a < $b", "$a < $b", NULL },
    [HEED_OP_LESS_EQUAL] = { "$a <= $b", "$a <= $b", NULL },
    [HEED_OP_EQUAL] = { "$a == $b", "$a == $b", "$a == $b" },
    [HEED_OP_NOT_EQUAL] = { "$a != $b", "$a != $b", "$a != $b" },
    [HEED_OP_AND] = { NULL, NULL, "$a & $b" },
    [HEED_OP_OR] = { NULL, NULL, "$a | $b" },
    [HEED_OP_NOT] = { NULL, NULL, "!$a" },
    [HEED_OP_SELECT] = { NULL, NULL, "$a ? $b : $c" },
};

static void print_words(const heed_score *p, const char *pattern, const heed_step *step,
                        bool in_row)
{
    for (; *pattern; pattern++) {
        if (*pattern != '$') {
            PRINT(p, "%c", *pattern);
            continue;
        }
        pattern++;
        heed_score_print_value(p,
                               *pattern == 'a'   ? step->a
                               : *pattern == 'b' ? step->b
                                                 : step->c,
                               in_row);
    }
}

/* Prints a division by a constant as something faster, if possible. */
static bool print_quick(const heed_score *p, const heed_step *step, bool in_row)
{
    const heed_step *by = step->b < 0 ? NULL : heed_score_step(p, step->b);
    if (!by || (step->op != HEED_OP_DIV && step->op != HEED_OP_MOD))
        return false;
    float size = fabsf(by->value.real);
    int32_t whole = by->value.whole;
    if (by->op == HEED_OP_FLOAT && size >= 1 / DIVISOR_MAX && size <= DIVISOR_MAX) {
        heed_score_print_value(p, step->a, in_row);
        PRINT(p, " * ");
        heed_score_print_float(p, 1 / by->value.real);
        return true;
    }
    if (by->op != HEED_OP_INT || whole <= 0 || (whole & (whole - 1)))
        return false;
    heed_score_print_value(p, step->a, in_row);
    if (step->op == HEED_OP_DIV)
        PRINT(p, " >> %d", __builtin_ctz((unsigned)whole));
    else
        PRINT(p, " & %d", whole - 1);
    return true;
}

/* Names of element types in functions that read an element. */
static const char *const elements[] = {
    [HEED_DATA_F32] = "f32", [HEED_DATA_F16] = "f16",    [HEED_DATA_BF16] = "bf16",
    [HEED_DATA_I32] = "i32", [HEED_DATA_BYTES] = "byte", [HEED_DATA_BITS] = "bit",
};

/* True if step @i is always within @size. The key is not, because tiles extend beyond the last
 * one. */
static bool stays_within(const heed_score *p, int i, int64_t size)
{
    const heed_problem *problem = &p->problem;
    switch (heed_score_step(p, i)->op) {
    case HEED_OP_BATCH:
        return size >= problem->batch;
    case HEED_OP_HEAD:
        return size >= problem->heads_q;
    case HEED_OP_QUERY:
        return size >= problem->seq_q;
    default:
        return false;
    }
}

/* An index of a load. */
static void print_index(const heed_score *p, const heed_step *load, int k, int i, bool in_row)
{
    int source = load->value.whole;
    bool within = stays_within(p, i, p->program.sources[source].size[k]);
    PRINT(p, within ? "(u32)" : "step_index(");
    heed_score_print_value(p, i, in_row);
    if (!within)
        PRINT(p, ", args->changes.sources[%d].last[%d])", source, k);
}

void heed_score_print_place(const heed_score *p, const heed_step *load, bool in_row)
{
    int source = load->value.whole;
    const heed_load *from = &p->program.sources[source];
    const int indices[] = { load->a, load->b, load->c, load->d };
    PRINT(p, "(const u8 *)args->changes.sources[%d].data", source);
    for (int k = 0; k < from->rank - 1; k++) {
        PRINT(p, " + %d * args->changes.sources[%d].stride[%d] * ", (int)heed_data_size(from->type),
              source, k);
        print_index(p, load, k, indices[k], in_row);
    }
}

static void print_load(const heed_score *p, const heed_step *load, bool in_row)
{
    const heed_load *from = &p->program.sources[load->value.whole];
    const int indices[] = { load->a, load->b, load->c, load->d };
    PRINT(p, "step_%s(", elements[from->type]);
    heed_score_print_place(p, load, in_row);
    if (from->type == HEED_DATA_BITS)
        PRINT(p, ", ");
    else
        PRINT(p, " + %du * (u64)", (int)heed_data_size(from->type));
    print_index(p, load, from->rank - 1, indices[from->rank - 1], in_row);
    PRINT(p, ")");
}

heed_data heed_score_type_of(const heed_score *p, int i)
{
    return p->program.sources[heed_score_step(p, i)->value.whole].type;
}

/* "bits", "bytes" or "halves". Other types than bits only for the first such step: they need a
 * register for each eight keys of a row. */
const char *heed_score_read_ahead(const heed_score *p, int i)
{
    static const char *const plural[] = { [HEED_DATA_BITS] = "bits",
                                          [HEED_DATA_BYTES] = "bytes",
                                          [HEED_DATA_F16] = "halves",
                                          [HEED_DATA_BF16] = "halves" };
    if (!(p->marks[i] & AS_PLACE))
        return NULL;
    heed_data type = heed_score_type_of(p, i);
    const char *name = (size_t)type < sizeof plural / sizeof *plural ? plural[type] : NULL;
    if (type == HEED_DATA_BITS)
        return name;
    for (int k = 0; k < i; k++)
        if (p->marks[k] & AS_PLACE && heed_score_type_of(p, k) != HEED_DATA_BITS &&
            heed_score_read_ahead(p, k))
            return NULL;
    return name;
}

int heed_score_staged(const heed_score *p)
{
    for (int i = 0; i < p->program.count; i++) {
        const char *ahead = heed_score_read_ahead(p, i);
        if (ahead && strcmp(ahead, "halves") == 0 &&
            p->program.sources[heed_score_step(p, i)->value.whole].buffer ==
                heed_operand_rows[HEED_OPERAND_BIAS].buffer)
            return i;
    }
    return -1;
}

static void print_along_keys(const heed_score *p, int i)
{
    heed_data type = heed_score_type_of(p, i);
    const char *name = elements[type];
    if (type == HEED_DATA_BITS)
        PRINT(p,
              "step_ahead_bit(&at->a%d, row->p%d, at->tile, at->within, c, at->left, whole, how)",
              i, i);
    else if (heed_score_read_ahead(p, i))
        PRINT(p, "step_ahead_%s(&at->a%d, at->p%d, c, at->left, whole, how)", name, i, i);
    else
        PRINT(p, "step_key_%s(at->p%d, c, at->left, whole, how)", name, i);
}

static void print_rising(const heed_score *p, int i, const heed_score_rising *number)
{
    PRINT(p, number->sign == 0 ? "ptx_abs(" : number->sign < 0 ? "-(" : "(");
    PRINT(p, "at->f%d + (float)(%d * (i32)c))", i, (int)number->rise);
}

/* Device code of leaves in score_row_of(), and for a key. */
static const char *leaf_of(heed_op op, bool in_row)
{
    switch (op) {
    case HEED_OP_SCORE:
        return "score * args->changes.natural";
    case HEED_OP_QUERY:
        return "(i32)query";
    case HEED_OP_POSITION:
        return "(i32)(query + (u32)args->first)";
    case HEED_OP_KEY:
        return in_row ? "0" : "(i32)(at->tile + at->within + c)";
    case HEED_OP_HEAD:
        return "(i32)head";
    default:
        return "(i32)batch";
    }
}

void heed_score_print_step(const heed_score *p, int i, bool in_row)
{
    const heed_step *step = heed_score_step(p, i);
    heed_score_rising number;
    PRINT(p, "    const %s v%d = ", heed_score_kind_name(step->kind), i);
    if (step->op >= HEED_OP_SCORE && step->op < HEED_OP_LOAD) {
        PRINT(p, "%s", leaf_of(step->op, in_row));
    } else if (!in_row && heed_score_find_rising(p, i, &number)) {
        print_rising(p, i, &number);
    } else if (!in_row && heed_score_along_keys(p, i)) {
        print_along_keys(p, i);
    } else if (step->op == HEED_OP_LOAD) {
        print_load(p, step, in_row);
    } else if (!print_quick(p, step, in_row)) {
        heed_kind kind = heed_score_step(p, step->a)->kind;
        print_words(p,
                    kind == HEED_KIND_FLOAT ? words[step->op].of_float
                    : kind == HEED_KIND_INT ? words[step->op].of_int
                                            : words[step->op].of_bool,
                    step, in_row);
    }
    PRINT(p, ";\n");
}

void heed_score_print_of_key(const heed_score *p, int i, bool done[HEED_STEPS_MAX])
{
    const heed_step *step = heed_score_step(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    heed_score_rising number;
    if (done[i] || !(p->marks[i] & OF_KEY))
        return;
    done[i] = true;
    if (!heed_score_find_rising(p, i, &number) && !heed_score_along_keys(p, i))
        for (int k = 0; k < 4; k++)
            if (from[k] >= 0)
                heed_score_print_of_key(p, from[k], done);
    heed_score_print_step(p, i, false);
}
