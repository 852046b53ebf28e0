/*
 * modify_math.h - vector math for modify_template.h: exp, log and tanh, accurate to a few ULP, and
 * integer division
 *
 * To be included after simd_*.h.
 */
#ifndef HEED_MODIFY_MATH_H
#define HEED_MODIFY_MATH_H

#include <math.h>
#include <stdint.h>

typedef int32_t vi __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef uint32_t vu __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef double vd __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t vl __attribute__((vector_size(LANES * sizeof(int64_t))));

static inline vf spread(int32_t whole)
{
    return (vf)((vi){ 0 } + whole);
}

static inline vf choose(vi condition, vf a, vf b)
{
    return v_choose((vf)condition, a, b);
}

#define LOG2_E 0x1.715476p+0F
#define LN_2_HIGH 0x1.62e4p-1F /* with few bits, so its product with an exponent is exact */
#define LN_2_LOW 0x1.7f7d1cp-20F
#define LN_2 0x1.62e43p-1F
/* Adding it leaves an integer in the low bits: plus 127, the exponent field of a power of two, and
 * plus twice that for two of them. */
#define ROUNDING (0x1.8p23F + 127)
#define ROUNDING_TWICE (0x1.8p23F + 254)

static inline vf absolute(vf x)
{
    return (vf)((vi)x & INT32_MAX);
}

static inline vf with_sign(vf size, vf sign)
{
    return (vf)((vi)size | ((vi)sign & INT32_MIN));
}

/* e^r - 1 for |r| up to ln 2 / 2. Even and odd terms go side by side, since a core can wait for few
 * vectors at once. */
static inline vf exponential_rest(vf r)
{
    vf square = r * r;
    vf low = v_fma(r, v_set(0x1.5554dcp-3F), v_set(0.5F));
    vf high = v_fma(r, v_set(0x1.120b6cp-7F), v_set(0x1.55551ap-5F));
    high = v_fma(square, v_set(0x1.6d1106p-10F), high);
    return v_fma(v_fma(square, high, low), square, r);
}

/* y 2^n, for n from -150 to 128, which may be out of the range of one float: in two steps. @shifted
 * is n + ROUNDING_TWICE. */
static inline vf scaled(vf y, vf shifted)
{
#ifdef __AVX512F__
    return _mm512_scalef_ps(y, shifted - v_set(ROUNDING_TWICE));
#else
    const vu both = (vu)shifted, half = both >> 1;
    return y * (vf)(half << 23) * (vf)((both - half) << 23);
#endif
}

/* e^x = 2^n e^r */
static inline vf exponential(vf x)
{
    vf limited = v_max(v_set(-104.0F), v_min(v_set(89.0F), x));
    vf shifted = v_fma(limited, v_set(LOG2_E), v_set(ROUNDING_TWICE));
    vf whole = shifted - v_set(ROUNDING_TWICE);
    vf r = v_fma(whole, v_set(-LN_2_HIGH), limited);
    r = v_fma(whole, v_set(-LN_2_LOW), r);
    return scaled(1.0F + exponential_rest(r), shifted);
}

/* tanh(x / 2) = (e^x - 1) / (e^x + 1); e^x - 1 is accurate where x is small, and where it is not
 * the rounding of ln 2 has no effect. */
static inline vf hyperbolic_tangent_of_half(vf x)
{
    vf limited = v_max(v_set(-20.0F), v_min(v_set(20.0F), x));
    vf shifted = v_fma(limited, v_set(LOG2_E), v_set(ROUNDING));
    vf whole = shifted - v_set(ROUNDING);
    vf rest = exponential_rest(v_fma(whole, v_set(-LN_2), limited));
    vf scale = (vf)((vu)shifted << 23);
    vf less_one = v_fma(scale, rest, scale - 1.0F);
    return less_one / (less_one + 2.0F);
}

/* n ln 2 + 2 artanh(s), for x = 2^n m, m near 1, and s = (m - 1) / (m + 1), less @down times ln 2;
 * x is normal. */
static inline vf logarithm_of_normal(vf x, vi down)
{
    const uint32_t root = 0x3f3504f3; /* of 1/2 */
    vi n = (vi)((vu)x - root) >> 23;
    vf m = (vf)((vu)x - ((vu)n << 23));
    vf exponent = __builtin_convertvector(n - down, vf);
    vf f = m - 1.0F;
    vf s = f / (f + 2.0F);
    vf z = s * s;
    vf p = v_set(0x1.ddd172p-3F);
    p = v_fma(p, z, v_set(0x1.245c38p-2F));
    p = v_fma(p, z, v_set(0x1.9999ecp-2F));
    p = v_fma(p, z, v_set(0x1.555556p-1F));
    /* 2 s = f - s f, which is exact except for a relatively small term */
    vf y = v_fma(s, v_fma(p, z, -f), v_fma(exponent, v_set(LN_2_LOW), f));
    return v_fma(exponent, v_set(LN_2_HIGH), y);
}

static __attribute__((noinline)) vf logarithm_of_any(vf x)
{
    vi small = x < 0x1p-126F;
    vf y = logarithm_of_normal(choose(small, x * 0x1p23F, x), small & 23);
    y = choose(x == 0.0F, v_set(-INFINITY), y);
    y = choose(x < 0.0F, v_set(NAN), y);
    return choose((vi)(x < INFINITY), y, x); /* infinity and NaN propagate */
}

static inline vf logarithm(vf x)
{
    const vi normal = (x >= 0x1p-126F) & (x < INFINITY);
    return v_is_all((vf)normal) ? logarithm_of_normal(x, (vi){ 0 }) : logarithm_of_any(x);
}

static inline vf round_down(vf x)
{
    const vf limit = v_set(0x1p23F);
    vf size = absolute(x);
    vf whole = with_sign(size + limit - limit, x);
    vf down = whole - (vf)((whole > x) & (vi)v_set(1.0F));
    return choose(size < limit, down, x);
}

static inline vf to_whole(vf x)
{
    vi inside = absolute(x) < 0x1p31F;
    vi whole = __builtin_convertvector((vf)((vi)x & inside), vi);
    vi beyond = ((vi)(x > 0.0F) & INT32_MAX) | ((vi)(x < 0.0F) & INT32_MIN);
    return choose(inside, (vf)whole, (vf)beyond);
}

/* floor(x) modulo 2^32, for non-integer x below 2^32: adding 2^52 rounds. */
static inline vi whole_below(vd x)
{
    const vl bits = (vl)((x - 0.5) + 0x1.8p52);
    return __builtin_convertvector(bits, vi);
}

/* Divisions round down, and wrap around. With h = 1/2 with the sign of b, (a + h) / b has the same
 * floor as a / b, and is at least 1/2 / |b| away from the nearest integer, which is more than the
 * rounding error of float64, even if it multiplies by the inverse of b. */
static inline vi divide(vi a, vi b)
{
    vd by = __builtin_convertvector(b, vd);
    vd half = __builtin_convertvector((b < 0) | 1, vd) * 0.5;
    return whole_below((__builtin_convertvector(a, vd) + half) / by) & (b != 0);
}

static inline vi divide_by(vi a, int32_t b)
{
    const double half = b < 0 ? -0.5 : 0.5, inverse = 1.0 / b;
    return whole_below((__builtin_convertvector(a, vd) + half) * inverse);
}

#endif /* HEED_MODIFY_MATH_H */
