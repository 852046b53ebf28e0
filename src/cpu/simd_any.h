/*
 * simd_any.h - the vector operations of modify_template.h for any machine: four lanes, which the
 * compiler maps to the machine's vectors
 *
 * simd_avx512.h describes them.
 */
#ifndef HEED_SIMD_H
#define HEED_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cpu.h"

#define LANES 4

typedef float vf __attribute__((vector_size(LANES * sizeof(float))));

static inline vf v_set(float x)
{
    return (vf){ x, x, x, x };
}

static inline vf v_load(const float *from)
{
    vf x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline void v_store(float *to, vf x)
{
    memcpy(to, &x, sizeof x);
}

static inline vf v_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

static inline vf v_choose(vf condition, vf a, vf b)
{
    typedef int32_t vi __attribute__((vector_size(LANES * sizeof(int32_t))));
    return (vf)(((vi)a & (vi)condition) | ((vi)b & ~(vi)condition));
}

static inline bool v_is_any(vf condition)
{
    int32_t lanes[LANES];
    memcpy(lanes, &condition, sizeof lanes);
    return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0;
}

static inline bool v_is_all(vf condition)
{
    int32_t lanes[LANES];
    memcpy(lanes, &condition, sizeof lanes);
    return (lanes[0] & lanes[1] & lanes[2] & lanes[3]) != 0;
}

static inline vf v_max(vf a, vf b)
{
    return v_choose((vf)(a > b), a, b);
}

static inline vf v_min(vf a, vf b)
{
    return v_choose((vf)(a < b), a, b);
}

static inline vf v_sub(vf a, vf b)
{
    return a - b;
}

static inline vf v_sqrt(vf x)
{
    return (vf){ sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3]) };
}

static inline vf v_load_f16(const uint16_t *from)
{
    float wide[LANES];
    heed_load_row(wide, from, LANES, HEED_F16);
    return v_load(wide);
}

static inline vf v_load_bf16(const uint16_t *from)
{
    float wide[LANES];
    heed_load_row(wide, from, LANES, HEED_BF16);
    return v_load(wide);
}

static inline vf v_load_bytes(const uint8_t *from)
{
    typedef int32_t vi __attribute__((vector_size(LANES * sizeof(int32_t))));
    return (vf)(vi){ from[0], from[1], from[2], from[3] };
}

static inline vf v_gather(const float *from, vf index)
{
    int32_t at[LANES];
    memcpy(at, &index, sizeof at);
    return (vf){ from[at[0]], from[at[1]], from[at[2]], from[at[3]] };
}

static inline void v_transpose(vf r[LANES])
{
    vf t[LANES];
    for (int i = 0; i < LANES; i++)
        t[i] = (vf){ r[0][i], r[1][i], r[2][i], r[3][i] };
    memcpy(r, t, sizeof t);
}

#endif /* HEED_SIMD_H */
