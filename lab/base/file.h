/*
 * file.h - reading exactly, replacing a file as a whole, and the folders above it
 */
#ifndef LAB_FILE_H
#define LAB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "error.h"
#include "heed.h"

/* lab_file_open() opens @path for reading, "-" being the standard input. HEED_ERR_SYSTEM, with the
 * system's reason, if it cannot or it is a folder. */
heed_status lab_file_open(FILE **file, const char *path, lab_error *error);

/* lab_file_open_whole() is the same for a reader that needs the length or seeks: a pipe's content
 * is copied to a file without a name first. */
heed_status lab_file_open_whole(FILE **file, const char *path, lab_error *error);

/* lab_file_is_stream() says whether @path is the standard input or a pipe, which can be read only
 * once, or stands for an open file (/dev/fd/3), whose name says nothing of its kind; one that this
 * process writes to is not. */
bool lab_file_is_stream(const char *path);

/* lab_file_left() returns the bytes from the present position to the end of a regular file; -1 for
 * a pipe or a device, whose end is not known beforehand. */
int64_t lab_file_left(FILE *file);

/* lab_file_read() reads exactly @size bytes, which the error message calls @what. HEED_ERR_CORRUPT
 * if the file ends before, HEED_ERR_SYSTEM if reading fails. */
heed_status lab_file_read(FILE *file, const char *path, const char *what, void *data, size_t size,
                          lab_error *error);

/* A file being written. Nobody sees it before lab_output_commit(). */
typedef struct lab_output {
    FILE *file;
    char *path;      /* the file that it will replace */
    char *temporary; /* beside it; NULL: @path is a device or a pipe, written directly */
    int reason;      /* errno of the first write that failed, or 0 */
} lab_output;

/* lab_output_begin() opens a temporary file beside @path. HEED_ERR_SYSTEM, HEED_ERR_NO_MEMORY. */
heed_status lab_output_begin(lab_output *output, const char *path, lab_error *error);

/* lab_output_write() appends @size bytes. A failure is remembered and told by lab_output_commit().
 */
void lab_output_write(lab_output *output, const void *data, size_t size);

/* lab_output_commit() flushes the file to its disk and renames it to its path, a symbolic link's
 * target if that is one. HEED_ERR_SYSTEM if any write since the beginning failed: the old file is
 * then as it was, and nothing is left beside it. */
heed_status lab_output_commit(lab_output *output, lab_error *error);

/* lab_output_abandon() removes the temporary file. */
void lab_output_abandon(lab_output *output);

/* lab_file_folders() makes the folders above @path that are not there, with @mode. HEED_ERR_SYSTEM
 * if it cannot. */
heed_status lab_file_folders(const char *path, mode_t mode, lab_error *error);

/* lab_file_cache() writes the path of @name, which may have folders in it, in the folder for what
 * can be made again to @path, which has room for @size bytes. HEED_ERR_SYSTEM if no variable of the
 * environment says where that is, or there is too little room. Nothing is made. */
heed_status lab_file_cache(char *path, size_t size, const char *name, lab_error *error);

#endif /* LAB_FILE_H */
