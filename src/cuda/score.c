/*
 * score.c - the steps of a problem printed as device code
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
#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../operand.h"

#define LOG2_E 1.4426950408889634
#define EXACT_MAX (1 << 24)   /* whole numbers up to here are floats */
#define KEYS_BEYOND (1 << 14) /* so many keys behind the last one a tile may begin */
#define OFFSET_MAX 256        /* keys of a tile */
#define SCALE_MAX 0x1p40      /* beyond, or below the inverse, scores are made natural */
#define DIVISOR_MAX 0x1p100   /* its inverse is a normal number */
#define BYTES_AT_ONCE 16
#define NEAR 3 /* so many tiles from zero a rising number is near it */
#define TERMS_MAX HEED_STEPS_MAX

/* Marks of steps. */
enum {
    OF_KEY = 1,    /* depends on the key or the score, */
    OF_SCORE = 2,  /* on the score */
    IN_ROW = 4,    /* score_row_of() computes it */
    IN_FIELD = 8,  /* and leaves it for the keys, */
    AS_FLOAT = 16, /* as a whole number at key 0, and for a tile a float at the lane's first key, */
    AS_PLACE = 32, /* the place of its row of elements, */
    IN_UNIT = 64,  /* or in the unit of the logit */
    FOR_KEY = 128  /* score_of() or is_visible() computes it */
};

/* A term of a logit. */
typedef struct term {
    int step;
    bool less; /* it is taken off */
} term;

typedef struct printer {
    heed_problem problem; /* without starts */
    heed_program program;
    heed_view view;
    unsigned marks[HEED_STEPS_MAX];
    int root; /* of the logit; -1: none. It is the sum of */
    int core; /* this step, */
    int term_count;
    term terms[TERMS_MAX]; /* and these; */
    bool products;         /* the core is the score, as it comes; */
    bool capped;           /* or twice the softcap times a half less 1 / (1 + e^2y), */
    double stretch;        /* where 2y is this times the core to base 2; */
    float unit;            /* or the core times this */
    heed_text *text;
} printer;

static const heed_step *step_at(const printer *p, int i)
{
    return &p->program.steps[i];
}

/* ---- Kinds of steps ---- */

static void mark_all(printer *p)
{
    for (int i = 0; i < p->program.count; i++) {
        const heed_step *step = step_at(p, i);
        const int from[] = { step->a, step->b, step->c, step->d };
        unsigned marks = step->op == HEED_OP_SCORE ? OF_KEY | OF_SCORE
                         : step->op == HEED_OP_KEY ? OF_KEY
                                                   : 0;
        for (int k = 0; k < 4; k++)
            if (from[k] >= 0)
                marks |= p->marks[from[k]];
        p->marks[i] = marks;
    }
}

/* A range of whole numbers; unknown unless all of it is between -EXACT_MAX and EXACT_MAX. */
typedef struct range {
    bool known;
    int64_t low, high;
} range;

static range range_of(int64_t low, int64_t high)
{
    return (range){ low >= -EXACT_MAX && high <= EXACT_MAX, low, high };
}

static range range_of_product(range a, range b)
{
    const int64_t all[] = { a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high };
    range product = { true, all[0], all[0] };
    for (int i = 1; i < 4; i++) {
        product.low = all[i] < product.low ? all[i] : product.low;
        product.high = all[i] > product.high ? all[i] : product.high;
    }
    return range_of(product.low, product.high);
}

static range range_of_step(const printer *p, int i)
{
    const heed_step *step = step_at(p, i);
    const heed_problem *problem = &p->problem;
    switch (step->op) {
    case HEED_OP_INT:
        return range_of(step->value.whole, step->value.whole);
    case HEED_OP_QUERY:
        return range_of(0, problem->seq_q);
    case HEED_OP_POSITION:
        return range_of(p->view.first, p->view.first + problem->seq_q);
    case HEED_OP_KEY:
        return range_of(0, problem->seq_k + KEYS_BEYOND);
    case HEED_OP_HEAD:
        return range_of(0, problem->heads_q);
    case HEED_OP_BATCH:
        return range_of(0, problem->batch);
    case HEED_OP_ADD:
    case HEED_OP_SUB:
    case HEED_OP_MUL:
    case HEED_OP_NEG:
        break;
    default:
        return (range){ .known = false };
    }
    range a = range_of_step(p, step->a);
    range b = step->b < 0 ? range_of(0, 0) : range_of_step(p, step->b);
    if (!a.known || !b.known)
        return (range){ .known = false };
    if (step->op == HEED_OP_MUL)
        return range_of_product(a, b);
    if (step->op == HEED_OP_ADD)
        return range_of(a.low + b.low, a.high + b.high);
    return step->op == HEED_OP_SUB ? range_of(a.low - b.high, a.high - b.low)
                                   : range_of(-a.high, -a.low);
}

