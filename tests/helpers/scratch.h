/*
 * scratch.h - a temporary directory for the files of a test
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>

/* scratch_open() makes an empty directory below TMPDIR; scratch_close() removes it with its
 * contents. Both fit cmocka's setup and teardown: *@state is the directory's path. */
int scratch_open(void **state);
int scratch_close(void **state);

#define SCRATCH_PATH_SIZE 512

/* scratch_path() writes the path of the file @name in the directory to @path and returns it. */
const char *scratch_path(void **state, const char *name, char path[SCRATCH_PATH_SIZE]);

/* scratch_write() makes a file of @size bytes; scratch_read() reads one of at most @size bytes and
 * returns its length. Both fail the test on errors. */
void scratch_write(const char *path, const void *data, size_t size);
size_t scratch_read(const char *path, void *data, size_t size);

/* The same for text files, by their names in the directory. A script is executable.
 * scratch_text_read() returns @text, which has room for @size bytes with the terminating NUL. */
void scratch_text_write(void **state, const char *name, const char *text);
void scratch_script_write(void **state, const char *name, const char *text);
const char *scratch_text_read(void **state, const char *name, char *text, size_t size);

#endif /* SCRATCH_H */
