/*
 * simd_any.h - the vector operations of modify_template.h for any machine: four lanes, which the
 * compiler maps to what it has
 *
 * simd_avx512.h says what each one does.
 */
#ifndef HEED_SIMD_H
#define HEED_SIMD_H

#include <math.h>
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

static inline void v_transpose(vf r[LANES])
{
    vf t[LANES];
    for (int i = 0; i < LANES; i++)
        t[i] = (vf){ r[0][i], r[1][i], r[2][i], r[3][i] };
    memcpy(r, t, sizeof t);
}

#endif /* HEED_SIMD_H */
