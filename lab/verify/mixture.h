/*
 * mixture.h - sequence lengths of a typical server workload, for timing kernels
 *
 * Lengths range from one hundredth of the longest to the longest, evenly spaced on a logarithmic
 * scale. The scale is bent so that the total is the number of packed tokens, or fills a pool of
 * pages that is too small if all sequences have the longest length. The problem alone determines
 * the amount of work; the seed only assigns the lengths to sequences.
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

/* lab_mixture_of_keys() returns the mixture for the operand lengths of @problem, normalized;
 * lab_mixture_of_packed() returns the one for its packed sequences of queries or of keys. */
lab_mixture lab_mixture_of_keys(const heed_problem *problem);
lab_mixture lab_mixture_of_packed(const heed_problem *problem, bool queries);

/* lab_fewest_keys() returns the fewest keys of a batch element: the prefix, and the keys after it.
 */
int64_t lab_fewest_keys(const heed_problem *problem);

/* lab_mixture_fills_pool() returns true if the lengths of @problem are chosen to fill its pool.
 * Then each page of the pool can belong to a single sequence. */
bool lab_mixture_fills_pool(const heed_problem *problem);

/* lab_mixture_draw() writes the length of sequence b to the element b * @stride of @data, of type
 * @kind, i32 or i64. */
void lab_mixture_draw(const lab_mixture *lengths, uint64_t seed, heed_data kind, void *data,
                      int64_t stride);

#endif /* LAB_MIXTURE_H */
