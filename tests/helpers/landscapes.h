/*
 * landscapes.h - synthetic trials for testing strategies
 *
 * Each is a way in which times of real kernels depend on their knobs, for the points of any space
 * and three shapes; all of its constants come from a seed, so that no strategy can be fitted to one
 * of them.
 */
#ifndef LANDSCAPES_H
#define LANDSCAPES_H

#include "lab/search/trials.h"

typedef enum landscape {
    LANDSCAPE_VALLEY, /* each knob has a best value, and interacts with another one */
    LANDSCAPE_CLIFFS, /* and beyond some sums of knobs everything takes several times as long */
    LANDSCAPE_FAULTS, /* and a quarter of the points does not run at all */
    LANDSCAPE_WAVES,  /* waves of blocks: times jump up and down along knobs */
    LANDSCAPE_RUGGED, /* no knob has a meaning */
    LANDSCAPES
} landscape;

const char *landscape_name(landscape which);

/* landscape_make() makes the trials of @space, to be freed with lab_trials_free(). Fails the test
 * if there is no memory. */
lab_trials landscape_make(landscape which, const lab_space *space, uint64_t seed);

/* landscape_space() reads spaces/@name.txt, to be freed with lab_space_free(). Fails the test if it
 * cannot. */
void landscape_space(lab_space *space, const char *name);

/* A source with two marked regions, with three alternatives and with one. */
extern const char landscape_source[];

#endif /* LANDSCAPES_H */