/* Does a whole number rise evenly with the key, by *@rise for each, and depend on nothing else but
 * the row? */
static bool is_even(const printer *p, int i, int64_t *rise)
{
    const heed_step *step = step_at(p, i);
    int64_t a = 0, b = 0;
    *rise = 0;
    if (!(p->marks[i] & OF_KEY))
        return true;
    if (step->op == HEED_OP_KEY) {
        *rise = 1;
        return true;
    }
    if (step->op != HEED_OP_ADD && step->op != HEED_OP_SUB && step->op != HEED_OP_NEG &&
        step->op != HEED_OP_MUL)
        return false;
    if (!is_even(p, step->a, &a) || (step->b >= 0 && !is_even(p, step->b, &b)))
        return false;
    if (step->op == HEED_OP_MUL) {
        const heed_step *left = step_at(p, step->a), *right = step_at(p, step->b);
        if (left->op != HEED_OP_INT && right->op != HEED_OP_INT)
            return false;
        *rise = left->op == HEED_OP_INT ? left->value.whole * b : right->value.whole * a;
    } else {
        *rise = step->op == HEED_OP_ADD ? a + b : step->op == HEED_OP_SUB ? a - b : -a;
    }
    return *rise >= -EXACT_MAX / OFFSET_MAX && *rise <= EXACT_MAX / OFFSET_MAX;
}

/* Is @i where a causal mask counts from? */
static bool is_position(const printer *p, int i)
{
    return step_at(p, i)->op == HEED_OP_POSITION ||
           (step_at(p, i)->op == HEED_OP_QUERY && p->view.first == 0);
}

/* The sign that a number has for all keys that are seen; 0: either. */
static int sign_of(const printer *p, int i)
{
    const heed_step *step = step_at(p, i);
    if (p->view.right != 0 || step->op != HEED_OP_SUB)
        return 0;
    if (is_position(p, step->a) && step_at(p, step->b)->op == HEED_OP_KEY)
        return 1;
    return is_position(p, step->b) && step_at(p, step->a)->op == HEED_OP_KEY ? -1 : 0;
}

/* A float that is made of a whole number that rises evenly: of which, and what sign it gets. */
typedef struct rising {
    int whole;
    int64_t rise;
    int sign; /* 1, -1, or 0: the absolute value is taken */
} rising;

static bool find_rising(const printer *p, int i, rising *found)
{
    const heed_step *step = step_at(p, i);
    if (step->op != HEED_OP_TO_FLOAT || !(p->marks[i] & OF_KEY) ||
        step_at(p, step->a)->kind != HEED_KIND_INT)
        return false;
    found->whole = step->a;
    found->sign = 1;
    if (step_at(p, step->a)->op == HEED_OP_ABS) {
        found->whole = step_at(p, step->a)->a;
        found->sign = sign_of(p, found->whole);
    }
    return is_even(p, found->whole, &found->rise) && range_of_step(p, found->whole).known;
}

/* Is a load of elements that lie along the keys? */
static bool is_along_keys(const printer *p, int i)
{
    const heed_step *step = step_at(p, i);
    if (step->op != HEED_OP_LOAD)
        return false;
    const heed_load *from = &p->program.sources[step->value.whole];
    const int indices[] = { step->a, step->b, step->c, step->d };
    for (int k = 0; k < from->rank - 1; k++)
        if (p->marks[indices[k]] & OF_KEY)
            return false;
    return step_at(p, indices[from->rank - 1])->op == HEED_OP_KEY &&
           from->size[from->rank - 1] >= p->problem.seq_k;
}

/* ---- The unit of the logit ---- */

/* The step that is left of @i without terms that are added and taken off, which it notes. */
static int find_terms(printer *p, int i)
{
    const heed_step *step = step_at(p, i);
    if (step->op != HEED_OP_ADD && step->op != HEED_OP_SUB)
        return i;
    bool left = p->marks[step->a] & OF_SCORE, right = p->marks[step->b] & OF_SCORE;
    if (left == right || (right && step->op == HEED_OP_SUB))
        return i;
    p->terms[p->term_count++] = (term){ left ? step->b : step->a, step->op == HEED_OP_SUB };
    return find_terms(p, left ? step->a : step->b);
}

