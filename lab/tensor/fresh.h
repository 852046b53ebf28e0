/*
 * fresh.h - values as others are, but never seen before
 *
 * A kernel that is timed may have learnt the tensors of earlier calls. So each call gets values of
 * its own: signs and exponents are those of a tensor, which keep its character (what is large, what
 * is masked, how heavy a tail is), and every other bit is random. No permutation, scaling or table
 * makes the answer of one such tensor out of that of another.
 */
#ifndef LAB_FRESH_H
#define LAB_FRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

#define LAB_FRESH_LANES 16

typedef struct lab_fresh {
    uint32_t lane[LAB_FRESH_LANES];
} lab_fresh;

/* lab_fresh_begin() begins a stream of bits of the system's random source; false if there is none.
 * An observer of the values can continue the sequence: begin anew where that must not be. */
bool lab_fresh_begin(lab_fresh *fresh);

/* lab_fresh_copy() writes @count elements like those at @from to @to. Zeros, subnormal numbers,
 * infinities and NaN stay as they are. */
void lab_fresh_copy(lab_fresh *fresh, heed_type type, const void *from, void *to, int64_t count);

#endif /* LAB_FRESH_H */
