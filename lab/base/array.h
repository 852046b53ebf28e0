/*
 * array.h - an array that grows
 */
#ifndef LAB_ARRAY_H
#define LAB_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* lab_grow() makes room for one item more of @size bytes behind the @count of an array; @array
 * points to the pointer to them, NULL at first. Room doubles at powers of two, so that it need not
 * be kept. Returns false if there is no memory; the array is then as it was. Free with free(). */
bool lab_grow(void *array, size_t count, size_t size);

#endif /* LAB_ARRAY_H */