/* Takes a constant factor from 1 / SCALE_MAX to SCALE_MAX off step @i, if it has one. */
static int take_factor(const printer *p, int i, double *factor)
{
    const heed_step *step = step_at(p, i);
    *factor = 1;
    for (int side = 0; side < 2; side++) {
        bool divides = step->op == HEED_OP_DIV && side == 1;
        if (step->op != HEED_OP_MUL && !divides)
            continue;
        const heed_step *by = step_at(p, side == 0 ? step->a : step->b);
        if (by->op != HEED_OP_FLOAT || !(by->value.real >= (float)(1 / SCALE_MAX)) ||
            !(by->value.real <= (float)SCALE_MAX))
            continue;
        *factor = divides ? 1 / (double)by->value.real : (double)by->value.real;
        return side == 0 ? step->b : step->a;
    }
    return i;
}

static bool is_moderate(const heed_problem *problem)
{
    double scale = fabs((double)problem->scale);
    return scale <= SCALE_MAX && scale >= 1 / SCALE_MAX;
}

static void find_unit(printer *p)
{
    double factor;
    p->unit = 1;
    p->core = p->root < 0 ? -1 : find_terms(p, p->root);
    if (p->core < 0)
        return;
    p->products = step_at(p, p->core)->op == HEED_OP_SCORE && is_moderate(&p->problem);
    int inner = take_factor(p, p->core, &factor);
    if (p->products || step_at(p, p->core)->op != HEED_OP_MUL || factor == 1)
        return;
    p->unit = (float)factor;
    p->core = inner;
    if (step_at(p, inner)->op != HEED_OP_TANH)
        return;
    p->capped = true;
    p->unit *= 2;
    p->core = take_factor(p, step_at(p, inner)->a, &factor);
    p->stretch = 2 * LOG2_E * factor;
}

static void start(printer *p, const heed_problem *problem)
{
    *p = (printer){ .problem = *problem };
    p->problem.starts = (heed_operand){ .type = HEED_DATA_NONE };
    p->view = heed_problem_view(problem);
    heed_program_make(&p->program, &p->problem);
    p->root = p->program.score;
    mark_all(p);
    find_unit(p);
}

/* ---- Steps of rows and of keys ---- */

