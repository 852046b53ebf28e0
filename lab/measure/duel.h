/*
 * duel.h - two sides measured in turns until it is clear which one is faster
 *
 * The sides take turns in one process or device, a block of calls each. Which of them begins a pair
 * of blocks is drawn at random: so drifts fall on both alike, and nothing that happens at regular
 * intervals can keep step with one side. More than that, of two sides that are the same either one
 * is as likely to have the better block of a pair, independently of all other pairs, whatever the
 * machine does: all that an exact interval needs (paired.h) is there by construction. (A fixed
 * order, A B B A A B B A ..., gave 1.5 % false verdicts in place of 1 % on recorded noise, from 12
 * pairs.) Blocks are run until the verdict is clear or the time is spent; compare.h says what is
 * made of them, and why stopping early is no cheating.
 *
 * How fast a kernel is depends by a percent or two on where its memory happens to lie, and by far
 * more on the CPU that its process happens to be on, beside others. Such luck is the same for all
 * blocks, and no interval can know of it; so each side is renewed for every stretch (T. Mytkowicz
 * et al., "Producing wrong data without doing anything obviously wrong", 2009), and then the
 * interval covers that luck as well. Two processes that were not gave 4.9 % false verdicts in place
 * of 1 %.
 *
 * A winner is measured again before it counts, with another seed: the best of many that were tried
 * owes some of it to luck (champion.h).
 */
#ifndef LAB_DUEL_H
#define LAB_DUEL_H

#include "compare.h"

/* A side: fn(data, &seconds) runs one block and writes its seconds per call. Any status other than
 * HEED_OK ends the duel. renew(data, common, own), which may be NULL, is called before each
 * stretch, of the two sides in an order that is drawn: makes anew what may last longer than a
 * stretch and be of one side alone, a process, its CPU, a place in memory. Choices by @common
 * are the same for both sides, as they are given the same number; @own is another one for each. */
typedef heed_status lab_block_fn(void *data, double *seconds);
typedef heed_status lab_renew_fn(void *data, uint64_t common, uint64_t own);

typedef struct lab_side {
    lab_block_fn *fn;
    lab_renew_fn *renew;
    void *data;
} lab_side;

/* How to measure. Zero in a field means its default. */
typedef struct lab_duel_options {
    lab_rules rules;  /* with LAB_DUEL_LOOKS looks by default; with one look all the time is spent,
                         however clear it is */
    double seconds;   /* to spend, about; default 1 */
    double round;     /* seconds that a pair of blocks takes, beside which renewing is nothing;
                         default: a few are run to see, each after both were renewed, and are
                         not used */
    size_t pairs_min; /* take this many even if it takes longer; default: twice as many stretches as
                         a verdict by the rules takes, 16 for a single shape, within overtime */
    size_t pairs_max; /* default LAB_PAIRS_MAX, the most there may be */
    uint64_t seed;    /* of the order and the places */
} lab_duel_options;

#define LAB_DUEL_SECONDS 1.0

/* For the pairs that a verdict takes a duel goes on past its time, up to the larger of these: so
 * many seconds, or times its own. */
#define LAB_DUEL_OVERTIME_SECONDS 60.0
#define LAB_DUEL_OVERTIME 10.0
#define LAB_DUEL_LOOKS 5

/* A duel, running or over. */
typedef struct lab_duel {
    double *a; /* seconds per call of the blocks, pairs of them */
    double *b;
    size_t pairs;
    size_t planned;
    bool ended;     /* by the clock */
    double seconds; /* that it took */
    lab_comparison comparison;
} lab_duel;

/* lab_duel_run() lets @a and @b take turns, and judges. Returns HEED_OK, the status of the block
 * that failed, HEED_ERR_INVALID for bad options, HEED_ERR_NO_MEMORY. On failure the complete pairs
 * are there, not judged. Free with lab_duel_free() in either case. */
heed_status lab_duel_run(lab_duel *duel, const lab_side *a, const lab_side *b,
                         const lab_duel_options *options);
void lab_duel_free(lab_duel *duel);

/* lab_duel_series() returns the pairs, as lab_compare() takes them. */
lab_series lab_duel_series(const lab_duel *duel);

/* lab_interleave_second() says which side takes block number @block, counted from 0: false for A,
 * true for B. Blocks 2 i and 2 i + 1 are pair i. */
bool lab_interleave_second(uint64_t seed, size_t block);

#endif /* LAB_DUEL_H */
