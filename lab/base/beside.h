/*
 * beside.h - paths relative to the running program, wherever it is installed
 */
#ifndef LAB_BESIDE_H
#define LAB_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* lab_beside() writes the path of @place, such as "../share/heed", relative to the folder of the
 * running program, to @path of @size bytes. Returns false if that is too small, or if the system
 * does not tell where the program is. The path need not exist. */
bool lab_beside(const char *place, char *path, size_t size);

#endif /* LAB_BESIDE_H */
