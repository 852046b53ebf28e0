/*
 * path.h - finding programs on PATH and by patterns, without running them; paths relative to the
 * running program, wherever it is installed
 */
#ifndef LAB_PATH_H
#define LAB_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* A condition that a program must meet, such as lab_path_is_program(). */
typedef bool lab_path_test(const char *path);

/* lab_path_is_program() returns true if @path is an executable regular file. */
bool lab_path_is_program(const char *path);

/* lab_path_is_binary() returns true if @path is an ELF binary. A script would be run by another
 * program. */
bool lab_path_is_binary(const char *path);

/* lab_path_find() searches the colon-separated folders of @list for @name, and writes the first
 * path that passes @test to @path, which has room for @size bytes. Empty and too long folders are
 * skipped. NULL is an empty list. Returns false if nothing was found. */
bool lab_path_find(const char *list, const char *name, lab_path_test *test, char *path,
                   size_t size);

/* lab_path_match() writes the last program that matches the glob(3) pattern @pattern, which has the
 * highest version, to @path, which has room for @size bytes. Returns false if none matches. */
bool lab_path_match(const char *pattern, char *path, size_t size);

/* lab_beside() writes the path of @place, such as "../share/heed", relative to the folder of the
 * running program, to @path of @size bytes. Returns false if that is too small, or if the system
 * does not tell where the program is. The path need not exist. */
bool lab_beside(const char *place, char *path, size_t size);

#endif /* LAB_PATH_H */
