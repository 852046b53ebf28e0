/*
 * map.h - maps of tensors, as the emulator has them
 */
#ifndef EMULATOR_MAP_H
#define EMULATOR_MAP_H

#include <stdint.h>

#include "src/cuda/kernels/maps.cuh"

/* emulator_map() describes a tensor of 16-bit elements: @dims of them, of which those of the first
 * dimension are in succession, and the others @strides bytes apart, multiples of 16, as is the
 * address @base; boxes of @box elements, 8, 16, 32 or 64 wide and swizzled among as many. */
void emulator_map(heed_cuda_map *map, const void *base, const int64_t dims[4],
                  const int64_t strides[3], const int box[4]);

#endif /* EMULATOR_MAP_H */
