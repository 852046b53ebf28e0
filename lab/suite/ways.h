/*
 * ways.h - precisions for products of float32 tensors
 */
#ifndef LAB_WAYS_H
#define LAB_WAYS_H

#include <stddef.h>
#include <stdint.h>

#include "heed.h"

typedef struct lab_way {
    const char *name;  /* such as "f16" or "tf32", as in --products */
    const char *words; /* description, to follow "products are ..." */
    const char *torch; /* the type in torch that tensors are rounded to; NULL: unchanged */
    heed_type type;    /* of the problem */
    int64_t products;  /* permitted ones, of heed_products */
} lab_way;

/* lab_way_at() returns the @index-th way; NULL past the last. */
const lab_way *lab_way_at(size_t index);

/* lab_way_take() changes @problem, if it is float32, to that of @way. */
void lab_way_take(const lab_way *way, heed_problem *problem);

#endif /* LAB_WAYS_H */
