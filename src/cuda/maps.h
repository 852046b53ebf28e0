/*
 * maps.h - the host's half of maps.cuh: tensors described to the tensor memory accelerator
 *
 * A map says of a tensor all but where it lies when a plan is made, and that for every execution,
 * in its own copy of the arguments. All functions that have a heed_cuda work between
 * heed_cuda_enter() and heed_cuda_leave().
 */
#ifndef HEED_CUDA_MAPS_H
#define HEED_CUDA_MAPS_H

#include "driver/device.h"
#include "kernels/maps.cuh"

/* heed_cuda_mapped_problem() returns @problem, normalized, as the arguments of a mapped kernel have
 * it: if the size of a group does not divide the rows of a box, every query head is a group of its
 * own, with a key/value head of its own. */
heed_problem heed_cuda_mapped_problem(const heed_problem *problem);

/* heed_cuda_can_map() says whether the tensors of @problem, normalized, can be mapped at all; if
 * not, *why says what keeps them from it. The type must be of 16 bits. */
bool heed_cuda_can_map(const heed_problem *problem, const char **why);

/* heed_cuda_make_maps() writes the maps of @args for @problem, normalized, with boxes of @tile keys
 * of K and V, all @columns wide: HEED_MAP_COLUMNS, or in degraded builds 8, 16 or 32; rows of a box
 * are swizzled among so many bytes, those of 8 columns not at all. They are complete but for the
 * addresses. Returns HEED_OK; HEED_ERR_INVALID for other @columns; HEED_ERR_UNSUPPORTED, with a
 * message that names the tensor, the field, its value and the limit, if one cannot be mapped; or
 * what the driver says. */
heed_status heed_cuda_make_maps(heed_cuda *cuda, const heed_problem *problem, int64_t tile,
                                int columns, heed_cuda_mapped_args *args);

/* heed_cuda_place_maps() gives the maps of @args, made before, the addresses of args->args, which
 * must be multiples of 16. Host work alone, and no more than a few stores. */
heed_status heed_cuda_place_maps(heed_cuda *cuda, heed_cuda_mapped_args *args);

#endif /* HEED_CUDA_MAPS_H */
