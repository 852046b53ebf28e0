/*
 * strategies.h - the strategy functions, and the state of a search that they share
 *
 * Each runs until it has nothing left to try or lab_search_try() returns no try. Points that are
 * pruned or fail are tries with an infinite score.
 */
#ifndef LAB_STRATEGIES_H
#define LAB_STRATEGIES_H

#include "lab/search/search.h"

struct lab_search {
    const lab_space *space;
    const lab_evaluator *evaluator;
    lab_search_options options;
    lab_rng rng;
    int64_t *open; /* points that are not refused, by their numbers in the space, ascending */
    size_t open_count;
    lab_try *tries;
    size_t count;
    int64_t *place; /* by point: its try, counted from 1; 0: not tried; -1: not open */
    int64_t best;   /* as in place; 0: none */
    int64_t points, refused, launched, evaluations, pruned;
    int64_t end_ns; /* of the budget; 0: none */
    lab_search_end end;
};

/* lab_search_is_open() returns true if the point is open. */
bool lab_search_is_open(const lab_search *search, int64_t index);

/* lab_search_try() tries an open point on the first @shapes shapes, at least at @effort; known
 * times are reused. Returns HEED_OK with the try in *@result, which is valid until the next call,
 * or NULL once the search is to end; or the status of a failure. */
heed_status lab_search_try(lab_search *search, int64_t index, int shapes, int effort,
                           const lab_try **result);

/* lab_search_is_over() returns true if no other point may be launched, as the search is to end. */
bool lab_search_is_over(lab_search *search);

/* lab_search_trials_left() returns the number of points that may still be launched. */
int64_t lab_search_trials_left(const lab_search *search);

/* lab_search_announce() is evaluator->announce() for numbered points. */
void lab_search_announce(lab_search *search, const int64_t *indices, size_t count);

heed_status lab_strategy_exhaustive(lab_search *search);
heed_status lab_strategy_random(lab_search *search);
heed_status lab_strategy_halving(lab_search *search);
heed_status lab_strategy_local(lab_search *search);
heed_status lab_strategy_model(lab_search *search);
heed_status lab_strategy_evolution(lab_search *search);

/* lab_shuffled_open() returns the open points in random order, which the caller frees; NULL if
 * there is no memory. */
int64_t *lab_shuffled_open(lab_search *search);

#endif /* LAB_STRATEGIES_H */
