/*
 * mixture.h - lengths of sequences as a server has them, to time kernels with
 *
 * From one part in a hundred of the longest up to that, evenly on a logarithmic scale, bent as it
 * takes so that all together have as many tokens as are packed, or as fill a pool of pages that is
 * too small for sequences that are all the longest. So the problem says how much work it is, and
 * the seed which sequence is how long, nothing else.
 */
#ifndef LAB_MIXTURE_H
#define LAB_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/tensor/view.h"

typedef struct lab_mixture {
    int64_t count;  /* sequences */
    int64_t fewest; /* tokens of one */
    int64_t most;
    int64_t total; /* tokens of all; negative: any number */
} lab_mixture;

/* lab_mixture_of_keys() returns what @problem, normalized, says of its lengths, the operand, and
 * lab_mixture_of_packed() of its packed sequences: of queries, or of keys. */
lab_mixture lab_mixture_of_keys(const heed_problem *problem);
lab_mixture lab_mixture_of_packed(const heed_problem *problem, bool queries);

/* lab_mixture_fills_pool() says whether the total of @problem's lengths is that of its pool. Then
 * each page of the pool can have keys of one sequence. */
bool lab_mixture_fills_pool(const heed_problem *problem);

/* lab_mixture_draw() writes the length of sequence b to the element b * @stride of @data, of type
 * @kind, i32 or i64. */
void lab_mixture_draw(const lab_mixture *lengths, uint64_t seed, heed_data kind, void *data,
                      int64_t stride);

#endif /* LAB_MIXTURE_H */