static void need_in_row(printer *p, int i)
{
    const heed_step *step = step_at(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    if (p->marks[i] & IN_ROW)
        return;
    p->marks[i] |= IN_ROW;
    for (int k = 0; k < 4; k++)
        if (from[k] >= 0)
            need_in_row(p, from[k]);
}

static bool is_constant(const printer *p, int i)
{
    return step_at(p, i)->op <= HEED_OP_BOOL;
}

/* The step of a key, and all that it is made of. */
static void need_of_key(printer *p, int i)
{
    const heed_step *step = step_at(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    rising number;
    if (is_constant(p, i))
        return;
    p->marks[i] |= p->marks[i] & OF_KEY ? FOR_KEY : 0;
    if (!(p->marks[i] & OF_KEY)) {
        p->marks[i] |= IN_FIELD;
        need_in_row(p, i);
    } else if (find_rising(p, i, &number)) {
        p->marks[i] |= AS_FLOAT;
        need_in_row(p, number.whole);
    } else if (is_along_keys(p, i)) {
        p->marks[i] |= AS_PLACE;
        for (int k = 0; k < p->program.sources[step->value.whole].rank - 1; k++)
            need_in_row(p, from[k]);
    } else {
        for (int k = 0; k < 4; k++)
            if (from[k] >= 0)
                need_of_key(p, from[k]);
    }
}

/* A term: numbers of the row, multiplied or divided by, and one of the key. */
#define FACTORS_MAX 4
typedef struct factors {
    int key;       /* -1: none */
    bool rises;    /* it rises evenly, */
    rising number; /* like this */
    int rows, row[FACTORS_MAX];
    bool divides[FACTORS_MAX];
} factors;

/* Takes a factor of the row off that of the key, if there is one. */
static bool take_row(const printer *p, factors *f)
{
    const heed_step *step = step_at(p, f->key);
    bool divides = step->op == HEED_OP_DIV;
    if (f->rows == FACTORS_MAX || (step->op != HEED_OP_MUL && !divides))
        return false;
    bool left = p->marks[step->a] & OF_KEY, right = p->marks[step->b] & OF_KEY;
    if (left == right || (divides && (right || step_at(p, step->b)->op != HEED_OP_FLOAT)))
        return false;
    f->row[f->rows] = left ? step->b : step->a;
    f->divides[f->rows++] = divides;
    f->key = left ? step->a : step->b;
    return true;
}

static factors factors_of(const printer *p, int i)
{
    factors f = { .key = i };
    if (!(p->marks[i] & OF_KEY))
        return (factors){ .key = -1, .rows = 1, .row = { i } };
    while (take_row(p, &f))
        ;
    f.rises = find_rising(p, f.key, &f.number);
    return f;
}

static void need_all(printer *p)
{
    for (int i = 0; i < p->term_count; i++) {
        factors f = factors_of(p, p->terms[i].step);
        if (f.rows > 0)
            p->marks[p->terms[i].step] |= IN_UNIT;
        for (int k = 0; k < f.rows; k++)
            need_in_row(p, f.row[k]);
        if (f.key >= 0)
            need_of_key(p, f.key);
    }
    if (p->core >= 0)
        need_of_key(p, p->core);
    if (p->program.visible >= 0)
        need_of_key(p, p->program.visible);
}

/* ---- Printing ---- */

#define PRINT(p, ...) heed_text_add((p)->text, __VA_ARGS__)

static const char *type_name(heed_kind kind)
{
    static const char *const names[] = {
        [HEED_KIND_FLOAT] = "float", [HEED_KIND_INT] = "i32", [HEED_KIND_BOOL] = "int"
    };
    return names[kind];
}

/* Exactly, in any locale. */
static void print_float(const printer *p, float x)
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

static void print_int(const printer *p, int32_t x)
{
    if (x == INT32_MIN)
        PRINT(p, "(-2147483647 - 1)");
    else
        PRINT(p, x < 0 ? "(%d)" : "%d", x);
}

/* The name of step @i, where @in_row says; a constant itself. */
static void print_value(const printer *p, int i, bool in_row)
{
    const heed_step *step = step_at(p, i);
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

static void print_words(const printer *p, const char *pattern, const heed_step *step, bool in_row)
{
    for (; *pattern; pattern++) {
        if (*pattern != '$') {
            PRINT(p, "%c", *pattern);
            continue;
        }
        pattern++;
        print_value(p, *pattern == 'a' ? step->a : *pattern == 'b' ? step->b : step->c, in_row);
    }
}

/* Prints a division by a constant as something quicker, if there is such a thing. */
static bool print_quick(const printer *p, const heed_step *step, bool in_row)
{
    const heed_step *by = step->b < 0 ? NULL : step_at(p, step->b);
    if (!by || (step->op != HEED_OP_DIV && step->op != HEED_OP_MOD))
        return false;
    float size = fabsf(by->value.real);
    int32_t whole = by->value.whole;
    if (by->op == HEED_OP_FLOAT && size >= 1 / DIVISOR_MAX && size <= DIVISOR_MAX) {
        print_value(p, step->a, in_row);
        PRINT(p, " * ");
        print_float(p, 1 / by->value.real);
        return true;
    }
    if (by->op != HEED_OP_INT || whole <= 0 || (whole & (whole - 1)))
        return false;
    print_value(p, step->a, in_row);
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
static bool stays_within(const printer *p, int i, int64_t size)
{
    const heed_problem *problem = &p->problem;
    switch (step_at(p, i)->op) {
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
static void print_index(const printer *p, const heed_step *load, int k, int i, bool in_row)
{
    int source = load->value.whole;
    bool within = stays_within(p, i, p->program.sources[source].size[k]);
    PRINT(p, within ? "(u32)" : "step_index(");
    print_value(p, i, in_row);
    if (!within)
        PRINT(p, ", args->changes.sources[%d].last[%d])", source, k);
}

/* The place of the element where all but the last index are as @load says. */
static void print_place(const printer *p, const heed_step *load, bool in_row)
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

static void print_load(const printer *p, const heed_step *load, bool in_row)
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

static heed_data type_of(const printer *p, int i)
{
    return p->program.sources[step_at(p, i)->value.whole].type;
}

/* Can the elements that step @i loads along keys be read ahead, as "bits", "bytes" or "halves"? Of
 * others than bits those of the first such step: they take a register for each eight keys of a row.
 * NULL: they cannot. */
static const char *read_ahead(const printer *p, int i)
{
    static const char *const plural[] = { [HEED_DATA_BITS] = "bits",
                                          [HEED_DATA_BYTES] = "bytes",
                                          [HEED_DATA_F16] = "halves",
                                          [HEED_DATA_BF16] = "halves" };
    if (!(p->marks[i] & AS_PLACE))
        return NULL;
    heed_data type = type_of(p, i);
    const char *name = (size_t)type < sizeof plural / sizeof *plural ? plural[type] : NULL;
    if (type == HEED_DATA_BITS)
        return name;
    for (int k = 0; k < i; k++)
        if (p->marks[k] & AS_PLACE && type_of(p, k) != HEED_DATA_BITS && read_ahead(p, k))
            return NULL;
    return name;
}

static void print_along_keys(const printer *p, int i)
{
    heed_data type = type_of(p, i);
    const char *name = elements[type].name;
    if (type == HEED_DATA_BITS)
        PRINT(p,
              "step_ahead_bit(&at->a%d, row->p%d, at->tile, at->within, c, at->left, whole, how)",
              i, i);
    else if (read_ahead(p, i))
        PRINT(p, "step_ahead_%s(&at->a%d, at->p%d, c, at->left, whole, how)", name, i, i);
    else
        PRINT(p, "step_key_%s(at->p%d, c, at->left, whole, how)", name, i);
}

static void print_rising(const printer *p, int i, const rising *number)
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
static void print_step(const printer *p, int i, bool in_row)
{
    const heed_step *step = step_at(p, i);
    rising number;
    PRINT(p, "    const %s v%d = ", type_name(step->kind), i);
    if (step->op >= HEED_OP_SCORE && step->op < HEED_OP_LOAD) {
        PRINT(p, "%s", leaf_of(step->op, in_row));
    } else if (!in_row && find_rising(p, i, &number)) {
        print_rising(p, i, &number);
    } else if (!in_row && is_along_keys(p, i)) {
        print_along_keys(p, i);
    } else if (step->op == HEED_OP_LOAD) {
        print_load(p, step, in_row);
    } else if (!print_quick(p, step, in_row)) {
        heed_kind kind = step_at(p, step->a)->kind;
        print_words(p,
                    kind == HEED_KIND_FLOAT ? words[step->op].of_float
                    : kind == HEED_KIND_INT ? words[step->op].of_int
                                            : words[step->op].of_bool,
                    step, in_row);
    }
    PRINT(p, ";\n");
}

/* Lines for step @i of a key and what it is made of, each once: @done has what there is. */
static void print_of_key(const printer *p, int i, bool done[HEED_STEPS_MAX])
{
    const heed_step *step = step_at(p, i);
    const int from[] = { step->a, step->b, step->c, step->d };
    rising number;
    if (done[i] || !(p->marks[i] & OF_KEY))
        return;
    done[i] = true;
    if (!find_rising(p, i, &number) && !is_along_keys(p, i))
        for (int k = 0; k < 4; k++)
            if (from[k] >= 0)
                print_of_key(p, from[k], done);
    print_step(p, i, false);
}

static void print_macros(const printer *p)
{
    bool reads = false, rises = false;
    int packed = 0;
    for (int i = 0; i < p->program.count; i++) {
        reads = reads || read_ahead(p, i);
        if (read_ahead(p, i) &&
            (type_of(p, i) == HEED_DATA_BITS || type_of(p, i) == HEED_DATA_BYTES))
            packed = type_of(p, i) == HEED_DATA_BITS ? 1 : 2;
    }
    for (int i = 0; i < p->term_count; i++)
        rises = rises || factors_of(p, p->terms[i].step).rises;
    PRINT(p, "#define STEPS_READ_AHEAD %d\n#define STEPS_RISE %d\n#define STEPS_PACKED %d\n\n",
          reads, rises, packed);
}

static void print_fields(const printer *p)
{
    PRINT(p, "typedef struct score_row {\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & IN_FIELD)
            PRINT(p, "    %s v%d;\n", type_name(step_at(p, i)->kind), i);
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
        if (p->marks[i] & AS_PLACE && type_of(p, i) != HEED_DATA_BITS)
            PRINT(p, "    const u8 *p%d;\n", i);
        if (read_ahead(p, i))
            PRINT(p, "    step_ahead a%d;\n", i);
    }
    PRINT(p, "} score_tile;\n\n");
}

static void print_row_fields(const printer *p, int i)
{
    rising number;
    if (p->marks[i] & IN_FIELD)
        PRINT(p, "    row.v%d = v%d;\n", i, i);
    if (p->marks[i] & AS_FLOAT && find_rising(p, i, &number)) {
        PRINT(p, "    row.w%d = ", i);
        print_value(p, number.whole, true);
        PRINT(p, ";\n");
    }
    if (p->marks[i] & IN_UNIT) {
        factors f = factors_of(p, i);
        PRINT(p, "    row.u%d = args->changes.inverse", i);
        for (int k = 0; k < f.rows; k++) {
            PRINT(p, f.divides[k] ? " / " : " * ");
            print_value(p, f.row[k], true);
        }
        PRINT(p, ";\n");
    }
    if (p->marks[i] & AS_PLACE) {
        PRINT(p, "    row.p%d = ", i);
        print_place(p, step_at(p, i), true);
        PRINT(p, ";\n");
    }
}

static void print_row(const printer *p)
{
    PRINT(p, "HEED_DEVICE score_row score_row_of(const heed_cuda_args *args, u32 batch, u32 head,\n"
             "                                   u32 query)\n{\n"
             "    score_row row;\n"
             "    (void)args;\n    (void)batch;\n    (void)head;\n    (void)query;\n");
    for (int i = 0; i < p->program.count; i++)
        if (p->marks[i] & IN_ROW && !is_constant(p, i))
            print_step(p, i, true);
    for (int i = 0; i < p->program.count; i++)
        print_row_fields(p, i);
    PRINT(p, "    return row;\n}\n\n");
}

/* The place of the elements of the lane's first key; of bits that of the row. */
static void print_tile_place(const printer *p, int i)
{
    heed_data type = type_of(p, i);
    const char *ahead = read_ahead(p, i);
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

static void print_tile(const printer *p)
{
    rising number;
    PRINT(p,
          "HEED_DEVICE score_tile score_tile_of(const heed_cuda_args *args, const score_row *row,\n"
          "                                     u32 tile, u32 within, const int whole,\n"
          "                                     const int how)\n{\n"
          "    score_tile at;\n    at.tile = tile;\n    at.within = within;\n"
          "    at.left = (i32)(args->seq_k - tile - within);\n"
          "    (void)row;\n    (void)whole;\n    (void)how;\n");
    for (int i = 0; i < p->program.count; i++) {
        if (p->marks[i] & AS_FLOAT && find_rising(p, i, &number))
            PRINT(p, "    at.f%d = (float)(row->w%d + %d * (i32)(tile + within));\n", i, i,
                  (int)number.rise);
        if (p->marks[i] & AS_PLACE)
            print_tile_place(p, i);
    }
    PRINT(p, "    return at;\n}\n\n");
}

static void print_ready(const printer *p)
{
    PRINT(p, "HEED_DEVICE void score_tile_ready(score_tile *at, const int how)\n{\n"
             "    (void)at;\n    (void)how;\n");
    for (int i = 0; i < p->program.count; i++) {
        const char *ahead = read_ahead(p, i);
        if (ahead && strcmp(ahead, "halves") != 0)
            PRINT(p, "    step_pack_%s(&at->a%d, at->within, how);\n", ahead, i);
    }
    PRINT(p, "}\n\n");
}

/* A rising number at the lane's first key, with its sign. */
static void print_first(const printer *p, const factors *f)
{
    PRINT(p,
          f->number.sign == 0  ? "ptx_abs(at->f%d)"
          : f->number.sign < 0 ? "(-at->f%d)"
                               : "at->f%d",
          f->key);
}

static void print_factor(const printer *p, int step, const factors *f)
{
    if (f->rows > 0)
        PRINT(p, "row->u%d", step);
    else
        PRINT(p, "args->changes.inverse");
}

/* Is a rising number of a term so near zero in the tile that it is not put in the base? */
static void print_near(const printer *p)
{
    PRINT(p, "HEED_DEVICE int is_near(const score_tile *at)\n{\n    (void)at;\n    return 0");
    for (int i = 0; i < p->term_count; i++) {
        factors f = factors_of(p, p->terms[i].step);
        if (f.rises)
            PRINT(p, " || ptx_abs(at->f%d) < %d.0f * STEP_KEYS", f.key,
                  NEAR * abs((int)f.number.rise));
    }
    PRINT(p, ";\n}\n\n");
}

static void print_base(const printer *p)
{
    print_near(p);
    PRINT(p,
          "HEED_DEVICE float base_of(const heed_cuda_args *args, const score_row *row,\n"
          "                          const score_tile *at, const int how)\n{\n"
          "    float base = %s;\n"
          "    (void)args;\n    (void)row;\n    (void)at;\n    (void)how;\n",
          p->capped ? "0.5f" : "0.0f");
    for (int i = 0; i < p->term_count; i++) {
        factors f = factors_of(p, p->terms[i].step);
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

static void print_head(const printer *p, const char *what)
{
    PRINT(p,
          "HEED_DEVICE %s\n{\n    (void)args;\n    (void)row;\n    (void)at;\n    (void)c;\n"
          "    (void)whole;\n    (void)how;\n",
          what);
}

/* The core, in its unit. */
static void print_core(const printer *p, bool done[HEED_STEPS_MAX])
{
    bool score = p->core >= 0 && step_at(p, p->core)->op == HEED_OP_SCORE;
    if (p->core < 0 || p->products)
        return;
    if (!p->capped || !score || !is_moderate(&p->problem))
        print_of_key(p, p->core, done);
    PRINT(p, p->capped ? "    score = ptx_rcp(-1.0f - ptx_ex2(" : "    score = ");
    if (p->capped && score && is_moderate(&p->problem)) {
        PRINT(p, "score * args->changes.stretch");
    } else {
        print_value(p, p->core, false);
        if (p->capped) {
            PRINT(p, " * ");
            print_float(p, (float)p->stretch);
        }
    }
    PRINT(p, p->capped ? "));\n" : ";\n");
}

/* The part of a far rising term that the base has not: what the key's offset adds. */
static void print_far(const printer *p, const term *it, const factors *f)
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
static void print_term(const printer *p, const term *it, bool done[HEED_STEPS_MAX])
{
    factors f = factors_of(p, it->step);
    if (f.key < 0)
        return;
    print_of_key(p, f.key, done);
    if (f.rises)
        print_far(p, it, &f);
    PRINT(p, "    score = score %c ", it->less ? '-' : '+');
    print_factor(p, it->step, &f);
    PRINT(p, " * ");
    print_value(p, f.key, false);
    PRINT(p, ";\n");
}

static void print_score(const printer *p)
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

static void print_visible(const printer *p)
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
        print_value(p, visible, false);
    else
        PRINT(p, "1");
    PRINT(p, ";\n}\n");
}

size_t heed_cuda_print_program(const heed_problem *problem, char *text, size_t size)
{
    heed_text to = { .data = text, .size = size };
    printer p;
    start(&p, problem);
    if (p.root < 0 && p.program.visible < 0)
        return heed_text_none(text, size);
    p.text = &to;
    need_all(&p);
    print_macros(&p);
    print_fields(&p);
    print_row(&p);
    print_tile(&p);
    print_ready(&p);
    print_base(&p);
    print_score(&p);
    print_visible(&p);
    return to.length;
}

/* ---- Needs, and arguments ---- */

/* Do rows of the elements that step @i loads begin at multiples of @unit elements? */
static bool has_rows_of(const printer *p, int i, int64_t unit)
{
    const heed_load *from = &p->program.sources[step_at(p, i)->value.whole];
    bool fits = p->problem.seq_k % unit == 0;
    for (int k = 0; k < from->rank - 1; k++)
        fits = fits && (from->type == HEED_DATA_BITS || from->stride[k] % unit == 0);
    return fits;
}

/* Are elements of source @source bytes along keys? */
static bool is_bytes(const printer *p, int source)
{
    for (int i = 0; i < p->program.count; i++)
        if (is_along_keys(p, i) && step_at(p, i)->value.whole == source)
            return type_of(p, i) == HEED_DATA_BYTES;
    return false;
}

/* May the elements of two neighbouring keys be read at once? 2: and sixteen of bytes. */
static int pairs_of(const printer *p)
{
    int pairs = 1;
    for (int i = 0; i < p->program.count; i++) {
        if (!is_along_keys(p, i))
            continue;
        if (!has_rows_of(p, i, 2))
            return 0;
        if (type_of(p, i) == HEED_DATA_BYTES)
            pairs = 2;
    }
    for (int i = 0; i < p->program.count && pairs == 2; i++)
        if (is_along_keys(p, i) && type_of(p, i) == HEED_DATA_BYTES &&
            !has_rows_of(p, i, BYTES_AT_ONCE))
            pairs = 1;
    return pairs;
}

/* About what a step takes. */
static void add_cost(const printer *p, int i, heed_cuda_needs *needs)
{
    static const struct {
        int instructions, exponentials;
    } costs[HEED_OPS] = {
        [HEED_OP_EXP] = { 6, 1 },  [HEED_OP_LOG] = { 18, 0 },     [HEED_OP_TANH] = { 4, 2 },
        [HEED_OP_SQRT] = { 8, 1 }, [HEED_OP_TO_FLOAT] = { 0, 1 }, [HEED_OP_TO_INT] = { 4, 1 },
        [HEED_OP_DIV] = { 9, 1 },  [HEED_OP_MOD] = { 24, 1 },     [HEED_OP_LOAD] = { 5, 0 },
    };
    const heed_step *step = step_at(p, i);
    rising number;
    if (!(p->marks[i] & FOR_KEY) || step->op == HEED_OP_SCORE || step->op == HEED_OP_KEY)
        return;
    bool simple = find_rising(p, i, &number) ||
                  (step->op == HEED_OP_DIV && is_constant(p, step->b));
    needs->instructions += simple ? 1 : 1 + costs[step->op].instructions;
    needs->exponentials += simple ? 0 : costs[step->op].exponentials;
}

/* Registers of two rows that step @i takes between scores. */
static int registers_of(const printer *p, int i)
{
    return 2 * ((p->marks[i] & IN_FIELD ? 1 : 0) + (p->marks[i] & AS_FLOAT ? 2 : 0) +
                (p->marks[i] & IN_UNIT ? 1 : 0) + (p->marks[i] & AS_PLACE ? 2 : 0));
}

/* Of both rows what their scores in a tile lack, and the maxima less that. */
#define BASES 4

/* Registers that the compiler took beside that in some hundred configs: for elements on their way,
 * and for steps of several scores at a time. */
enum {
    LOADING = 20,
    COMPUTING = 8,
    STARTING = 24 /* to know a row's first key */
};

static void add_registers(const printer *p, heed_cuda_needs *needs)
{
    bool loads = false;
    for (int i = 0; i < p->program.count; i++) {
        needs->registers += registers_of(p, i);
        loads = loads || p->marks[i] & AS_PLACE;
        needs->ahead = needs->ahead || (read_ahead(p, i) && type_of(p, i) != HEED_DATA_BITS);
    }
    bool computes = needs->instructions > COMPUTING;
    needs->registers += (needs->modifies ? BASES : 0) + (loads ? LOADING : 0) +
                        (computes ? COMPUTING : 0) + (needs->starts ? STARTING : 0);
    needs->crowded = loads || computes;
    needs->per_key = loads && computes;
}

heed_cuda_needs heed_cuda_needs_of(const heed_problem *problem)
{
    printer p;
    heed_cuda_needs needs = { .starts = problem->starts.type != HEED_DATA_NONE,
                              .sinks = problem->sinks.type != HEED_DATA_NONE };
    if (!heed_problem_has_operands(problem))
        return needs;
    start(&p, problem);
    needs.modifies = p.program.score >= 0;
    needs.hides = p.program.visible >= 0;
    needs.any = needs.modifies || needs.hides || needs.starts || needs.sinks;
    needs.pairs = needs.modifies || needs.hides ? pairs_of(&p) : 0;
    need_all(&p);
    needs.instructions = p.term_count + (p.root >= 0 && !p.products);
    for (int i = 0; i < p.program.count; i++)
        add_cost(&p, i, &needs);
    add_registers(&p, &needs);
    return needs;
}

bool heed_cuda_masked(const heed_problem *problem)
{
    return heed_problem_masked(problem) || heed_problem_hides_by_program(problem);
}

static void fill_source(heed_cuda_source *source, const heed_load *from)
{
    for (int k = 0; k < from->rank; k++) {
        source->last[k] = from->size[k] - 1;
        if (k < from->rank - 1)
            source->stride[k] = from->stride[k];
    }
}

_Static_assert(HEED_CUDA_SOURCES == HEED_SOURCES_MAX, "args.cuh has room for all sources");

float heed_cuda_fill_changes(heed_cuda_changes *changes, const heed_problem *problem)
{
    printer p;
    double scale = fabs((double)problem->scale);
    *changes = (heed_cuda_changes){ .natural = 0 };
    if (!heed_problem_has_operands(problem))
        return (float)(scale * LOG2_E);
    start(&p, problem);
    double unit = p.root < 0 || p.products ? scale : (double)p.unit;
    changes->natural = (float)scale;
    changes->inverse = (float)(1 / unit);
    changes->unit = (float)unit;
    changes->stretch = (float)(scale * p.stretch);
    if (problem->sinks.along & HEED_ALONG_BATCH)
        changes->sink_stride = problem->sinks.strides.batch;
    if (problem->starts.along & HEED_ALONG_BATCH)
        changes->start_stride = problem->starts.strides.batch;
    for (int i = 0; i < p.program.source_count; i++)
        fill_source(&changes->sources[i], &p.program.sources[i]);
    return (float)(unit * LOG2_E);
}

static const char *name_of(const heed_problem *problem, size_t buffer)
{
    for (int i = 0; i < HEED_OPERANDS; i++)
        if (heed_operand_rows[i].buffer == buffer)
            return heed_operand_rows[i].name;
    size_t array = (buffer - offsetof(heed_buffers, arrays)) / sizeof(void *);
    return problem->arrays[array].name;
}

int heed_cuda_operands(const heed_problem *problem, int *sources,
                       heed_cuda_operand operands[HEED_CUDA_OPERANDS_MAX])
{
    printer p;
    int count = 0;
    *sources = 0;
    if (!heed_problem_has_operands(problem))
        return 0;
    start(&p, problem);
    bool wide = pairs_of(&p) == 2;
    for (; count < p.program.source_count; count++) {
        const heed_load *from = &p.program.sources[count];
        operands[count] = (heed_cuda_operand){ name_of(problem, from->buffer), from->buffer,
                                               from->type == HEED_DATA_BITS ? 4
                                               : wide && is_bytes(&p, count)
                                                   ? BYTES_AT_ONCE
                                                   : 2 * elements[from->type].size };
    }
    *sources = count;
    const int others[] = { HEED_OPERAND_SINKS, HEED_OPERAND_STARTS };
    for (int i = 0; i < 2; i++)
        if (heed_problem_operand(problem, others[i])->type != HEED_DATA_NONE)
            operands[count++] = (heed_cuda_operand){ heed_operand_rows[others[i]].name,
                                                     heed_operand_rows[others[i]].buffer, 4 };
    return count;
}
