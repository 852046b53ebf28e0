/*
 * places.h - where NVIDIA's packages lie: the folders that patterns of glob(3) are below
 */
#ifndef HEED_CUDA_PLACES_H
#define HEED_CUDA_PLACES_H

#include <limits.h>
#include <stdbool.h>

/* How the names of a place are made. */
typedef enum heed_root {
    HEED_ROOT_FILE,   /* the variable names the file itself, and must be right */
    HEED_ROOT_LOADED, /* libraries of the process, by SONAME */
    HEED_ROOT_FOLDER, /* the pattern below the folder that the variable names */
    HEED_ROOT_PYTHON, /* the pattern below the folder that has the bin/ with the python3 of PATH */
    HEED_ROOT_REAL,   /* the same, after symbolic links */
    HEED_ROOT_FIXED,  /* the pattern alone */
    HEED_ROOT_SYSTEM  /* the linker's own search, by SONAME */
} heed_root;

/* heed_root_find() writes the folder that the pattern is below to @path; false if this machine has
 * none, or there is no pattern. */
bool heed_root_find(heed_root root, const char *variable, char path[PATH_MAX]);

/* heed_root_pattern() writes @root, in which nothing means more than itself, @pattern and @name to
 * @text; false if they are too long. */
bool heed_root_pattern(const char *root, const char *pattern, const char *name,
                       char text[PATH_MAX]);

#endif /* HEED_CUDA_PLACES_H */
