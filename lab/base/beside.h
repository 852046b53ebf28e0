/*
 * beside.h - paths beside the running program, wherever that has been installed
 */
#ifndef LAB_BESIDE_H
#define LAB_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* lab_beside() writes the path of @place, as seen from the folder of the running program, such as
 * "../share/heed", to @path, which has room for @size bytes. Returns false if that is too little,
 * or the system does not say where the program is. Nothing need exist at the path. */
bool lab_beside(const char *place, char *path, size_t size);

#endif /* LAB_BESIDE_H */
