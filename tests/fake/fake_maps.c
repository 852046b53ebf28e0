/*
 * fake_maps.c - the fake driver's tensor maps
 */
#include <string.h>

#include "fake_driver.h"

#define MAP_SIZE 128
#define MAP_STRIDE_END ((uint64_t)1 << 40)
#define MAP_DIM_MAX ((uint64_t)1 << 32)

static bool is_between(uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most;
}

/* The rules of cuTensorMapEncodeTiled for 16-bit types and four dimensions, the only ones that the
 * fake supports. The rules do not mention a stride of 0; it is refused to be safe. */
static bool is_map(int type, unsigned rank, const uint64_t *dims, const uint64_t *strides,
                   const uint32_t *box, const uint32_t *steps)
{
    if (rank != 4 || (type != CU_MAP_F16 && type != CU_MAP_BF16))
        return false;
    for (int i = 0; i < 4; i++)
        if (!is_between(dims[i], 1, MAP_DIM_MAX) || !is_between(box[i], 1, 256) ||
            !is_between(steps[i], 1, 8))
            return false;
    for (int i = 0; i < 3; i++)
        if (strides[i] % 16 || !is_between(strides[i], 16, MAP_STRIDE_END - 16))
            return false;
    return box[0] * 2 % 16 == 0;
}

/* An inner row of a box must fit the swizzle width: 32, 64 or 128 bytes. */
static bool is_mode(const uint32_t *box, int interleave, int swizzle, int l2, int fill)
{
    return interleave == CU_MAP_APART && is_between((uint64_t)l2, 0, CU_MAP_L2_256) &&
           is_between((uint64_t)swizzle, 0, CU_MAP_SWIZZLE_128) &&
           (swizzle == 0 || box[0] * 2 <= 16U << swizzle) && is_between((uint64_t)fill, 0, 1);
}

static int map_encode(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                      const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                      int interleave, int swizzle, int l2, int fill)
{
    int result = fake_begin_inside("cuTensorMapEncodeTiled");
    if (result != CU_SUCCESS)
        return result;
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || fake->arch < 90 ||
        !is_map(type, rank, dims, strides, box, steps) ||
        !is_mode(box, interleave, swizzle, l2, fill))
        return INVALID_VALUE;
    fake_map made = { .mark = FAKE_MAP_MARK,
                      .address = address,
                      .type = type,
                      .swizzle = swizzle,
                      .l2 = l2,
                      .fill = fill };
    for (int i = 0; i < 4; i++) {
        made.dims[i] = dims[i];
        made.box[i] = box[i];
    }
    for (int i = 0; i < 3; i++)
        made.strides[i] = strides[i];
    memset(map, 0, MAP_SIZE);
    memcpy(map, &made, sizeof made);
    return CU_SUCCESS;
}

static int map_replace(void *map, void *address)
{
    fake_map *known_map = map;
    int result = fake_begin_inside("cuTensorMapReplaceAddress");
    if (result == CU_SUCCESS &&
        ((uintptr_t)map % 64 || (uintptr_t)address % 16 || known_map->mark != FAKE_MAP_MARK))
        result = INVALID_VALUE;
    if (result == CU_SUCCESS)
        known_map->address = address;
    return result;
}

const fake_entry fake_map_entries[] = {
    { "cuTensorMapEncodeTiled", 12000, (fake_entry_fn *)map_encode },
    { "cuTensorMapReplaceAddress", 12000, (fake_entry_fn *)map_replace },
    { NULL, 0, NULL },
};
