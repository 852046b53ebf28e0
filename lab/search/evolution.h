/*
 * evolution.h - the strategy "evolution": islands of points that are mutated, crossed, and replaced
 * by better ones
 *
 *     lab_evolution_create(&evolution, &space, &options, starts, count, &error);
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

/* Zero in a field means its default. */
typedef struct lab_evolution_options {
    uint64_t seed;
    int islands;       /* default 3 */
    int population;    /* per island; default 8 */
    int elites;        /* best members, which are parents half the time; default 2 */
    int migration;     /* children between two migrations; default 24 */
    double crossover;  /* share of children with two parents; default 0.3 */
    double immigrants; /* share of random points; default 0.05 */
    lab_evolution_calls calls;
} lab_evolution_options;

#define LAB_ISLANDS_MAX 16
#define LAB_POPULATION_MAX 64
#define LAB_EVOLUTION_STARTS 64 /* at most */

/* lab_evolution_create() begins with the points @starts, and fills up islands at random. @space
 * must outlive it. Returns HEED_OK; HEED_ERR_INVALID for bad options; HEED_ERR_NO_MEMORY. */
heed_status lab_evolution_create(lab_evolution **evolution, const lab_space *space,
                                 const lab_evolution_options *options, const int64_t *starts,
                                 size_t count, lab_error *error);
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
