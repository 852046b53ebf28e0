/*
 * champion.h - does the challenger replace the champion?
 *
 * It does if it is FASTER, by the gain that was asked for, on enough shapes, and SLOWER on none;
 * and if all that holds again on fresh samples. The best of many candidates owes part of its first
 * figures to luck: with 1 % noise the best of 90 equal ones looks 2.5 % fast. Its second figures
 * owe nothing to having been chosen.
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

/* The decision with what it follows from. */
typedef struct lab_decision {
    bool ahead;      /* the challenger won all rounds so far */
    size_t wins;     /* shapes on which it is FASTER by the gain; of the round that decided */
    size_t losses;   /* shapes on which it is SLOWER */
    size_t slowest;  /* number of the shape with the smallest ratio */
    bool fresh;      /* was it the second round that decided? */
    char reason[96]; /* in words */
} lab_decision;

/* The challenger, side A, and a champion, side B, on one shape. */
typedef struct lab_bout {
    const lab_duel *duels[LAB_ROUNDS]; /* that play() made, which keeps them */
    lab_comparison compared[LAB_ROUNDS];
    int rounds;            /* that are judged */
    bool out;              /* it takes no further part: there was no duel */
    lab_decision decision; /* after the last of them */
} lab_bout;

/* lab_bout_won() says whether both rounds are over and the challenger won them. */
bool lab_bout_won(const lab_bout *bout);

/* lab_champion_decide() decides from the @rounds rounds that @count shapes have: a challenger wants
 * @wins shapes (0: LAB_CHAMPION_WINS) on which it is FASTER and the whole interval lies above
 * 1 + @gain (0: LAB_CHAMPION_GAIN). */
lab_decision lab_champion_decide(const lab_bout *bouts, size_t count, int rounds, double gain,
                                 size_t wins);

/* Shapes that are not in memory at the same time. play() lets the two take turns on shape number
 * @index, by rules that are those of a family (family.h), with a seed that is its own; it may
 * change either. Without a duel, *@duel stays NULL, the bout is out. */
typedef struct lab_contest {
    lab_bout *bouts;
    size_t count;
    bool each;   /* a champion for each shape, and a decision; else one for all */
    size_t wins; /* that are needed; 0: LAB_CHAMPION_WINS */
    heed_status (*play)(void *data, size_t index, int round, lab_duel_options options,
                        const lab_duel **duel);
    void *data;
} lab_contest;

/* lab_contest_players() returns how many bouts take part in round number @round. */
size_t lab_contest_players(const lab_contest *contest, int round);

/* lab_contest_round() plays a round, for which @options say seconds and seed, judges its bouts
 * together, and decides. Returns HEED_OK, what play() returned, or as lab_compare() does. */
heed_status lab_contest_round(lab_contest *contest, int round, const lab_duel_options *options);

#endif /* LAB_CHAMPION_H */
