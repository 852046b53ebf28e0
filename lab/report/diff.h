/*
 * diff.h - the differences between two texts
 */
#ifndef LAB_DIFF_H
#define LAB_DIFF_H

#include <stdbool.h>
#include <stdio.h>

/* A text and its name, for the header of a diff. */
typedef struct lab_diff_side {
    const char *name, *text;
} lab_diff_side;

/* lab_diff_write() writes the unified diff from @before to @after, with three lines around each
 * change, to @stream, in the format of patch(1); nothing if they are equal. If a comparison of all
 * lines would take more than LAB_DIFF_CELLS steps, everything between their common beginning and
 * end is replaced as a whole. Returns false, and writes nothing, if there is no memory.
 */
#define LAB_DIFF_CELLS 16000000
bool lab_diff_write(FILE *stream, lab_diff_side before, lab_diff_side after);

#endif /* LAB_DIFF_H */
