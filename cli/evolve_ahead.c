/*
 * evolve_ahead.c - compiles what evolution will come to
 */
#include <stdlib.h>

#include "evolve.h"

/* Points that a copy of the evolution comes to, if none of them is a success. */
typedef struct scout {
    lab_point *points;
    size_t count;
} scout;

static heed_status note(void *data, lab_individual *individual)
{
    scout *it = data;
    it->points[it->count++] = individual->genome.point;
    individual->fate = LAB_FATE_FAILED;
    return HEED_OK;
}

void evolve_look_ahead(const sweep_run *sweep, const lab_evolution *evolution)
{
    int count = 4 * sweep->threads; /* many of them are refused and cost nothing */
    if (!sweep->pool)
        return;
    scout it = { .points = calloc((size_t)count + 1, sizeof *it.points) };
    lab_evolution *copy = lab_evolution_clone(evolution);
    const lab_nature nature = { .data = &it,
                                .shapes = (int)sweep->problems.count,
                                .evaluate = note };
    if (it.points && copy) {
        lab_evolution_run(copy, &nature, count);
        sweep_pool_want(sweep->pool, it.points, it.count);
    }
    lab_evolution_destroy(copy);
    free(it.points);
}
