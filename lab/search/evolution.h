/*
 * evolution.h - the strategy "evolution": islands of points that are mutated, crossed, and replaced
 * by better ones
 *
 *     evolution = lab_evolution_create(&space, seed, &calls, starts, count);
 *     const lab_search_options search = { .strategy = "evolution", .evolution = evolution, ... };
 *     lab_search_run(&search, &space, &evaluator, &search, &error);
 *     ... lab_evolution_champion(evolution) ...
 *
 *     parents (an elite, or the winner of a tournament) -> child, by moves that the guide prefers
 * -> evaluation -> a place on the island, if it is better than the worst -> champion, if the
 *     caller's rule says so
 *
 * A point that is refused or pruned counts as a failed child: the moves that made it become less
 * likely. If the caller provides no evolution, the strategy creates one.
 */
#ifndef LAB_EVOLUTION_H
#define LAB_EVOLUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/search/guide.h"
#include "lab/search/search.h"

/* One point that was tried or will be. */
typedef struct lab_individual {
    int64_t id;         /* from 1 */
    int64_t point;      /* its number in the space */
    int64_t parents[2]; /* 0: none */
    int64_t parent_points[2];
    lab_move moves[4]; /* the moves that made it from the first parent */
    int move_count;
    double score;      /* as in its lab_try */
    unsigned findings; /* its limits: see guide.h */
} lab_individual;

/* Callbacks. Each may be NULL; a status other than HEED_OK ends the search, and the child is
 * discarded. */
typedef struct lab_evolution_calls {
    void *data;

    /* Called before @child, and those in its batch, are evaluated; and afterwards, for its
     * findings. */
    void (*bred)(void *data, const lab_individual *child);
    unsigned (*findings)(void *data, const lab_individual *child);

    /* Decides whether @challenger, whose score is better, replaces @champion. This function must
     * measure both again. NULL: it does if it is 3 % faster. */
    heed_status (*succeeds)(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes);

    /* Called after every child, with the champion so far (NULL: none). */
    heed_status (*born)(void *data, const lab_individual *child, const lab_individual *champion);
} lab_evolution_calls;

#define LAB_ISLANDS 3
#define LAB_EVOLUTION_STARTS 64 /* at most */

/* lab_evolution_create() begins with the points @starts, and fills up islands at random. @space
 * must outlive it; @calls may be NULL. Returns NULL if there is no memory. */
lab_evolution *lab_evolution_create(const lab_space *space, uint64_t seed,
                                    const lab_evolution_calls *calls, const int64_t *starts,
                                    size_t count);
void lab_evolution_destroy(lab_evolution *evolution);

/* lab_evolution_tell() adds @findings, from facts found after its evaluation, to the individual @id
 * on any island. They guide the breeding of its children from now on. */
void lab_evolution_tell(lab_evolution *evolution, int64_t id, unsigned findings);

/* The state of an evolution. Pointers are valid until the next child. */
const lab_individual *lab_evolution_champion(const lab_evolution *evolution); /* NULL: none yet */
int64_t lab_evolution_children(const lab_evolution *evolution);

/* lab_evolution_member() returns the @place-th best individual of an island, or NULL past the last.
 */
const lab_individual *lab_evolution_member(const lab_evolution *evolution, int island, int place);

#endif /* LAB_EVOLUTION_H */
