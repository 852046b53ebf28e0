/*
 * sized.h - copies the structs of heed.h that begin with their size, of any version of heed.h
 *
 * A caller's struct may be shorter than this library's, if it was compiled with an older heed.h, or
 * longer, with a newer one. Inside the library structs are complete; their size field is the
 * caller's, or the library's if that is smaller.
 */
#ifndef HEED_SIZED_H
#define HEED_SIZED_H

#include "internal.h"

/* A struct as declared in this library. */
typedef struct heed_sized {
    const char *name; /* such as "heed_options" */
    size_t size;
    size_t least; /* of the first version that had a size */
} heed_sized;

extern const heed_sized heed_sized_problem, heed_sized_options, heed_sized_buffers;

/* Copies the caller's struct @from to @to, the library's: missing fields become zero. Returns
 * HEED_ERR_INVALID, with a message, if its size is wrong or a field that this library does not have
 * is not zero. */
heed_status heed_sized_read(const heed_sized *kind, void *to, const void *from);

/* Copies @from, the library's struct, to the caller's @to, which is @size bytes long. Returns
 * HEED_ERR_INVALID, with a message, if a field that is not zero does not fit. */
heed_status heed_sized_write(const heed_sized *kind, void *to, size_t size, const void *from);

#endif /* HEED_SIZED_H */
