/*
 * hold.h - whether this system can sandbox a candidate, and a simulated one that cannot
 */
#ifndef HOLD_H
#define HOLD_H

#include <stdbool.h>

/* can_hold() returns whether candidates and compilers can be run here; can_hold_aloud() also
 * reports on stderr if they cannot. A program with only such tests is skipped then: it exits with
 * HOLD_SKIPPED. */
#define HOLD_SKIPPED 77
bool can_hold(void);
bool can_hold_aloud(void);

/* lose_landlock() makes this process behave as on a kernel without Landlock. Returns false if it
 * cannot. */
bool lose_landlock(void);

#endif /* HOLD_H */
