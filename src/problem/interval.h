/*
 * interval.h - interval arithmetic over the steps of a program, for host and device code
 *
 * Each step gets the least and the greatest value that it may have over many pairs of queries and
 * keys, from those of its inputs (Moore, Interval Analysis, 1966). Kernels may round differently
 * than this file, so intervals of floats are widened a little. Where nothing better is known, an
 * interval has all values of its kind.
 */
#ifndef HEED_INTERVAL_H
#define HEED_INTERVAL_H

#include "problem/operations.h"

#ifdef __CUDACC__
#define HEED_INTERVAL static __device__ __forceinline__
#define INTERVAL_INFINITY __int_as_float(0x7f800000)
#else /* after <math.h> */
#define HEED_INTERVAL static inline __attribute__((unused))
#define INTERVAL_INFINITY INFINITY
#endif

#define INTERVAL_INT_MAX 2147483647
#define INTERVAL_INT_MIN (-2147483647 - 1)

/* Values from @least to @greatest; for floats possibly NaN. */
typedef struct heed_bounds {
    heed_value least, greatest;
    int nan;
} heed_bounds;

/* ---- Making intervals ---- */

HEED_INTERVAL heed_bounds interval_whole(long long least, long long greatest)
{
    heed_bounds x;
    int wraps = least < INTERVAL_INT_MIN || greatest > INTERVAL_INT_MAX;
    x.least.whole = wraps ? INTERVAL_INT_MIN : (int)least;
    x.greatest.whole = wraps ? INTERVAL_INT_MAX : (int)greatest;
    x.nan = 0;
    return x;
}

HEED_INTERVAL heed_bounds interval_real(float least, float greatest, int nan)
{
    heed_bounds x;
    x.least.real = least;
    x.greatest.real = greatest;
    x.nan = nan;
    return x;
}

/* All values of @kind. */
HEED_INTERVAL heed_bounds interval_any(heed_kind kind)
{
    if (kind == HEED_KIND_FLOAT)
        return interval_real(-INTERVAL_INFINITY, INTERVAL_INFINITY, 1);
    return kind == HEED_KIND_INT ? interval_whole(INTERVAL_INT_MIN, INTERVAL_INT_MAX)
                                 : interval_whole(0, 1);
}

/* One value; a NaN gives all values. */
HEED_INTERVAL heed_bounds interval_of(heed_value value, heed_kind kind)
{
    heed_bounds x;
    if (kind == HEED_KIND_FLOAT && value.real != value.real)
        return interval_any(kind);
    x.least = value;
    x.greatest = value;
    x.nan = 0;
    return x;
}

HEED_INTERVAL heed_bounds interval_of_whole(int value)
{
    return interval_whole(value, value);
}

HEED_INTERVAL heed_bounds interval_of_real(float value)
{
    heed_value x;
    x.real = value;
    return interval_of(x, HEED_KIND_FLOAT);
}

HEED_INTERVAL heed_bounds interval_truth(int always, int ever)
{
    return interval_whole(always, ever);
}

/* The smallest interval that contains both. */
HEED_INTERVAL heed_bounds interval_unite(heed_bounds a, heed_bounds b, heed_kind kind)
{
    if (kind == HEED_KIND_FLOAT)
        return interval_real(a.least.real < b.least.real ? a.least.real : b.least.real,
                             a.greatest.real > b.greatest.real ? a.greatest.real : b.greatest.real,
                             a.nan || b.nan);
    return interval_whole(a.least.whole < b.least.whole ? a.least.whole : b.least.whole,
                          a.greatest.whole > b.greatest.whole ? a.greatest.whole
                                                              : b.greatest.whole);
}

/* The indices that a load may have along a dimension of @size, clamped to it. */
HEED_INTERVAL heed_bounds interval_clip(heed_bounds index, int size)
{
    int least = index.least.whole, greatest = index.greatest.whole;
    least = least < 0 ? 0 : least >= size ? size - 1 : least;
    greatest = greatest < 0 ? 0 : greatest >= size ? size - 1 : greatest;
    return interval_whole(least, greatest);
}

/* ---- Whole numbers ---- */

