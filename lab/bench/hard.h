/*
 * hard.h - hard values at random places, against kernels that are fast only on tame values
 *
 * A kernel may be careful in the gates and careless when it is timed: no maximum, clamped logits
 * and outputs, light keys skipped, NaN made zero. The values of timed calls are tame and would not
 * reveal that. So some random calls of each block have one key or query that is not tame, at a
 * random place. Only that key distinguishes them from the others.
 */
#ifndef LAB_BENCH_HARD_H
#define LAB_BENCH_HARD_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "tensor/view.h"

typedef struct lab_bench_hard {
    const char *what; /* the hard value; NULL: none */
    int64_t row;      /* a row whose result depends on it */
    int64_t odd;      /* maximum of non-finite elements of O */
} lab_bench_hard;

/* lab_bench_hard_put() changes elements of Q, K or V of @data, which belong to @problem,
 * normalized: @turn selects the change, in rotation, and @lot the place. @operands has the page
 * table and the cumulative lengths, if any. */
lab_bench_hard lab_bench_hard_put(const heed_problem *problem, void *const data[LAB_VECTORS],
                                  const heed_buffers *operands, uint64_t turn, uint64_t lot);

#endif /* LAB_BENCH_HARD_H */
