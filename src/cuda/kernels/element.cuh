/*
 * element.cuh - load, store and copy elements of any type
 *
 * Macros: HEED_TYPE, the type of Q, K, V and O: 0 float32, 1 float16, 2 bfloat16, as heed_type; by
 * default the one that half.cuh describes.
 */
#ifndef HEED_ELEMENT_CUH
#define HEED_ELEMENT_CUH

#include "ptx.cuh"

#ifndef HEED_TYPE
#define HEED_TYPE (HEED_PRODUCTS > 0 ? 0 : HEED_BF16 ? 2 : 1)
#endif

/* Bytes of an element. */
#define HEED_TYPE_BYTES (HEED_TYPE == 0 ? 4 : 2)

/* The number with the lowest bits of @bits, an element of @type. */
HEED_DEVICE float number_of_bits(u32 bits, const int type)
{
    if (type == 0)
        return ptx_as_f32(bits);
    return type == 1 ? ptx_f16_to_f32((u16)bits) : ptx_bf16_to_f32((u16)bits);
}

/* The bits of an element of HEED_TYPE. */
HEED_DEVICE u32 bits_of_number(float x)
{
    if (HEED_TYPE == 0)
        return ptx_as_u32(x);
    return HEED_TYPE == 1 ? ptx_f32_to_f16(x) : ptx_f32_to_bf16(x);
}

/* Element @index of an array of elements of @type. */
HEED_DEVICE float load_number(const void *data, i64 index, const int type)
{
    if (type == 0)
        return ptx_ld_global_f32((const float *)data + index);
    return number_of_bits(ptx_ld_global_u16((const u16 *)data + index), type);
}

HEED_DEVICE float load_element(const void *tensor, i64 index)
{
    return load_number(tensor, index, HEED_TYPE);
}

HEED_DEVICE void store_element(void *tensor, i64 index, float x)
{
    if (HEED_TYPE == 0)
        ptx_st_global_f32((float *)tensor + index, x);
    else
        ptx_st_global_u16((u16 *)tensor + index, (u16)bits_of_number(x));
}

/* Copies an element unchanged. */
HEED_DEVICE void copy_element(void *to, const void *from)
{
    if (HEED_TYPE == 0)
        ptx_st_global_4(to, ptx_ld_ahead_4(from));
    else
        ptx_st_global_u16(to, ptx_ld_global_u16(from));
}

#endif /* HEED_ELEMENT_CUH */
