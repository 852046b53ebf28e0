/*
 * entries.h - a kernel's entries for a table of the emulator; include it after the kernel's source
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

extern const emulated_kernel EMULATED_KERNEL;

#endif /* EMULATOR_ENTRIES_H */
