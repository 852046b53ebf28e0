/*
 * folder.h - a folder for what a compiler reads and makes
 */
#ifndef LAB_FOLDER_H
#define LAB_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define LAB_FOLDER_SIZE 128

/* lab_folder_make() makes a folder heed-@what-XXXXXX of this user's alone, below TMPDIR, or below
 * /tmp where TMPDIR is no absolute path or too long for @size bytes. False if it cannot: @path is
 * "" then, and errno says why. */
bool lab_folder_make(char *path, size_t size, const char *what);

/* lab_folder_remove() removes it with all that is in it, and follows no link. "" is no folder. */
void lab_folder_remove(const char *path);

#endif /* LAB_FOLDER_H */
