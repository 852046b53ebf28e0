/*
 * ways.h - the ways in which tensors of float32 may be multiplied
 */
#ifndef LAB_WAYS_H
#define LAB_WAYS_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

typedef struct lab_way {
    const char *name;  /* such as "f16" or "tf32", as --products has it */
    const char *words; /* for people: products are ... */
    const char *torch; /* the type in torch that tensors are rounded to; NULL: they stay */
    heed_type type;    /* of the problem */
    int64_t products;  /* that it permits, one of heed_products */
} lab_way;

/* lab_way_at() returns the @index-th way; NULL past the last. */
const lab_way *lab_way_at(size_t index);

/* lab_way_take() makes @problem, if it is one of float32, that of @way. */
void lab_way_take(const lab_way *way, heed_problem *problem);

#endif /* LAB_WAYS_H */
