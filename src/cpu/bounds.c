/*
 * bounds.c - the least and the greatest value of each step of a program over many pairs
 *
 * Kernels may round otherwise than this file does, so bounds of floats are a little wider than the
 * arithmetic alone would make them.
 */
#include "bounds.h"

#include <math.h>
#include <string.h>

#include "../operand.h"
#include "cpu.h"

/* Bounds are wider by this part of them and this much: after one rounding, and after a function
 * that kernels approximate. */
typedef struct slack {
    float part, more;
} slack;

static const slack ROUNDING = { 0x1p-20F, 0x1p-100F };
static const slack APPROXIMATION = { 0x1p-12F, 0x1p-12F };

/* Elements that one load may look at; those of masks are compared many at a time. */
#define LOOK_MAX 2048
#define LOOK_TRUTH_MAX 65536

/* Values from @least to @greatest; of a float perhaps NaN. */
typedef struct bounds {
    heed_value least, greatest;
    bool nan;
} bounds;

/* ---- Making bounds ---- */

static bounds whole_bounds(int64_t least, int64_t greatest)
{
    if (least < INT32_MIN || greatest > INT32_MAX) /* it wraps around */
        return (bounds){ { .whole = INT32_MIN }, { .whole = INT32_MAX }, false };
    return (bounds){ { .whole = (int32_t)least }, { .whole = (int32_t)greatest }, false };
}

static bounds real_bounds(float least, float greatest, bool nan)
{
    return (bounds){ { .real = least }, { .real = greatest }, nan };
}

/* Any value of @kind. */
static bounds any_of(heed_kind kind)
{
    if (kind == HEED_KIND_FLOAT)
        return real_bounds(-INFINITY, INFINITY, true);
    return kind == HEED_KIND_INT ? whole_bounds(INT32_MIN, INT32_MAX) : whole_bounds(0, 1);
}

static bounds widen(float least, float greatest, slack by)
{
    if (!isfinite(least) || !isfinite(greatest))
        return any_of(HEED_KIND_FLOAT);
    return real_bounds(least - fabsf(least) * by.part - by.more,
                       greatest + fabsf(greatest) * by.part + by.more, false);
}

static bounds truth(bool always, bool ever)
{
    return whole_bounds(always, ever);
}

static bounds span_bounds(heed_span span)
{
    return whole_bounds(span.first, span.last);
}

static bounds unite(bounds a, bounds b, heed_kind kind)
{
    if (kind == HEED_KIND_FLOAT)
        return real_bounds(a.least.real < b.least.real ? a.least.real : b.least.real,
                           a.greatest.real > b.greatest.real ? a.greatest.real : b.greatest.real,
                           a.nan || b.nan);
    return whole_bounds(a.least.whole < b.least.whole ? a.least.whole : b.least.whole,
                        a.greatest.whole > b.greatest.whole ? a.greatest.whole : b.greatest.whole);
}

/* ---- Loads ---- */

static heed_value element(const heed_load *from, const void *data, int64_t index)
{
    heed_value value;
    const char *at = (const char *)data + index * (int64_t)heed_data_size(from->type);
    if (from->type == HEED_DATA_F16 || from->type == HEED_DATA_BF16)
        heed_load_row(&value.real, at, 1, from->type == HEED_DATA_F16 ? HEED_F16 : HEED_BF16);
    else
        memcpy(&value, at, sizeof value);
    return value;
}

static bounds bounds_of_value(heed_value value, heed_kind kind)
{
    return kind == HEED_KIND_FLOAT && isnan(value.real) ? any_of(kind)
                                                        : (bounds){ value, value, false };
}

/* The indices that a load may have along one dimension, made sure to be within its size. */
static heed_span clip(bounds index, int32_t size)
{
    heed_span span = { index.least.whole, index.greatest.whole };
    span.first = span.first < 0 ? 0 : span.first >= size ? size - 1 : span.first;
    span.last = span.last < 0 ? 0 : span.last >= size ? size - 1 : span.last;
    return span;
}

/* Of bytes from @span of the row that begins with element @row. */
static bounds look_at_bytes(const void *data, int64_t row, heed_span span)
{
    const unsigned char *at = (const unsigned char *)data + row + span.first;
    size_t more = (size_t)((int64_t)span.last - span.first);
    if (*at)
        return truth(!memchr(at, 0, more + 1), true);
    return truth(false, memcmp(at, at + 1, more) != 0);
}

