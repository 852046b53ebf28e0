/*
 * unit_bf16.h - the products of the tile kernel in bfloat16: a unit is a pair of elements
 *
 * The instruction adds both products of a pair to one float32 sum: twice the rate of float32. It
 * treats subnormals as zero. unit_f32.h describes the functions. Include it after simd_avx512.h and
 * simd_rows.h.
 */
#ifndef HEED_UNIT_H
#define HEED_UNIT_H

#define UNIT 2

static inline vf unit_dot(vf a, vf b, vf c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

/* Neighbours in memory already form a pair; an odd last element is paired with zero. */
static inline void unit_load_row(float *units, const void *from, int64_t count, heed_type type)
{
    (void)type;
    if (count % 2)
        units[count / 2] = 0;
    memcpy(units, from, (size_t)count * sizeof(uint16_t));
}

/* Only the sign: more would be rounded. */
static inline vf unit_scale(vf units, float factor)
{
    return v_xor(units, v_signs(factor < 0 ? 0x80008000 : 0));
}

static inline float unit_factor(float factor)
{
    return factor < 0 ? -factor : factor;
}

static inline __m512i widen(const uint16_t *from)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
}

/* A pair is the same column of two rows of V; a missing second row is NULL and counts as zeros. */
static inline void unit_load_values(float *units, const void *const rows[UNIT], int64_t count,
                                    heed_type type)
{
    const uint16_t *low = rows[0];
    const uint16_t *high = rows[1];
    (void)type;
    for (int64_t i = 0; i < count; i += LANES) {
        uint16_t rest[2][LANES] = { { 0 } };
        const uint16_t *a = low + i;
        const uint16_t *b = high ? high + i : rest[1];
        if (count - i < LANES) {
            size_t size = (size_t)(count - i) * sizeof **rest;
            a = memcpy(rest[0], a, size);
            b = high ? memcpy(rest[1], b, size) : rest[1];
        }
        __m512i pair = _mm512_or_si512(widen(a), _mm512_slli_epi32(widen(b), 16));
        if (count - i >= LANES)
            _mm512_storeu_si512(units + i, pair);
        else
            _mm512_mask_storeu_epi32(units + i, (__mmask16)((1u << (count - i)) - 1), pair);
    }
}

/* The conversion puts the first vector into the lower half and the second into the upper half; the
 * permutation interleaves them. */
static inline void unit_store_weights(float *units, const vf weights[UNIT])
{
    const __m512i interleave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25,
                                                9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2,
                                                17, 1, 16, 0);
    __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(weights[1], weights[0]);
    _mm512_storeu_si512(units, _mm512_permutexvar_epi16(interleave, halves));
}

static inline float unit_element(float unit, int64_t index)
{
    uint32_t bits;
    memcpy(&bits, &unit, sizeof bits);
    bits = index ? bits & 0xffff0000 : bits << 16;
    memcpy(&unit, &bits, sizeof unit);
    return unit;
}

#endif /* HEED_UNIT_H */
