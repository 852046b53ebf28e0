/*
 * sass_scene.h - parses disassembly written in tests
 *
 * Both functions fail the test if the text is refused. The caller frees the result.
 */
#ifndef HEED_TESTS_SASS_SCENE_H
#define HEED_TESTS_SASS_SCENE_H

#include "inspect/sass.h"

/* sass_read() reads the function @name in @text, which runs in blocks of @shape; NULL: unknown
 * shape. */
lab_sass sass_read(const char *text, const char *name, const lab_sass_shape *shape);

/* sass_read_lines() reads a function "k" with one instruction or label per line. */
lab_sass sass_read_lines(const char *lines, const lab_sass_shape *shape);

#endif /* HEED_TESTS_SASS_SCENE_H */