/* Of bits of the row that begins with word @row. */
static bounds look_at_bits(const void *data, int64_t row, heed_span span)
{
    bool always = true, ever = false;
    for (int32_t word = span.first / 32; word <= span.last / 32; word++) {
        uint32_t bits, wanted = UINT32_MAX;
        memcpy(&bits, (const char *)data + (row + word) * 4, sizeof bits);
        if (word == span.first / 32)
            wanted &= UINT32_MAX << span.first % 32;
        if (word == span.last / 32)
            wanted &= UINT32_MAX >> (31 - span.last % 32);
        always = always && (bits & wanted) == wanted;
        ever = ever || (bits & wanted) != 0;
    }
    return truth(always, ever);
}

/* Of whole numbers, which documents are: one comparison each. */
static bounds look_at_wholes(const void *data, int64_t row, heed_span span)
{
    const int32_t *at = (const int32_t *)data + row + span.first;
    int32_t least = at[0], greatest = at[0];
    for (int64_t i = 1; i <= (int64_t)span.last - span.first; i++) {
        least = at[i] < least ? at[i] : least;
        greatest = at[i] > greatest ? at[i] : greatest;
    }
    return whole_bounds(least, greatest);
}

/* Of the elements of one row. */
static bounds look_at_row(const heed_load *from, const void *data, int64_t row, heed_span span,
                          heed_kind kind)
{
    if (from->type == HEED_DATA_BYTES)
        return look_at_bytes(data, row, span);
    if (from->type == HEED_DATA_BITS)
        return look_at_bits(data, row, span);
    if (from->type == HEED_DATA_I32)
        return look_at_wholes(data, row, span);
    bounds all = bounds_of_value(element(from, data, row + span.first), kind);
    for (int64_t i = (int64_t)span.first + 1; i <= span.last; i++)
        all = unite(all, bounds_of_value(element(from, data, row + i), kind), kind);
    return all;
}

/* Of the elements of @from at all indices of @box, which are few. */
static bounds look_at_box(const heed_load *from, const void *data, const heed_span box[4],
                          heed_kind kind)
{
    const int last = from->rank - 1;
    int32_t at[4];
    bounds all = any_of(kind);
    bool first = true;
    for (int d = 0; d < last; d++)
        at[d] = box[d].first;
    for (;;) {
        int64_t row = 0;
        for (int d = 0; d < last; d++)
            row += at[d] * from->stride[d];
        bounds here = look_at_row(from, data, row, box[last], kind);
        all = first ? here : unite(all, here, kind);
        first = false;
        int d = last - 1;
        while (d >= 0 && at[d]++ == box[d].last) {
            at[d] = box[d].first;
            d--;
        }
        if (d < 0 || (kind == HEED_KIND_BOOL && all.least.whole != all.greatest.whole))
            return all;
    }
}

static bounds look(const heed_program *program, const heed_step *step, const void *const data[],
                   const bounds values[])
{
    const heed_load *from = &program->sources[step->value.whole];
    const int indices[4] = { step->a, step->b, step->c, step->d };
    heed_span box[4];
    double count = 1;
    for (int d = 0; d < from->rank; d++) {
        box[d] = clip(values[indices[d]], from->size[d]);
        count *= (double)box[d].last - box[d].first + 1;
    }
    if (count > (step->kind == HEED_KIND_BOOL ? LOOK_TRUTH_MAX : LOOK_MAX))
        return any_of(step->kind);
    return look_at_box(from, data[step->value.whole], box, step->kind);
}

/* ---- Whole numbers ---- */

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

static bounds of_corners(const int64_t corners[4])
{
    int64_t least = corners[0], greatest = corners[0];
    for (int i = 1; i < 4; i++) {
        least = corners[i] < least ? corners[i] : least;
        greatest = corners[i] > greatest ? corners[i] : greatest;
    }
    return whole_bounds(least, greatest);
}

/* The remainder for a divisor that is one positive number. */
static bounds remainder_of(bounds a, int64_t by)
{
    int64_t least = a.least.whole, greatest = a.greatest.whole, below = divide_down(least, by);
    if (below != divide_down(greatest, by))
        return whole_bounds(0, by - 1);
    return whole_bounds(least - below * by, greatest - below * by);
}

