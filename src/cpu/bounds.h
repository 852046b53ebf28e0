/*
 * bounds.h - does a program hide all keys of a tile from all of its rows, or none?
 *
 * The answer comes from interval arithmetic (Moore, Interval Analysis, 1966): each step gets the
 * least and the greatest value that it may have over all pairs of the tile, from those of the steps
 * that it takes, and loads look at the elements in question. It is never wrong, but where bounds
 * cannot tell, or loads would read too much, it is HEED_SEES_SOME.
 */
#ifndef HEED_BOUNDS_H
#define HEED_BOUNDS_H

#include "../problem/program.h"

/* Whole numbers from @first to @last. */
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

/* @data has the address of each source of @program. */
heed_sight heed_program_sight(const heed_program *program, const void *const data[],
                              const heed_pairs *pairs);

#endif /* HEED_BOUNDS_H */
