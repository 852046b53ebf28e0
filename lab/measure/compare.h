/*
 * compare.h - is this faster than that? An answer with an interval
 *
 * Method. The two sides take turns in one run (duel.h), a block of calls each, and neighbouring
 * blocks form pairs. Each block gives one number, its seconds per call; each pair one, the
 * logarithm of its ratio, in which a drift of the machine cancels. Neighbouring pairs may have more
 * in common, a disturbance that lasts, and above all what a placement in memory is worth: so they
 * are put together by stretches, and a stretch is one number, the median of means of its pairs.
 * Stretches are the independent units that paired.h makes an interval of. The ratio
 * is time of B over time of A: above 1, A is the faster one.
 *
 * The verdict compares the interval with what counts as a difference, as in a test of equivalence
 * with two one-sided tests, where g is the gain and m the margin:
 *
 *     FASTER      the whole interval lies above 1 + g
 *     SLOWER      the whole interval lies below 1 / (1 + m)
 *     EQUIVALENT  the whole interval lies within them
 *     AMBIGUOUS   it crosses a bound: take more blocks, or accept that it cannot be told
 *
 * So a difference smaller than the margin is never called one, however many blocks there are, and
 * noise gives AMBIGUOUS, not a verdict by luck. Two numbers from different runs have no pairs and
 * are not compared.
 *
 * The data may be looked at while they grow, at moments fixed beforehand, and the verdict is that
 * of the first look that has one. The intervals of the looks are wider for it (spending.h): all of
 * them together hold the true ratio with the confidence that is asked for, so the one that is
 * printed is honest, whenever it was stopped and why.
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

/* The rules: the margin of a difference, the confidence, the number of looks. Zero means the
 * default. */
typedef struct lab_rules {
    double margin;     /* smaller differences do not count; up to 1, default 1 % */
    double gain;       /* how much faster is FASTER; default as margin */
    double confidence; /* of both ends of all the looks' intervals together; default 99 % */
    size_t looks;      /* up to LAB_LOOKS_MAX; default 1 */
} lab_rules;

#define LAB_COMPARE_MARGIN 0.01
#define LAB_COMPARE_CONFIDENCE 0.99

/* With fewer pairs than this the interval has no ends at the usual confidence, and the verdict is
 * AMBIGUOUS. */
#define LAB_COMPARE_PAIRS_MIN 8

/* Pairs of block times, a[i] beside b[i], positive, in the same unit, in the order they were taken
 * in. */
typedef struct lab_series {
    const double *a;
    const double *b;
    size_t pairs;   /* measured so far */
    size_t planned; /* at the end, up to LAB_PAIRS_MAX: looks are at shares of
                       it. 0: as many as there are. */
    bool ended;     /* there will be no more: time ran out */
} lab_series;

enum {
    LAB_PAIRS_MAX = 3072
};

/* lab_stretch_pairs() returns how many pairs make a stretch if @planned pairs are to be taken: 1 if
 * they are few, else an even number, and 16 to 48 stretches in all. */
size_t lab_stretch_pairs(size_t planned);

/* lab_look_pairs() returns with how many pairs look number @look of @looks, counted from 0, is
 * taken: always a whole number of stretches. Two looks may be the same. */
size_t lab_look_pairs(size_t planned, size_t looks, size_t look);

/* Why there is a verdict now. */
typedef enum lab_stop {
    LAB_STOP_NOT = 0, /* not yet: it is AMBIGUOUS, and more pairs are to come */
    LAB_STOP_CLEAR,   /* the verdict is clear */
    LAB_STOP_PAIRS,   /* all pairs that were planned are there, and it is AMBIGUOUS */
    LAB_STOP_TIME     /* time ran out before that */
} lab_stop;

typedef struct lab_comparison {
    lab_interval ratio; /* time of B over time of A; without ends: from 0 to infinity */
    lab_compared verdict;
    lab_stop stop;
    size_t pairs;  /* that the verdict was made from; there may be more */
    size_t looks;  /* that were taken */
    size_t merged; /* neighbouring stretches that count as one, as they were too much alike */
    double margin;
    double gain;
    double confidence; /* that the interval has */
    double noise;      /* of one pair: its standard deviation as a share, outliers aside */
} lab_comparison;

/* lab_compare() judges @series by @rules (NULL: all defaults). While pairs are still being taken it
 * may be called as often as one likes: only those looks count that were due. Returns HEED_OK;
 * HEED_ERR_INVALID for no pairs, too many, times that are not positive, or a rule out of range. */
heed_status lab_compare(const lab_series *series, const lab_rules *rules,
                        lab_comparison *comparison);

/* lab_interval_follows() says whether lab_compare() can have made @ratio from all pairs of @series,
 * with LAB_COMPARE_CONFIDENCE or more, however many pairs were planned and looks taken: with the
 * estimate of stretches of some length, and an interval that is not narrower than theirs at a
 * single look. Numbers of nine digits are allowed for. */
bool lab_interval_follows(const lab_series *series, const lab_interval *ratio);

#endif /* LAB_COMPARE_H */
