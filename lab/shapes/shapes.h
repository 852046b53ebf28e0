/*
 * shapes.h - lists of problems in files
 *
 * A shape file is text: one problem spec per line, as heed_problem_parse() reads it. A # begins a
 * comment; blank lines are skipped; lines may end with CRLF.
 */
#ifndef LAB_SHAPES_H
#define LAB_SHAPES_H

#include <stddef.h>

#include "heed.h"
#include "lab/base/error.h"

/* A list of problems from any source. */
typedef struct lab_problems {
    heed_problem *items;
    size_t count;
} lab_problems;

typedef struct lab_shape {
    char spec[HEED_SPEC_SIZE]; /* in canonical form */
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
 * not a problem or is too long, and for a file without problems; HEED_ERR_NO_MEMORY. On failure
 * @list is empty and @error starts with "FILE:LINE: ", or "FILE: " if it is not about a line; for a
 * spec it has three lines, like the message of heed_problem_parse(). */
heed_status lab_shapes_load(lab_shapes *list, const char *path, lab_error *error);

/* lab_shapes_free() frees what lab_shapes_load() allocated and empties @list. An empty one is
 * ignored. */
void lab_shapes_free(lab_shapes *list);

#endif /* LAB_SHAPES_H */
