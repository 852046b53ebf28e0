/*
 * score_print.c - the steps of a problem printed as device code
 *
 * Steps come in two kinds: those of a row, which depend neither on the key nor on the score, and
 * those of a key. The former are computed once for all keys, by score_row_of(), and those that a
 * key's steps need are fields of score_row. These are printed other than step by step:
 *
 *  - Whole numbers that rise evenly with the key, q - k say, become floats only once a tile: where
 *    they are below 2^24, that number plus the key's offset is exact, and converting costs as much
 *    as an exponential. |p - k| needs no absolute value where a causal mask hides keys ahead of p.
 *  - A logit that is a core plus other terms is in the unit of its core, which is left to the
 *    exponential to scale, as it is without any steps; the terms are brought into that unit. The
 *    core is the score, in the unit of products, or a softcap, a product, or any other step.
 *  - A softcap X tanh(y) is X - 2 X / (1 + e^2y): the unit 2 X is left to the exponential, and the
 *    X before the minus to the row.
 *  - All that a row's logits in a tile have in common is the tile's base, which is taken off the
 *    row's maximum, and costs nothing for each score. Of a term that rises evenly with the key the
 *    base has the value at the lane's first key, where that is large; so the key's own part is one
 *    multiplication and addition. Where it is small (in tiles near the diagonal, say), rounding a
 *    base that is larger than the term itself would be an error beside the term: see is_near().
 *
 * Nothing of a caller's text is printed, but numbers and what steps are.
 */
#include "score_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../operand.h"

#define DIVISOR_MAX 0x1p100 /* its inverse is a normal number */
#define NEAR 3              /* so many tiles from zero a rising number is near it */

/* ---- Printing ---- */

static const char *type_name(heed_kind kind)
{
    static const char *const names[] = {
        [HEED_KIND_FLOAT] = "float", [HEED_KIND_INT] = "i32", [HEED_KIND_BOOL] = "int"
    };
    return names[kind];
}

/* Exactly, in any locale. */
static void print_float(const heed_score *p, float x)
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

/* The name of step @i, where @in_row says; a constant itself. */
void heed_score_print_value(const heed_score *p, int i, bool in_row)
{
    const heed_step *step = heed_score_step(p, i);
    if (step->op == HEED_OP_FLOAT)
        print_float(p, step->value.real);
    else if (step->op <= HEED_OP_BOOL)
        print_int(p, step->value.whole);
    else
        PRINT(p, in_row || p->marks[i] & OF_KEY ? "v%d" : "row->v%d", i);
}

