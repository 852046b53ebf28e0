/*
 * sass_values.c - arithmetic on the values of 32 lanes in a register
 */
#include "inspect/sass_parts.h"

const sass_value sass_unknown = { .kind = SASS_UNKNOWN };
const sass_value sass_uniform = { .kind = SASS_SHIFTED };
const sass_value sass_zero = { .kind = SASS_EXACT };

bool sass_is_flat(const sass_value *value)
{
    for (int i = 1; i < SASS_LANES; i++)
        if (value->lane[i] != value->lane[0])
            return false;
    return value->kind != SASS_UNKNOWN;
}

bool sass_is_constant(const sass_value *value)
{
    return value->kind == SASS_EXACT && sass_is_flat(value);
}

sass_value sass_constant(int32_t number)
{
    sass_value value = { .kind = SASS_EXACT };
    for (int i = 0; i < SASS_LANES; i++)
        value.lane[i] = number;
    return value;
}

int32_t sass_wrap(int64_t number)
{
    return (int32_t)(uint32_t)(uint64_t)number;
}

sass_value sass_add(const sass_value *a, const sass_value *b)
{
    sass_value sum = { .kind = a->kind < b->kind ? a->kind : b->kind };
    for (int i = 0; i < SASS_LANES; i++)
        sum.lane[i] = sass_wrap((int64_t)a->lane[i] + b->lane[i]);
    return sum.kind == SASS_UNKNOWN ? sass_unknown : sum;
}

/* A common term times a constant is still a common term. */
sass_value sass_multiply(const sass_value *a, const sass_value *b)
{
    sass_value product = { .kind = a->kind < b->kind ? a->kind : b->kind };
    if (product.kind == SASS_SHIFTED && !sass_is_constant(a) && !sass_is_constant(b))
        return sass_is_flat(a) && sass_is_flat(b) ? sass_uniform : sass_unknown;
    for (int i = 0; i < SASS_LANES; i++)
        product.lane[i] = sass_wrap((int64_t)a->lane[i] * b->lane[i]);
    return product.kind == SASS_UNKNOWN ? sass_unknown : product;
}

sass_value sass_shift_left(const sass_value *a, const sass_value *by)
{
    if (!sass_is_constant(by) || by->lane[0] < 0 || by->lane[0] > 31)
        return sass_unknown;
    const sass_value factor = sass_constant(sass_wrap((int64_t)1 << by->lane[0]));
    return sass_multiply(a, &factor);
}

/* Shifted-out bits may have carried: only exact values can be shifted right. */
sass_value sass_shift_right(const sass_value *a, const sass_value *by, bool is_signed)
{
    sass_value result = { .kind = SASS_EXACT };
    if (sass_is_flat(a) && sass_is_flat(by) && !(sass_is_constant(a) && sass_is_constant(by)))
        return sass_uniform;
    if (a->kind != SASS_EXACT || !sass_is_constant(by) || by->lane[0] < 0 || by->lane[0] > 31)
        return sass_unknown;
    for (int i = 0; i < SASS_LANES; i++)
        result.lane[i] = is_signed ? a->lane[i] >> by->lane[0]
                                   : sass_wrap((int64_t)((uint32_t)a->lane[i] >> by->lane[0]));
    return result;
}

sass_value sass_combine_bits(const sass_value parts[3], unsigned table)
{
    sass_value result = { .kind = SASS_EXACT };
    bool exact = true, flat = true;
    for (int p = 0; p < 3; p++) {
        exact = exact && parts[p].kind == SASS_EXACT;
        flat = flat && sass_is_flat(&parts[p]);
    }
    if (!exact)
        return flat ? sass_uniform : sass_unknown;
    for (int i = 0; i < SASS_LANES; i++) {
        uint32_t bits = 0;
        uint32_t a = (uint32_t)parts[0].lane[i], b = (uint32_t)parts[1].lane[i],
                 c = (uint32_t)parts[2].lane[i];
        for (unsigned row = 0; row < 8; row++)
            if (table >> row & 1)
                bits |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
        result.lane[i] = (int32_t)bits;
    }
    return result;
}

bool sass_merge(sass_value *value, const sass_value *other)
{
    bool same = true, parallel = true;
    if (value->kind == SASS_UNKNOWN)
        return false;
    for (int i = 0; i < SASS_LANES; i++) {
        same = same && value->lane[i] == other->lane[i];
        parallel = parallel && sass_wrap((int64_t)value->lane[i] - value->lane[0]) ==
                                   sass_wrap((int64_t)other->lane[i] - other->lane[0]);
    }
    int kind = value->kind < other->kind ? (int)value->kind : (int)other->kind;
    if (kind == SASS_EXACT && !same)
        kind = SASS_SHIFTED;
    if (kind == SASS_SHIFTED && !parallel)
        kind = SASS_UNKNOWN;
    if (kind == (int)value->kind)
        return false;
    if (kind == SASS_UNKNOWN)
        *value = sass_unknown;
    else
        value->kind = SASS_SHIFTED;
    return true;
}
