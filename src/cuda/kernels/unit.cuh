/*
 * unit.cuh - load and store vectors of any type, one or several elements at a time
 *
 * Macros: HEED_TYPE as in element.cuh.
 */
#ifndef HEED_UNIT_CUH
#define HEED_UNIT_CUH

#include "element.cuh"
#include "rows.cuh"

/* Number of elements in 16 bytes. */
#define UNIT_WIDE (16 / HEED_TYPE_BYTES)

/* Elements that a lane processes at a time. */
typedef struct unit_of {
    float x[UNIT_WIDE];
} unit_of;

HEED_DEVICE i64 bytes_of(i64 elements)
{
    return elements * HEED_TYPE_BYTES;
}

HEED_DEVICE void load_unit(unit_of *u, const u8 *from, const int unit)
{
    if (unit == 1) {
        u->x[0] = load_element(from, 0);
        return;
    }
    const heed_u32x4 r = ptx_ld_global_16(from);
    HEED_UNROLL
    for (int i = 0; i < UNIT_WIDE; i++)
        u->x[i] = number_of_bits(r.v[i * HEED_TYPE_BYTES / 4] >> i * HEED_TYPE_BYTES % 4 * 8,
                                 HEED_TYPE);
}

HEED_DEVICE void store_unit(u8 *to, const unit_of *u, const int unit)
{
    heed_u32x4 r = { { 0, 0, 0, 0 } };
    if (unit == 1) {
        store_element(to, 0, u->x[0]);
        return;
    }
    HEED_UNROLL
    for (int i = 0; i < UNIT_WIDE; i++)
        r.v[i * HEED_TYPE_BYTES / 4] |= bits_of_number(u->x[i]) << i * HEED_TYPE_BYTES % 4 * 8;
    ptx_st_global_16(to, r);
}

HEED_DEVICE i64 at_strides(const heed_cuda_strides *s, i64 batch, i64 seq, i64 head)
{
    return bytes_of(batch * s->batch + seq * s->seq + head * s->head);
}

#endif /* HEED_UNIT_CUH */
