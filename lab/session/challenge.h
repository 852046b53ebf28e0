/*
 * challenge.h - a challenger meets the leaders of some problems, and the board keeps the decision
 *
 * The first times of a challenger were luck in part, being the best of many. So it meets the leader
 * of each problem in turns, and if it wins once more on fresh samples (champion.h), and then it has
 * to pass all gates. Both rounds are put on the board, the decision last: a run that goes on finds
 * it there.
 */
#ifndef LAB_CHALLENGE_H
#define LAB_CHALLENGE_H

#include "measure/champion.h"
#include "session/session.h"

typedef struct lab_challenge {
    const lab_session *session;
    size_t count;   /* of the problems, LAB_SEARCH_SHAPES at most */
    size_t wins;    /* that are needed; 0: LAB_CHAMPION_WINS */
    double seconds; /* of each comparison */
    uint64_t seed;
    bool proved; /* it passed all gates before, so that also those may be ranked who do not win */
    void *data;  /* of trial(), leader() and play() */
    void *judge; /* of gates() and won() */

    /* A trial of the challenger in round number @round, without what comes of it; and the name of
     * the leader that it meets. */
    lab_record_trial (*trial)(void *data, size_t index, int round);
    const char *(*leader)(void *data, size_t index);

    /* Lets the two take turns: lab_duel_run() with the challenger as A. */
    heed_status (*play)(void *data, size_t index, const lab_duel_options *options, lab_duel *duel);

    /* *@yes is true; becomes false if a gate refuses the challenger. *@asked is false; becomes true
     * if the gates were asked. NULL: they are not. */
    heed_status (*gates)(void *judge, bool *yes, bool *asked);

    /* Told of each problem of a challenge that was won, with what came of it on fresh samples, and
     * the trial that is. May be NULL. */
    heed_status (*won)(void *judge, size_t index, const lab_comparison *fresh, int64_t trial,
                       const char *reason);
} lab_challenge;

typedef struct lab_challenge_result {
    bool won;
    bool known;      /* it was decided before: there is no reason */
    bool refuted;    /* it won, and a gate refused it */
    char reason[96]; /* in words */
} lab_challenge_result;

/* lab_challenge_run() decides, or finds on the board what was decided. Returns HEED_OK, what the
 * functions returned, or what the board did, with @error. */
heed_status lab_challenge_run(const lab_challenge *it, lab_challenge_result *result,
                              lab_error *error);

#endif /* LAB_CHALLENGE_H */
