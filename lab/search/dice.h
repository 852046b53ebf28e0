/*
 * dice.h - a stream of random numbers whose whole state is two integers, so that it can be kept
 */
#ifndef LAB_DICE_H
#define LAB_DICE_H

#include <stdint.h>

#include "lab/tensor/random.h"

typedef struct lab_dice {
    uint64_t seed;
    uint64_t thrown;
} lab_dice;

/* lab_dice_below() returns an integer in 0 .. @limit - 1; @limit is 1 or more. */
static inline int64_t lab_dice_below(lab_dice *dice, int64_t limit)
{
    return lab_random_below(dice->seed, dice->thrown++, limit);
}

/* lab_dice_real() returns a number in [0, 1). */
static inline double lab_dice_real(lab_dice *dice)
{
    return (double)(lab_random_bits(dice->seed, dice->thrown++) >> 11) * 0x1p-53;
}

#endif /* LAB_DICE_H */
