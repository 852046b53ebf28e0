/*
 * unit_f32.h - the products of the tile kernel in float32: a unit is one element
 *
 * A unit is the 32 bits that one multiply-accumulate step takes from each operand. unit_bf16.h has
 * the same names for pairs of bfloat16. Include it after simd_rows.h.
 */
#ifndef HEED_UNIT_H
#define HEED_UNIT_H

#define UNIT 1 /* elements per unit */

static inline vf unit_dot(vf a, vf b, vf c)
{
    return v_fma(a, b, c);
}

/* Writes @count elements of Q or K as units. */
static inline void unit_load_row(float *units, const void *from, int64_t count, heed_type type)
{
    load_row(units, from, count, type);
}

/* Units of Q times the logit factor, or the part of it that they can represent; */
static inline vf unit_scale(vf units, float factor)
{
    return v_mul(units, v_set(factor));
}

/* and the remaining factor, not negative. The difference of a logit to the maximum is then
 * exact. */
static inline float unit_factor(float factor)
{
    (void)factor;
    return 1;
}

/* Writes @count units, each holding one element of every row of V in @rows. */
static inline void unit_load_values(float *units, const void *const rows[UNIT], int64_t count,
                                    heed_type type)
{
    load_row(units, rows[0], count, type);
}

/* Writes LANES units of weights, each holding one key's weight of every vector in @weights. */
static inline void unit_store_weights(float *units, const vf weights[UNIT])
{
    v_store(units, weights[0]);
}

/* The @index-th element of a unit. */
static inline float unit_element(float unit, int64_t index)
{
    (void)index;
    return unit;
}

#endif /* HEED_UNIT_H */
