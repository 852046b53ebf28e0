/*
 * duel.h - measures two sides in turns until it is clear which one is faster
 *
 * The sides take turns in one process or device, a block of calls each. The first side of each pair
 * of blocks is chosen at random, so drift affects both alike, and no periodic disturbance can
 * synchronize with one side. Moreover, if the sides are equal, each is equally likely to have the
 * better block of a pair, independently of all other pairs, whatever the machine does: the
 * assumptions of the exact interval (paired.h) hold by construction. (A fixed order, A B B A A B B
 * A ..., gave 1.5 % false verdicts instead of 1 % on recorded noise, from 12 pairs.) Blocks are run
 * until the verdict is clear or the time is over; compare.h has the statistics, and why early
 * stopping is valid.
 *
 * The speed of a kernel depends by a percent or two on the placement of its memory, and by far more
 * on the CPU that its process runs on, and its neighbours. Such luck is the same for all blocks, so
 * no interval could cover it. Therefore each side is renewed for every stretch (T. Mytkowicz et
 * al., "Producing wrong data without doing anything obviously wrong", 2009), and the interval then
 * covers that luck as well. Two processes without renewal gave 4.9 % false verdicts instead of 1 %.
 *
 * A winner must be measured again, with another seed, before it counts: the best of many attempts
 * is partly luck (champion.h).
 */
#ifndef LAB_DUEL_H
#define LAB_DUEL_H

#include "compare.h"

/* A side: fn(data, &seconds) runs one block and writes its seconds per call. Any status other than
 * HEED_OK ends the duel. renew(data, common, own), which may be NULL, is called before each
 * stretch, for both sides in random order. It recreates state that would outlast a stretch and
 * affect only one side: a process, its CPU, a place in memory. @common is a random number for
 * choices that both sides share; @own differs between them. */
typedef heed_status lab_block_fn(void *data, double *seconds);
typedef heed_status lab_renew_fn(void *data, uint64_t common, uint64_t own);

typedef struct lab_side {
    lab_block_fn *fn;
    lab_renew_fn *renew;
    void *data;
} lab_side;

/* How to measure. Zero in a field means its default. */
typedef struct lab_duel_options {
    lab_rules rules; /* with LAB_DUEL_LOOKS looks by default; with one look the full time is used,
                        however clear the result */
    double seconds;  /* approximate time to spend; default 1 */
    double round; /* seconds of a pair of blocks, if renewal is negligible; default: measured with a
                     few extra pairs, each after a renewal */
    size_t pairs_min; /* minimum even if it takes longer; default: twice the stretches needed for a
                         verdict by the rules, 16 for a single shape, within overtime */
    size_t pairs_max; /* default LAB_PAIRS_MAX, the maximum */
    uint64_t seed;    /* for the order and placements */
} lab_duel_options;

#define LAB_DUEL_SECONDS 1.0

/* To reach the pairs needed for a verdict, a duel may exceed its time, up to the larger of these:
 * this many seconds, or this multiple of its time. */
#define LAB_DUEL_OVERTIME_SECONDS 60.0
#define LAB_DUEL_OVERTIME 10.0
#define LAB_DUEL_LOOKS 5

/* A duel, running or over. */
typedef struct lab_duel {
    double *a; /* seconds per call of each block; pairs of them */
    double *b;
    size_t pairs;
    size_t planned;
    bool ended;     /* time ran out */
    double seconds; /* time taken */
    lab_comparison comparison;
} lab_duel;

/* lab_duel_run() runs blocks of @a and @b in turns, and judges. Returns HEED_OK, the status of a
 * failed block, HEED_ERR_INVALID for bad options, HEED_ERR_NO_MEMORY. On failure the complete pairs
 * are available but not judged. Free with lab_duel_free() in either case. */
heed_status lab_duel_run(lab_duel *duel, const lab_side *a, const lab_side *b,
                         const lab_duel_options *options);
void lab_duel_free(lab_duel *duel);

/* lab_duel_series() returns the pairs for lab_compare(). */
lab_series lab_duel_series(const lab_duel *duel);

/* lab_interleave_second() returns the side of block number @block, counted from 0: false for A,
 * true for B. Blocks 2 i and 2 i + 1 are pair i. */
bool lab_interleave_second(uint64_t seed, size_t block);

#endif /* LAB_DUEL_H */
