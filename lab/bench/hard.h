/*
 * hard.h - hard values at a drawn place, for kernels that are quick on tame values alone
 *
 * A kernel may be careful while it goes through the gates and careless when it is timed: no
 * maximum, limits on logits and outputs, light keys left out, NaN made zero. The values of timed
 * calls are tame, and would not show that. So some calls of each block, which are drawn, have one
 * key, or one query, that is not, at a place that is drawn too. Nothing tells them from the others
 * but that key itself.
 */
#ifndef LAB_BENCH_HARD_H
#define LAB_BENCH_HARD_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "tensor/view.h"

typedef struct lab_bench_hard {
    const char *what; /* is in the tensors; NULL: nothing is */
    int64_t row;      /* its answer is another one without it */
    int64_t odd;      /* so many elements of O at most are not finite */
} lab_bench_hard;

/* lab_bench_hard_put() changes elements of Q, K or V of @data, which belong to @problem,
 * normalized: @turn chooses the change, so that every change comes up in turn, and @lot the place.
 * @operands has its page table and its cumulative lengths, if it has any. */
lab_bench_hard lab_bench_hard_put(const heed_problem *problem, void *const data[LAB_VECTORS],
                                  const heed_buffers *operands, uint64_t turn, uint64_t lot);

#endif /* LAB_BENCH_HARD_H */
