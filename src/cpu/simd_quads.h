/*
 * simd_quads.h - 16 bytes of each of 8 rows, transposed to vectors of one 32-bit word of each row
 *
 * Vectors have 32 bytes whatever LANES is, since 8 rows of one cache line each stay in the L1 cache
 * even if all lines map to the same set. Include it after simd_*.h.
 */
#ifndef HEED_SIMD_QUADS_H
#define HEED_SIMD_QUADS_H

#include <stdint.h>
#include <string.h>

#include "cpu.h"

#define QUAD_ROWS 8

typedef float vq __attribute__((vector_size(32)));
typedef uint32_t vqu __attribute__((vector_size(32)));
typedef float v_half __attribute__((vector_size(16)));
typedef uint16_t vqh __attribute__((vector_size(16)));

/* words[i][row] = word i of the 16 bytes at rows[row] + @offset */
static inline __attribute__((always_inline)) void q_load(vq words[4], const char *const rows[],
                                                         int64_t offset)
{
    vq x[4], low[2], high[2];
    for (int i = 0; i < 4; i++) {
        v_half first, second;
        memcpy(&first, rows[i] + offset, sizeof first);
        memcpy(&second, rows[i + 4] + offset, sizeof second);
        x[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    for (int i = 0; i < 2; i++) {
        low[i] = __builtin_shufflevector(x[2 * i], x[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        high[i] = __builtin_shufflevector(x[2 * i], x[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    words[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 8, 9, 4, 5, 12, 13);
    words[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 10, 11, 6, 7, 14, 15);
    words[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 8, 9, 4, 5, 12, 13);
    words[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 10, 11, 6, 7, 14, 15);
}

/* The float16 in the low half of each word. */
static inline __attribute__((always_inline)) void q_from_f16(vq *to, vqu words)
{
    const vqh bits = __builtin_convertvector(words, vqh);
#ifdef __F16C__
    *to = (vq)_mm256_cvtph_ps((__m128i)bits);
#else
    heed_load_row((float *)to, &bits, QUAD_ROWS, HEED_F16);
#endif
}

#endif /* HEED_SIMD_QUADS_H */
