/*
 * champion.h - does the challenger replace the champion?
 *
 * It does if it is FASTER, by the gain that was asked for, on enough shapes, and SLOWER on none;
 * and if all that holds again on fresh samples. The best of many candidates owes part of its first
 * figures to luck: with 1 % noise the best of 90 equal ones looks 2.5 % fast. Its second figures
 * owe nothing to having been chosen.
 */
#ifndef LAB_CHAMPION_H
#define LAB_CHAMPION_H

#include "compare.h"

#define LAB_CHAMPION_GAIN 0.03
#define LAB_CHAMPION_WINS 2

typedef enum lab_succession {
    LAB_KEEP_CHAMPION = 0,
    LAB_MEASURE_AGAIN, /* it won the first time: now the fresh samples */
    LAB_NEW_CHAMPION
} lab_succession;

/* The decision with what it follows from. */
typedef struct lab_decision {
    lab_succession succession;
    size_t wins;     /* shapes on which it is FASTER by the gain; of the round that decided */
    size_t losses;   /* shapes on which it is SLOWER */
    size_t slowest;  /* number of the shape with the smallest ratio */
    bool fresh;      /* was it the second round that decided? */
    char reason[96]; /* in words */
} lab_decision;

/* lab_champion_decide() decides about a challenger, side A, and the champion, side B, from
 * comparisons over @count shapes: @first, and on fresh samples of the same shapes @again, or NULL
 * while there are none. It wants @wins shapes (0: LAB_CHAMPION_WINS) on which it is FASTER and the
 * whole interval lies above 1 + @gain (0: LAB_CHAMPION_GAIN); so let the duels have that gain for
 * theirs, or they stop too early. The verdicts should be those of a family (family.h). */
lab_decision lab_champion_decide(const lab_comparison *first, const lab_comparison *again,
                                 size_t count, double gain, size_t wins);

#endif /* LAB_CHAMPION_H */
