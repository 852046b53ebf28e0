/*
 * map.h - tensor maps of the emulator
 */
#ifndef EMULATOR_MAP_H
#define EMULATOR_MAP_H

#include <stdint.h>

#include "src/cuda/kernels/maps.cuh"

/* emulator_map() describes a tensor of 16-bit elements with @dims elements. Those of the first
 * dimension are contiguous, the others are @strides bytes apart; strides and the address @base must
 * be multiples of 16. Boxes have @box elements; rows of 8, 16, 32 or 64 elements are swizzled
 * within their width. */
void emulator_map(heed_cuda_map *map, const void *base, const int64_t dims[4],
                  const int64_t strides[3], const int box[4]);

#endif /* EMULATOR_MAP_H */