static bounds apply_whole(heed_op op, bounds x, bounds y)
{
    const int64_t a = x.least.whole, b = x.greatest.whole, c = y.least.whole, d = y.greatest.whole;
    switch (op) {
    case HEED_OP_ADD:
        return whole_bounds(a + c, b + d);
    case HEED_OP_SUB:
        return whole_bounds(a - d, b - c);
    case HEED_OP_MUL:
        return of_corners((int64_t[]){ a * c, a * d, b * c, b * d });
    case HEED_OP_DIV:
        return c <= 0 ? any_of(HEED_KIND_INT)
                      : of_corners((int64_t[]){ divide_down(a, c), divide_down(a, d),
                                                divide_down(b, c), divide_down(b, d) });
    case HEED_OP_MOD:
        return c <= 0 || c != d ? any_of(HEED_KIND_INT) : remainder_of(x, c);
    case HEED_OP_MIN:
        return whole_bounds(a < c ? a : c, b < d ? b : d);
    case HEED_OP_MAX:
        return whole_bounds(a > c ? a : c, b > d ? b : d);
    case HEED_OP_NEG:
        return whole_bounds(-b, -a);
    case HEED_OP_ABS:
        return whole_bounds(a > 0 ? a : b < 0 ? -b : 0, -a > b ? -a : b);
    default:
        return any_of(HEED_KIND_INT);
    }
}

/* ---- Floats ---- */

static bool is_finite(bounds x)
{
    return !x.nan && isfinite(x.least.real) && isfinite(x.greatest.real);
}

/* Of a product, or of a quotient whose divisor is not zero. */
static bounds of_products(heed_op op, bounds x, bounds y)
{
    const float a[2] = { x.least.real, x.greatest.real }, b[2] = { y.least.real, y.greatest.real };
    float least = INFINITY, greatest = -INFINITY;
    if (!is_finite(x) || !is_finite(y) || (op == HEED_OP_DIV && b[0] <= 0 && b[1] >= 0))
        return any_of(HEED_KIND_FLOAT);
    for (int i = 0; i < 4; i++) {
        float corner = op == HEED_OP_MUL ? a[i / 2] * b[i % 2] : a[i / 2] / b[i % 2];
        least = fminf(least, corner);
        greatest = fmaxf(greatest, corner);
    }
    return widen(least, greatest, ROUNDING);
}

/* Of a function that does not fall, from @domain on. */
static bounds of_function(float (*function)(float), bounds x, float domain)
{
    if (x.nan || !(x.least.real >= domain))
        return any_of(HEED_KIND_FLOAT);
    return widen(function(x.least.real), function(x.greatest.real), APPROXIMATION);
}

static bounds of_size(bounds x)
{
    float a = x.least.real, b = x.greatest.real;
    return real_bounds(a > 0 ? a : b < 0 ? -b : 0, fmaxf(-a, b), x.nan);
}

static bounds apply_real(heed_op op, bounds x, bounds y)
{
    const float a = x.least.real, b = x.greatest.real, c = y.least.real, d = y.greatest.real;
    const bool nan = x.nan || y.nan;
    switch (op) {
    case HEED_OP_ADD:
        return is_finite(x) && is_finite(y) ? widen(a + c, b + d, ROUNDING)
                                            : any_of(HEED_KIND_FLOAT);
    case HEED_OP_SUB:
        return is_finite(x) && is_finite(y) ? widen(a - d, b - c, ROUNDING)
                                            : any_of(HEED_KIND_FLOAT);
    case HEED_OP_MUL:
    case HEED_OP_DIV:
        return of_products(op, x, y);
    case HEED_OP_MIN:
        return real_bounds(fminf(a, c), fminf(b, d), nan);
    case HEED_OP_MAX:
        return real_bounds(fmaxf(a, c), fmaxf(b, d), nan);
    case HEED_OP_NEG:
        return real_bounds(-b, -a, x.nan);
    case HEED_OP_ABS:
        return of_size(x);
    case HEED_OP_EXP:
        return of_function(expf, x, -INFINITY);
    case HEED_OP_LOG:
        return of_function(logf, x, 0x1p-100F);
    case HEED_OP_TANH:
        return of_function(tanhf, x, -INFINITY);
    case HEED_OP_SQRT:
        return of_function(sqrtf, x, 0);
    case HEED_OP_FLOOR:
        return real_bounds(floorf(a), floorf(b), x.nan);
    default:
        return any_of(HEED_KIND_FLOAT);
    }
}

/* ---- Truth ---- */

static bounds not_of(bounds x)
{
    return truth(!x.greatest.whole, !x.least.whole);
}

/* Numbers of either kind in double, which has all of them. */
static bounds compare(heed_op op, heed_kind kind, bounds x, bounds y)
{
    const bool real = kind == HEED_KIND_FLOAT, nan = real && (x.nan || y.nan);
    const double a = real ? (double)x.least.real : (double)x.least.whole,
                 b = real ? (double)x.greatest.real : (double)x.greatest.whole,
                 c = real ? (double)y.least.real : (double)y.least.whole,
                 d = real ? (double)y.greatest.real : (double)y.greatest.whole;
    switch (op) {
    case HEED_OP_LESS:
        return truth(b < c && !nan, a < d);
    case HEED_OP_LESS_EQUAL:
        return truth(b <= c && !nan, a <= d);
    case HEED_OP_EQUAL:
        return truth(a == b && c == d && a == c && !nan, a <= d && c <= b);
    default:
        return truth(b < c || d < a, !(a == b && c == d && a == c) || nan);
    }
}

