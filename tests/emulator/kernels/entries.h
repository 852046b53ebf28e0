/*
 * entries.h - a kernel's entries and build for a table of the emulator; include it after the
 * kernel's source
 *
 * KERNEL_ARGS is the type of heed_attend()'s arguments, heed_cuda_args by default.
 */
#ifndef EMULATOR_ENTRIES_H
#define EMULATOR_ENTRIES_H

#include <stddef.h>

#ifndef KERNEL_ARGS
#define KERNEL_ARGS heed_cuda_args
#endif

static void run(const void *args)
{
    heed_attend(*(const KERNEL_ARGS *)args);
}

#ifdef HEED_COMBINE_CUH
static void combine(const void *args)
{
    heed_combine(*(const heed_cuda_args *)args);
}
#endif

#if HEED_LISTS
static void list_tiles(const void *args)
{
    heed_list(*(const heed_cuda_args *)args);
}
#define LIST list_tiles
#else
#define LIST NULL
#endif

/* Where the source does not have HEED_TYPE. */
#ifndef HEED_TYPE
#ifndef HEED_F32
#define HEED_F32 0
#endif
#define HEED_TYPE (HEED_F32 ? 0 : HEED_BF16 ? 2 : 1)
#endif

/* The fields of the table that all kernels have. */
#define EMULATED_BUILD                                               \
    .name = EMULATED_NAME, .type = HEED_TYPE, .masked = HEED_MASKED, \
    .hides_first = HEED_HIDES_FIRST, .dim_qk = HEED_DIM_QK, .dim_v = HEED_DIM_V, .run = run

extern const emulated_kernel EMULATED_KERNEL;

#endif /* EMULATOR_ENTRIES_H */
