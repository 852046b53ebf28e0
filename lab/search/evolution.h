/*
 * evolution.h - the state of an evolution, for the files that breed it and that keep it
 */
#ifndef LAB_EVOLUTION_H
#define LAB_EVOLUTION_H

#include "lab/search/evolve.h"

#define EVOLUTION_WAITING 64 /* genomes that were offered */

typedef struct lab_island {
    lab_individual members[LAB_POPULATION_MAX]; /* the best first */
    int count;
} lab_island;

struct lab_evolution {
    const lab_space *space;
    const lab_source *source;
    lab_evolution_options options; /* defaults filled in */
    lab_rng rng;
    lab_guide guide;
    lab_island islands[LAB_ISLANDS_MAX];
    lab_individual champion; /* id 0: none */
    int64_t evaluations;
    lab_genome waiting[EVOLUTION_WAITING];
    size_t waiting_count;
    lab_genome *tried; /* everything that was ever evaluated */
    size_t tried_count;
};

/* evolve.c: remembers a genome as tried; false if there is no memory. */
bool lab_evolution_remember(lab_evolution *evolution, const lab_genome *genome);

/* breed.c: makes the next genome for @island, with its parents and moves; false if nothing new can
 * be found. */
bool lab_evolution_breed(lab_evolution *evolution, int island, lab_individual *child);

/* breed.c: was it tried? */
bool lab_genome_tried(const lab_evolution *evolution, const lab_genome *genome);

#endif /* LAB_EVOLUTION_H */
