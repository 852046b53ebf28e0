/*
 * strategies.h - the strategy functions
 *
 * Each runs until it has nothing left to try or lab_search_try() returns no try. Points that are
 * pruned or fail are tries with an infinite score.
 */
#ifndef LAB_STRATEGIES_H
#define LAB_STRATEGIES_H

#include "lab/search/search.h"

heed_status lab_strategy_exhaustive(lab_search *search);
heed_status lab_strategy_random(lab_search *search);
heed_status lab_strategy_halving(lab_search *search);
heed_status lab_strategy_local(lab_search *search);
heed_status lab_strategy_model(lab_search *search);
heed_status lab_strategy_evolution(lab_search *search);

/* lab_shuffled_open() returns the open points in random order, which the caller frees; NULL if
 * there is no memory. *@count is their number. */
int64_t *lab_shuffled_open(lab_search *search, size_t *count);

#endif /* LAB_STRATEGIES_H */
