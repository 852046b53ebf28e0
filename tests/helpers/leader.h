/*
 * leader.h - a user's source as the leader of a board
 */
#ifndef LEADER_H
#define LEADER_H

/* leader_source() adds the C candidate @name of tests/data/trial to the board board.db in the
 * test's directory (scratch.h), for @spec on this CPU with one thread, with the time @seconds, and
 * promotes it. */
void leader_source(void **state, const char *name, const char *spec, double seconds);

#endif /* LEADER_H */