/* ---- Steps ---- */

static bounds to_float(bounds x)
{
    return real_bounds((float)x.least.whole, (float)x.greatest.whole, false);
}

static bounds to_int(bounds x)
{
    const heed_value none = { .whole = 0 };
    if (x.nan)
        return any_of(HEED_KIND_INT);
    return whole_bounds(
        heed_program_apply(HEED_OP_TO_INT, HEED_KIND_FLOAT, x.least, none, none).whole,
        heed_program_apply(HEED_OP_TO_INT, HEED_KIND_FLOAT, x.greatest, none, none).whole);
}

static bounds select_of(bounds which, bounds x, bounds y, heed_kind kind)
{
    if (which.least.whole == which.greatest.whole)
        return which.least.whole ? x : y;
    return unite(x, y, kind);
}

/* Of a step that takes @x, @y and @z; @from is the kind of the first. */
static bounds apply(const heed_step *step, heed_kind from, bounds x, bounds y, bounds z)
{
    switch (step->op) {
    case HEED_OP_TO_FLOAT:
        return to_float(x);
    case HEED_OP_TO_INT:
        return from == HEED_KIND_FLOAT ? to_int(x) : x;
    case HEED_OP_LESS:
    case HEED_OP_LESS_EQUAL:
    case HEED_OP_EQUAL:
    case HEED_OP_NOT_EQUAL:
        return compare(step->op, from, x, y);
    case HEED_OP_AND:
        return truth(x.least.whole && y.least.whole, x.greatest.whole && y.greatest.whole);
    case HEED_OP_OR:
        return truth(x.least.whole || y.least.whole, x.greatest.whole || y.greatest.whole);
    case HEED_OP_NOT:
        return not_of(x);
    case HEED_OP_SELECT:
        return select_of(x, y, z, step->kind);
    default:
        return step->kind == HEED_KIND_FLOAT ? apply_real(step->op, x, y)
                                             : apply_whole(step->op, x, y);
    }
}

/* Of a step that takes none. */
static bounds leaf(const heed_step *step, const heed_pairs *pairs)
{
    switch (step->op) {
    case HEED_OP_QUERY:
        return span_bounds(pairs->query);
    case HEED_OP_POSITION:
        return whole_bounds(pairs->query.first + pairs->first_position,
                            pairs->query.last + pairs->first_position);
    case HEED_OP_KEY:
        return span_bounds(pairs->key);
    case HEED_OP_HEAD:
        return span_bounds(pairs->head);
    case HEED_OP_BATCH:
        return span_bounds(pairs->batch);
    case HEED_OP_SCORE:
        return any_of(HEED_KIND_FLOAT);
    default:
        return bounds_of_value(step->value, step->kind);
    }
}

static bounds bounds_of(const heed_program *program, const heed_step *step,
                        const void *const data[], const heed_pairs *pairs, const bounds values[])
{
    const bounds none = whole_bounds(0, 0);
    if (step->op == HEED_OP_LOAD)
        return look(program, step, data, values);
    if (step->a < 0)
        return leaf(step, pairs);
    return apply(step, program->steps[step->a].kind, values[step->a],
                 step->b < 0 ? none : values[step->b], step->c < 0 ? none : values[step->c]);
}

/* Which steps does the last one need? */
static void find_needed(const heed_program *program, bool needed[HEED_STEPS_MAX])
{
    memset(needed, 0, HEED_STEPS_MAX * sizeof *needed);
    needed[program->visible] = true;
    for (int i = program->visible; i >= 0; i--) {
        const heed_step *step = &program->steps[i];
        const int takes[4] = { step->a, step->b, step->c, step->d };
        for (int j = 0; j < 4 && needed[i]; j++)
            if (takes[j] >= 0)
                needed[takes[j]] = true;
    }
}

heed_sight heed_program_sight(const heed_program *program, const void *const data[],
                              const heed_pairs *pairs)
{
    bounds values[HEED_STEPS_MAX];
    bool needed[HEED_STEPS_MAX];
    if (program->visible < 0)
        return HEED_SEES_ALL;
    find_needed(program, needed);
    for (int i = 0; i <= program->visible; i++)
        if (needed[i])
            values[i] = bounds_of(program, &program->steps[i], data, pairs, values);
    const bounds seen = values[program->visible];
    return seen.least.whole ? HEED_SEES_ALL : seen.greatest.whole ? HEED_SEES_SOME : HEED_SEES_NONE;
}
