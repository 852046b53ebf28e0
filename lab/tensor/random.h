/*
 * random.h - counter-based random numbers
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

#endif /* LAB_RANDOM_H */
