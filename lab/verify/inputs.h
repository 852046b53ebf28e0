/*
 * inputs.h - distributions of input values that expose wrong kernels
 *
 * Random values depend on seed and index alone (lab/tensor/random.h): they are the same on every
 * machine and in every layout.
 */
#ifndef LAB_INPUTS_H
#define LAB_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/stage/stage.h"

typedef void lab_fill_fn(lab_values *values, uint64_t seed);

typedef struct lab_inputs {
    const char *name;
    const char *summary; /* a description, and the mistakes that they expose */
    bool finite;         /* contains no NaN or infinity */
    bool exact;          /* rows that see 2^n live keys have an answer without rounding */

    /* Fills Q, K and V: see lab_inputs_fill(). */
    lab_fill_fn *fill;

    /* Why the problem cannot have these inputs; NULL if it can. The function may be NULL. */
    const char *(*absent)(const heed_problem *problem);
} lab_inputs;

/* lab_inputs_fill() fills Q, K and V by @inputs, and the operands of the problem (operands.h). */
void lab_inputs_fill(const lab_inputs *inputs, lab_values *values, uint64_t seed);

/* lab_inputs_at() returns the @index-th distribution, the normal one first; NULL past the last. */
const lab_inputs *lab_inputs_at(size_t index);

/* lab_inputs_find() returns the distribution @name, or NULL. */
const lab_inputs *lab_inputs_find(const char *name);

/* lab_inputs_captured describes values that come from elsewhere: it has no fill(), and is not in
 * the list. */
extern const lab_inputs lab_inputs_captured;

#endif /* LAB_INPUTS_H */
