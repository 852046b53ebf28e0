/*
 * path.h - finding programs, without running them
 */
#ifndef LAB_PATH_H
#define LAB_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* A condition that a program has to meet, such as lab_path_is_program(). */
typedef bool lab_path_test(const char *path);

/* lab_path_is_program() says whether @path is a regular file that may be run. */
bool lab_path_is_program(const char *path);

/* lab_path_is_binary() says whether @path is machine code, and no script, which another program
 * would read. */
bool lab_path_is_binary(const char *path);

/* lab_path_find() looks for @name in the folders of @list, which colons separate as in PATH, and
 * writes the first path that passes @test to @path, which has room for @size bytes. Passes over
 * empty folders and those that are too long. NULL is a list without folders. */
bool lab_path_find(const char *list, const char *name, lab_path_test *test, char *path,
                   size_t size);

/* lab_path_match() writes the last program that matches @pattern of glob(3), as the highest
 * version is, to @path, which has room for @size bytes; false if there is none. */
bool lab_path_match(const char *pattern, char *path, size_t size);

#endif /* LAB_PATH_H */
