/*
 * array.c - an array that grows, and the order of numbers
 */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool lab_grow(void *array, size_t count, size_t size)
{
    void *items, *grown;
    size_t room = count > 0 ? 2 * count : 1;
    if ((count & (count - 1)) != 0)
        return true;
    memcpy(&items, array, sizeof items); /* of any type */
    grown = count > SIZE_MAX / 2 || room > SIZE_MAX / size ? NULL : realloc(items, room * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    return true;
}

int lab_order_reals(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}
