/*
 * shapes.h - lists of problems in files
 *
 * A shape file is text: one problem spec per line, as heed_problem_parse() reads it. A # and what
 * follows it is a comment; blank lines are skipped; lines may end with a carriage return too.
 */
#ifndef LAB_SHAPES_H
#define LAB_SHAPES_H

#include <stddef.h>

#include "heed.h"
#include "lab/base/error.h"

/* Problems, wherever they come from. */
typedef struct lab_problems {
    heed_problem *items;
    size_t count;
} lab_problems;

typedef struct lab_shape {
    char spec[HEED_SPEC_SIZE]; /* canonical, however the file says it */
    heed_problem problem;      /* normalized */
    size_t line;               /* in the file, counted from 1 */
} lab_shape;

typedef struct lab_shapes {
    lab_shape *shapes;
    size_t count;
} lab_shapes;

/* Bytes of the longest line, with its comment. */
#define LAB_SHAPES_LINE_MAX 4095

/* lab_shapes_load() reads the problems of the file @path, in their order, into @list, which the
 * caller frees with lab_shapes_free(). The same problem may come more than once.
 *
 * Returns HEED_OK; HEED_ERR_SYSTEM if the file cannot be read; HEED_ERR_INVALID for a line that is
 * no problem or is too long, and for a file without any problem; HEED_ERR_NO_MEMORY. On failure
 * @list is empty and @error starts with "FILE:LINE: ", or "FILE: " where it is about no line; about
 * a spec it has three lines, as the message of heed_problem_parse() has. */
heed_status lab_shapes_load(lab_shapes *list, const char *path, lab_error *error);

/* lab_shapes_free() frees what lab_shapes_load() allocated and empties @list. An empty one is
 * ignored. */
void lab_shapes_free(lab_shapes *list);

#endif /* LAB_SHAPES_H */
