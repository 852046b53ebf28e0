/*
 * bounds.h - decide whether a program hides all keys of a tile from all of its rows, none, or some
 *
 * It uses interval arithmetic (Moore, Interval Analysis, 1966): each step gets the least and the
 * greatest value that it may have over all pairs of the tile, from those of its inputs; loads scan
 * the elements in question. The result is always correct, but it is HEED_SEES_SOME where the bounds
 * do not decide, or loads would read too much.
 */
#ifndef HEED_BOUNDS_H
#define HEED_BOUNDS_H

#include "../problem/program.h"

/* Integers from @first to @last. */
typedef struct heed_span {
    int32_t first, last;
} heed_span;

/* Pairs of queries and keys. */
typedef struct heed_pairs {
    heed_span batch, head, query, key;
    int64_t first_position; /* of query 0 */
} heed_pairs;

typedef enum heed_sight {
    HEED_SEES_NONE,
    HEED_SEES_SOME,
    HEED_SEES_ALL
} heed_sight;

/* Decides for @pairs; @data has the address of each source of @program. */
heed_sight heed_program_sight(const heed_program *program, const void *const data[],
                              const heed_pairs *pairs);

#endif /* HEED_BOUNDS_H */
