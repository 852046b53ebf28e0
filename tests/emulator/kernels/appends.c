/*
 * appends.c - all builds of append.c
 */
#include "emulator/kernels/append.h"

#include <stddef.h>

extern const emulated_append append_f32, append_f16, append_bf16, append_f32_halves,
    append_f32_neighbours, append_f16_halves, append_bf16_neighbours, append_bf16_halves_f32,
    append_f32_halves_varlen, append_bf16_neighbours_varlen, append_f32_packed,
    append_f32_halves_packed, append_bf16_neighbours_packed;

const emulated_append *const emulated_appends[] = {
    &append_f32,
    &append_f16,
    &append_bf16,
    &append_f32_halves,
    &append_f32_neighbours,
    &append_f16_halves,
    &append_bf16_neighbours,
    &append_bf16_halves_f32,
    &append_f32_halves_varlen,
    &append_bf16_neighbours_varlen,
    &append_f32_packed,
    &append_f32_halves_packed,
    &append_bf16_neighbours_packed,
    NULL,
};
