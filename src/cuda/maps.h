/*
 * maps.h - the host half of maps.cuh: tensor maps for the tensor memory accelerator (TMA)
 *
 * A map describes a tensor. Everything but its address is set when a plan is made; each execution
 * sets the address in its own copy of the arguments. Call functions that take a heed_cuda between
 * heed_cuda_enter() and heed_cuda_leave().
 */
#ifndef HEED_CUDA_MAPS_H
#define HEED_CUDA_MAPS_H

#include "driver/device.h"
#include "kernels/maps.cuh"

/* heed_cuda_mapped_problem() returns @problem, normalized, in the form for the arguments of a
 * mapped kernel: if the size of a group does not divide the rows of a box, every query head is a
 * separate group with a separate key/value head. */
heed_problem heed_cuda_mapped_problem(const heed_problem *problem);

/* heed_cuda_can_map() returns true if the tensors of @problem, normalized, can be mapped at all; if
 * not, *why is the reason. The type must have 16 bits. */
bool heed_cuda_can_map(const heed_problem *problem, const char **why);

/* heed_cuda_make_maps() writes the maps of @args for @problem, normalized, with boxes of @tile keys
 * of K and V, all @columns wide: HEED_MAP_COLUMNS, or in degraded builds 8, 16 or 32; the swizzle
 * is as wide as a row of a box, and there is none for 8 columns. They are complete except for the
 * addresses. Returns HEED_OK; HEED_ERR_INVALID for other @columns; HEED_ERR_UNSUPPORTED, with a
 * message that names the tensor, the field, its value and the limit, if one cannot be mapped; or
 * the driver's error. */
heed_status heed_cuda_make_maps(heed_cuda *cuda, const heed_problem *problem, int64_t tile,
                                int columns, heed_cuda_mapped_args *args);

/* The bias as a tensor that can be mapped: whether it can, which takes 16 bits, queries, keys and
 * aligned strides, and, if query heads of a group are rows of one box, heads; and which of its
 * other dimensions do not repeat. */
typedef struct heed_cuda_bias_map {
    bool fits;
    bool heads, batch;
} heed_cuda_bias_map;

heed_cuda_bias_map heed_cuda_bias_mapped(const heed_problem *problem);

/* heed_cuda_make_bias_map() makes the map of a bias that can be mapped, complete except for its
 * address. Returns HEED_OK or the driver's error. */
heed_status heed_cuda_make_bias_map(heed_cuda *cuda, const heed_problem *problem, int columns,
                                    heed_cuda_map *map);

/* heed_cuda_place_maps() sets the addresses of the maps of @args, made before, to those of
 * args->args and @bias, NULL without a map of it. They must be multiples of 16. It only takes a few
 * stores on the host. */
heed_status heed_cuda_place_maps(heed_cuda *cuda, heed_cuda_mapped_args *args, const void *bias);

#endif /* HEED_CUDA_MAPS_H */
