/*
 * noise.h - recorded block times, and runs made from them in which the truth is known
 *
 * tests/data/noise-*.txt hold times of blocks in the order they were taken in, four a line. A run
 * that is made from them strings together pieces of the recording, which keep what neighbours have
 * in common, and gives the blocks to two sides as a duel would. It is one kernel all the time, so
 * the sides are the same, but for the factor that is planted.
 */
#ifndef NOISE_H
#define NOISE_H

#include <stddef.h>
#include <stdint.h>

typedef struct noise {
    size_t blocks;
    double seconds[1024];
} noise;

/* noise_names: the recordings, NOISE_COUNT of them. The last one is of a machine so disturbed that
 * nothing can be told. */
enum {
    NOISE_COUNT = 9
};
extern const char *const noise_names[NOISE_COUNT];

/* noise_read() reads recording number @index; fails the test if it cannot. */
void noise_read(noise *recording, size_t index);

/* noise_draw() makes run number @seed: @pairs pairs, in which B takes @factor times as long. */
void noise_draw(const noise *recording, uint64_t seed, size_t pairs, double factor, double *a,
                double *b);

#endif /* NOISE_H */
