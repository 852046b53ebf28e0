/*
 * array.h - an array that grows
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

#endif /* LAB_ARRAY_H */
