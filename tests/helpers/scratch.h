/*
 * scratch.h - a folder for the files that a test makes
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>

/* scratch_open() makes an empty folder below TMPDIR; scratch_close() removes it and all that is in
 * it. Both fit cmocka's setup and teardown: *@state is the folder's path. */
int scratch_open(void **state);
int scratch_close(void **state);

#define SCRATCH_PATH_SIZE 512

/* scratch_path() writes the path of the file @name in the folder to @path and returns it. */
const char *scratch_path(void **state, const char *name, char path[SCRATCH_PATH_SIZE]);

/* scratch_write() makes a file of @size bytes; scratch_read() reads one of at most @size bytes and
 * returns its length. Both fail the test if they cannot. */
void scratch_write(const char *path, const void *data, size_t size);
size_t scratch_read(const char *path, void *data, size_t size);

/* The same of texts, by their names in the folder. A script can be run. scratch_text_read() returns
 * @text, which has room for @size bytes with the NUL at the end. */
void scratch_text_write(void **state, const char *name, const char *text);
void scratch_script_write(void **state, const char *name, const char *text);
const char *scratch_text_read(void **state, const char *name, char *text, size_t size);

#endif /* SCRATCH_H */
