/*
 * random.h - random numbers that can be had in any order
 *
 * Number @index of the stream @seed is a hash of the two (the finalizer of splitmix64), so that a
 * tensor can be filled in any order and in any layout, and one element of a failed run can be made
 * again alone. Not for secrets by itself: they begin with lab_random_secret().
 */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* lab_random_bits() returns 64 random bits: number @index of the stream @seed. */
uint64_t lab_random_bits(uint64_t seed, uint64_t index);

/* lab_random_stream() returns the seed of the @index-th stream that belongs to @seed, such as one
 * per tensor. */
uint64_t lab_random_stream(uint64_t seed, uint64_t index);

/* lab_random_below() returns an integer in 0 .. @limit - 1; @limit is 1 or more. */
int64_t lab_random_below(uint64_t seed, uint64_t index, int64_t limit);

/* lab_random_normal() returns a number of mean 0 and variance 1, the sum of four uniform ones:
 * nearly normal, never beyond 3.47. */
double lab_random_normal(uint64_t seed, uint64_t index);

/* lab_random_secret() writes @count words of the system's random source, which no process can
 * foresee or learn afterwards: for what a hostile kernel must not guess. False if the system has
 * none. lab_random_hidden() replaces *@seed by such a number, of 53 bits, so that JSON can keep it.
 */
bool lab_random_secret(uint64_t *words, size_t count);
bool lab_random_hidden(uint64_t *seed);

#endif /* LAB_RANDOM_H */