/* How operations are written: $a, $b and $c are values. */
static const struct {
    const char *of_float, *of_int, *of_bool;
} words[HEED_OPS] = {
    [HEED_OP_ADD] = { "$a + $b", "(i32)((u32)$a + (u32)$b)", NULL },
    [HEED_OP_SUB] = { "$a - $b", "(i32)((u32)$a - (u32)$b)", NULL },
    [HEED_OP_MUL] = { "$a * $b", "(i32)((u32)$a * (u32)$b)", NULL },
    [HEED_OP_DIV] = { "$a / $b", "step_div($a, $b)", NULL },
    [HEED_OP_MOD] = { NULL, "step_mod($a, $b)", NULL },
    [HEED_OP_MIN] = { "step_min($a, $b)", "$a < $b ? $a : $b", NULL },
    [HEED_OP_MAX] = { "step_max($a, $b)", "$a > $b ? $a : $b", NULL },
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

/* Prints a division by a constant as something quicker, if there is such a thing. */
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
        print_float(p, 1 / by->value.real);
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

/* Bytes of an element, and the name of the functions that read one. */
static const struct {
    const char *name;
    int size;
} elements[] = {
    [HEED_DATA_F32] = { "f32", 4 },    [HEED_DATA_F16] = { "f16", 2 },
    [HEED_DATA_BF16] = { "bf16", 2 },  [HEED_DATA_I32] = { "i32", 4 },
    [HEED_DATA_BYTES] = { "byte", 1 }, [HEED_DATA_BITS] = { "bit", 4 },
};

/* Does step @i stay within the size of dimension @k of a source, whatever it is? The key does not,
 * for tiles go beyond the last one. */
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

/* The place of the element where all but the last index are as @load says. */
static void print_place(const heed_score *p, const heed_step *load, bool in_row)
{
    int source = load->value.whole;
    const heed_load *from = &p->program.sources[source];
    const int indices[] = { load->a, load->b, load->c, load->d };
    PRINT(p, "(const u8 *)args->changes.sources[%d].data", source);
    for (int k = 0; k < from->rank - 1; k++) {
        PRINT(p, " + %d * args->changes.sources[%d].stride[%d] * ", elements[from->type].size,
              source, k);
        print_index(p, load, k, indices[k], in_row);
    }
}

static void print_load(const heed_score *p, const heed_step *load, bool in_row)
{
    const heed_load *from = &p->program.sources[load->value.whole];
    const int indices[] = { load->a, load->b, load->c, load->d };
    PRINT(p, "step_%s(", elements[from->type].name);
    print_place(p, load, in_row);
    if (from->type == HEED_DATA_BITS)
        PRINT(p, ", ");
    else
        PRINT(p, " + %du * (u64)", elements[from->type].size);
    print_index(p, load, from->rank - 1, indices[from->rank - 1], in_row);
    PRINT(p, ")");
}

heed_data heed_score_type_of(const heed_score *p, int i)
{
    return p->program.sources[heed_score_step(p, i)->value.whole].type;
}

/* Can the elements that step @i loads along keys be read ahead, as "bits", "bytes" or "halves"? Of
 * others than bits those of the first such step: they take a register for each eight keys of a row.
 * NULL: they cannot. */
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

static void print_along_keys(const heed_score *p, int i)
{
    heed_data type = heed_score_type_of(p, i);
    const char *name = elements[type].name;
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

/* Leaves as they are written in score_row_of(), and for a key. */
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

/* A line that defines step @i. */
static void print_step(const heed_score *p, int i, bool in_row)
{
    const heed_step *step = heed_score_step(p, i);
    heed_score_rising number;
    PRINT(p, "    const %s v%d = ", type_name(step->kind), i);
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

/* Lines for step @i of a key and what it is made of, each once: @done has what there is. */
static void print_of_key(const heed_score *p, int i, bool done[HEED_STEPS_MAX])
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
                print_of_key(p, from[k], done);
    print_step(p, i, false);
}

static void print_macros(const heed_score *p)
{
    bool reads = false, rises = false;
    int packed = 0;
    for (int i = 0; i < p->program.count; i++) {
        reads = reads || heed_score_read_ahead(p, i);
        if (heed_score_read_ahead(p, i) && (heed_score_type_of(p, i) == HEED_DATA_BITS ||
                                            heed_score_type_of(p, i) == HEED_DATA_BYTES))
            packed = heed_score_type_of(p, i) == HEED_DATA_BITS ? 1 : 2;
    }
    for (int i = 0; i < p->term_count; i++)
        rises = rises || heed_score_factors_of(p, p->terms[i].step).rises;
    PRINT(p, "#define STEPS_READ_AHEAD %d\n#define STEPS_RISE %d\n#define STEPS_PACKED %d\n\n",
          reads, rises, packed);
}

static void print_fields(const heed_score *p)
{
    PRINT(p, "typedef struct score_row {\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & IN_FIELD)
            PRINT(p, "    %s v%d;\n", type_name(heed_score_step(p, i)->kind), i);
        if (p->marks[i] & AS_FLOAT)
            PRINT(p, "    i32 w%d;\n", i);
        if (p->marks[i] & IN_UNIT)
            PRINT(p, "    float u%d;\n", i);
        if (p->marks[i] & AS_PLACE)
            PRINT(p, "    const u8 *p%d;\n", i);
    }
    PRINT(p, "} score_row;\n\n"
             "typedef struct score_tile {\n    u32 tile, within;\n    i32 left;\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & AS_FLOAT)
            PRINT(p, "    float f%d;\n", i);
        if (p->marks[i] & AS_PLACE && heed_score_type_of(p, i) != HEED_DATA_BITS)
            PRINT(p, "    const u8 *p%d;\n", i);
        if (heed_score_read_ahead(p, i))
            PRINT(p, "    step_ahead a%d;\n", i);
    }
    PRINT(p, "} score_tile;\n\n");
}

static void print_row_fields(const heed_score *p, int i)
{
    heed_score_rising number;
    if (p->marks[i] & IN_FIELD)
        PRINT(p, "    row.v%d = v%d;\n", i, i);
    if (p->marks[i] & AS_FLOAT && heed_score_find_rising(p, i, &number)) {
        PRINT(p, "    row.w%d = ", i);
        heed_score_print_value(p, number.whole, true);
        PRINT(p, ";\n");
    }
    if (p->marks[i] & IN_UNIT) {
        heed_score_factors f = heed_score_factors_of(p, i);
        PRINT(p, "    row.u%d = args->changes.inverse", i);
        for (int k = 0; k < f.rows; k++) {
            PRINT(p, f.divides[k] ? " / " : " * ");
            heed_score_print_value(p, f.row[k], true);
        }
        PRINT(p, ";\n");
    }
    if (p->marks[i] & AS_PLACE) {
        PRINT(p, "    row.p%d = ", i);
        print_place(p, heed_score_step(p, i), true);
        PRINT(p, ";\n");
    }
}

static void print_row(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE score_row score_row_of(const heed_cuda_args *args, u32 batch, u32 head,\n"
             "                                   u32 query)\n{\n"
             "    score_row row;\n"
             "    (void)args;\n    (void)batch;\n    (void)head;\n    (void)query;\n");
    for (int i = 0; i < p->program.count; i++)
        if (p->marks[i] & IN_ROW && !heed_score_constant(p, i))
            print_step(p, i, true);
    for (int i = 0; i < p->program.count; i++)
        print_row_fields(p, i);
    PRINT(p, "    return row;\n}\n\n");
}

/* The place of the elements of the lane's first key; of bits that of the row. */
static void print_tile_place(const heed_score *p, int i)
{
    heed_data type = heed_score_type_of(p, i);
    const char *ahead = heed_score_read_ahead(p, i);
    bool bits = type == HEED_DATA_BITS;
    if (!bits)
        PRINT(p, "    at.p%d = row->p%d + %du * (u64)(tile + within);\n", i, i,
              elements[type].size);
    if (bits)
        PRINT(p,
              "    step_read_bits(&at.a%d, row->p%d, tile, at.left + (i32)within, whole, how);\n",
              i, i);
    else if (ahead)
        PRINT(p, "    step_read_%s(&at.a%d, at.p%d%s, at.left, whole, how);\n", ahead, i, i,
              type == HEED_DATA_BYTES ? ", within" : "");
}

static void print_tile(const heed_score *p)
{
    heed_score_rising number;
    PRINT(p,
          "HEED_DEVICE score_tile score_tile_of(const heed_cuda_args *args, const score_row *row,\n"
          "                                     u32 tile, u32 within, const int whole,\n"
          "                                     const int how)\n{\n"
          "    score_tile at;\n    at.tile = tile;\n    at.within = within;\n"
          "    at.left = (i32)(args->seq_k - tile - within);\n"
          "    (void)row;\n    (void)whole;\n    (void)how;\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & AS_FLOAT && heed_score_find_rising(p, i, &number))
            PRINT(p, "    at.f%d = (float)(row->w%d + %d * (i32)(tile + within));\n", i, i,
                  (int)number.rise);
        if (p->marks[i] & AS_PLACE)
            print_tile_place(p, i);
    }
    PRINT(p, "    return at;\n}\n\n");
}

static void print_ready(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE void score_tile_ready(score_tile *at, const int how)\n{\n"
             "    (void)at;\n    (void)how;\n");
    for (int i = 0; i < p->program.count; i++) {
        const char *ahead = heed_score_read_ahead(p, i);
        if (ahead && strcmp(ahead, "halves") != 0)
            PRINT(p, "    step_pack_%s(&at->a%d, at->within, how);\n", ahead, i);
    }
    PRINT(p, "}\n\n");
}

/* Of the conditions that @i and others make when they are all needed: those that are packed. */
static void print_any_packed(const heed_score *p, int i)
{
    const heed_step *step = heed_score_step(p, i);
    const char *ahead = heed_score_read_ahead(p, i);
    if (step->op == HEED_OP_AND) {
        print_any_packed(p, step->a);
        print_any_packed(p, step->b);
    }
    if (ahead && strcmp(ahead, "halves") != 0)
        PRINT(p, "    if (how & STEP_AHEAD && %s && !step_any(&at->a%d))\n        return 0;\n",
              strcmp(ahead, "bits") == 0 ? "AHEAD_BITS" : "AHEAD_WIDE", i);
}

static void print_any_visible(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE int is_any_visible(const score_tile *at, const int how)\n{\n"
             "    (void)at;\n    (void)how;\n");
    if (p->program.visible >= 0)
        print_any_packed(p, p->program.visible);
    PRINT(p, "    return 1;\n}\n\n");
}

/* A rising number at the lane's first key, with its sign. */
static void print_first(const heed_score *p, const heed_score_factors *f)
{
    PRINT(p,
          f->number.sign == 0  ? "ptx_abs(at->f%d)"
          : f->number.sign < 0 ? "(-at->f%d)"
                               : "at->f%d",
          f->key);
}

static void print_factor(const heed_score *p, int step, const heed_score_factors *f)
{
    if (f->rows > 0)
        PRINT(p, "row->u%d", step);
    else
        PRINT(p, "args->changes.inverse");
}

/* Is a rising number of a term so near zero in the tile that it is not put in the base? */
static void print_near(const heed_score *p)
{
    PRINT(p, "HEED_DEVICE int is_near(const score_tile *at)\n{\n    (void)at;\n    return 0");
    for (int i = 0; i < p->term_count; i++) {
        heed_score_factors f = heed_score_factors_of(p, p->terms[i].step);
        if (f.rises)
            PRINT(p, " || ptx_abs(at->f%d) < %d.0f * STEP_KEYS", f.key,
                  NEAR * abs((int)f.number.rise));
    }
    PRINT(p, ";\n}\n\n");
}

static void print_base(const heed_score *p)
{
    print_near(p);
    PRINT(p,
          "HEED_DEVICE float base_of(const heed_cuda_args *args, const score_row *row,\n"
          "                          const score_tile *at, const int how)\n{\n"
          "    float base = %s;\n"
          "    (void)args;\n    (void)row;\n    (void)at;\n    (void)how;\n",
          p->capped ? "0.5f" : "0.0f");
    for (int i = 0; i < p->term_count; i++) {
        heed_score_factors f = heed_score_factors_of(p, p->terms[i].step);
        char sign = p->terms[i].less ? '-' : '+';
        if (f.key < 0) {
            PRINT(p, "    base = base %c row->u%d;\n", sign, p->terms[i].step);
        } else if (f.rises) {
            PRINT(p, "    if (how & STEP_FAR)\n        base = base %c ", sign);
            print_factor(p, p->terms[i].step, &f);
            PRINT(p, " * ");
            print_first(p, &f);
            PRINT(p, ";\n");
        }
    }
    PRINT(p, "    return base;\n}\n\n");
}

static void print_head(const heed_score *p, const char *what)
{
    PRINT(p,
          "HEED_DEVICE %s\n{\n    (void)args;\n    (void)row;\n    (void)at;\n    (void)c;\n"
          "    (void)whole;\n    (void)how;\n",
          what);
}

/* The core, in its unit. */
static void print_core(const heed_score *p, bool done[HEED_STEPS_MAX])
{
    bool score = p->core >= 0 && heed_score_step(p, p->core)->op == HEED_OP_SCORE;
    if (p->core < 0 || p->products)
        return;
    if (!p->capped || !score || !heed_score_moderate(&p->problem))
        print_of_key(p, p->core, done);
    PRINT(p, p->capped ? "    score = ptx_rcp(-1.0f - ptx_ex2(" : "    score = ");
    if (p->capped && score && heed_score_moderate(&p->problem)) {
        PRINT(p, "score * args->changes.stretch");
    } else {
        heed_score_print_value(p, p->core, false);
        if (p->capped) {
            PRINT(p, " * ");
            print_float(p, (float)p->stretch);
        }
    }
    PRINT(p, p->capped ? "));\n" : ";\n");
}

/* The part of a far rising term that the base has not: what the key's offset adds. */
static void print_far(const heed_score *p, const heed_score_term *it, const heed_score_factors *f)
{
    int rise = (int)f->number.rise * (f->number.sign < 0 ? -1 : 1);
    PRINT(p, "    if (how & STEP_FAR)\n        score = score + ");
    if (f->number.sign == 0)
        PRINT(p, "step_signed(");
    print_factor(p, it->step, f);
    if (f->number.sign == 0)
        PRINT(p, ", at->f%d)", f->key);
    PRINT(p, " * (float)(%d * (i32)c);\n    else\n    ", it->less ? -rise : rise);
}

/* A term in the unit of the logit. */
static void print_term(const heed_score *p, const heed_score_term *it, bool done[HEED_STEPS_MAX])
{
    heed_score_factors f = heed_score_factors_of(p, it->step);
    if (f.key < 0)
        return;
    print_of_key(p, f.key, done);
    if (f.rises)
        print_far(p, it, &f);
    PRINT(p, "    score = score %c ", it->less ? '-' : '+');
    print_factor(p, it->step, &f);
    PRINT(p, " * ");
    heed_score_print_value(p, f.key, false);
    PRINT(p, ";\n");
}

static void print_score(const heed_score *p)
{
    bool done[HEED_STEPS_MAX] = { false };
    print_head(p, "float score_of(const heed_cuda_args *args, const score_row *row,\n"
                  "                           const score_tile *at, float score, u32 c,\n"
                  "                           const int whole, const int how)");
    print_core(p, done);
    for (int i = 0; i < p->term_count; i++)
        print_term(p, &p->terms[i], done);
    PRINT(p, "    return score;\n}\n\n");
}

static void print_visible(const heed_score *p)
{
    bool done[HEED_STEPS_MAX] = { false };
    int visible = p->program.visible;
    print_head(p, "int is_visible(const heed_cuda_args *args, const score_row *row,\n"
                  "                           const score_tile *at, u32 c, const int whole,\n"
                  "                           const int how)");
    if (visible >= 0)
        print_of_key(p, visible, done);
    PRINT(p, "    return ");
    if (visible >= 0)
        heed_score_print_value(p, visible, false);
    else
        PRINT(p, "1");
    PRINT(p, ";\n}\n");
}

size_t heed_cuda_print_program(const heed_problem *problem, char *text, size_t size)
{
    heed_text to = { .data = text, .size = size };
    heed_score p;
    heed_score_start(&p, problem);
    if (p.root < 0 && p.program.visible < 0)
        return heed_text_none(text, size);
    p.text = &to;
    heed_score_need_all(&p);
    print_macros(&p);
    print_fields(&p);
    print_row(&p);
    print_tile(&p);
    print_ready(&p);
    print_any_visible(&p);
    print_base(&p);
    print_score(&p);
    print_visible(&p);
    heed_score_print_sight(&p);
    return to.length;
}
