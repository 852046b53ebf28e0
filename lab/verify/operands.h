/*
 * operands.h - random values of operands: bias, slopes, sinks, starts, shown, lengths, arrays
 *
 * They suit any Q, K and V: a bias of magnitude 1; slopes that are powers of two, some negative;
 * sinks from -3 to 3; starts of documents of random lengths, whose last query may see nothing;
 * masks with empty, full and random rows; f32 arrays of normal values, and i32 arrays of valid
 * indices into the others.
 */
#ifndef LAB_OPERANDS_H
#define LAB_OPERANDS_H

#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/stage/stage.h"

/* lab_operand_fill() fills the operand or array @role of @problem, normalized, at @data with the
 * problem's strides. */
void lab_operand_fill(const heed_problem *problem, lab_role role, void *data, uint64_t seed);

/* lab_operand_fill_usual() fills it with values typical of models and servers, for timing: slopes
 * are not negative; starts are those of twelve documents cut at random, and an i32 array with a
 * number for each position has the numbers of the same documents; lengths, also of packed
 * sequences, are those of a typical server. @seed is the problem's: operands that belong together
 * must have the same one. */
void lab_operand_fill_usual(const heed_problem *problem, lab_role role, void *data, uint64_t seed);

/* How operands match the values of Q, K and V. */
typedef enum lab_operands_kind {
    LAB_OPERANDS_FINITE,
    LAB_OPERANDS_EXACT,    /* bias and slopes are 0 */
    LAB_OPERANDS_INFINITE, /* some elements of the bias are -infinity */
    LAB_OPERANDS_POISONED  /* elements that only hidden pairs read are NaN */
} lab_operands_kind;

/* lab_operands_fill_sequences() fills only the cumulative lengths, as lab_operands_fill() will. */
void lab_operands_fill_sequences(lab_values *values, uint64_t seed);

/* lab_operands_fill() fills all operands of the problem of @values. */
void lab_operands_fill(lab_values *values, lab_operands_kind kind, uint64_t seed);

#endif /* LAB_OPERANDS_H */
