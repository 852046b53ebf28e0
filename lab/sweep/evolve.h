/*
 * evolve.h - evolution in the space of a sweep
 *
 *     lab_sweep_evolution it = { .sweep = &sweep, .show = show, .data = data, .trouble = &error };
 *     lab_sweep_evolution_insights(&it, seconds);
 *     lab_sweep_evolution_create(&it, starts, count);
 *     lab_sweep_evolve(&it, until_ns, trials);
 *     ... lab_evolution_champion(it.evolution) ...
 *     lab_sweep_evolution_free(&it);
 *
 * The sweep has a session: its steps follow from the seed and the answers, which are on the board
 * before it goes on.
 */
#ifndef LAB_SWEEP_EVOLVE_H
#define LAB_SWEEP_EVOLVE_H

#include "lab/search/evolve.h"
#include "lab/sweep/sweep.h"

#define LAB_SWEEP_ISLANDS 3

typedef struct lab_sweep_evolution {
    lab_sweep *sweep; /* space, problems, device, compilers, session */

    /* Does the challenger replace the champion? NULL: if it is clearly faster. */
    heed_status (*succeeds)(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes);
    void (*show)(void *data, const char *what); /* NULL: nothing special */
    void *data;                                 /* of the last two */
    bool counts_known;  /* answers that were on the board are launches, too */
    lab_error *trouble; /* why it failed */

    lab_evaluator evaluator;
    lab_evolution *evolution;
    lab_lineage lineage;
    int64_t launched; /* kernels that were not pruned */
    int64_t timed;    /* kernels that ran right on all problems */
    lab_insight_course course;
    lab_insight insights[LAB_SEARCH_SHAPES]; /* of the champion that was measured last */
} lab_sweep_evolution;

/* lab_sweep_evolution_insights() reads --insights, for @seconds of evolution; 0: any. */
void lab_sweep_evolution_insights(lab_sweep_evolution *it, double seconds);

/* lab_sweep_evolution_create() begins with @starts. Free it also after a failure. */
heed_status lab_sweep_evolution_create(lab_sweep_evolution *it, const lab_genome *starts,
                                       size_t count);
void lab_sweep_evolution_free(lab_sweep_evolution *it);

/* lab_sweep_evolution_name() is lab_lineage_name() of a kernel of it. */
heed_status lab_sweep_evolution_name(lab_sweep_evolution *it, const lab_individual *one,
                                     lab_session_name *name);

/* lab_sweep_evolve() goes on until @until_ns, or for @trials launches; 0: any. */
heed_status lab_sweep_evolve(lab_sweep_evolution *it, int64_t until_ns, int64_t trials);

#endif /* LAB_SWEEP_EVOLVE_H */
