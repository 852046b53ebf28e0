/*
 * half.h - where sums in half precision may overflow
 */
#ifndef LAB_HALF_H
#define LAB_HALF_H

#include <stdbool.h>

#include "heed.h"
#include "lab/verify/reference.h"

/* lab_half_overflows() says whether a kernel that accumulates both matrix products of @problem in
 * half precision may overflow on @row: terms of one sum can add up to more than 65504. @weights is
 * the softmax, as lab_reference_row() writes it. */
bool lab_half_overflows(const heed_problem *problem, const heed_buffers *data, lab_row row,
                        const double *weights);

#endif /* LAB_HALF_H */
