/*
 * simd_rows.h - convert rows between a problem's element type and float32, with the vectors of
 * simd_*.h
 *
 * Include it after one of them. The last elements go through a small buffer, so nothing outside the
 * row is accessed.
 */
#ifndef HEED_SIMD_ROWS_H
#define HEED_SIMD_ROWS_H

#include <string.h>

#include "cpu.h"

static inline vf load_elements(const void *from, heed_type type)
{
    if (type == HEED_F32)
        return v_load(from);
    return type == HEED_F16 ? v_load_f16(from) : v_load_bf16(from);
}

static inline void store_elements(void *to, vf x, heed_type type)
{
    if (type == HEED_F32)
        v_store(to, x);
    else if (type == HEED_F16)
        v_store_f16(to, x);
    else
        v_store_bf16(to, x);
}

/* Writes @count floats; @type should be a constant where this is inlined. */
static inline __attribute__((always_inline)) void load_row_as(float *to, const char *from,
                                                              int64_t count, heed_type type)
{
    int64_t size = heed_element_size(type);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        v_store(to + i, load_elements(from + i * size, type));
    if (i < count) {
        char rest[LANES * sizeof(float)] = { 0 };
        float wide[LANES];
        memcpy(rest, from + i * size, (size_t)((count - i) * size));
        v_store(wide, load_elements(rest, type));
        memcpy(to + i, wide, (size_t)(count - i) * sizeof *to);
    }
}

static inline __attribute__((always_inline)) void store_row_as(char *to, const float *from,
                                                               int64_t count, heed_type type)
{
    int64_t size = heed_element_size(type);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store_elements(to + i * size, v_load(from + i), type);
    if (i < count) {
        char rest[LANES * sizeof(float)];
        float wide[LANES] = { 0 };
        memcpy(wide, from + i, (size_t)(count - i) * sizeof *from);
        store_elements(rest, v_load(wide), type);
        memcpy(to + i * size, rest, (size_t)((count - i) * size));
    }
}

static inline void load_row(float *to, const void *from, int64_t count, heed_type type)
{
    if (type == HEED_F32)
        load_row_as(to, from, count, HEED_F32);
    else if (type == HEED_F16)
        load_row_as(to, from, count, HEED_F16);
    else
        load_row_as(to, from, count, HEED_BF16);
}

static inline void store_row(void *to, const float *from, int64_t count, heed_type type)
{
    if (type == HEED_F32)
        store_row_as(to, from, count, HEED_F32);
    else if (type == HEED_F16)
        store_row_as(to, from, count, HEED_F16);
    else
        store_row_as(to, from, count, HEED_BF16);
}

#endif /* HEED_SIMD_ROWS_H */
