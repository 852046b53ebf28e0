/*
 * compare.h - comparison of two kernels' times, with a confidence interval
 *
 * Method. The two sides take turns in one run (duel.h), a block of calls each, and adjacent blocks
 * form pairs. Each block gives one number, its seconds per call; each pair gives the logarithm of
 * their ratio, in which drift of the machine cancels. Adjacent pairs may still be correlated, by
 * lasting disturbances and above all by the effect of memory placement. So they are grouped in
 * stretches, and each stretch gives one number, the median of means of its pairs. Stretches are the
 * independent units for the interval of paired.h. The ratio is time of B over time of A: above 1, A
 * is faster.
 *
 * The verdict compares the interval with the smallest relevant difference, as in an equivalence
 * test by two one-sided tests, where g is the gain and m the margin:
 *
 *     FASTER      the whole interval is above 1 + g
 *     SLOWER      the whole interval is below 1 / (1 + m)
 *     EQUIVALENT  the whole interval is between these
 *     AMBIGUOUS   it crosses a bound: take more blocks, or accept that the answer is unknown
 *
 * So a difference smaller than the margin never counts, however many blocks there are, and noise
 * gives AMBIGUOUS rather than a random verdict. Two numbers from different runs have no pairs and
 * are not compared.
 *
 * The data may be judged while they grow, in looks at times fixed in advance; the first clear
 * verdict stands. The intervals of the looks are widened for this (spending.h): all of them
 * together contain the true ratio with the requested confidence, so the printed one is valid,
 * whenever and for whatever reason the comparison was stopped.
 *
 * Sources: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power
 * approach for assessing the equivalence of average bioavailability" (1987); T. Kalibera and R.
 * Jones, "Rigorous benchmarking in reasonable time" (2013), for units at the level where the
 * variation arises; paired.h and spending.h.
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

/* Rules of a comparison. Zero in a field means its default. */
typedef struct lab_rules {
    double margin;     /* smaller differences do not count; up to 1, default 1 % */
    double gain;       /* minimum difference for FASTER; default: margin */
    double confidence; /* of the intervals of all looks together, two-sided; default 99 % */
    size_t looks;      /* up to LAB_LOOKS_MAX; default 1 */
} lab_rules;

#define LAB_COMPARE_MARGIN 0.01
#define LAB_COMPARE_CONFIDENCE 0.99

/* With fewer pairs than this the interval has no ends at the usual confidence, and the verdict is
 * AMBIGUOUS. */
#define LAB_COMPARE_PAIRS_MIN 8

/* Pairs of block times, a[i] with b[i], positive, in the same unit, in the order in which they were
 * taken. */
typedef struct lab_series {
    const double *a;
    const double *b;
    size_t pairs;   /* measured so far */
    size_t planned; /* final number, up to LAB_PAIRS_MAX: looks are at fractions of it. 0: pairs. */
    bool ended;     /* no more will come: time ran out */
} lab_series;

enum {
    LAB_PAIRS_MAX = 3072
};

/* lab_stretch_pairs() returns the number of pairs in a stretch if @planned pairs are to be taken: 1
 * if they are few, else an even number that gives 16 to 48 stretches. */
size_t lab_stretch_pairs(size_t planned);

/* lab_look_pairs() returns the number of pairs at which look @look of @looks, counted from 0, is
 * taken: a whole number of stretches. Two looks may coincide. */
size_t lab_look_pairs(size_t planned, size_t looks, size_t look);

typedef struct lab_comparison {
    lab_interval ratio; /* time of B over time of A; unbounded: from 0 to infinity */
    lab_compared verdict;
    size_t pairs;  /* used for the verdict; there may be more */
    size_t looks;  /* taken */
    size_t merged; /* adjacent stretches merged into one unit because they were correlated */
    double margin;
    double confidence; /* of the interval */
    double noise;      /* of one pair: a robust standard deviation, as a share */
} lab_comparison;

/* lab_compare() judges @series by @rules (NULL: all defaults). While pairs are being taken it may
 * be called any number of times: only looks that are due count. Returns HEED_OK; HEED_ERR_INVALID
 * for no pairs, too many, times that are not positive, or a rule out of range. */
heed_status lab_compare(const lab_series *series, const lab_rules *rules,
                        lab_comparison *comparison);

/* lab_interval_follows() returns true if lab_compare() can have made @ratio from all pairs of
 * @series, with LAB_COMPARE_CONFIDENCE or more, for any number of planned pairs and looks: the
 * estimate must match stretches of some length, and the interval must not be narrower than theirs
 * with a single look. Allows for rounding to nine digits. */
bool lab_interval_follows(const lab_series *series, const lab_interval *ratio);

#endif /* LAB_COMPARE_H */
