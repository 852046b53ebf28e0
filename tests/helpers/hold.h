/*
 * hold.h - whether this system can hold a candidate, and one that cannot
 */
#ifndef HOLD_H
#define HOLD_H

#include <stdbool.h>

/* can_hold() says whether candidates and compilers can be run here; can_hold_aloud() also tells
 * stderr if they cannot. The tests of a program that has no others are skipped then: it exits with
 * HOLD_SKIPPED. */
#define HOLD_SKIPPED 77
bool can_hold(void);
bool can_hold_aloud(void);

/* lose_landlock() makes this process one of a kernel without Landlock. False if it cannot. */
bool lose_landlock(void);

#endif /* HOLD_H */
