/*
 * unit.cuh - load and store vectors of any type, one or several elements at a time
 *
 * Macros: HEED_TYPE as in plain.cuh.
 */
#ifndef HEED_UNIT_CUH
#define HEED_UNIT_CUH

#include "rows.cuh"

/* Number of elements in 16 bytes. */
#define UNIT_WIDE (HEED_TYPE == 0 ? 4 : 8)
#define UNIT_MOST 8

/* Elements that a lane processes at a time. */
typedef struct unit_of {
    float x[UNIT_MOST];
} unit_of;

HEED_DEVICE i64 bytes_of(i64 elements)
{
    return elements * (16 / UNIT_WIDE);
}

HEED_DEVICE float from_16_bits(u16 x, const int type)
{
    return type == 1 ? ptx_f16_to_f32(x) : ptx_bf16_to_f32(x);
}

HEED_DEVICE u16 to_16_bits(float x)
{
    return HEED_TYPE == 1 ? ptx_f32_to_f16(x) : ptx_f32_to_bf16(x);
}

/* Element @index of an array of elements of @type. */
HEED_DEVICE float load_number(const void *data, i64 index, const int type)
{
    if (type == 0)
        return ptx_ld_global_f32((const float *)data + index);
    return from_16_bits(ptx_ld_global_u16((const u16 *)data + index), type);
}

HEED_DEVICE void load_unit(unit_of *u, const u8 *from, const int unit)
{
    if (unit == 1) {
        u->x[0] = load_number(from, 0, HEED_TYPE);
        return;
    }
    const heed_u32x4 r = ptx_ld_global_16(from);
    HEED_UNROLL
    for (int i = 0; i < UNIT_WIDE; i++)
        u->x[i] = HEED_TYPE == 0 ? ptx_as_f32(r.v[i % 4])
                                 : from_16_bits((u16)(r.v[i / 2 % 4] >> i % 2 * 16), HEED_TYPE);
}

HEED_DEVICE void store_unit(u8 *to, const unit_of *u, const int unit)
{
    heed_u32x4 r;
    if (unit == 1 && HEED_TYPE == 0) {
        ptx_st_global_f32((float *)(void *)to, u->x[0]);
        return;
    }
    if (unit == 1) {
        ptx_st_global_u16(to, to_16_bits(u->x[0]));
        return;
    }
    HEED_UNROLL
    for (int i = 0; i < 4; i++)
        r.v[i] = HEED_TYPE == 0 ? ptx_as_u32(u->x[i])
                                : to_16_bits(u->x[2 * i]) | (u32)to_16_bits(u->x[2 * i + 1]) << 16;
    ptx_st_global_16(to, r);
}

HEED_DEVICE i64 at_strides(const heed_cuda_strides *s, i64 batch, i64 seq, i64 head)
{
    return bytes_of(batch * s->batch + seq * s->seq + head * s->head);
}

#endif /* HEED_UNIT_CUH */
