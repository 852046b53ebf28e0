/*
 * softmax.h - exponentials of a row, vectorised by the compiler for each instruction set
 */
#ifndef PEER_SOFTMAX_H
#define PEER_SOFTMAX_H

#include <stdint.h>

/* Replaces the @count numbers of @row by 2^(number - largest) and returns their sum. @count is 1 or
 * more. */
typedef float softmax_row(float *row, int64_t count);

softmax_row softmax_row_base;
softmax_row softmax_row_avx2;
softmax_row softmax_row_avx512;

#endif /* PEER_SOFTMAX_H */
