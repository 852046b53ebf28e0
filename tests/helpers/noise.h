/*
 * noise.h - recorded block times, and runs made from them with a known difference
 *
 * tests/data/noise-*.txt hold times of blocks in the order in which they were taken, four per line.
 * A run that is made from them joins pieces of the recording, which keep correlations of
 * neighbours, and assigns the blocks to two sides like a duel. The recording is of a single kernel,
 * so the sides are equal except for the planted factor.
 */
#ifndef NOISE_H
#define NOISE_H

#include <stddef.h>
#include <stdint.h>

typedef struct noise {
    size_t blocks;
    double seconds[1024];
} noise;

/* noise_names: the recordings, NOISE_COUNT of them. The last one is from a machine so disturbed
 * that nothing is detectable. */
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
