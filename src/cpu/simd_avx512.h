/*
 * simd_avx512.h - the vector operations of the kernel templates, for AVX-512 F, BW, DQ and VL
 *
 * simd_avx2.h has the same names. The operations that need explaining:
 *
 * v_max(a, b)      b where either is NaN, so v_max(x, running) ignores a NaN in x; v_min too
 * v_exp2(t)        2^t; 0 below -126, NaN at NaN.
 *                  2^floor(t) times a polynomial of degree 5 for the fraction, exact at 0 (minimax
 *                  with that constraint, error 8.3e-8); total error 2.1e-7, for t <= 0
 * v_keep_below     x in the lanes where index < limit, -infinity elsewhere
 * v_choose         a in the lanes where all bits of the condition are set, b where none are
 * v_is_any, v_is_all   true if the condition is true in any lane, in all lanes
 * v_load_bytes     LANES bytes as integers
 * v_gather         the elements at integer indices
 * v_beyond         the condition that x is above limit, or below -limit
 * v_sum, v_top     the sum and the maximum of all lanes
 * v_transpose      LANES vectors of LANES elements, in place
 * v_dot(a, b, c)   c plus, lane by lane, the product of a 32-bit unit of a and of b: one float32
 *                  each
 */
#ifndef HEED_SIMD_H
#define HEED_SIMD_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LANES 16

typedef __m512 vf;

static inline vf v_zero(void)
{
    return _mm512_setzero_ps();
}

static inline vf v_set(float x)
{
    return _mm512_set1_ps(x);
}

/* The same bits in every lane. */
static inline vf v_signs(uint32_t bits)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32((int)bits));
}

static inline vf v_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void v_store(float *to, vf x)
{
    _mm512_storeu_ps(to, x);
}

static inline vf v_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}

static inline vf v_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}

static inline vf v_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}

static inline vf v_xor(vf a, vf b)
{
    return _mm512_xor_ps(a, b);
}

static inline vf v_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}

static inline vf v_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}

static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vf v_choose(vf condition, vf a, vf b)
{
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(condition)), b, a);
}

static inline bool v_is_any(vf condition)
{
    return _mm512_movepi32_mask(_mm512_castps_si512(condition)) != 0;
}

static inline bool v_is_all(vf condition)
{
    return _mm512_movepi32_mask(_mm512_castps_si512(condition)) == 0xffff;
}

static inline vf v_sqrt(vf x)
{
    return _mm512_sqrt_ps(x);
}

static inline float v_sum(vf x)
{
    return _mm512_reduce_add_ps(x);
}

static inline float v_top(vf x)
{
    return _mm512_reduce_max_ps(x);
}

static inline vf v_exp2(vf t)
{
    vf f = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vf p = v_set(0x1.e974fap-10f);
    p = v_fma(p, f, v_set(0x1.277856p-7f));
    p = v_fma(p, f, v_set(0x1.c91ce6p-5f));
    p = v_fma(p, f, v_set(0x1.ebdb56p-3f));
    p = v_fma(p, f, v_set(0x1.62e4bap-1f));
    p = v_fma(p, f, v_set(1.0f));
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(t, v_set(-126.0f), _CMP_NLT_UQ), p, t);
}

static inline vf v_keep_below(vf x, vf index, vf limit)
{
    __mmask16 keep = _mm512_cmp_ps_mask(index, limit, _CMP_LT_OQ);
    return _mm512_mask_blend_ps(keep, v_set(-__builtin_inff()), x);
}

static inline vf v_beyond(vf x, float limit)
{
    return (vf)_mm512_movm_epi32(_mm512_cmp_ps_mask(_mm512_abs_ps(x), v_set(limit), _CMP_GT_OQ));
}

static inline vf v_load_f16(const uint16_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

static inline void v_store_f16(uint16_t *to, vf x)
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline vf v_load_bf16(const uint16_t *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

static inline vf v_load_bytes(const uint8_t *from)
{
    return _mm512_castsi512_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from)));
}

static inline vf v_gather(const float *from, vf index)
{
    return _mm512_i32gather_ps(_mm512_castps_si512(index), from, 4);
}

/* Round to nearest even by adding just under half a unit, and half if the last kept bit is odd. A
 * NaN keeps its upper bits, made quiet, since the addition could turn it into an infinity. */
static inline void v_store_bf16(uint16_t *to, vf x)
{
    __m512i bits = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i round = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    __m512i sum = _mm512_add_epi32(bits, round);
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    sum = _mm512_mask_or_epi32(sum, nan, bits, _mm512_set1_epi32(0x400000));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16)));
}

/* Four rounds, each of which exchanges blocks of twice the size: 1, 2, 4 and 8 lanes. */
static inline void v_transpose(vf r[LANES])
{
    vf t[LANES];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 16; i += 8) {
        for (int j = 0; j < 4; j++) {
            t[i + j] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0x88);
            t[i + j + 4] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0xdd);
        }
    }
    for (int j = 0; j < 8; j++) {
        r[j] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0x88);
        r[j + 8] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0xdd);
    }
}

#endif /* HEED_SIMD_H */
