/*
 * folder.h - a temporary folder for a compiler's input and output
 */
#ifndef LAB_FOLDER_H
#define LAB_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define LAB_FOLDER_SIZE 128

/* lab_folder_make() makes a private folder heed-@what-XXXXXX in TMPDIR, or in /tmp if TMPDIR is not
 * an absolute path or too long for @size bytes. On failure returns false, with errno and an empty
 * @path. */
bool lab_folder_make(char *path, size_t size, const char *what);

/* lab_folder_write() writes a file there. Returns false, with errno, on failure. */
bool lab_folder_write(const char *folder, const char *name, const void *data, size_t size);

/* lab_folder_remove() removes it recursively, without following symlinks. Ignores "". */
void lab_folder_remove(const char *path);

#endif /* LAB_FOLDER_H */
