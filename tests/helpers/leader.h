/*
 * leader.h - a user's source as the leader of a board
 */
#ifndef LEADER_H
#define LEADER_H

/* leader_source() puts the C candidate @name of tests/data/trial on the board board.db of the
 * test's folder (scratch.h), for @spec on this CPU with one thread, as if it had taken @seconds,
 * and promotes it. */
void leader_source(void **state, const char *name, const char *spec, double seconds);

#endif /* LEADER_H */
