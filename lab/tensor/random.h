/*
 * random.h - counter-based random numbers, and fresh values with the character of given ones
 *
 * Number @index of the stream @seed is a hash of the two (the finalizer of splitmix64), so a tensor
 * can be filled in any order and layout, and single elements of a failed run can be reproduced. Not
 * secret by itself: seed with lab_random_secret() for that.
 */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* lab_random_bits() returns 64 random bits: number @index of the stream @seed. */
uint64_t lab_random_bits(uint64_t seed, uint64_t index);

/* lab_random_stream() returns the seed of the @index-th stream derived from @seed, such as one per
 * tensor. */
uint64_t lab_random_stream(uint64_t seed, uint64_t index);

/* lab_random_below() returns an integer in 0 .. @limit - 1; @limit is 1 or more. */
int64_t lab_random_below(uint64_t seed, uint64_t index, int64_t limit);

/* lab_random_normal() returns a number of mean 0 and variance 1, the sum of four uniform ones:
 * nearly normal, at most 3.47 in magnitude. */
double lab_random_normal(uint64_t seed, uint64_t index);

/* lab_random_secret() writes @count words, at most 32, from the system's random source, which no
 * process can predict or recover: for values that a hostile kernel must not guess. Returns false if
 * the system has none. lab_random_hidden() replaces *@seed by such a number, of 53 bits to be exact
 * in JSON.
 */
bool lab_random_secret(uint64_t *words, size_t count);
bool lab_random_hidden(uint64_t *seed);

/* ---- Fresh values --------------------------------------------------------------------------- */

/* A timed kernel may have memorized the tensors of earlier calls. So each call gets different
 * values: signs and exponents are those of a given tensor, which preserves its character (large
 * values, masked values, heavy tails), and all other bits are random. The result for one such
 * tensor cannot be derived from that of another by permutation, scaling or table lookup. */
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

#endif /* LAB_RANDOM_H */
