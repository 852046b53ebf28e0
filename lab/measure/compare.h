/*
 * compare.h - is this faster than that? An answer with an interval
 *
 * Method. The two sides take turns in one run, a block of calls each, in the order A B B A A B B A
 * ..., so that a drift of the machine falls on both alike, and neighbouring blocks form pairs. Each
 * block gives one number, its seconds per call. The ratio is median(B) / median(A) over the blocks:
 * above 1, A is the faster one. Its confidence interval is a bootstrap over pairs (stats.h). The
 * verdict compares the interval with the equivalence margin m, as in a test of equivalence with two
 * one-sided tests:
 *
 *     FASTER      the whole interval lies above 1 + m
 *     SLOWER      the whole interval lies below 1 / (1 + m)
 *     EQUIVALENT  the whole interval lies within them
 *     AMBIGUOUS   it crosses a bound: take more blocks, or accept that it cannot be told
 *
 * So a difference smaller than the margin is never called one, however many blocks there are, and
 * noise gives AMBIGUOUS, not a verdict by luck. Two numbers from different runs have no pairs and
 * are not compared.
 *
 * Sources: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power
 * approach for assessing the equivalence of average bioavailability" (1987); T. Kalibera and R.
 * Jones, "Rigorous benchmarking in reasonable time" (2013), for intervals on the ratio of times.
 */
#ifndef LAB_COMPARE_H
#define LAB_COMPARE_H

#include <stdbool.h>

#include "stats.h"

typedef enum lab_compared {
    LAB_AMBIGUOUS = 0,
    LAB_FASTER = 1, /* A is faster than B */
    LAB_SLOWER = 2,
    LAB_EQUIVALENT = 3
} lab_compared;

/* lab_compared_name() returns "FASTER", "SLOWER", "EQUIVALENT" or "AMBIGUOUS". */
const char *lab_compared_name(lab_compared verdict);

/* The margin that lab_compare() takes for 0: 1 %. */
#define LAB_COMPARE_MARGIN 0.01

/* With fewer pairs than this the verdict is always AMBIGUOUS: the bootstrap cannot tell the tails.
 */
#define LAB_COMPARE_PAIRS_MIN 5

typedef struct lab_comparison {
    lab_interval ratio; /* time of B over time of A */
    lab_compared verdict;
    double margin;
    size_t pairs;
} lab_comparison;

/* lab_compare() judges @pairs pairs of block times, a[i] beside b[i], positive, in the same unit.
 * @margin is the equivalence margin, 0 to 1, 0 meaning LAB_COMPARE_MARGIN. @options may be NULL.
 * Returns HEED_OK; HEED_ERR_INVALID for no pairs, a bad margin or bad options; HEED_ERR_NO_MEMORY.
 */
heed_status lab_compare(const double *a, const double *b, size_t pairs, double margin,
                        const lab_bootstrap *options, lab_comparison *comparison);

/* A side of a comparison: fn(data, &seconds) runs one block and writes its seconds per call. Any
 * status other than HEED_OK ends the interleaving. */
typedef heed_status lab_block_fn(void *data, double *seconds);

typedef struct lab_side {
    lab_block_fn *fn;
    void *data;
} lab_side;

/* How many pairs of blocks to take. */
typedef struct lab_interleaving {
    int64_t budget_ns; /* until this long has passed ... */
    size_t pairs_min;  /* ... but at least this many pairs ... */
    size_t pairs_max;  /* ... and at most this many, which is also the room in both arrays */
} lab_interleaving;

/* lab_interleave_second() says which side takes the block number @block, counted from 0: false for
 * A, true for B. */
bool lab_interleave_second(size_t block);

/* lab_interleave() runs blocks of @a and @b in turns and writes their seconds per call to
 * @a_seconds and @b_seconds, *@pairs each. Returns the status of the block that failed, or HEED_OK;
 * the pairs complete until then are there. */
heed_status lab_interleave(const lab_side *a, const lab_side *b, const lab_interleaving *plan,
                           double *a_seconds, double *b_seconds, size_t *pairs);

#endif /* LAB_COMPARE_H */
