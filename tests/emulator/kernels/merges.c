/*
 * merges.c - all builds of merge.c
 */
#include "emulator/kernels/merge.h"

extern const emulated_merge merge_f32, merge_f16, merge_bf16;

const emulated_merge *const emulated_merges[3] = { &merge_f32, &merge_f16, &merge_bf16 };
