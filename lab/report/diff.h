/*
 * diff.h - the differences between two texts
 */
#ifndef LAB_DIFF_H
#define LAB_DIFF_H

#include <stdbool.h>
#include <stdio.h>

/* A text and its name, for the head of a diff. */
typedef struct lab_diff_side {
    const char *name, *text;
} lab_diff_side;

/* lab_diff_write() writes the unified diff from @before to @after, with three lines around each
 * change, to @stream, as patch(1) reads it; nothing if they are equal. Where texts differ in so
 * much that comparing all lines would take more than LAB_DIFF_CELLS steps, what lies between their
 * common beginning and end is replaced as a whole. False, having written nothing, without memory.
 */
#define LAB_DIFF_CELLS 16000000
bool lab_diff_write(FILE *stream, lab_diff_side before, lab_diff_side after);

#endif /* LAB_DIFF_H */
