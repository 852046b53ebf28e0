/*
 * array.h - an array that grows, and the order of numbers
 */
#ifndef LAB_ARRAY_H
#define LAB_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* lab_grow() makes room for one more item of @size bytes after the @count of an array; @array
 * points to the pointer to the items, NULL at first. Capacity doubles at powers of two, so it need
 * not be stored. Returns false, with the array unchanged, if there is no memory. Free with free().
 */
bool lab_grow(void *array, size_t count, size_t size);

/* lab_order_reals() is for qsort() of doubles: ascending. */
int lab_order_reals(const void *a, const void *b);

#endif /* LAB_ARRAY_H */
