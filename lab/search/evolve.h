/*
 * evolve.h - evolution: islands of kernels that are mutated, crossed, and replaced by better ones
 *
 *     parents (an elite, or the winner of a tournament) -> child, by moves that the guide prefers
 * -> evaluation -> a place on the island, if it is better than the worst -> champion, if the
 *     caller's rule says so
 *
 * A genome is a point of a space and one text for each marked region of a source. Everything that
 * happens follows from the seed and the answers, so an evolution that was interrupted is done again
 * with the answers that are known.
 */
#ifndef LAB_EVOLVE_H
#define LAB_EVOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/search/guide.h"
#include "lab/search/search.h"
#include "lab/search/source.h"

typedef struct lab_genome {
    lab_point point;
    int texts[LAB_SOURCE_REGIONS]; /* by region: the number of its text */
} lab_genome;

/* One kernel that was evaluated, or is to be. */
typedef struct lab_individual {
    int64_t id;         /* from 1 */
    int64_t parents[2]; /* 0: none */
    lab_genome genome;
    lab_move moves[4]; /* that made it from the first parent */
    int move_count;

    /* The evaluator's answer. */
    lab_state state;
    double seconds[LAB_SEARCH_SHAPES];
    double score;      /* mean of the logarithms of seconds; INFINITY unless LAB_STATE_TIMED */
    unsigned findings; /* what binds it: see guide.h */
    char why[LAB_WHY_SIZE];
} lab_individual;

/* The callbacks that know kernels. */
typedef struct lab_evolution_calls {
    void *data;
    int shapes;

    /* Fills in state, seconds of all shapes, findings and why. A status other than HEED_OK ends the
     * run, and the individual is as if it had never been. */
    heed_status (*evaluate)(void *data, lab_individual *individual);

    /* The rule of succession: is @challenger, whose score is better, to replace @champion? It is
     * for this function to measure both again. NULL: it is if it is 3 % faster. */
    heed_status (*succeeds)(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes);

    /* Told after every evaluation, with the champion so far (NULL: none). May be NULL. */
    void (*born)(void *data, const lab_individual *child, const lab_individual *champion);

    bool (*interrupted)(void); /* may be NULL */
} lab_evolution_calls;

/* Zero in a field means its default. */
typedef struct lab_evolution_options {
    uint64_t seed;
    int islands;       /* default 3 */
    int population;    /* of an island; default 8 */
    int elites;        /* of these: parents half the time; default 2 */
    int migration;     /* evaluations between two migrations; default 24 */
    double crossover;  /* share of children with two parents; default 0.3 */
    double immigrants; /* share of random ones; default 0.05 */
} lab_evolution_options;

#define LAB_ISLANDS_MAX 16
#define LAB_POPULATION_MAX 64

typedef struct lab_evolution lab_evolution;

/* lab_evolution_create() begins with @starts, shared out among the islands, and what else they need
 * at random. @space, and @source, which may be NULL, must outlive it; texts may be added to the
 * source at any time. Returns HEED_OK; HEED_ERR_INVALID for bad options; HEED_ERR_NO_MEMORY. */
heed_status lab_evolution_create(lab_evolution **evolution, const lab_space *space,
                                 const lab_source *source, const lab_evolution_options *options,
                                 const lab_genome *starts, size_t count, lab_error *error);
void lab_evolution_destroy(lab_evolution *evolution);

/* lab_evolution_offer() puts a genome from outside, a proposer's, before what evolution would try
 * itself. Of those that were tried before, and when 64 wait already, it returns false. */
bool lab_evolution_offer(lab_evolution *evolution, const lab_genome *genome);

/* lab_evolution_run() goes on for @evaluations more. Returns HEED_OK when they are through, when
 * it was interrupted, or when nothing new is left to try; else the status that ended it. */
heed_status lab_evolution_run(lab_evolution *evolution, const lab_evolution_calls *calls,
                              int64_t evaluations);

/* lab_evolution_tell() adds @findings to those of the individual @id, wherever it is: what was
 * found out about it after it was evaluated. Its children are bred by that from now on. */
void lab_evolution_tell(lab_evolution *evolution, int64_t id, unsigned findings);

/* The state of an evolution. Pointers are valid until the next run. */
const lab_individual *lab_evolution_champion(const lab_evolution *evolution); /* NULL: none yet */
int64_t lab_evolution_evaluations(const lab_evolution *evolution);

/* lab_evolution_member() returns the @place-th best individual of an island, or NULL past the last.
 */
const lab_individual *lab_evolution_member(const lab_evolution *evolution, int island, int place);

/* lab_evolution_clone() returns another evolution with the same state, which goes on like this one;
 * NULL if there is no memory. */
lab_evolution *lab_evolution_clone(const lab_evolution *evolution);

#endif /* LAB_EVOLVE_H */
