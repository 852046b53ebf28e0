/*
 * list.h - heed_list() for a table of the emulator; include it after a kernel's source
 */
#ifndef EMULATOR_LIST_H
#define EMULATOR_LIST_H

#include <stddef.h>

#if HEED_LISTS
static void list_tiles(const void *args)
{
    heed_list(*(const heed_cuda_args *)args);
}
#define LIST list_tiles
#else
#define LIST NULL
#endif

#endif /* EMULATOR_LIST_H */