HEED_INTERVAL long long interval_divide(long long a, long long b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

HEED_INTERVAL heed_bounds interval_corners(long long a, long long b, long long c, long long d)
{
    long long least = a < b ? a : b, greatest = a < b ? b : a;
    least = c < least ? c : least;
    greatest = c > greatest ? c : greatest;
    return interval_whole(d < least ? d : least, d > greatest ? d : greatest);
}

/* The remainder for a divisor that is a single positive number. */
HEED_INTERVAL heed_bounds interval_remainder(heed_bounds a, long long by)
{
    long long least = a.least.whole, greatest = a.greatest.whole;
    long long below = interval_divide(least, by);
    if (below != interval_divide(greatest, by))
        return interval_whole(0, by - 1);
    return interval_whole(least - below * by, greatest - below * by);
}

HEED_INTERVAL heed_bounds interval_apply_whole(heed_op op, heed_bounds x, heed_bounds y)
{
    const long long a = x.least.whole, b = x.greatest.whole, c = y.least.whole,
                    d = y.greatest.whole;
    switch (op) {
    case HEED_OP_ADD:
        return interval_whole(a + c, b + d);
    case HEED_OP_SUB:
        return interval_whole(a - d, b - c);
    case HEED_OP_MUL:
        return interval_corners(a * c, a * d, b * c, b * d);
    case HEED_OP_DIV:
        if (c > 0)
            return interval_corners(interval_divide(a, c), interval_divide(a, d),
                                    interval_divide(b, c), interval_divide(b, d));
        break;
    case HEED_OP_MOD:
        if (c > 0 && c == d)
            return interval_remainder(x, c);
        break;
    case HEED_OP_MIN:
        return interval_whole(a < c ? a : c, b < d ? b : d);
    case HEED_OP_MAX:
        return interval_whole(a > c ? a : c, b > d ? b : d);
    case HEED_OP_NEG:
        return interval_whole(-b, -a);
    case HEED_OP_ABS:
        return interval_whole(a > 0 ? a : b < 0 ? -b : 0, -a > b ? -a : b);
    default:
        break;
    }
    return interval_any(HEED_KIND_INT);
}

/* ---- Floats ---- */

HEED_INTERVAL int interval_finite(heed_bounds x)
{
    return !x.nan && x.least.real > -INTERVAL_INFINITY && x.greatest.real < INTERVAL_INFINITY;
}

/* Widened by this fraction of its ends plus this much: after one rounding, and after a function
 * that kernels approximate. */
#define INTERVAL_ROUNDING 0x1p-20f, 0x1p-100f
#define INTERVAL_APPROXIMATION 0x1p-12f, 0x1p-12f

HEED_INTERVAL heed_bounds interval_widen(float least, float greatest, float part, float more)
{
    if (!(least > -INTERVAL_INFINITY && greatest < INTERVAL_INFINITY))
        return interval_any(HEED_KIND_FLOAT);
    return interval_real(least - fabsf(least) * part - more,
                         greatest + fabsf(greatest) * part + more, 0);
}

/* Interval of a product, or of a quotient whose divisor is not zero. */
HEED_INTERVAL heed_bounds interval_product(heed_op op, heed_bounds x, heed_bounds y)
{
    const int divides = op == HEED_OP_DIV;
    float least = INTERVAL_INFINITY, greatest = -INTERVAL_INFINITY;
    if (!interval_finite(x) || !interval_finite(y) ||
        (divides && y.least.real <= 0.0f && y.greatest.real >= 0.0f))
        return interval_any(HEED_KIND_FLOAT);
    for (int i = 0; i < 4; i++) {
        float a = i / 2 ? x.greatest.real : x.least.real;
        float b = i % 2 ? y.greatest.real : y.least.real;
        float corner = divides ? a / b : a * b;
        least = fminf(least, corner);
        greatest = fmaxf(greatest, corner);
    }
    return interval_widen(least, greatest, INTERVAL_ROUNDING);
}

/* Interval of a nondecreasing function, which is @least and @greatest at the ends of @x, defined
 * from @domain on. */
HEED_INTERVAL heed_bounds interval_function(heed_bounds x, float domain, float least,
                                            float greatest)
{
    if (x.nan || !(x.least.real >= domain))
        return interval_any(HEED_KIND_FLOAT);
    return interval_widen(least, greatest, INTERVAL_APPROXIMATION);
}

HEED_INTERVAL heed_bounds interval_sum(heed_bounds x, heed_bounds y, float least, float greatest)
{
    if (!interval_finite(x) || !interval_finite(y))
        return interval_any(HEED_KIND_FLOAT);
    return interval_widen(least, greatest, INTERVAL_ROUNDING);
}

HEED_INTERVAL heed_bounds interval_apply_real(heed_op op, heed_bounds x, heed_bounds y)
{
    const float a = x.least.real, b = x.greatest.real, c = y.least.real, d = y.greatest.real;
    const int nan = x.nan || y.nan;
    switch (op) {
    case HEED_OP_ADD:
        return interval_sum(x, y, a + c, b + d);
    case HEED_OP_SUB:
        return interval_sum(x, y, a - d, b - c);
    case HEED_OP_MUL:
    case HEED_OP_DIV:
        return interval_product(op, x, y);
    case HEED_OP_MIN:
        return interval_real(fminf(a, c), fminf(b, d), nan);
    case HEED_OP_MAX:
        return interval_real(fmaxf(a, c), fmaxf(b, d), nan);
    case HEED_OP_NEG:
        return interval_real(-b, -a, x.nan);
    case HEED_OP_ABS:
        return interval_real(a > 0.0f ? a : b < 0.0f ? -b : 0.0f, fmaxf(-a, b), x.nan);
    case HEED_OP_EXP:
        return interval_function(x, -INTERVAL_INFINITY, expf(a), expf(b));
    case HEED_OP_LOG:
        return interval_function(x, 0x1p-100f, logf(a), logf(b));
    case HEED_OP_TANH:
        return interval_function(x, -INTERVAL_INFINITY, tanhf(a), tanhf(b));
    case HEED_OP_SQRT:
        return interval_function(x, 0.0f, sqrtf(a), sqrtf(b));
    case HEED_OP_FLOOR:
        return interval_real(floorf(a), floorf(b), x.nan);
    default:
        return interval_any(HEED_KIND_FLOAT);
    }
}

/* ---- Truth ---- */

/* Compares numbers from a to b with numbers from c to d, @nan: or NaN; in double, which represents
 * both kinds exactly. */
HEED_INTERVAL heed_bounds interval_compare(heed_op op, heed_kind kind, heed_bounds x, heed_bounds y)
{
    const int real = kind == HEED_KIND_FLOAT, nan = real && (x.nan || y.nan);
    const double a = real ? (double)x.least.real : (double)x.least.whole,
                 b = real ? (double)x.greatest.real : (double)x.greatest.whole,
                 c = real ? (double)y.least.real : (double)y.least.whole,
                 d = real ? (double)y.greatest.real : (double)y.greatest.whole;
    const int equal = a == b && c == d && a == c && !nan;
    switch (op) {
    case HEED_OP_LESS:
        return interval_truth(b < c && !nan, a < d);
    case HEED_OP_LESS_EQUAL:
        return interval_truth(b <= c && !nan, a <= d);
    case HEED_OP_EQUAL:
        return interval_truth(equal, a <= d && c <= b);
    default:
        return interval_truth(b < c || d < a, !equal);
    }
}

/* ---- Steps ---- */

HEED_INTERVAL int interval_to_int(float x)
{
    return x <= -0x1p31f ? INTERVAL_INT_MIN : x >= 0x1p31f ? INTERVAL_INT_MAX : (int)x;
}

/* Interval of a step with inputs @x, @y and @z, as many as its operation has, and a value of @kind;
 * @from is the kind of @x. */
HEED_INTERVAL heed_bounds interval_apply(heed_op op, heed_kind kind, heed_kind from, heed_bounds x,
                                         heed_bounds y, heed_bounds z)
{
    switch (op) {
    case HEED_OP_TO_FLOAT:
        return interval_real((float)x.least.whole, (float)x.greatest.whole, 0);
    case HEED_OP_TO_INT:
        if (from != HEED_KIND_FLOAT)
            return x;
        return x.nan ? interval_any(HEED_KIND_INT)
                     : interval_whole(interval_to_int(x.least.real),
                                      interval_to_int(x.greatest.real));
    case HEED_OP_LESS:
    case HEED_OP_LESS_EQUAL:
    case HEED_OP_EQUAL:
    case HEED_OP_NOT_EQUAL:
        return interval_compare(op, from, x, y);
    case HEED_OP_AND:
        return interval_truth(x.least.whole && y.least.whole, x.greatest.whole && y.greatest.whole);
    case HEED_OP_OR:
        return interval_truth(x.least.whole || y.least.whole, x.greatest.whole || y.greatest.whole);
    case HEED_OP_NOT:
        return interval_truth(!x.greatest.whole, !x.least.whole);
    case HEED_OP_SELECT:
        return x.least.whole != x.greatest.whole ? interval_unite(y, z, kind)
               : x.least.whole                   ? y
                                                 : z;
    default:
        return kind == HEED_KIND_FLOAT ? interval_apply_real(op, x, y)
                                       : interval_apply_whole(op, x, y);
    }
}

#endif /* HEED_INTERVAL_H */
