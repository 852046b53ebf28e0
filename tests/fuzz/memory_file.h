/*
 * memory_file.h - the input of a fuzz target as a file with a path
 */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "require.h"

#define MEMORY_FILE_PATH_SIZE 64

/* memory_file_open() makes a file in memory that holds @data and writes its path to @path. Returns
 * its descriptor, to be closed by the caller. */
static inline int memory_file_open(const uint8_t *data, size_t size,
                                   char path[MEMORY_FILE_PATH_SIZE])
{
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    require(file >= 0 && write(file, data, size) == (ssize_t)size, "there is memory for a file");
    snprintf(path, MEMORY_FILE_PATH_SIZE, "/proc/self/fd/%d", file);
    return file;
}

#endif /* MEMORY_FILE_H */
