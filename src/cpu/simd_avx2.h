/*
 * simd_avx2.h - the vector operations of the kernel templates, for AVX2 with FMA and F16C
 *
 * simd_avx512.h describes them.
 */
#ifndef HEED_SIMD_H
#define HEED_SIMD_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LANES 8

typedef __m256 vf;

static inline vf v_zero(void)
{
    return _mm256_setzero_ps();
}

static inline vf v_set(float x)
{
    return _mm256_set1_ps(x);
}

static inline vf v_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline void v_store(float *to, vf x)
{
    _mm256_storeu_ps(to, x);
}

static inline vf v_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}

static inline vf v_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}

static inline vf v_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}

static inline vf v_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}

static inline vf v_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}

static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vf v_choose(vf condition, vf a, vf b)
{
    return _mm256_blendv_ps(b, a, condition);
}

static inline bool v_is_any(vf condition)
{
    return _mm256_movemask_ps(condition) != 0;
}

static inline bool v_is_all(vf condition)
{
    return _mm256_movemask_ps(condition) == 0xff;
}

static inline vf v_sqrt(vf x)
{
    return _mm256_sqrt_ps(x);
}

static inline float v_sum(vf x)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline float v_top(vf x)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* Added to a float, leaves n = -127 to 0 in the low bits, plus the bias of the exponent field of
 * 2^n. */
#define POWER_BITS (0x1.8p23f + 127)

/* Subtracting almost 1/2 and adding POWER_BITS rounds t down to an integer n, and shifting the sum
 * leaves an exponent field. For t below -126 that is zero, and so is the product: denormal weights
 * would make all products with them about a hundred times slower. The polynomial is that of
 * simd_avx512.h. */
static inline vf v_exp2(vf t)
{
    t = v_max(v_set(-126.75f), t);
    vf n = v_add(v_sub(t, v_set(0.49999f)), v_set(POWER_BITS));
    vf f = v_sub(t, v_sub(n, v_set(POWER_BITS)));
    vf p = v_set(0x1.e974fap-10f);
    p = v_fma(p, f, v_set(0x1.277856p-7f));
    p = v_fma(p, f, v_set(0x1.c91ce6p-5f));
    p = v_fma(p, f, v_set(0x1.ebdb56p-3f));
    p = v_fma(p, f, v_set(0x1.62e4bap-1f));
    p = v_fma(p, f, v_set(1.0f));
    return v_mul(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(n), 23)));
}

static inline vf v_keep_below(vf x, vf index, vf limit)
{
    vf keep = _mm256_cmp_ps(index, limit, _CMP_LT_OQ);
    return _mm256_blendv_ps(v_set(-__builtin_inff()), x, keep);
}

static inline vf v_beyond(vf x, float limit)
{
    return _mm256_cmp_ps(_mm256_andnot_ps(v_set(-0.0f), x), v_set(limit), _CMP_GT_OQ);
}

static inline vf v_load_f16(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

static inline void v_store_f16(uint16_t *to, vf x)
{
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline vf v_load_bf16(const uint16_t *from)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline vf v_load_bytes(const uint8_t *from)
{
    return _mm256_castsi256_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)));
}

static inline vf v_gather(const float *from, vf index)
{
    return _mm256_i32gather_ps(from, _mm256_castps_si256(index), 4);
}

static inline void v_store_bf16(uint16_t *to, vf x)
{
    __m256i bits = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i round = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    __m256i sum = _mm256_add_epi32(bits, round);
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    __m256i upper = _mm256_srli_epi32(_mm256_blendv_epi8(sum, quiet, nan), 16);
    __m256i packed = _mm256_packus_epi32(upper, upper);
    packed = _mm256_permute4x64_epi64(packed, 0x08);
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(packed));
}

/* Three rounds, each of which exchanges blocks of twice the size: 1, 2 and 4 lanes. */
static inline void v_transpose(vf r[LANES])
{
    vf t[LANES];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int j = 0; j < 4; j++) {
        t[j] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x20);
        t[j + 4] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x31);
    }
    for (int j = 0; j < 8; j++)
        r[j] = t[j];
}

#endif /* HEED_SIMD_H */
