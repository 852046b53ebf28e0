/*
 * leader.h - boards on which the gates were tried, or a user's source leads
 */
#ifndef LEADER_H
#define LEADER_H

/* LEADER_TRUST begins a line of the shell: it makes the file @board a copy of the board that
 * HEED_TEST_SELFTEST names, if it is set. That has a selftest, so `heed evolve` does not try all
 * gates, which takes a minute. */
#define LEADER_TRUST(board) \
    "[ -z \"$HEED_TEST_SELFTEST\" ] || cp \"$HEED_TEST_SELFTEST\" " board "; "

/* leader_source() adds the C candidate @name of tests/data/trial to the board board.db in the
 * test's directory (scratch.h), for @spec on this CPU with one thread, with the time @seconds, and
 * promotes it. */
void leader_source(void **state, const char *name, const char *spec, double seconds);

#endif /* LEADER_H */
