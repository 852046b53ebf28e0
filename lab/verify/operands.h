/*
 * operands.h - values of bias, slopes, sinks, starts, shown and arrays
 *
 * They are sensible whatever Q, K and V are: a bias of size 1; slopes that are powers of two, some
 * of them negative; sinks from -3 to 3; starts as of documents of random lengths, the last query of
 * which may see nothing; masks with rows that are empty, full and random; arrays of f32 normal, of
 * i32 numbers that can be an index of the others.
 */
#ifndef LAB_OPERANDS_H
#define LAB_OPERANDS_H

#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"
#include "lab/verify/stage/stage.h"

/* lab_operand_fill() fills the operand or array @role of @problem, normalized, at @data, where it
 * lies at the problem's strides. */
void lab_operand_fill(const heed_problem *problem, lab_role role, void *data, uint64_t seed);

/* lab_operand_fill_usual() does so with values as models and servers have them, to time kernels
 * with: slopes are not negative; starts are those of twelve documents cut at random, and an i32
 * array with a number for each position has the numbers of the same documents; lengths, and those
 * of packed sequences, are as lab/verify/mixture.h says. @seed is that of the problem: operands
 * that belong together are filled with the same one. */
void lab_operand_fill_usual(const heed_problem *problem, lab_role role, void *data, uint64_t seed);

/* How bias and slopes go with values of Q, K and V. */
typedef enum lab_operands_kind {
    LAB_OPERANDS_FINITE,
    LAB_OPERANDS_EXACT,    /* they are 0, and nothing is rotated */
    LAB_OPERANDS_INFINITE, /* some elements of the bias are -infinity */
    LAB_OPERANDS_POISONED  /* elements that are of hidden pairs alone are NaN */
} lab_operands_kind;

/* lab_operands_fill_sequences() fills the cumulative lengths alone, as lab_operands_fill() will. */
void lab_operands_fill_sequences(lab_values *values, uint64_t seed);

/* lab_operands_fill() fills those that the problem of @values has. */
void lab_operands_fill(lab_values *values, lab_operands_kind kind, uint64_t seed);

#endif /* LAB_OPERANDS_H */
