/*
 * places.h - where NVIDIA's packages are installed: the root folders of glob(3) patterns
 */
#ifndef HEED_CUDA_PLACES_H
#define HEED_CUDA_PLACES_H

#include <limits.h>
#include <stdbool.h>

/* How the file names of a place are formed. */
typedef enum heed_root {
    HEED_ROOT_FILE,   /* the variable names the file itself, which must be valid */
    HEED_ROOT_LOADED, /* libraries loaded by the process, by SONAME */
    HEED_ROOT_FOLDER, /* the pattern below the folder that the variable names */
    HEED_ROOT_PYTHON, /* the pattern below the folder that has the bin/ with the python3 of PATH */
    HEED_ROOT_REAL,   /* the same, with symlinks resolved */
    HEED_ROOT_FIXED,  /* the pattern only */
    HEED_ROOT_SYSTEM  /* the dynamic loader's search, by SONAME */
} heed_root;

/* heed_root_find() writes the root folder of the pattern to @path. Returns false if this machine
 * has none, or @kind has no pattern. */
bool heed_root_find(heed_root root, const char *variable, char path[PATH_MAX]);

/* heed_root_pattern() writes @root, with glob characters escaped, @pattern and @name to @text.
 * Returns false if they are too long. */
bool heed_root_pattern(const char *root, const char *pattern, const char *name,
                       char text[PATH_MAX]);

#endif /* HEED_CUDA_PLACES_H */
