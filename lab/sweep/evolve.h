/*
 * evolve.h - evolution in the space of a sweep
 *
 *     lab_sweep_evolution it = { .sweep = &sweep, .show = show, .data = data };
 *     lab_sweep_evolution_create(&it, starts, count);
 *     lab_search_run(&sweep.search, ... { .strategy = "evolution", .evolution = it.evolution });
 *     ... lab_evolution_champion(it.evolution) ...
 *     lab_sweep_evolution_free(&it);
 *
 * The sweep has a session: its steps are determined by the seed and the results, which are recorded
 * on the board before it continues.
 */
#ifndef LAB_SWEEP_EVOLVE_H
#define LAB_SWEEP_EVOLVE_H

#include "lab/insight/insight.h"
#include "lab/search/evolution.h"
#include "lab/sweep/sweep.h"

typedef struct lab_sweep_evolution {
    lab_sweep *sweep;          /* space, problems, device, compilers, session */
    const char *device;        /* as the user named it, for measurements */
    lab_insight_course course; /* budget and progress of measurements */

    /* Decides whether the challenger replaces the champion. NULL: if it is clearly faster. */
    heed_status (*succeeds)(void *data, const lab_individual *challenger,
                            const lab_individual *champion, bool *yes);
    void (*show)(void *data, const char *what); /* NULL: shows nothing */
    void *data;                                 /* for the last two */

    lab_evolution *evolution;
    char parents[2][LAB_RECORD_HASH_SIZE];   /* of the last named kernel */
    lab_insight insights[LAB_SEARCH_SHAPES]; /* of the last measured champion */
} lab_sweep_evolution;

/* lab_sweep_evolution_create() begins with the points @starts. Free it even after a failure. */
heed_status lab_sweep_evolution_create(lab_sweep_evolution *it, const int64_t *starts,
                                       size_t count);
void lab_sweep_evolution_free(lab_sweep_evolution *it);

/* lab_sweep_evolution_name() writes the name of a kernel with its parents, which are valid until
 * the next call.
 */
void lab_sweep_evolution_name(lab_sweep_evolution *it, const lab_individual *one,
                              lab_session_name *name);

#endif /* LAB_SWEEP_EVOLVE_H */
