/*
 * champion.h - decides whether a challenger replaces a champion
 *
 * It does if it is FASTER, by the required gain, on enough shapes and SLOWER on none, and again so
 * on fresh samples. The first figures of the best of many candidates are partly luck: with 1 %
 * noise the best of 90 equal ones looks 2.5 % faster. Its second figures are free of that selection
 * bias.
 *
 *     lab_bout bouts[COUNT] = { 0 };
 *     lab_contest contest = { .bouts = bouts, .count = COUNT, .play = play, .data = &data };
 *     for (int round = 0; round < LAB_ROUNDS && lab_contest_players(&contest, round); round++)
 *         status = lab_contest_round(&contest, round, &options);
 *     ... lab_bout_won(&bouts[i]), bouts[i].decision.reason ...
 */
#ifndef LAB_CHAMPION_H
#define LAB_CHAMPION_H

#include "duel.h"

#define LAB_CHAMPION_GAIN 0.03
#define LAB_CHAMPION_WINS 2
#define LAB_ROUNDS 2

/* The decision and its reasons. */
typedef struct lab_decision {
    bool ahead;      /* the challenger won all rounds so far */
    size_t wins;     /* shapes on which it is FASTER by the gain; in the deciding round */
    size_t losses;   /* shapes on which it is SLOWER */
    bool fresh;      /* the second round decided */
    char reason[96]; /* as text */
} lab_decision;

/* The challenger, side A, and a champion, side B, on one shape. */
typedef struct lab_bout {
    const lab_duel *duels[LAB_ROUNDS]; /* made and owned by play() */
    lab_comparison compared[LAB_ROUNDS];
    int rounds;            /* rounds judged */
    bool out;              /* it has dropped out: there was no duel */
    lab_decision decision; /* after the last round */
} lab_bout;

/* lab_bout_won() returns true if both rounds are over and the challenger won them. */
bool lab_bout_won(const lab_bout *bout);

/* lab_champion_decide() decides from the @rounds rounds of @count shapes: a challenger needs @wins
 * shapes (0: LAB_CHAMPION_WINS) on which it is FASTER with the whole interval above 1 + @gain (0:
 * LAB_CHAMPION_GAIN). */
lab_decision lab_champion_decide(const lab_bout *bouts, size_t count, int rounds, double gain,
                                 size_t wins);

/* A contest over shapes that need not be in memory at the same time. play() runs a duel on shape
 * number @index, with options that have the rules of a family (family.h) and a separate seed, which
 * it may change. If it leaves *@duel NULL, the bout is out. */
typedef struct lab_contest {
    lab_bout *bouts;
    size_t count;
    bool each;   /* a champion and a decision for each shape; else one for all */
    size_t wins; /* needed; 0: LAB_CHAMPION_WINS */
    heed_status (*play)(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel);
    void *data;
} lab_contest;

/* lab_contest_players() returns the number of bouts in round number @round. */
size_t lab_contest_players(const lab_contest *contest, int round);

/* lab_contest_round() plays a round with the seconds and seed of @options, judges its bouts
 * together, and decides. Returns HEED_OK, the status of play(), or as lab_compare() does. */
heed_status lab_contest_round(lab_contest *contest, int round, const lab_duel_options *options);

#endif /* LAB_CHAMPION_H */
