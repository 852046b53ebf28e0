/*
 * file.h - exact reads, atomic replacement of files, parent folders, and the cache folder
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

/* lab_file_open() opens @path for reading, or standard input for "-". HEED_ERR_SYSTEM, with the
 * system's reason, if that fails or @path is a folder. */
heed_status lab_file_open(FILE **file, const char *path, lab_error *error);

/* lab_file_require_plain() is for files found in a folder of others: opening a FIFO would wait.
 * HEED_ERR_SYSTEM, with the system's reason, if @path does not exist; HEED_ERR_INVALID if it is not
 * a regular file or a link to one. */
heed_status lab_file_require_plain(const char *path, lab_error *error);

/* lab_file_open_whole() is for readers that seek or need the length: it copies the content of a
 * pipe to an unnamed temporary file first. */
heed_status lab_file_open_whole(FILE **file, const char *path, lab_error *error);

/* lab_file_is_stream() returns true if @path is standard input or a pipe, which can be read only
 * once, or the name of an open file descriptor (/dev/fd/3), which may be one. False for the file
 * that is also standard output. */
bool lab_file_is_stream(const char *path);

/* lab_file_left() returns the bytes from the current position to the end of a regular file; -1 for
 * a pipe or a device, which have no known end. */
int64_t lab_file_left(FILE *file);

/* lab_file_read() reads exactly @size bytes, which the error message calls @what. HEED_ERR_CORRUPT
 * if the file ends early, HEED_ERR_SYSTEM if reading fails. */
heed_status lab_file_read(FILE *file, const char *path, const char *what, void *data, size_t size,
                          lab_error *error);

/* lab_file_write() writes all of @size bytes to the descriptor @fd. Returns false, with the reason
 * in errno, if it cannot. */
bool lab_file_write(int fd, const void *data, size_t size);

/* lab_file_temporary() writes @size bytes to a new file in the folder for temporary files, whose
 * name begins with @name; its path goes to @path. HEED_ERR_SYSTEM if it cannot: then there is no
 * file. The caller removes it. */
heed_status lab_file_temporary(char *path, size_t path_size, const char *name, const void *data,
                               size_t size, lab_error *error);

/* A file being written. It becomes visible with lab_output_commit(). */
typedef struct lab_output {
    FILE *file;
    char *path;      /* the file that it will replace */
    char *temporary; /* beside it; NULL: @path is a device or a pipe, written directly */
    int reason;      /* errno of the first write that failed, or 0 */
} lab_output;

/* lab_output_begin() opens a temporary file beside @path. HEED_ERR_SYSTEM, HEED_ERR_NO_MEMORY. */
heed_status lab_output_begin(lab_output *output, const char *path, lab_error *error);

/* lab_output_write() appends @size bytes. lab_output_commit() reports a failure. */
void lab_output_write(lab_output *output, const void *data, size_t size);

/* lab_output_commit() flushes the file to disk and renames it to its path, or to the target if the
 * path is a symlink. HEED_ERR_SYSTEM if any write to the stream failed: the old file is then
 * unchanged, and the temporary file removed. */
heed_status lab_output_commit(lab_output *output, lab_error *error);

/* lab_output_abandon() removes the temporary file. */
void lab_output_abandon(lab_output *output);

/* lab_file_folders() creates the missing parent folders of @path, with @mode. HEED_ERR_SYSTEM if it
 * cannot. */
heed_status lab_file_folders(const char *path, mode_t mode, lab_error *error);

/* lab_file_cache() writes the path of @name, which may contain folders, in the cache folder to
 * @path of @size bytes. HEED_ERR_SYSTEM if no environment variable tells where that is, or the path
 * is too long. Creates nothing. */
heed_status lab_file_cache(char *path, size_t size, const char *name, lab_error *error);

#endif /* LAB_FILE_H */
