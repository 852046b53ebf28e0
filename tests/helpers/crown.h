/*
 * crown.h - a user's source as the leader of a board
 */
#ifndef CROWN_H
#define CROWN_H

/* crown_source() puts the C candidate @name of tests/data/trial on the board board.db of the test's
 * folder (scratch.h), for @spec on this CPU with one thread, as if it had taken @seconds, and gives
 * it the title. */
void crown_source(void **state, const char *name, const char *spec, double seconds);

#endif /* CROWN_H */
