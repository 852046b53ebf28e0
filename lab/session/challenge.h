/*
 * challenge.h - challenges to the leaders of some problems, with the decision on the board
 *
 * The first times of a challenger, the best of many, are partly luck. So it is timed in turns with
 * the leader of each problem, and if it wins again on fresh samples (champion.h). Then it must pass
 * all gates. Both rounds are recorded on the board, the decision last, where a resumed run finds
 * it.
 */
#ifndef LAB_CHALLENGE_H
#define LAB_CHALLENGE_H

#include "measure/champion.h"
#include "session/session.h"

typedef struct lab_challenge {
    const lab_session *session;
    size_t count;   /* of the problems, at most LAB_SEARCH_SHAPES */
    size_t wins;    /* needed; 0: LAB_CHAMPION_WINS */
    double seconds; /* of each comparison */
    uint64_t seed;
    bool proved; /* it has passed all gates, so it may be ranked even if it does not win */
    void *data;  /* of trial(), leader() and play() */
    void *judge; /* of gates() and won() */

    /* A trial of the challenger in round number @round, without its outcome; and the name of its
     * opponent, the leader. */
    lab_record_trial (*trial)(void *data, size_t index, int round);
    const char *(*leader)(void *data, size_t index);

    /* Runs a duel of the two: lab_duel_run() with the challenger as A. */
    heed_status (*play)(void *data, size_t index, const lab_duel_options *options, lab_duel *duel);

    /* Sets *@yes, which is true, to false if the challenger fails a gate, and *@asked, which is
     * false, to true if the gates were run. NULL: no gates. */
    heed_status (*gates)(void *judge, bool *yes, bool *asked);

    /* Called for each problem of a won challenge, with the comparison on fresh samples and its
     * trial. May be NULL. */
    heed_status (*won)(void *judge, size_t index, const lab_comparison *fresh, int64_t trial,
                       const char *reason);
} lab_challenge;

typedef struct lab_challenge_result {
    bool won;
    bool known;      /* it was decided before: no reason is set */
    bool refuted;    /* it won, and then failed a gate */
    char reason[96]; /* as text */
} lab_challenge_result;

/* lab_challenge_run() holds the challenge, or takes its decision from the board. Returns HEED_OK,
 * the status of a callback, or that of the board, with @error. */
heed_status lab_challenge_run(const lab_challenge *it, lab_challenge_result *result,
                              lab_error *error);

#endif /* LAB_CHALLENGE_H */
