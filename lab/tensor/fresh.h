/*
 * fresh.h - fresh random values with the character of given ones
 *
 * A timed kernel may have memorized the tensors of earlier calls. So each call gets different
 * values: signs and exponents are those of a given tensor, which preserves its character (large
 * values, masked values, heavy tails), and all other bits are random. The result for one such
 * tensor cannot be derived from that of another by permutation, scaling or table lookup.
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

/* lab_fresh_begin() begins a stream of bits seeded by the system's random source; false if there is
 * none. An observer of the values can predict the sequence: begin again where that must not happen.
 */
bool lab_fresh_begin(lab_fresh *fresh);

/* lab_fresh_copy() writes @count fresh elements like those at @from to @to. Zeros, subnormals,
 * infinities and NaN are copied unchanged. */
void lab_fresh_copy(lab_fresh *fresh, heed_type type, const void *from, void *to, int64_t count);

#endif /* LAB_FRESH_H */
